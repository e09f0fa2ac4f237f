#!/usr/bin/env bash
# Daemons over real sockets: two network namespaces, a daemon in each, a line of 100 Mbit/s between them.
#
# 1. Urgent samples beside a stream of large ones that fills the line, with bands and without daemons: none is lost or out of order,
#    the urgent ones pass the large ones, and the counters of the bands say so. How long they take is reported.
# 2. A limit: in SECONDS at full speed, as many octets leave by the interface as `daemon.network_rate` says, within 5 %.
# 3. Direct write: by dunlin.toml alone the same two programs send past their daemon, as the datagrams on loopback show.
#
# SECONDS_EACH=10. PROGRAMS=folder of urgent, frames_publisher and frames_subscriber, DAEMON=dunlin-daemon, DUNLIN=dunlin; built
# here otherwise.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/network/namespaces.sh

LINE=100mbit
LIMIT=40
SECONDS_EACH=${SECONDS_EACH:-10}
if [ -z "${PROGRAMS:-}" ]; then
    scripts/programs.sh urgent frames_publisher frames_subscriber dunlin dunlin-daemon
    target=${CARGO_TARGET_DIR:-target}/debug
    PROGRAMS=$target/examples DAEMON=$target/dunlin-daemon DUNLIN=$target/dunlin
fi
PROGRAMS=$(realpath "$PROGRAMS") DAEMON=$(realpath "$DAEMON") DUNLIN=$(realpath "$DUNLIN")
export PROGRAMS DAEMON DUNLIN SECONDS_EACH
# The namespaces are of one host, whose memory they would use instead of the line.
export DUNLIN_SHARED_MEMORY_ENABLED=false
become_root

