#!/usr/bin/env bash
# The preset architectures-2008 in a short form: every architecture exchanges data on one host and on two, and a sample for several
# programs of a host crosses the network once where they have a daemon.
#
# DUNLIN=the program, with dunlin-adapter beside it; built here otherwise.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/network/namespaces.sh

if [ -z "${DUNLIN:-}" ]; then
    scripts/programs.sh dunlin dunlin-adapter
    DUNLIN=${CARGO_TARGET_DIR:-target}/debug/dunlin
fi
DUNLIN=$(realpath "$DUNLIN")
export DUNLIN
become_root
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

own_run
short="--repetitions 1 --payloads 64 --readers 6 --count 100 --seconds 0.5 --no-system-calls"
# Broadcast has tests of its own, over the loopback interface.
only="decentralised, unicast,decentralised, multicast,decentralised, shared memory,centralised,federated,federated, bundling"
# shellcheck disable=SC2086
"$DUNLIN" bench run architectures-2008 $short --only "$only" --out "$folder/r.json" >"$folder/log" 2>&1 ||
    { cat "$folder/log" >&2; exit 1; }
python3 - "$folder/r.json" <<'PYTHON'
import json
import sys

results = json.load(open(sys.argv[1]))
copies = {}
for cell in results["cells"]:
    if "unsupported" in cell:
        continue
    measure = results["scenario"]["measures"][cell["measure"]]
    what = f'{measure["kind"]}, {cell["set_up"]}, {cell["readers"]} readers, {cell["implementation"]}'
    for one in cell["repetitions"]:
        if "failure" in one:
            sys.exit(f'network: architectures: {what}: {one["failure"]}')
        if measure["reliable"] and one["figures"].get("lost_percent", 0) > 0:
            sys.exit(f"network: architectures: {what}: samples were lost")
        if not measure["reliable"]:
            copies[cell["implementation"]] = one["figures"]["frames"]
if not copies["federated"] < 3 < 5 < copies["decentralised, unicast"]:
    sys.exit(f"network: architectures: datagrams of a sample for six programs of a host: {copies}")
shown = ", ".join(f"{name} {frames:.1f}" for name, frames in copies.items())
print(f"network: all architectures exchange data; datagrams of a sample for six programs of a host: {shown}")
PYTHON
