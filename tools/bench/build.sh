#!/usr/bin/env bash
# Builds what measures: `dunlin`, and `dunlin-adapter` as a program for a small board is built (docs/performance.md, Memory): with
# the C library inside, and with what runs at the start side by side in the file, in the order of adapter.order.
# Usage: build.sh         builds both
#        build.sh order   makes adapter.order anew, which is worth while with another compiler or after large changes; takes
#                         qemu-user-static
set -euo pipefail
cd "$(dirname "$0")/../.."
order=$PWD/tools/bench/adapter.order
target=${CARGO_TARGET_DIR:-target}
adapter() { cargo rustc --profile dist --quiet -p dunlin-cli --bin dunlin-adapter -- "$@"; }

# Lists what runs at the start of a measurement and while large samples go from a source to a sink, in long datagrams and in frames.
# The emulator joins no multicast groups, so both are told of each other.
list_order() { # list_order PROGRAM
    local program=$1 runs frames open="domain=99 topics=1 payload=921600 reliable=1 keep_last=0 interface=lo address=127.0.0.1 peer=127.0.0.1"
    open="$open x.shared_memory.enabled=false x.discovery.peers=127.0.0.1"
    runs=$(mktemp -d)
    traced() { qemu-x86_64-static -d in_asm -D "$runs/$1.ran" "$program" dunlin >&2; }
    for frames in "" " x.network.max_message_size=1472B"; do
        {
            printf '%s\n' "hello" "open role=sink $open$frames" "await count=1 patience_ms=60000"
            until [ -e "$runs/written" ]; do sleep 0.1; done
            printf '%s\n' "count reset=1" "close"
        } | traced "sink$frames" &
        printf '%s\n' "hello" "open role=source $open$frames" "await count=1 patience_ms=60000" \
            "blast rate=0 millis=60000 count=8 by_chance=0" "close" | traced "source$frames"
        touch "$runs/written"
        wait
        rm "$runs/written"
    done
    scripts/function-order.py "$program" "$runs"/*.ran
    rm -r "$runs"
}

if [ "${1:-}" = order ]; then
    adapter -Ctarget-feature=+crt-static
    list_order "$target/dist/dunlin-adapter" >"$order.new"
    mv "$order.new" "$order"
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
