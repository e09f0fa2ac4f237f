#!/usr/bin/env bash
# Fails when tshark's RTPS dissector finds a malformed packet in the captures of a folder.
set -euo pipefail
folder=$1
packets=0
for capture in "$folder"/*.pcap; do
    [ -e "$capture" ] || { echo "interop: no captures in $folder" >&2; exit 1; }
    bad=$(tshark -r "$capture" -Y '_ws.malformed || _ws.expert.severity >= 8388608' 2>/dev/null | head -n 5)
    if [ -n "$bad" ]; then
        echo "interop: malformed packets in $capture:" >&2
        echo "$bad" >&2
        exit 1
    fi
    count=$(tshark -r "$capture" -Y rtps 2>/dev/null | wc -l)
    [ "$count" -gt 0 ] || { echo "interop: tshark sees no RTPS in $capture" >&2; exit 1; }
    packets=$((packets + count))
done
echo "interop: $packets RTPS packets, none malformed"
