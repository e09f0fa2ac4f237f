#!/usr/bin/env bash
# What `dunlin doctor` says where something is wrong: on an interface that has both versions of IP multicast passes first, and
# is then dropped for each of them; so is unicast; the folder for shared memory cannot be written; a participant on another host
# lets nothing in. In network namespaces of their own.
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
neighbour=
finish() {
    [ -z "$neighbour" ] || kill "$neighbour" 2>/dev/null || true
    delete_namespaces
}
trap finish EXIT
trap 'exit 130' INT TERM

make_namespaces
ip link add veth0 netns "$near" type veth peer name veth0 netns "$far" || refuse "cannot make a veth pair"
for namespace in "$near" "$far"; do
    ip -n "$namespace" link set veth0 up
done
ip -n "$near" address add 10.99.0.1/24 dev veth0
ip -n "$far" address add 10.99.0.2/24 dev veth0
ip -n "$near" address add 2001:db8::1/64 dev veth0 nodad
# Addresses of the link can be used when nobody else was found to have them.
for _ in {1..100}; do
    ip -n "$near" -6 address show dev veth0 | grep -q tentative || break
    sleep 0.1
done

report=
# doctor OPTION...
doctor() {
    report=$(ip netns exec "$near" "$DUNLIN" doctor --set network.interfaces=veth0 --set network.ipv6=true "$@" 2>&1) || true
}
failed=0
expect() {
    grep -qF -- "$1" <<<"$report" && return
    failed=1
    printf 'network: doctor does not say: %s\n%s\n' "$1" "$report" >&2
}
refute() {
    grep -qF -- "$1" <<<"$report" || return 0
    failed=1
    printf 'network: doctor says: %s\n%s\n' "$1" "$report" >&2
}

doctor --wait 0.2
for group in 239.255.0.1 ff02::ffff:efff:1; do
    expect "veth0: multicast to $group goes out and comes back on this host"
done
expect "veth0: datagrams to 10.99.0.1 arrive"
expect "veth0: datagrams to fe80::"

# A participant of another host: first it answers, then its firewall lets nothing in, and only its announcements come.
ip netns exec "$far" "$DUNLIN" echo Nothing --set network.interfaces=veth0 --set network.ipv6=true \
    --set discovery.announcement_period=300ms >/dev/null 2>&1 &
neighbour=$!
looks=0
while [ "$looks" -lt 20 ]; do
    looks=$((looks + 1))
    doctor --wait 1
    grep -qF "(dunlin echo, Dunlin)" <<<"$report" && break
done
expect "(dunlin echo, Dunlin)"
refute "answers nothing"
ip -n "$far" xfrm policy add dir in dst 10.99.0.2/32 action block
ip -n "$far" xfrm policy add dir in src ::/0 dst ::/0 action block
ip -n "$far" xfrm policy add dir in dst 239.255.0.1/32 action block
doctor --wait 3
expect "announces itself here, but answers nothing that is sent to it"
expect "datagrams from here do not arrive there: check the firewall of that host"
kill "$neighbour" 2>/dev/null || true
wait "$neighbour" 2>/dev/null || true
neighbour=

# Where even root makes no files.
doctor --wait 0.2 --set shared_memory.directory=/sys/kernel
expect "problem  /sys/kernel: no file can be made there"
expect "mount a tmpfs on /sys/kernel that users may write to"

# As a firewall: what comes in for the groups is dropped.
ip -n "$near" xfrm policy add dir in dst 239.255.0.1/32 action block
ip -n "$near" xfrm policy add dir in dst ff02::ffff:efff:1/128 action block
doctor --wait 0.2
for group in 239.255.0.1 ff02::ffff:efff:1; do
    expect "problem  veth0: multicast to $group does not come back"
    expect "let the firewall pass UDP to $group on veth0"
done
expect "veth0: datagrams to 10.99.0.1 arrive"

# The same of what comes in for its own address, which goes through lo, where no policy holds unless it is told.
ip netns exec "$near" sysctl -qw net.ipv4.conf.lo.disable_policy=0
ip -n "$near" xfrm policy add dir in dst 10.99.0.1/32 action block
doctor --wait 0.2
expect "problem  veth0: datagrams to 10.99.0.1 do not arrive"
expect "let the firewall pass UDP to 10.99.0.1"
[ "$failed" = 0 ] && echo "network: the doctor sees what passes: multicast of both versions of IP, unicast, a folder, a neighbour's answers (there at look $looks)"
exit "$failed"
