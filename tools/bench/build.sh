#!/usr/bin/env bash
# Builds what measures: `dunlin`, and `dunlin-adapter` as a program for a small board is built (docs/performance.md, Memory): with
# the C library inside, and with what runs at the start side by side in the file, in the order of adapter.order.
# Usage: build.sh         builds both
#        build.sh order   makes adapter.order anew, which is worth while with another compiler or after large changes
set -euo pipefail
cd "$(dirname "$0")/../.."
order=$PWD/tools/bench/adapter.order
target=${CARGO_TARGET_DIR:-target}
adapter() { cargo rustc --profile dist --quiet -p dunlin-cli --bin dunlin-adapter -- "$@"; }

if [ "${1:-}" = order ]; then
    adapter -Ctarget-feature=+crt-static
    run=$(mktemp)
    trap 'rm -f "$run"' EXIT
    {
        echo hello
        echo "open role=source domain=99 topics=1 payload=64 answer=64 reliable=1 keep_last=0 interface=lo address=127.0.0.1 peer=127.0.0.1"
        echo "await count=1 patience_ms=20000"
    } | valgrind --quiet --tool=callgrind --dump-instr=yes --compress-pos=no --callgrind-out-file="$run" \
        "$target/dist/dunlin-adapter" dunlin >/dev/null
    scripts/function-order.py "$target/dist/dunlin-adapter" "$run" >"$order"
    exit
fi

# What the tables of a run say about it.
commit=$(git describe --always --dirty --abbrev=12 2>/dev/null || true)
export DUNLIN_COMMIT=$commit
DUNLIN_BENCH_BUILT="release, fat LTO" cargo build --profile dist --quiet -p dunlin-cli --bin dunlin
layout=-Clink-arg=-Wl,--symbol-ordering-file=$order,--no-warn-symbol-ordering
if ! rustc -vV | grep -q '^host: x86_64-unknown-linux-gnu$' ||
    ! DUNLIN_BENCH_BUILT="release, fat LTO, linked statically, functions in the order of use" adapter -Ctarget-feature=+crt-static "$layout"; then
    echo "bench: the adapter is built without its layout, which needs x86-64 Linux and lld: it takes more memory" >&2
    DUNLIN_BENCH_BUILT="release, fat LTO" cargo build --profile dist --quiet -p dunlin-cli --bin dunlin-adapter
fi
