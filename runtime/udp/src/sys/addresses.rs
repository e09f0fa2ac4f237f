//! The list of network interfaces and their addresses.

use std::ffi::CStr;
use std::io;
use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// One address of one interface, or an interface without any.
#[derive(Debug)]
pub(crate) struct RawAddress {
    pub(crate) interface: String,
    pub(crate) flags: u32,
    pub(crate) ip: Option<IpAddr>,
}

/// Frees the list when dropped.
struct List(*mut libc::ifaddrs);

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `getifaddrs` and is freed once.
        unsafe { libc::freeifaddrs(self.0) };
    }
}

/// All addresses of all interfaces, in the kernel's order.
pub(crate) fn interface_addresses() -> io::Result<Vec<RawAddress>> {
    let mut head = ptr::null_mut();
    // SAFETY: the pointer is to a live variable.
    if unsafe { libc::getifaddrs(&mut head) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let list = List(head);
    let mut all = Vec::new();
    let mut next = list.0;
    while !next.is_null() {
        // SAFETY: every non-null pointer of the list is to an entry that lives until it is freed.
        let entry = unsafe { &*next };
        next = entry.ifa_next;
        // SAFETY: the name is a C string that lives as long as the entry.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) };
        // SAFETY: the address is null or a socket address that lives as long as the entry.
        let ip = unsafe { ip_of(entry.ifa_addr) };
        all.push(RawAddress { interface: name.to_string_lossy().into_owned(), flags: entry.ifa_flags, ip });
    }
    Ok(all)
}

/// The IP address in a socket address of any family.
///
/// # Safety
/// `address` must be null or point to a socket address of the length that its family has.
unsafe fn ip_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: not null, and every socket address starts with its family.
    let family = unsafe { ptr::read_unaligned(address).sa_family };
    match libc::c_int::from(family) {
        libc::AF_INET => {
            // SAFETY: the family says that this type is there.
            let v4 = unsafe { ptr::read_unaligned(address.cast::<libc::sockaddr_in>()) };
            Some(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that this type is there.
            let v6 = unsafe { ptr::read_unaligned(address.cast::<libc::sockaddr_in6>()) };
            Some(Ipv6Addr::from(v6.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

/// Index and MTU of an interface; `None` if it is gone.
pub(crate) fn mtu(socket: BorrowedFd<'_>, interface: &str) -> Option<(u32, u32)> {
    let index = interface_request(socket, interface, libc::SIOCGIFINDEX as _)?;
    let mtu = interface_request(socket, interface, libc::SIOCGIFMTU as _)?;
    Some((index, mtu))
}

/// Asks the kernel for a number of an interface.
fn interface_request(socket: BorrowedFd<'_>, interface: &str, request: libc::Ioctl) -> Option<u32> {
    // SAFETY: `ifreq` is a C struct of arrays and a union of plain data: all zero is a valid value.
    let mut ask: libc::ifreq = unsafe { mem::zeroed() };
    let name = interface.as_bytes();
    if name.len() >= ask.ifr_name.len() {
        return None;
    }
    for (place, octet) in ask.ifr_name.iter_mut().zip(name) {
        *place = *octet as libc::c_char;
    }
    // SAFETY: both requests read the name of an `ifreq` and write an `int` into its union.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), request, ptr::from_mut(&mut ask)) };
    if result != 0 {
        return None;
    }
    // SAFETY: index and MTU are at the same place of the union and have the same type; the memory is
    // initialised whatever the kernel did.
    u32::try_from(unsafe { ask.ifr_ifru.ifru_mtu }).ok()
}
