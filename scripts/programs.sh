#!/usr/bin/env bash
# Builds programs as `make unit` does, so that nothing is compiled a second time: programs.sh NAME...
# Cargo takes the features of the packages that are selected, and those of dev-dependencies if a test or an example is built.
# `-p dunlin-cli` would therefore compile the half of the workspace anew: other features of the same crates.
set -euo pipefail
cd "$(dirname "$0")/.."

options=()
for name in "$@"; do
    kind=bin
    [ ! -e "api/dunlin/examples/$name.rs" ] || kind=example
    options+=("--$kind" "$name")
done
exec cargo build --quiet --workspace --test ranks "${options[@]}"
