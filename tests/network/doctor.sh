#!/usr/bin/env bash
# What `dunlin doctor` says of multicast on an interface that has both versions of IP: first it passes, then it is dropped for
# each of them. In a network namespace of its own.
#
# DUNLIN=the program, built here otherwise.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/network/namespaces.sh

if [ -z "${DUNLIN:-}" ]; then
    cargo build --quiet -p dunlin-cli --bin dunlin
    DUNLIN=${CARGO_TARGET_DIR:-target}/debug/dunlin
fi
DUNLIN=$(realpath "$DUNLIN")
export DUNLIN
become_root
trap delete_namespaces EXIT
trap 'exit 130' INT TERM

make_namespaces
ip link add veth0 netns "$near" type veth peer name veth0 netns "$far" || refuse "cannot make a veth pair"
for namespace in "$near" "$far"; do
    ip -n "$namespace" link set veth0 up
done
ip -n "$near" address add 10.99.0.1/24 dev veth0
ip -n "$near" address add 2001:db8::1/64 dev veth0 nodad
# Addresses of the link can be used when nobody else was found to have them.
for _ in {1..100}; do
    ip -n "$near" -6 address show dev veth0 | grep -q tentative || break
    sleep 0.1
done

report=
doctor() {
    report=$(ip netns exec "$near" "$DUNLIN" doctor --wait 0.2 --set network.interfaces=veth0 --set network.ipv6=true 2>&1) || true
}
failed=0
expect() {
    grep -qF -- "$1" <<<"$report" && return
    failed=1
    printf 'network: doctor does not say: %s\n%s\n' "$1" "$report" >&2
}

doctor
for group in 239.255.0.1 ff02::ffff:efff:1; do
    expect "veth0: multicast to $group goes out and comes back on this host"
done
expect "veth0: datagrams to 10.99.0.1 arrive"
expect "veth0: datagrams to fe80::"

# As a firewall: what comes in for the groups is dropped.
ip -n "$near" xfrm policy add dir in dst 239.255.0.1/32 action block
ip -n "$near" xfrm policy add dir in dst ff02::ffff:efff:1/128 action block
doctor
for group in 239.255.0.1 ff02::ffff:efff:1; do
    expect "problem  veth0: multicast to $group does not come back"
    expect "let the firewall pass UDP to $group on veth0"
done
[ "$failed" = 0 ] && echo "network: the doctor sees multicast of both versions of IP pass, and stopped"
exit "$failed"
