//! Datagrams whose source is the socket of somebody else: octets of IP and UDP by hand, which takes the rights of root in the network
//! namespace.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, SocketAddr};

use anyhow::{Context, Result, ensure};
use socket2::{Domain, Protocol, Socket, Type};

/// A protocol number for which Linux takes the header of IP from who sends (raw(7), IPPROTO_RAW).
const WITH_HEADER: i32 = 255;
/// That of UDP, in that header.
const UDP: u8 = 17;
const HOPS: u8 = 64;
/// Octets of the header of UDP.
const HEADER: usize = 8;

/// Sends in the name of any socket.
#[derive(Debug)]
pub struct Raw(Socket);

impl Raw {
    /// For one IP version.
    ///
    /// # Errors
    /// Where the attacker is not root in this network.
    pub fn open(ipv6: bool) -> Result<Self> {
        let domain = if ipv6 { Domain::IPV6 } else { Domain::IPV4 };
        let socket = Socket::new(domain, Type::RAW, Some(Protocol::from(WITH_HEADER)));
        Ok(Self(socket.context("sources can be forged in a network namespace alone")?))
    }

    /// Sends a datagram that seems to come from `from`; whether the kernel took it.
    pub fn send(&self, from: SocketAddr, to: SocketAddr, bytes: &[u8]) -> bool {
        let Some(packet) = packet(from, to, bytes) else { return false };
        // The port of the destination is in the packet; that of the address has to be 0 for IPv6.
        self.0.send_to(&packet, &SocketAddr::new(to.ip(), 0).into()).is_ok()
    }
}

fn packet(from: SocketAddr, to: SocketAddr, bytes: &[u8]) -> Option<Vec<u8>> {
    let len = u16::try_from(HEADER + bytes.len()).ok()?;
    let mut udp: Vec<u8> = [from.port(), to.port(), len, 0].into_iter().flat_map(u16::to_be_bytes).collect();
    udp.extend(bytes);
    match (from.ip(), to.ip()) {
        // Linux fills in the length, the number and the sum of the header. A sum of 0 of UDP is none.
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let head = [0x45, 0, 0, 0, 0, 0, 0, 0, HOPS, UDP, 0, 0];
            Some([&head[..], &from.octets(), &to.octets(), &udp].concat())
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let addresses = [from.octets(), to.octets()].concat();
            let sum = checksum(&[&addresses, &u32::from(len).to_be_bytes(), &[0, 0, 0, UDP], &udp]);
            udp[6..HEADER].copy_from_slice(&sum.to_be_bytes());
            let [high, low] = len.to_be_bytes();
            Some([&[0x60, 0, 0, 0, high, low, UDP, HOPS][..], &addresses, &udp].concat())
        }
        _ => None,
    }
}

/// RFC 1071, of parts with an even number of octets but for the last; 0 would mean that there is none.
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let sum: u64 = words.map(|word| u64::from(word[0]) << 8 | u64::from(*word.get(1).unwrap_or(&0))).sum();
    let mut folded = sum;
    while folded > 0xffff {
        folded = (folded & 0xffff) + (folded >> 16);
    }
    match !(folded as u16) {
        0 => 0xffff,
        sum => sum,
    }
}

/// The ports of UDP that a process has bound: of IPv6 or of IPv4.
///
/// # Errors
/// When its files cannot be looked at.
pub fn ports_of(process: u32, ipv6: bool) -> Result<BTreeSet<u16>> {
    let mut own = BTreeSet::new();
    for file in fs::read_dir(format!("/proc/{process}/fd"))? {
        let target = fs::read_link(file?.path()).unwrap_or_default();
        let target = target.to_string_lossy().into_owned();
        own.extend(
            target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')).map(str::to_owned),
        );
    }
    let table = if ipv6 { "udp6" } else { "udp" };
    let table = fs::read_to_string(format!("/proc/{process}/net/{table}"))?;
    // Fields (proc(5)): the local address with its port is the second, the inode the tenth.
    let port = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (_, port) = fields.get(1)?.rsplit_once(':')?;
        own.contains(*fields.get(9)?).then_some(u16::from_str_radix(port, 16).ok()?)
    };
    let ports: BTreeSet<u16> = table.lines().skip(1).filter_map(port).collect();
    ensure!(!ports.is_empty(), "process {process} has no UDP socket");
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_has_the_headers_of_its_version() {
        let v4 =
            packet("127.0.0.1:5000".parse().unwrap(), "127.0.0.2:7411".parse().unwrap(), b"abc").unwrap();
        assert_eq!(v4[9..20], [UDP, 0, 0, 127, 0, 0, 1, 127, 0, 0, 2]);
        assert_eq!(v4[20..], [0x13, 0x88, 0x1c, 0xf3, 0, 11, 0, 0, b'a', b'b', b'c']);
        let v6 = packet("[::1]:5000".parse().unwrap(), "[::1]:7411".parse().unwrap(), b"abc").unwrap();
        assert_eq!((v6.len(), v6[4..8].to_vec()), (51, vec![0, 11, UDP, HOPS]));
        // With its own sum in place, a datagram adds up to nothing.
        assert_eq!(checksum(&[&v6[8..40], &[0, 0, 0, 11], &[0, 0, 0, UDP], &v6[40..]]), 0xffff);
        assert_eq!(packet("[::1]:5000".parse().unwrap(), "127.0.0.1:1".parse().unwrap(), b""), None);
    }

    #[test]
    fn the_ports_of_a_process_are_found() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        assert!(ports_of(std::process::id(), false).unwrap().contains(&port));
    }
}
