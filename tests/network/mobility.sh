#!/usr/bin/env bash
# Addresses that appear, change and vanish under a reliable stream: two network namespaces, two links. Every sample must
# arrive once and in order, and after each step the stream must go on within DEADLINE seconds; how soon it does is reported.
#
# FAMILY=6 does it over IPv6 alone. PROGRAMS=folder of frames_publisher and frames_subscriber, built here otherwise.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/network/namespaces.sh

DEADLINE=12
COUNT=4000
RATE=100
# The only interface is away for longer than it takes until a reader is inactive; the history has room for 16 seconds.
DEPTH=1600
FAMILY=${FAMILY:-4}
build_programs
PROGRAMS=$(realpath "$PROGRAMS")
export PROGRAMS DUNLIN_SHARED_MEMORY_ENABLED=false DUNLIN_NETWORK_INTERFACE_POLL=${POLL:-500ms}
if [ "$FAMILY" = 6 ]; then
    export DUNLIN_NETWORK_IPV4=false DUNLIN_NETWORK_IPV6=true
fi
become_root

files=$(mktemp -d)
subscriber=
publisher=
aside=dunlin-aside-$$
finish() {
    [ -z "$subscriber" ] || kill "$subscriber" 2>/dev/null || true
    [ -z "$publisher" ] || kill "$publisher" 2>/dev/null || true
    delete_namespaces
    ip netns del "$aside" 2>/dev/null || true
    rm -rf "$files"
}
trap finish EXIT
trap 'exit 130' INT TERM

# address add|del NAMESPACE INTERFACE NET HOST: an address of that host in that network.
address() {
    local where="10.$4.0.$5/24" how=()
    if [ "$FAMILY" = 6 ]; then
        where="fd00:$4::$5/64"
        # Otherwise it counts a second later, when nobody else has turned out to have it.
        [ "$1" = del ] || how=(nodad)
    fi
    ip -n "$2" address "$1" "$where" dev "$3" "${how[@]}"
}

# link NAME NET: a veth pair between the namespaces with the first two addresses of the network.
link() {
    ip link add "$1" netns "$near" type veth peer name "$1" netns "$far" || refuse "cannot make a veth pair"
    local host=1 namespace
    for namespace in "$near" "$far"; do
        ip -n "$namespace" link set "$1" up
        address add "$namespace" "$1" "$2" "$host"
        host=$((host + 1))
    done
    # The kernel takes up to a second to call it up.
    local tries
    for tries in {1..30}; do
        ip -n "$near" -o link show "$1" | grep -q 'state UP' && ip -n "$far" -o link show "$1" | grep -q 'state UP' && return
        sleep 0.1
    done
}

make_namespaces
ip netns add "$aside" || refuse "cannot make a network namespace"
link veth0 99
ip netns exec "$far" "$PROGRAMS/frames_subscriber" 1000 "$COUNT" >"$files/subscriber" 2>&1 &
subscriber=$!
ip netns exec "$near" "$PROGRAMS/frames_publisher" 1000 "$COUNT" "$RATE" 0 "$DEPTH" >"$files/publisher" 2>&1 &
publisher=$!

steps=()
# step TEXT COMMAND...: does something to the network and lets the stream go on for a while.
step() {
    local text=$1
    shift
    steps+=("$(date +%s.%N) $text")
    "$@"
    sleep 5
}
change_address() {
    address del "$far" veth0 99 2
    address add "$far" veth0 99 22
}
# come_back NAMESPACE HOST: its interface is taken away, and is back two seconds later with another address.
come_back() {
    ip -n "$1" link set veth1 netns "$aside"
    sleep 2
    ip -n "$aside" link set veth1 netns "$1"
    ip -n "$1" link set veth1 up
    address add "$1" veth1 98 "$2"
}
change_writer() {
    address del "$near" veth1 98 1
    address add "$near" veth1 98 11
}

sleep 3
step "a second interface appears" link veth1 98
step "the reader's first address changes" change_address
step "the first interface vanishes" ip -n "$near" link del veth0
step "the writer's only address changes" change_writer
step "the reader's only interface vanishes for two seconds and has another address then" come_back "$far" 22
step "the writer's only interface vanishes for two seconds and has another address then" come_back "$near" 111

failed=0
for process in "$publisher" "$subscriber"; do
    timeout 60 tail --pid="$process" -f /dev/null || failed=1
    kill -0 "$process" 2>/dev/null && kill "$process"
    wait "$process" || failed=1
done
subscriber= publisher=

echo "network: over IPv$FAMILY $(value "$files/subscriber" received) of $COUNT samples received, $(value "$files/subscriber" wrong) wrong or out of order"
for at in "${!steps[@]}"; do
    begin=${steps[$at]%% *}
    next=${steps[$((at + 1))]:-}
    awk -v begin="$begin" -v end="${next%% *}" -v text="${steps[$at]#* }" -v deadline="$DEADLINE" '
        $1 == "pause" && $2 + $3 > begin && (end == "" || $2 < end) && $3 > longest { longest = $3 }
        END {
            if (longest == 0) printf "  %s: without a pause of 100 ms\n", text
            else printf "  %s: continued after %.2f s\n", text, longest
            exit longest > deadline
        }' "$files/subscriber" || { echo "network: that took longer than $DEADLINE s" >&2; failed=1; }
done
[ "$failed" = 0 ] || { echo "network: the stream did not survive" >&2; tail -n 20 "$files/subscriber" "$files/publisher" >&2; }
exit "$failed"
