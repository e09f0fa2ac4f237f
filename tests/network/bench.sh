#!/usr/bin/env bash
# A benchmark run between two hosts that is asked to end leaves no network namespace behind.
#
# DUNLIN=the program, built here otherwise.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/network/namespaces.sh

if [ -z "${DUNLIN:-}" ]; then
    scripts/programs.sh dunlin
    DUNLIN=${CARGO_TARGET_DIR:-target}/debug/dunlin
fi
DUNLIN=$(realpath "$DUNLIN")
export DUNLIN
become_root
folder=$(mktemp -d)
run=
finish() {
    [ -z "$run" ] || kill -9 "$run" 2>/dev/null || true
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT TERM

own_run
cat >"$folder/s.toml" <<'TOML'
id = "ended"
about = "for the test"
repetitions = 1
[[implementations]]
name = "floor"
adapter = "udp"
[[measures]]
kind = "one-way"
payloads = [64]
set_ups = ["two-hosts"]
rate = 100
seconds = 20.0
TOML

"$DUNLIN" bench run "$folder/s.toml" --out "$folder/r.json" >"$folder/log" 2>&1 &
run=$!
both() { [ "$(ip netns list | grep -c "^dunlin-bench-$run-")" = 2 ]; }
for _ in {1..200}; do
    both && break
    sleep 0.05
done
both || { cat "$folder/log" >&2; echo "network: the benchmark makes no two hosts" >&2; exit 1; }
kill -TERM "$run"
status=0
wait "$run" || status=$?
left=$(ip netns list | grep "^dunlin-bench-$run-" || true)
run=
[ "$status" = 130 ] || { echo "network: a benchmark that is asked to end ends with status $status, not 130" >&2; exit 1; }
[ -z "$left" ] || { echo "network: a benchmark that is asked to end leaves $left behind" >&2; exit 1; }
echo "network: a benchmark that is asked to end removes its network namespaces"
