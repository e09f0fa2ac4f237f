use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use super::frame::Checksum;
use super::*;
use crate::memory::MemoryNetwork;

/// A file in memory that stays readable.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Packet {
    flags: u32,
    time: u64,
    cut: usize,
    frame: Vec<u8>,
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// Walks the blocks of the file by the rules of the format.
fn packets(file: &[u8]) -> Vec<Packet> {
    let (mut at, mut kinds, mut packets) = (0, vec![], vec![]);
    while at < file.len() {
        let (kind, len) = (u32_at(file, at), u32_at(file, at + 4));
        assert!(len % 4 == 0 && len >= 12);
        assert_eq!(u32_at(file, at + len - 4), len, "length behind the block");
        kinds.push(kind);
        if kind == 6 {
            let captured = u32_at(file, at + 20);
            let original = u32_at(file, at + 24);
            let options = at + 28 + captured.next_multiple_of(4);
            assert_eq!(file[options..options + 4], [2, 0, 4, 0]);
            packets.push(Packet {
                flags: u32_at(file, options + 4) as u32,
                time: ((u32_at(file, at + 12) as u64) << 32) | u32_at(file, at + 16) as u64,
                cut: original - captured,
                frame: file[at + 28..at + 28 + captured].to_vec(),
            });
        }
        at += len;
    }
    assert_eq!(kinds[..2], [0x0a0d_0d0a, 1]);
    assert!(kinds[2..].iter().all(|kind| *kind == 6));
    packets
}

/// Source, destination and payload of a frame; checks lengths and checksums on the way.
fn parse(frame: &[u8]) -> (SocketAddr, SocketAddr, Vec<u8>) {
    let ethernet_type = u16::from_be_bytes([frame[12], frame[13]]);
    let ip = &frame[14..];
    let (header, source, destination): (usize, IpOctets, IpOctets) = if ethernet_type == 0x0800 {
        let mut sum = Checksum::default();
        sum.add(&ip[..20]);
        assert_eq!(sum.value(), 0, "IPv4 header checksum");
        assert_eq!(usize::from(u16::from_be_bytes([ip[2], ip[3]])), ip.len());
        (20, ip[12..16].to_vec(), ip[16..20].to_vec())
    } else {
        assert_eq!(ethernet_type, 0x86dd);
        (40, ip[8..24].to_vec(), ip[24..40].to_vec())
    };
    let udp = &ip[header..];
    assert_eq!(usize::from(u16::from_be_bytes([udp[4], udp[5]])), udp.len());
    let mut sum = Checksum::default();
    for piece in [&source[..], &destination, &[0, 17], &udp[4..6], udp] {
        sum.add(piece);
    }
    assert_eq!(sum.value(), 0, "UDP checksum");
    let port = |at: usize| u16::from_be_bytes([udp[at], udp[at + 1]]);
    (address(&source, port(0)), address(&destination, port(2)), udp[8..].to_vec())
}

type IpOctets = Vec<u8>;

fn address(octets: &[u8], port: u16) -> SocketAddr {
    match <[u8; 4]>::try_from(octets) {
        Ok(v4) => (v4, port).into(),
        Err(_) => (<[u8; 16]>::try_from(octets).unwrap(), port).into(),
    }
}

fn outbox(payload: &[u8], to: &[Locator]) -> Outbox {
    let mut outbox = Outbox::new();
    outbox.begin();
    outbox.put(payload);
    outbox.finish(to);
    outbox
}

