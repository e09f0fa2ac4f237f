#!/usr/bin/env bash
# The protocol crates under Miri: undefined behaviour, data races, leaks. Property tests run a few cases each.
# `scripts/miri.sh short` takes what has `unsafe` or threads, under several schedules.
# CRATES="sync buf" chooses others.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v rustup >/dev/null || { echo "cannot run: miri needs rustup and its nightly toolchain" >&2; exit 1; }
rustup toolchain list | grep -q '^nightly' || rustup toolchain install nightly --profile minimal
rustup component list --toolchain nightly --installed | grep -q '^miri' ||
    rustup component add miri rust-src --toolchain nightly

. scripts/evidence.sh
# Tests may read PROPTEST_CASES and write down failures.
isolation=-Zmiri-disable-isolation
export PROPTEST_CASES=${PROPTEST_CASES:-2}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/miri
# It is a compiler of its own.
unset RUSTC_WORKSPACE_WRAPPER
cargo +nightly miri setup >/dev/null 2>&1

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Cargo's status decides: several schedules write into one output at once, so a line of it may be torn.
run() { # run CRATE FLAGS ARGUMENT...
    local crate=$1 flags=$2 since=$SECONDS
    shift 2
    if ! MIRIFLAGS="$isolation $flags" nice cargo +nightly miri test --quiet -p "dunlin-$crate" "$@" >"$log" 2>&1; then
        cat "$log"
        echo "miri: FAILED in $crate $*" >&2
        return 1
    fi
    grep -qE '[1-9][0-9]* passed' "$log" || { echo "miri: no test ran in $crate $*" >&2; return 1; }
    printf 'miri: %s in %d s\n' "$crate $*" $((SECONDS - since))
}

if [ "${1:-}" = short ]; then
    run sync -Zmiri-many-seeds=0..4
    run buf -Zmiri-many-seeds=0..4 --lib pool
    exit
fi

for crate in ${CRATES:-sync buf core qos cdr wire xtypes dynamic rtps filter cache discovery engine host}; do
    run "$crate" '' --tests || { evidence_failed "miri-$crate" 1; exit 1; }
    evidence "miri-$crate" --log "$log"
done
