#!/usr/bin/env bash
# What a run left out (SKIPPED) and tried again (RETRIED), with counts: notes.sh FILE, to which tests/notes and scripts append.
# Fails if something was left out, unless ALLOW_SKIPS=1.
set -euo pipefail

file=$1
[ -s "$file" ] || { echo "nothing was left out, nothing tried again"; exit 0; }
sort "$file" | uniq -c | sed -E 's/^ +1 //; s/^ +([0-9]+) (.*)/\2 (\1 times)/'
skipped=$(grep -c '^SKIPPED ' "$file" || true)
echo "$skipped left out, $(grep -c '^RETRIED ' "$file" || true) tried again"
[ "$skipped" = 0 ] || [ "${ALLOW_SKIPS:-}" = 1 ] || {
    echo "What is left out is not shown. Mend what is missing, or say ALLOW_SKIPS=1." >&2
    exit 1
}
