#!/usr/bin/env bash
# Fuzzing. Usage: scripts/fuzz.sh [RUNS]; docs/fuzzing.md explains.
# On any toolchain every seed and RUNS damaged copies of each are replayed. Where cargo-fuzz and a nightly toolchain are
# installed, each target then runs for RUNS executions that coverage guides.
set -euo pipefail
cd "$(dirname "$0")/.."

RUNS=${1:-20000}
export RUNS
cargo test --quiet --manifest-path fuzz/Cargo.toml

if ! cargo +nightly fuzz --version >/dev/null 2>&1; then
    echo "fuzz: seeds and damaged copies passed. Runs guided by coverage need: rustup toolchain install nightly && cargo install cargo-fuzz"
    exit 0
fi
for target in wire_message parameter_list idl; do
    mkdir -p "fuzz/corpus/$target"
    (cd fuzz && cargo +nightly fuzz run "$target" "corpus/$target" "seeds/$target" -- -runs="$RUNS" -max_len=65507 -verbosity=0 -print_final_stats=1)
done
