#!/usr/bin/env bash
# TCP through a router that translates addresses: three network namespaces, one of them the router with nftables. The near
# end has a private address that the far one has no route to, and connects; reliable samples must pass in both directions, and
# none may be lost while the connection is reset and nothing passes for ten seconds. A host that vanishes leaves no connection.
#
# PROGRAMS=folder of frames_publisher and frames_subscriber, built here otherwise.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/network/namespaces.sh

COUNT=2000
BYTES=1000
OUTAGE=10
command -v nft >/dev/null || refuse "the program nft is missing (package nftables)"
build_programs
PROGRAMS=$(realpath "$PROGRAMS")
export PROGRAMS DUNLIN_SHARED_MEMORY_ENABLED=false DUNLIN_NETWORK_UDP=false DUNLIN_TCP_ENABLED=true
# Nobody is to be given up during the outage.
export DUNLIN_DISCOVERY_LEASE_DURATION=60s DUNLIN_RELIABILITY_INACTIVE_AFTER=60s
become_root

files=$(mktemp -d)
started=()
router=dunlin-router-$$
finish() {
    local process
    for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
    delete_namespaces
    ip netns del "$router" 2>/dev/null || true
    rm -rf "$files"
}
trap finish EXIT
trap 'exit 130' INT TERM

make_namespaces
ip netns add "$router" || refuse "cannot make a network namespace"
inside() { ip netns exec "$@"; }
# join NAMESPACE ROUTER_INTERFACE NET: a veth pair with the addresses .2 and .1.
join() {
    ip link add veth0 netns "$1" type veth peer name "$2" netns "$router" || refuse "cannot make a veth pair"
    ip -n "$1" address add "$3.2/24" dev veth0
    ip -n "$router" address add "$3.1/24" dev "$2"
    ip -n "$1" link set veth0 up
    ip -n "$router" link set "$2" up
}
join "$near" private 192.168.77
join "$far" public 10.98.0
ip -n "$near" route add default via 192.168.77.1
inside "$router" sysctl -qw net.ipv4.ip_forward=1 || refuse "cannot forward packets"
inside "$router" nft -f - <<'RULES' || refuse "nft cannot translate addresses"
table ip translation {
    chain leaving {
        type nat hook postrouting priority srcnat;
        oifname "public" masquerade fully-random
    }
}
table ip outage {
    chain passing {
        type filter hook forward priority filter;
    }
}
RULES

failed=0
# run DIRECTION RATE [COMMAND]: samples out of the private network or into it; the command is run meanwhile.
run() {
    local from=$near to=$far status=0 publisher subscriber
    [ "$1" = out ] || { from=$far to=$near; }
    environment() {
        if [ "$1" = "$near" ]; then
            echo DUNLIN_TCP_PORT=off DUNLIN_DISCOVERY_PEERS=tcp://10.98.0.2:7400
        else
            echo DUNLIN_TCP_PORT=7400
        fi
    }
    # shellcheck disable=SC2046 # words
    inside "$to" env $(environment "$to") "$PROGRAMS/frames_subscriber" $BYTES $COUNT >"$files/subscriber" 2>"$files/log" &
    subscriber=$!
    # shellcheck disable=SC2046 # words
    inside "$from" env $(environment "$from") "$PROGRAMS/frames_publisher" $BYTES $COUNT "$2" 0 100 >"$files/publisher" 2>>"$files/log" &
    publisher=$!
    started=("$subscriber" "$publisher")
    [ -z "${3:-}" ] || "$3"
    wait "$publisher" || status=$?
    wait "$subscriber" || status=$?
    started=()
    local longest
    longest=$(awk '$1 == "pause" && $3 > longest { longest = $3 } END { printf "%.2f", longest }' "$files/subscriber")
    echo "network: TCP $1 of the private network: $(value "$files/subscriber" received) of $COUNT samples received," \
        "$(value "$files/subscriber" wrong) wrong or out of order, longest pause $longest s"
    if [ "$status" != 0 ]; then
        tail -n 20 "$files/subscriber" "$files/publisher" "$files/log" >&2
        failed=1
    fi
}

outage() {
    sleep 5
    inside "$router" nft add rule ip outage passing tcp dport 7400 reject with tcp reset
    inside "$router" nft add rule ip outage passing tcp sport 7400 reject with tcp reset
    sleep 1
    inside "$router" nft flush chain ip outage passing
    inside "$router" nft add rule ip outage passing drop
    sleep $((OUTAGE - 1))
    inside "$router" nft flush chain ip outage passing
}

# A host that vanishes without a word leaves half of a connection behind: it ends although nobody closes it, and whoever is left
# goes on. Both programs wait for a reader, and have nothing to say but announcements.
half_open() {
    local left gone tries begin
    connections() { inside "$far" ss -Htn state established sport = :7400 | wc -l; }
    inside "$far" env DUNLIN_TCP_PORT=7400 "$PROGRAMS/frames_publisher" $BYTES 1 >"$files/publisher" 2>&1 &
    left=$!
    inside "$near" env DUNLIN_TCP_PORT=off DUNLIN_DISCOVERY_PEERS=tcp://10.98.0.2:7400 \
        "$PROGRAMS/frames_publisher" $BYTES 1 >"$files/subscriber" 2>&1 &
    gone=$!
    started=("$left" "$gone")
    for tries in {1..200}; do
        [ "$(connections)" = 0 ] || break
        sleep 0.05
    done
    [ "$(connections)" = 1 ] || { echo "network: TCP: the two do not connect (look $tries)" >&2; failed=1; }
    inside "$router" nft add rule ip outage passing drop
    kill -9 "$gone"
    wait "$gone" 2>/dev/null || true
    begin=$(date +%s)
    while [ "$(connections)" != 0 ] && [ $(($(date +%s) - begin)) -lt 40 ]; do sleep 0.5; done
    if [ "$(connections)" = 0 ] && kill -0 "$left" 2>/dev/null; then
        echo "network: TCP: half of a connection was given up after $(($(date +%s) - begin)) s"
    else
        echo "network: TCP: half of a connection is still there after 40 s, or the program is not" >&2
        failed=1
    fi
    kill "$left" 2>/dev/null || true
    wait "$left" 2>/dev/null || true
    started=()
    inside "$router" nft flush chain ip outage passing
}

run out 0
run into 0
run out 100 outage
run into 100 outage
half_open
exit "$failed"
