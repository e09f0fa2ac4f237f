//! A system that refuses threads for a while. One test: it limits the memory of the process.

mod common;

use common::{eventually, library_threads, loopback, matched, reliable, udp_node};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Less than the stack of a thread has.
const ROOM: u64 = 1 << 20;

/// Octets of address space that the process has.
fn address_space() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    line.trim_end_matches("kB").trim().parse::<u64>().unwrap() << 10
}

#[test]
fn refused_receive_thread_is_retried_while_discovery_goes_on() {
    let config = loopback(0);
    let first = udp_node(&config);
    let two = ["dunlin-rx-meta", "dunlin-timer"];
    eventually("two threads", || library_threads() == two);
    let before = getrlimit(Resource::As);
    setrlimit(Resource::As, Rlimit { current: Some(address_space() + ROOM), ..before }).unwrap();
    assert!(std::thread::Builder::new().spawn(|| ()).is_err(), "the system still makes threads");
    let second = udp_node(&config);
    let (writer_qos, reader_qos) = reliable();
    let (writer, reader) = matched(&first, &second, "numbers", &writer_qos, &reader_qos);
    assert_eq!(library_threads(), two, "nothing receives data yet");
    first.write(&writer, 7).unwrap();
    setrlimit(Resource::As, before).unwrap();
    let all = ["dunlin-rx-data", "dunlin-rx-mcast", "dunlin-rx-meta", "dunlin-timer"];
    eventually("all threads", || library_threads() == all);
    eventually("what waited in the socket arrives", || second.take(&reader) == [(7, 0)]);
}
