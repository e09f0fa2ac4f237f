#!/usr/bin/env bash
# Runs a command, and when it has passed writes the row of docs/evidence.md that it proves, out of what it printed; when it has
# failed, that.
# Usage: scripts/proof.sh NAME [--amount NUMBER] [--part TEXT] -- COMMAND...   EVIDENCE=off runs the command alone.
set -euo pipefail
cd "$(dirname "$0")/.."

name=$1
shift
options=()
while [ "$1" != -- ]; do
    options+=("$1")
    shift
done
shift
[ "${EVIDENCE:-}" != off ] || exec "$@"

. scripts/evidence.sh
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
"$@" 2>&1 | tee "$log" || status=$?
if [ "$status" != 0 ]; then
    # What could not run shows nothing.
    grep -q '^cannot run: ' "$log" || evidence_failed "$name" "$status"
    exit "$status"
fi
evidence "$name" "${options[@]}" --log "$log"
