#!/usr/bin/env bash
# Large samples over a link of 100 Mbit/s: two network namespaces joined by veth, MTU 1500, without segmentation
# offload, so that the link carries what a real one would. Fails when a sample is lost; rates are reported.
#
# COUNT=200 samples of each size. PROGRAMS=folder of frames_publisher and frames_subscriber, built here otherwise; PROFILE=dev
# takes those of the tests, with which processor time and memory are not those of what is shipped.
set -euo pipefail
cd "$(dirname "$0")/../.."

. tests/network/namespaces.sh
RATE=100mbit
COUNT=${COUNT:-200}

build_programs
PROGRAMS=$(realpath "$PROGRAMS")
# The namespaces are of one host, whose memory they would use instead of the link.
export DUNLIN_SHARED_MEMORY_ENABLED=false
export PROGRAMS COUNT

become_root

files=$(mktemp -d)
subscriber=

finish() {
    [ -z "$subscriber" ] || kill "$subscriber" 2>/dev/null || true
    delete_namespaces
    rm -rf "$files"
}
trap finish EXIT
trap 'exit 130' INT TERM

make_namespaces
ip link add veth0 netns "$near" type veth peer name veth0 netns "$far" || refuse "cannot make a veth pair"

host=1
for namespace in "$near" "$far"; do
    inside=(ip netns exec "$namespace")
    "${inside[@]}" ip address add "10.99.0.$host/24" dev veth0
    "${inside[@]}" ip link set veth0 mtu 1500 up
    "${inside[@]}" ip route add 224.0.0.0/4 dev veth0
    "${inside[@]}" ethtool -K veth0 tso off gso off gro off >/dev/null || refuse "cannot switch offloads off"
    # A UDP run is cut into datagrams before the queue, not behind it.
    "${inside[@]}" ethtool -K veth0 tx-udp-segmentation off >/dev/null 2>&1 || true
    "${inside[@]}" tc qdisc add dev veth0 root tbf rate "$RATE" burst 15k latency 20ms || refuse "cannot limit the rate"
    host=$((host + 1))
done

field() { printf '%-34s %14s %14s %10s\n' "$@"; }

failed=0
# measure BYTES RATE
measure() {
    local bytes=$1 rate=$2 out=$files/publisher in=$files/subscriber status=0
    ip netns exec "$far" "$PROGRAMS/frames_subscriber" "$bytes" "$COUNT" >"$in" 2>"$in.log" &
    subscriber=$!
    ip netns exec "$near" "$PROGRAMS/frames_publisher" "$bytes" "$COUNT" "$rate" >"$out" 2>"$out.log" || status=$?
    wait "$subscriber" || status=$?
    subscriber=
    if [ "$status" != 0 ]; then
        echo "network: $bytes bytes at ${rate}/s failed (status $status)" >&2
        tail -n 20 "$in" "$in.log" "$out" "$out.log" >&2
        failed=1
        return
    fi
}

# report TITLE STUDY_WIRE STUDY_RATE
report() {
    local out=$files/publisher in=$files/subscriber
    local seconds wire cpu rss rate goodput
    seconds=$(value "$out" seconds) wire=$(value "$out" wire_octets) cpu=$(value "$out" processor_seconds)
    rss=$(value "$out" peak_megabytes) rate=$(value "$in" samples_per_second) goodput=$(value "$in" goodput_megabits)
    echo
    field "$1" measured "study of 2017" aim
    field "samples received / lost" "$(value "$in" received) / $(value "$in" lost)" "" "/ 0"
    field "samples per second" "$(printf %.2f "$rate")" "$3" ""
    field "frame octets on the wire, Mbit/s" "$(awk "BEGIN { printf \"%.2f\", $wire * 8e-6 / $seconds }")" "$2" "$4"
    field "payload goodput, Mbit/s" "$(printf %.2f "$goodput")" "" "$5"
    field "payload per frame octet, %" "$(awk "BEGIN { printf \"%.2f\", 100 * $COUNT * $6 / $wire }")" "" ""
    field "publisher's processor, %" "$(awk "BEGIN { printf \"%.1f\", 100 * $cpu / $seconds }")" "24 (A7)" ""
    field "publisher's peak memory, MB" "$rss" 6 "<= 6"
    grep -h statistics "$out" "$in" | sed 's/^statistics/   /'
}

measure 921600 0
[ "$failed" = 1 ] || report "921,600 octets, all the link takes" "85-88" "11" ">= 97" ">= 91.5" 921600
[ "$failed" = 1 ] || measure 307200 30
[ "$failed" = 1 ] || report "307,200 octets, 30 per second" "" "30" "" "" 307200
echo
for namespace in "$near" "$far"; do
    ip netns exec "$namespace" tc -s qdisc show dev veth0 | sed -n 's/^ Sent/queue: sent/p'
done
exit "$failed"
