//! Ancillary data of datagrams.

use std::mem;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ptr;

const CAPACITY: usize = 96;

/// Ancillary data to send with a message. Aligned as the kernel wants it.
#[repr(C, align(8))]
pub(crate) struct Control {
    bytes: [u8; CAPACITY],
    len: usize,
}

impl Control {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; CAPACITY], len: 0 }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Cut the message into datagrams of `size` octets.
    pub(crate) fn segment(&mut self, size: u16) {
        self.push(libc::SOL_UDP, libc::UDP_SEGMENT, size);
    }

    /// Send out of the interface, from one of its addresses.
    pub(crate) fn out_of_v4(&mut self, interface: u32, source: Ipv4Addr) {
        let info = libc::in_pktinfo {
            ipi_ifindex: interface as libc::c_int,
            ipi_spec_dst: libc::in_addr { s_addr: u32::from(source).to_be() },
            ipi_addr: libc::in_addr { s_addr: 0 },
        };
        self.push(libc::IPPROTO_IP, libc::IP_PKTINFO, info);
    }

    /// Send out of the interface, from one of its addresses.
    pub(crate) fn out_of_v6(&mut self, interface: u32, source: Ipv6Addr) {
        let info = libc::in6_pktinfo {
            ipi6_addr: libc::in6_addr { s6_addr: source.octets() },
            ipi6_ifindex: interface as _,
        };
        self.push(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info);
    }

    /// Mark the packets with a differentiated services code point.
    pub(crate) fn class_v4(&mut self, class: u8) {
        self.push(libc::IPPROTO_IP, libc::IP_TOS, libc::c_int::from(class << 2));
    }

    /// Mark the packets with a differentiated services code point.
    pub(crate) fn class_v6(&mut self, class: u8) {
        self.push(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, libc::c_int::from(class << 2));
    }

    fn push<T: Copy>(&mut self, level: libc::c_int, kind: libc::c_int, value: T) {
        let size = mem::size_of::<T>() as libc::c_uint;
        // SAFETY: these compute lengths from a length; they touch no memory.
        let (space, len, offset) =
            unsafe { (libc::CMSG_SPACE(size) as usize, libc::CMSG_LEN(size), libc::CMSG_LEN(0) as usize) };
        assert!(self.len + space <= CAPACITY, "room for every kind once");
        // SAFETY: `cmsghdr` is a C struct of integers, for which all zero is a valid value.
        let mut header: libc::cmsghdr = unsafe { mem::zeroed() };
        header.cmsg_len = len as _;
        header.cmsg_level = level;
        header.cmsg_type = kind;
        // SAFETY: `space` octets from here are inside the array, as just checked, and cover the header
        // and, from `offset`, the value. Header positions are multiples of the alignment of `cmsghdr`
        // because `CMSG_SPACE` is; the value is written without an assumption on alignment.
        unsafe {
            let start = self.bytes.as_mut_ptr().add(self.len);
            ptr::write_unaligned(start.cast::<libc::cmsghdr>(), header);
            ptr::write_unaligned(start.add(offset).cast::<T>(), value);
        }
        self.len += space;
    }
}

/// The traffic class octet from the ancillary data of a received message.
///
/// # Safety
/// As for [`read`].
#[cfg(test)]
pub(super) unsafe fn read_class(message: &libc::msghdr) -> Option<u8> {
    // SAFETY: the caller vouches for the control memory.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !next.is_null() {
        // SAFETY: a non-null header from these macros lies inside the control memory.
        let (header, data) = unsafe { (ptr::read_unaligned(next), libc::CMSG_DATA(next)) };
        match (header.cmsg_level, header.cmsg_type) {
            // SAFETY: the kernel puts an octet there.
            (libc::IPPROTO_IP, libc::IP_TOS) => return Some(unsafe { ptr::read(data) }),
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                // SAFETY: the kernel puts a C `int` there.
                return u8::try_from(unsafe { ptr::read_unaligned(data.cast::<libc::c_int>()) }).ok();
            }
            _ => {}
        }
        // SAFETY: as for the first header.
        next = unsafe { libc::CMSG_NXTHDR(message, next) };
    }
    None
}

/// Segment size and drop count from the ancillary data of a received message.
///
/// # Safety
/// `message` must be as `recvmsg` left it after success, its control memory still alive.
pub(super) unsafe fn read(message: &libc::msghdr) -> (Option<usize>, Option<u32>) {
    let (mut segment, mut overflow) = (None, None);
    // SAFETY: the caller vouches for the control memory.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !next.is_null() {
        // SAFETY: a non-null header from these macros lies inside the control memory.
        let (header, data) = unsafe { (ptr::read_unaligned(next), libc::CMSG_DATA(next)) };
        match (header.cmsg_level, header.cmsg_type) {
            (libc::SOL_UDP, libc::UDP_GRO) => {
                // SAFETY: the kernel puts a C `int` there.
                let size = unsafe { ptr::read_unaligned(data.cast::<libc::c_int>()) };
                segment = usize::try_from(size).ok().filter(|size| *size > 0);
            }
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                // SAFETY: the kernel puts a `u32` there.
                overflow = Some(unsafe { ptr::read_unaligned(data.cast::<u32>()) });
            }
            _ => {}
        }
        // SAFETY: as for the first header.
        next = unsafe { libc::CMSG_NXTHDR(message, next) };
    }
    (segment, overflow)
}