#[test]
fn pcap_records_both_directions_with_addresses_and_times() {
    let network = MemoryNetwork::new();
    let (other, file) = (network.attach(3), Memory::default());
    let own = Pcap::new(network.attach(3), Box::new(file.clone()), u64::MAX).unwrap();
    let to = other.locators().metatraffic_unicast[0];
    let before = timestamp();
    own.send(&outbox(b"question", &[to, Locator::LOCAL]), SendMode::Blocking);
    let back = own.locators().metatraffic_unicast[0];
    other.send(&outbox(b"odd answer!", &[back]), SendMode::Blocking);
    let mut received = vec![];
    own.recv(Channel::Meta, RecvMode::Blocking, &mut BufPool::new(0), &mut received).unwrap();
    assert_eq!(&*received[0].0, b"odd answer!");

    let packets = packets(&file.0.lock().unwrap());
    assert_eq!(packets.iter().map(|p| p.flags).collect::<Vec<_>>(), [2, 1]);
    assert!(packets.iter().all(|p| p.time >= before && p.time <= timestamp()));
    let address = |locator: Locator| locator.to_socket_addr().unwrap();
    let from = address(own.locators().default_unicast[0]);
    assert_eq!(parse(&packets[0].frame), (from, address(to), b"question".to_vec()));
    let from = address(other.locators().default_unicast[0]);
    assert_eq!(parse(&packets[1].frame), (from, address(back), b"odd answer!".to_vec()));
}

#[test]
fn frames_of_both_ip_versions_are_valid_at_every_size() {
    let (v4, v6) = ("10.0.0.1:7400".parse().unwrap(), "[fd00::1]:7400".parse().unwrap());
    let (group4, group6) = ("239.255.0.1:7400".parse().unwrap(), "[ff02::1]:7400".parse().unwrap());
    for len in [0, 1, 2, 3, 4, 1471, 1472, 65_507, 65_536, 1_000_000] {
        for (from, to) in [(v4, group4), (v6, group6), (v4, v4), (v6, v6)] {
            let mut file = vec![];
            frame::put_file_head(&mut file, "test");
            frame::put_packet(&mut file, 7, Direction::Outbound, from, to, &vec![0xff; len]);
            let packet = packets(&file).pop().unwrap();
            assert_eq!(packet.time, 7);
            // Of what is longer than a datagram, the beginning.
            let kept = len.min(65_507);
            assert_eq!(parse(&packet.frame), (from, to, vec![0xff; kept]));
            assert_eq!(packet.cut, len - kept);
        }
    }
}

#[test]
fn a_full_file_ends_the_capture_but_not_the_traffic() {
    let network = MemoryNetwork::new();
    let (other, file) = (network.attach(0), Memory::default());
    let own = Pcap::new(network.attach(0), Box::new(file.clone()), 1_000).unwrap();
    let to = other.locators().default_unicast[0];
    for _ in 0..10 {
        assert_eq!(own.send(&outbox(&[7; 200], &[to]), SendMode::Blocking).sent, 1);
    }
    let written = file.0.lock().unwrap().len();
    assert!(written <= 1_000, "{written}");
    let count = packets(&file.0.lock().unwrap()).len();
    assert!(count >= 2);
    assert_eq!(own.missed(), 10 - count as u64);
}

#[test]
fn datagrams_of_somebody_else_are_written_with_their_own_times() {
    let memory = Memory::default();
    let mut file = PcapFile::new(Box::new(memory.clone()), "made up").unwrap();
    let locator = |last, port| Locator::udp_v4(Ipv4Addr::new(10, 0, 0, last), port);
    file.put(WallTime(1_700_000_000_123_456_789), locator(1, 7410), locator(2, 7412), b"hello").unwrap();
    file.put(WallTime(-1), Locator::LOCAL, locator(2, 7412), b"").unwrap();
    let packets = packets(&memory.0.lock().unwrap());
    let parsed: Vec<_> = packets.iter().map(|packet| (packet.time, parse(&packet.frame))).collect();
    let to = "10.0.0.2:7412".parse().unwrap();
    assert_eq!(
        parsed[0],
        (1_700_000_000_123_456_789, ("10.0.0.1:7410".parse().unwrap(), to, b"hello".to_vec()))
    );
    assert_eq!(parsed[1], (0, (UNKNOWN, to, vec![])));
}

#[test]
fn a_payload_that_is_lent_is_in_the_file() {
    let lent = SharedBytes::copy_from(&[0, 1, 0, 0, 9, 8, 7]);
    let message = SharedBytes::copy_from(b"RTPS\x00\x01\x00\x00").followed_by(lent);
    assert_eq!(*whole(&message), *b"RTPS\x00\x01\x00\x00\x09\x08\x07");
    assert_eq!(*whole(&SharedBytes::copy_from(b"RTPS")), *b"RTPS");
}
