//! Blocks of a pcapng file, and frames with made-up headers inside them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::Direction;

const LINKTYPE_ETHERNET: u16 = 1;
const OPTION_END: u16 = 0;
const OPTION_IF_NAME: u16 = 2;
const OPTION_IF_TSRESOL: u16 = 9;
const OPTION_EPB_FLAGS: u16 = 2;
const BLOCK_SECTION: u32 = 0x0a0d_0d0a;
const BLOCK_INTERFACE: u32 = 1;
const BLOCK_PACKET: u32 = 6;
const PROTOCOL_UDP: u8 = 17;
const ETHERNET_LEN: usize = 14;
const UDP_LEN: usize = 8;
const IPV4_LEN: usize = 20;
/// Octets of the longest datagram of IPv4. What shared memory carries may be longer: of that the beginning is kept, because
/// readers of such files understand neither longer datagrams nor packets of more than 256 KiB.
const LONGEST: usize = u16::MAX as usize - IPV4_LEN - UDP_LEN;

fn put_option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    out.extend(value);
    pad(out, value.len());
}

fn pad(out: &mut Vec<u8>, len: usize) {
    out.resize(out.len() + len.next_multiple_of(4) - len, 0);
}

/// Writes one block; `body` fills it, and its length goes in front and behind.
fn put_block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    let len = (out.len() - start + 4) as u32;
    out.extend(len.to_le_bytes());
    if let Some(place) = out.get_mut(start + 4..start + 8) {
        place.copy_from_slice(&len.to_le_bytes());
    }
}

/// The section and interface blocks at the head of the file.
pub(super) fn put_file_head(out: &mut Vec<u8>, interface: &str) {
    put_block(out, BLOCK_SECTION, |out| {
        out.extend(0x1a2b_3c4d_u32.to_le_bytes());
        out.extend([1, 0, 0, 0]);
        out.extend(u64::MAX.to_le_bytes());
    });
    put_block(out, BLOCK_INTERFACE, |out| {
        out.extend(LINKTYPE_ETHERNET.to_le_bytes());
        out.extend([0; 2]);
        out.extend(0_u32.to_le_bytes());
        put_option(out, OPTION_IF_NAME, interface.as_bytes());
        put_option(out, OPTION_IF_TSRESOL, &[9]);
        put_option(out, OPTION_END, &[]);
    });
}

/// One packet block with a frame around `payload`.
pub(super) fn put_packet(
    out: &mut Vec<u8>,
    time: u64,
    direction: Direction,
    from: SocketAddr,
    to: SocketAddr,
    payload: &[u8],
) {
    put_block(out, BLOCK_PACKET, |out| {
        out.extend(0_u32.to_le_bytes());
        out.extend(((time >> 32) as u32).to_le_bytes());
        out.extend((time as u32).to_le_bytes());
        let lengths = out.len();
        out.extend([0; 8]);
        let start = out.len();
        let kept = payload.get(..LONGEST).unwrap_or(payload);
        put_frame(out, from, to, kept);
        let len = out.len() - start;
        let original = len + payload.len() - kept.len();
        for (place, len) in [(lengths, len), (lengths + 4, original)] {
            if let Some(place) = out.get_mut(place..place + 4) {
                place.copy_from_slice(&(len as u32).to_le_bytes());
            }
        }
        pad(out, len);
        let flags: u32 = if direction == Direction::Inbound { 1 } else { 2 };
        put_option(out, OPTION_EPB_FLAGS, &flags.to_le_bytes());
        put_option(out, OPTION_END, &[]);
    });
}

/// Locally administered hardware addresses made from the IP address; group addresses as in RFC 1112
/// and RFC 2464.
fn hardware_address(ip: IpAddr) -> [u8; 6] {
    match ip {
        IpAddr::V4(ip) => {
            let [a, b, c, d] = ip.octets();
            if ip.is_multicast() { [1, 0, 0x5e, b & 0x7f, c, d] } else { [2, 0, a, b, c, d] }
        }
        IpAddr::V6(ip) => {
            let [.., a, b, c, d] = ip.octets();
            if ip.is_multicast() { [0x33, 0x33, a, b, c, d] } else { [2, 1, a, b, c, d] }
        }
    }
}

fn put_frame(out: &mut Vec<u8>, from: SocketAddr, to: SocketAddr, payload: &[u8]) {
    out.reserve(ETHERNET_LEN + 40 + UDP_LEN + payload.len());
    out.extend(hardware_address(to.ip()));
    out.extend(hardware_address(from.ip()));
    let udp_len = (UDP_LEN + payload.len()) as u16;
    let mut sum = Checksum::default();
    match (from.ip(), to.ip()) {
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            put_ipv6(out, source, destination, udp_len);
            sum.add(&source.octets());
            sum.add(&destination.octets());
        }
        (source, destination) => {
            let v4 = |ip| if let IpAddr::V4(ip) = ip { ip } else { Ipv4Addr::UNSPECIFIED };
            let (source, destination) = (v4(source), v4(destination));
            put_ipv4(out, source, destination, udp_len);
            sum.add(&source.octets());
            sum.add(&destination.octets());
        }
    }
    let mut udp = Vec::with_capacity(UDP_LEN);
    udp.extend(from.port().to_be_bytes());
    udp.extend(to.port().to_be_bytes());
    udp.extend(udp_len.to_be_bytes());
    sum.add(&[0, PROTOCOL_UDP]);
    sum.add(&udp_len.to_be_bytes());
    sum.add(&udp);
    sum.add(payload);
    // Zero would mean "no checksum"; its other form means the same number.
    let checksum = if sum.value() == 0 { u16::MAX } else { sum.value() };
    udp.extend(checksum.to_be_bytes());
    out.extend(udp);
    out.extend(payload);
}

fn put_ipv4(out: &mut Vec<u8>, source: Ipv4Addr, destination: Ipv4Addr, udp_len: u16) {
    out.extend([0x08, 0x00]);
    let mut header = [0; IPV4_LEN];
    header[0] = 0x45;
    header[2..4].copy_from_slice(&udp_len.saturating_add(IPV4_LEN as u16).to_be_bytes());
    header[8] = 64;
    header[9] = PROTOCOL_UDP;
    header[12..16].copy_from_slice(&source.octets());
    header[16..].copy_from_slice(&destination.octets());
    let mut sum = Checksum::default();
    sum.add(&header);
    header[10..12].copy_from_slice(&sum.value().to_be_bytes());
    out.extend(header);
}

fn put_ipv6(out: &mut Vec<u8>, source: Ipv6Addr, destination: Ipv6Addr, udp_len: u16) {
    out.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
    out.extend(udp_len.to_be_bytes());
    out.extend([PROTOCOL_UDP, 64]);
    out.extend(source.octets());
    out.extend(destination.octets());
}

/// The checksum of the internet protocols (RFC 1071). Every piece but the last has an even length.
#[derive(Default)]
pub(super) struct Checksum(u64);

impl Checksum {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        for pair in bytes.chunks(2) {
            let low = pair.get(1).copied().unwrap_or_default();
            let word = u16::from_be_bytes([pair[0], low]);
            self.0 += u64::from(word);
        }
    }

    pub(super) fn value(&self) -> u16 {
        let mut sum = self.0;
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }
}
