//! What options of `shape_main` do on the wire, seen in a capture.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// PID_PARTICIPANT_LEASE_DURATION and its length (RTPS 2.5 §9.6.2.2).
const LEASE: [u8; 4] = [0x02, 0x00, 0x08, 0x00];
const DATA_FRAG: u8 = 0x16;

fn start(options: &str, domain: u32, capture: Option<&std::path::Path>) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shape_main"));
    command.args(["-t", "Wire", "-r", "-k", "0", "-d", &domain.to_string()]).args(options.split(' '));
    command.env("DUNLIN_NETWORK_INTERFACES", "lo").env("DUNLIN_SHARED_MEMORY_ENABLED", "false");
    if let Some(file) = capture {
        command.env("DUNLIN_DEBUG_PCAP", file);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
}

fn end(mut child: Child) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    assert!(child.wait().unwrap().success());
}

/// The lines that a publisher with these options begins with, and the RTPS messages of its capture once a sample has reached
/// a subscriber.
fn exchange(options: &str, place: u32) -> (Vec<String>, Vec<Vec<u8>>) {
    // Domains that the other tests of this folder do not use.
    let domain = 192 + place + std::process::id() % 8 * 4;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wire.pcap");
    let mut publisher = start(options, domain, Some(&file));
    let mut subscriber = start("-S --num-iterations 600", domain, None);
    let lines =
        |child: &mut Child| BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let (told, seen) = (lines(&mut publisher), lines(&mut subscriber));
    let mut seen = seen.skip_while(|line| !line.contains("[20]"));
    assert!(seen.next().is_some_and(|line| line.ends_with("[20] {255}")), "no sample came");
    end(publisher);
    end(subscriber);
    (told.collect(), messages(&std::fs::read(&file).unwrap()))
}

/// The RTPS messages of a capture: what enhanced packet blocks of pcapng hold, in little-endian order.
fn messages(capture: &[u8]) -> Vec<Vec<u8>> {
    const ENHANCED_PACKET: usize = 6;
    let number =
        |octets: &[u8], at: usize| u32::from_le_bytes(octets[at..at + 4].try_into().unwrap()) as usize;
    let mut rest = capture;
    let mut messages = Vec::new();
    while rest.len() >= 8 {
        let (block, after) = rest.split_at(number(rest, 4));
        if number(block, 0) == ENHANCED_PACKET {
            let packet = &block[28..28 + number(block, 20)];
            let begin = packet.windows(4).position(|octets| octets == b"RTPS");
            messages.extend(begin.map(|begin| packet[begin..].to_vec()));
        }
        rest = after;
    }
    messages
}

/// The fragment sizes of all DATA_FRAG submessages (RTPS 2.5 §9.4.5.5).
fn fragment_sizes(messages: &[Vec<u8>]) -> Vec<u16> {
    let short = |octets: &[u8], at: usize| u16::from_le_bytes([octets[at], octets[at + 1]]);
    let mut sizes = Vec::new();
    for message in messages {
        let mut rest = &message[20..];
        while rest.len() >= 4 {
            if rest[0] == DATA_FRAG {
                sizes.push(short(rest, 4 + 26));
            }
            let length = usize::from(short(rest, 2));
            // The last one may leave its length open.
            rest = if length == 0 { &[] } else { &rest[(4 + length).min(rest.len())..] };
        }
    }
    sizes
}

#[test]
fn fragments_are_as_small_as_can_be() {
    let (told, messages) = exchange("-P --additional-payload-size 5000 --datafrag-size 1", 0);
    assert_eq!(told[0], "warning: fragments of 64 bytes instead of 1");
    let sizes = fragment_sizes(&messages);
    assert!(!sizes.is_empty() && sizes.iter().all(|size| *size == 64), "{sizes:?}");
}

#[test]
fn fragments_are_as_large_as_can_be() {
    let (told, messages) = exchange("-P --additional-payload-size 150000 --datafrag-size 65535", 1);
    assert_eq!(told[0], "warning: fragments of 65000 bytes instead of 65535");
    let sizes = fragment_sizes(&messages);
    assert!(!sizes.is_empty() && sizes.iter().all(|size| *size == 65_000), "{sizes:?}");
}

/// Announced every 20 seconds, it is alive for a minute.
#[test]
fn rare_announcements_have_a_long_lease() {
    let (told, messages) = exchange("-P --additional-payload-size 1 --periodic-announcement 20000", 2);
    assert_eq!(told[0], "Create topic: Wire");
    let lease = [&LEASE[..], &60_u32.to_le_bytes(), &[0; 4]].concat();
    let announced = |message: &&Vec<u8>| message.windows(12).any(|octets| octets == lease);
    assert!(messages.iter().any(|message| announced(&message)), "no lease of a minute is announced");
}
