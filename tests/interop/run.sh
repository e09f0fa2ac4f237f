#!/usr/bin/env bash
# Builds the peers, runs the exchanges ROUNDS times (default 1), lets tshark judge the captures.
# `run.sh dense` runs dense traffic alone, for DENSE_SECONDS (default 30) with each peer and load.
# `run.sh fastdds3` does all with Fast DDS 3 alone, which `make test` leaves out because its packages need another Debian.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export INTEROP_PEERS=${INTEROP_PEERS:-$root/.cache/peers}
export INTEROP_CAPTURES=$root/.cache/captures
rounds=${ROUNDS:-1}

if [ "${1:-}" = fastdds3 ]; then
    "$root/scripts/debian13.sh" build "$INTEROP_PEERS/fastdds3/peer" "$here"/peers/fastdds/peer.cpp "$here"/peers/fastdds/*.hpp
    "$here/build-fastdds3.sh"
    chosen=(fast_dds3)
else
    "$here/build-peers.sh"
    "$root/tests/shapes/build-peers.sh" fastdds
    chosen=(--skip fast_dds3)
fi
cd "$root"
if [ "${1:-}" = dense ]; then
    export DENSE_SECONDS=${DENSE_SECONDS:-30}
    exec cargo test --quiet --workspace --test dense -- --ignored --test-threads=1 "${chosen[@]}"
fi
scripts/programs.sh dunlin
# All tests are chosen from the whole workspace, as `make unit` does: of single packages Cargo would compile much anew.
exchanges=()
for file in "$here"/tests/*.rs; do exchanges+=(--test "$(basename "$file" .rs)"); done
cargo test --quiet --workspace "${exchanges[@]}" --no-run
if [ "${1:-}" = fastdds3 ]; then
    cargo test --quiet --workspace --test fastdds_octets -- --ignored
else
    cargo test --quiet --workspace --test rosbags --test cyclone_octets -- --ignored
    cargo test --quiet --workspace --test peers -- --ignored
    cargo test --quiet --workspace --test shapes_page -- --ignored
fi
for round in $(seq "$rounds"); do
    [ "$rounds" = 1 ] || echo "interop: round $round of $rounds"
    rm -rf "$INTEROP_CAPTURES"
    mkdir -p "$INTEROP_CAPTURES"
    # One exchange at a time: peers and domains share the loopback interface.
    cargo test --quiet --workspace "${exchanges[@]}" -- --ignored --test-threads=1 "${chosen[@]}"
    "$here/check-captures.sh" "$INTEROP_CAPTURES"
done
