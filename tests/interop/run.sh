#!/usr/bin/env bash
# Builds the peers, runs the exchanges ROUNDS times (default 1), lets tshark judge the captures.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export INTEROP_PEERS=${INTEROP_PEERS:-$root/.cache/peers}
export INTEROP_CAPTURES=$root/.cache/captures
rounds=${ROUNDS:-1}

"$here/build-peers.sh"
cd "$root"
cargo test --quiet -p dunlin-interop --no-run
for round in $(seq "$rounds"); do
    [ "$rounds" = 1 ] || echo "interop: round $round of $rounds"
    rm -rf "$INTEROP_CAPTURES"
    mkdir -p "$INTEROP_CAPTURES"
    # One exchange at a time: peers and domains share the loopback interface.
    cargo test --quiet -p dunlin-interop -- --ignored --test-threads=1
    "$here/check-captures.sh" "$INTEROP_CAPTURES"
done
