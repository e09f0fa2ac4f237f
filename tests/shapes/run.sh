#!/usr/bin/env bash
# Runs the shapes scenarios: `run.sh quick` part of them with Dunlin alone, `run.sh` all of them ROUNDS times (default 3) with
# Dunlin alone, `run.sh peers` all of them with other vendors in both directions; PEERS="cyclone fastdds" only with these.
# `run.sh beginnings` counts which sample comes first at other vendors' readers when Dunlin writes as soon as they have matched.
# PEERS=fastdds3 is for Fast DDS 3 alone, which is left out otherwise because its packages need another Debian (1.1 GB).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cd "$root"
export INTEROP_PEERS=${INTEROP_PEERS:-$root/.cache/peers}
folder=${CARGO_TARGET_DIR:-target}/debug

scripts/programs.sh shape_main dunlin-shapes-tests
run() { "$folder/dunlin-shapes-tests" --program "$folder/shape_main" "$@"; }
case "${1:-}" in
quick) run --quick --rounds "${ROUNDS:-1}" ;;
peers)
    chosen=${PEERS:-cyclone fastdds rustdds dust}
    # shellcheck disable=SC2086
    "$here/build-peers.sh" $chosen
    failed=0
    rounds=${ROUNDS:-1}
    . scripts/evidence.sh
    for peer in $chosen; do
        log=$(mktemp)
        if run --publisher "$peer" --stagger 2000 --jobs 6 --rounds "$rounds" | tee "$log" &&
            run --subscriber "$peer" --stagger 2000 --jobs 6 --rounds "$rounds" | tee -a "$log"; then
            evidence "shapes-$peer" --amount "$rounds" --log "$log"
        else
            evidence_failed "shapes-$peer" 1
            failed=1
        fi
        rm -f "$log"
    done
    exit $failed
    ;;
beginnings)
    chosen=${PEERS:-cyclone fastdds rustdds dust}
    # shellcheck disable=SC2086
    "$here/build-peers.sh" $chosen
    for peer in dunlin $chosen; do run --beginnings --subscriber "$peer" --rounds "${ROUNDS:-20}"; done
    ;;
*) run --rounds "${ROUNDS:-3}" --jobs "${JOBS:-6}" ${NO_REPEAT:+--no-repeat} ;;
esac
