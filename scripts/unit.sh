#!/usr/bin/env bash
# Tests of the workspace. The names of all tests go to a log; what failed is shown. Then the tests that the table of
# conformance names must be among those that passed.
set -uo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
log=$target/unit.log
mkdir -p "$target"
# What tests leave out or try again. `make test` shows it with what other parts noted.
alone=
if [ -z "${DUNLIN_NOTES:-}" ]; then
    alone=yes
    DUNLIN_NOTES=$(realpath "$target")/notes
    export DUNLIN_NOTES
    rm -f "$DUNLIN_NOTES"
fi
if ! CARGO_TERM_COLOR=never cargo xtask unit "$log"; then
    echo "unit: FAILED; everything is in $log" >&2
    exit 1
fi
awk '/^test result: ok/ {passed += $4; ignored += $8} END {printf "unit: %d passed, %d ignored\n", passed, ignored}' "$log"
echo "unit: the names are in $log"
cargo xtask conformance --results "$log" || exit 1
[ -z "$alone" ] || scripts/notes.sh "$DUNLIN_NOTES"