files=$(mktemp -d)
started=()
stop_all() {
    local process
    for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
    for process in "${started[@]}"; do wait "$process" 2>/dev/null || true; done
    started=()
}
finish() {
    stop_all
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
    # What is counted and delayed are the frames of a real line.
    "${inside[@]}" ethtool -K veth0 tso off gso off gro off >/dev/null || refuse "cannot switch offloads off"
    "${inside[@]}" ethtool -K veth0 tx-udp-segmentation off >/dev/null 2>&1 || true
    host=$((host + 1))
done
# A queue of 100 ms, as switches and modems have.
line() {
    local namespace
    for namespace in "$near" "$far"; do
        tc -n "$namespace" qdisc "$1" dev veth0 root tbf rate "$LINE" burst 15k latency 100ms ||
            refuse "cannot limit the rate"
    done
}

failed=0
complain() {
    echo "network: daemons: $1" >&2
    tail -n 5 "$files"/*/log >&2 || true
    failed=1
}
# host NAMESPACE NAME TOML: the folder of a host with its dunlin.toml.
configure() {
    mkdir -p "$files/$1"
    printf '[network]\ninterfaces = ["veth0"]\n%b\n' "$2" >"$files/$1/dunlin.toml"
}
# in_host NAMESPACE FOLDER COMMAND...
in_host() {
    local namespace=$1 folder=$files/$2
    shift 2
    (cd "$folder" && exec ip netns exec "$namespace" "$@")
}
# launch NAMESPACE FOLDER OUTPUT COMMAND...: in the background; what it says goes to files of the folder, its number is `launched`.
launch() {
    local namespace=$1 folder=$files/$2 output=$3
    shift 3
    (cd "$folder" && exec ip netns exec "$namespace" "$@" >"$output" 2>log) &
    launched=$!
    started+=("$launched")
}
federated='[discovery]\narchitecture = "federated"\n[daemon]\n'
# daemons: one in each namespace; they have said that they serve when this returns.
daemons() {
    local name namespace
    for name in near far; do
        namespace=${!name}
        # What the daemon before said there is not this one's word.
        rm -f "$files/$name/daemon"
        (cd "$files/$name" && exec ip netns exec "$namespace" "$DAEMON" >daemon 2>&1) &
        started+=($!)
        local tries
        for tries in {1..200}; do
            grep -q "domain 0, port" "$files/$name/daemon" 2>/dev/null && break
            sleep 0.05
        done
        grep -q "domain 0, port" "$files/$name/daemon" || complain "the daemon of the $name host does not start"
    done
}
# What a daemon relays is whole: nobody has refused a message.
well_formed() {
    ! grep -h MALFORMED "$files"/*/log >&2 || complain "$1: malformed messages"
}
octets() { ip netns exec "$near" cat /sys/class/net/"$1"/statistics/"$2"; }

# urgent TITLE: the stream and the urgent samples, from near to far; sets the figures.
urgent() {
    local reader writer status=0
    launch "$far" far urgent "$PROGRAMS/urgent" read
    reader=$launched
    launch "$near" near urgent "$PROGRAMS/urgent" write "$SECONDS_EACH"
    writer=$launched
    if [ -n "${2:-}" ]; then
        "$2"
    fi
    wait "$writer" || status=$?
    wait "$reader" || status=$?
    [ "$status" = 0 ] || complain "$1: samples are missing or out of order (status $status)"
    well_formed "$1"
    local count large passed
    count=$(value "$files/far/urgent" urgent) large=$(value "$files/far/urgent" large) passed=$(value "$files/far/urgent" passed)
    [ "$count" = "$(value "$files/near/urgent" written_urgent)" ] && [ "$large" = "$(value "$files/near/urgent" written_large)" ] ||
        complain "$1: $count urgent and $large large samples arrived, others were written"
    echo "network: $1: $count urgent samples, $passed passed a large one; p50 $(value "$files/far/urgent" p50_ms) ms," \
        "p99 $(value "$files/far/urgent" p99_ms) ms, longest $(value "$files/far/urgent" longest_ms) ms; $large large ones"
}
look_at_bands() {
    sleep $((SECONDS_EACH / 2 + 1))
    in_host "$near" near "$DUNLIN" top --json --interval 2 >"$files/near/top" 2>"$files/near/top.log" ||
        complain "dunlin top: $(tail -n 3 "$files/near/top.log")"
}

line add
configure near ""
configure far ""
urgent "without daemons"

configure near "${federated}network_rate = \"95Mbit/s\"\nbands = [\"0 dscp=8\", \"40 dscp=46\"]"
configure far "${federated}"
daemons
urgent "with bands" look_at_bands
python3 - "$files/near/top" "$(value "$files/far/urgent" urgent)" "$(value "$files/far/urgent" passed)" <<'PYTHON' ||
import json
import sys

rows = json.load(open(sys.argv[1]))["bands"]
urgent, passed = int(sys.argv[2]), int(sys.argv[3])
# The daemon of the other host is seen too, and has no urgent band.
sender = [row["of"] for row in rows if row["from"] == 40]
bands = {row["from"]: row for row in rows if row["of"] in sender}
if set(bands) != {0, 40}:
    sys.exit(f"network: daemons: dunlin top shows the bands {rows}")
low, high = bands[0], bands[40]
problems = []
if not (low["delayed"] > 1000 and low["octets"] > 1 << 22):
    problems.append("the line was not full")
if high["dropped"] or not high["octets"]:
    problems.append("the urgent band dropped something, or passed nothing")
if not high["longest_wait_ns"] < low["longest_wait_ns"]:
    problems.append("an urgent datagram waited longer than all others")
if passed < urgent * 0.9:
    problems.append(f"only {passed} of {urgent} urgent samples passed a large one")
if problems:
    sys.exit(f"network: daemons: {problems}: {rows}")
print(f"network: dunlin top: longest wait {high['longest_wait_ns'] * 1e-6:.2f} ms in the urgent band, "
      f"{low['longest_wait_ns'] * 1e-6:.2f} ms in the other, {low['delayed']} datagrams of it delayed")
PYTHON
    complain "bands"
stop_all

# A limit far below the line, counted where it leaves: with the headers of IP and UDP, without those of Ethernet.
configure near "${federated}network_rate = \"${LIMIT}Mbit/s\""
daemons
launch "$far" far urgent "$PROGRAMS/urgent" read
launch "$near" near urgent "$PROGRAMS/urgent" write $((SECONDS_EACH + 6))
before=$(octets veth0 tx_bytes)
# It flows when more has left than discovery takes.
for _ in {1..200}; do
    [ $(($(octets veth0 tx_bytes) - before)) -lt 2000000 ] || break
    sleep 0.1
done
before=$(octets veth0 tx_bytes) frames=$(octets veth0 tx_packets) begin=$(date +%s.%N)
sleep "$SECONDS_EACH"
after=$(octets veth0 tx_bytes) frames=$(($(octets veth0 tx_packets) - frames)) end=$(date +%s.%N)
awk -v octets=$((after - before - 14 * frames)) -v begin="$begin" -v end="$end" -v limit="$LIMIT" 'BEGIN {
    rate = octets * 8e-6 / (end - begin)
    printf "network: a limit of %d Mbit/s: %.2f Mbit/s left in %.1f s (%+.1f %%)\n", limit, rate, end - begin, 100 * (rate / limit - 1)
    exit rate < 0.95 * limit || rate > 1.05 * limit
}' || complain "the limit is not kept within 5 %"
well_formed "limit"
stop_all

# The same two programs by way of the daemon, and past it. What the daemon passes on has crossed loopback.
COUNT=2000
for way in never always; do
    configure near "${federated}direct_write = \"$way\""
    daemons
    local_before=$(octets lo tx_packets) line_before=$(octets veth0 tx_packets)
    launch "$far" far frames "$PROGRAMS/frames_subscriber" 1000 $COUNT
    subscriber=$launched
    status=0
    in_host "$near" near "$PROGRAMS/frames_publisher" 1000 $COUNT 500 0 100 >"$files/near/frames" 2>"$files/near/log" || status=$?
    wait "$subscriber" || status=$?
    [ "$status" = 0 ] || complain "direct write \"$way\": samples are missing (status $status)"
    local_frames=$(($(octets lo tx_packets) - local_before)) line_frames=$(($(octets veth0 tx_packets) - line_before))
    echo "network: direct write \"$way\": $COUNT samples, $local_frames datagrams over loopback, $line_frames over the line"
    if [ "$way" = never ]; then
        [ "$local_frames" -gt $COUNT ] || complain "the daemon was passed although it should not be"
    else
        [ "$local_frames" -lt $((COUNT / 4)) ] || complain "$local_frames datagrams by way of the daemon"
    fi
    well_formed "direct write \"$way\""
    [ "$line_frames" -gt $((COUNT / 2)) ] || complain "only $line_frames datagrams on the line"
    stop_all
done
exit "$failed"
