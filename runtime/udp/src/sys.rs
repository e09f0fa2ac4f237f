//! The system calls that neither the standard library nor `socket2` offers: scatter-gather datagrams with
//! ancillary data, the options of UDP offload, the list of network interfaces, the end of the process and its forks.
//! All `unsafe` code of the crate is here.

use std::io::{self, IoSlice};
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::time::Duration;

use socket2::SockAddr;

mod addresses;
mod control;
mod forks;

pub(crate) use addresses::{RawAddress, interface_addresses, mtu};
pub(crate) use control::Control;
pub use forks::{keep_from_children, process_generation};

/// Has `work` called on the thread that ends the process, by `exit` or by the return of `main`. False if the system has no room.
#[must_use]
pub fn at_exit(work: extern "C" fn()) -> bool {
    // SAFETY: a function without arguments, which is there as long as the code of this library is.
    unsafe { libc::atexit(work) == 0 }
}

/// A socket option that is a C `int`.
#[derive(Clone, Copy)]
pub(crate) struct IntOption {
    level: libc::c_int,
    name: libc::c_int,
}

impl IntOption {
    /// Size of the datagrams that a large send is cut into.
    pub(crate) const UDP_SEGMENT: Self = Self { level: libc::SOL_UDP, name: libc::UDP_SEGMENT };
    /// Receive runs of datagrams of equal size in one piece.
    pub(crate) const UDP_GRO: Self = Self { level: libc::SOL_UDP, name: libc::UDP_GRO };
    /// Report how many datagrams were dropped for want of buffer space.
    pub(crate) const RXQ_OVFL: Self = Self { level: libc::SOL_SOCKET, name: libc::SO_RXQ_OVFL };
    /// Receive only groups joined on this socket, not all that any socket of the host joined.
    pub(crate) const IP_MULTICAST_ALL: Self = Self { level: libc::IPPROTO_IP, name: IP_MULTICAST_ALL };
    /// The same for IPv6.
    pub(crate) const IPV6_MULTICAST_ALL: Self = Self { level: libc::IPPROTO_IPV6, name: IPV6_MULTICAST_ALL };
    /// Send without UDP checksum; the kernel then refuses to segment.
    #[cfg(test)]
    pub(crate) const NO_CHECK: Self = Self { level: libc::SOL_SOCKET, name: libc::SO_NO_CHECK };
}

// From linux/in.h and linux/in6.h; not in `libc`.
const IP_MULTICAST_ALL: libc::c_int = 49;
const IPV6_MULTICAST_ALL: libc::c_int = 29;

pub(crate) fn set_option(socket: BorrowedFd<'_>, option: IntOption, value: libc::c_int) -> io::Result<()> {
    let len = mem::size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointer is to a live `c_int` and `len` is its size; the descriptor is open.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            option.level,
            option.name,
            ptr::from_ref(&value).cast::<libc::c_void>(),
            len,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

pub(crate) fn get_option(socket: BorrowedFd<'_>, option: IntOption) -> io::Result<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut len = mem::size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: both pointers are to live variables, and `len` says how many octets `value` has.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            option.level,
            option.name,
            ptr::from_mut(&mut value).cast::<libc::c_void>(),
            &mut len,
        )
    };
    if result == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

/// Sends the joined `parts` to `to`; with [`Control::segment`] as several datagrams.
pub(crate) fn send_message(
    socket: BorrowedFd<'_>,
    to: &SockAddr,
    parts: &[IoSlice<'_>],
    control: &Control,
    wait: bool,
) -> io::Result<()> {
    let flags = libc::MSG_NOSIGNAL | if wait { 0 } else { libc::MSG_DONTWAIT };
    // SAFETY: `msghdr` is a C struct of integers and pointers, for which all zero is a valid value.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_name = to.as_ptr().cast_mut().cast();
    message.msg_namelen = to.len();
    // `IoSlice` is guaranteed to have the layout of `iovec`; the kernel only reads through it.
    message.msg_iov = parts.as_ptr().cast_mut().cast();
    message.msg_iovlen = parts.len() as _;
    if !control.as_bytes().is_empty() {
        message.msg_control = control.as_bytes().as_ptr().cast_mut().cast();
        message.msg_controllen = control.as_bytes().len() as _;
    }
    loop {
        // SAFETY: every pointer in `message` is to memory borrowed for the whole call, with the right
        // lengths, and `sendmsg` writes to none of it.
        let result = unsafe { libc::sendmsg(socket.as_raw_fd(), &message, flags) };
        if result >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Has a socket report the traffic class octet of what it receives.
#[cfg(test)]
pub(crate) fn report_class(socket: &std::net::UdpSocket) -> io::Result<()> {
    use std::os::fd::AsFd;
    let option = match socket.local_addr()? {
        std::net::SocketAddr::V4(_) => IntOption { level: libc::IPPROTO_IP, name: libc::IP_RECVTOS },
        std::net::SocketAddr::V6(_) => IntOption { level: libc::IPPROTO_IPV6, name: libc::IPV6_RECVTCLASS },
    };
    set_option(socket.as_fd(), option, 1)
}

/// Receives one datagram; the octet that [`report_class`] asked for.
#[cfg(test)]
pub(crate) fn receive_class(socket: &std::net::UdpSocket) -> io::Result<Option<u8>> {
    let (mut control, mut buffer) = ([0_u64; 16], [0_u8; 2048]);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: `msghdr` is a C struct of integers and pointers, for which all zero is a valid value.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = mem::size_of_val(&control) as _;
    // SAFETY: buffer and control memory are exclusively borrowed, with the lengths given.
    if unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `recvmsg` succeeded, so `msg_control` holds what it wrote.
    Ok(unsafe { control::read_class(&message) })
}

/// What [`receive_message`] found.
pub(crate) struct Arrival {
    /// Octets in the buffer.
    pub(crate) len: usize,
    pub(crate) from: SockAddr,
    /// Size of each datagram but the last, if these are several.
    pub(crate) segment: Option<usize>,
    /// The datagram did not fit the buffer.
    pub(crate) truncated: bool,
    /// Datagrams that this socket has dropped since it was opened, if any.
    pub(crate) overflow: Option<u32>,
}

/// Receives one datagram, or one run of datagrams of equal size, in place of what is in the buffer; as much as it has
/// room for. Memory that nothing was received into stays untouched.
pub(crate) fn receive_message(
    socket: BorrowedFd<'_>,
    buffer: &mut Vec<u8>,
    wait: bool,
) -> io::Result<Arrival> {
    buffer.clear();
    let room = buffer.spare_capacity_mut();
    let mut control = MaybeUninit::<[u64; 16]>::uninit();
    let mut part = libc::iovec { iov_base: room.as_mut_ptr().cast::<libc::c_void>(), iov_len: room.len() };
    let flags = if wait { 0 } else { libc::MSG_DONTWAIT };
    let receive = |storage: *mut socket2::SockAddrStorage, storage_len: *mut libc::socklen_t| {
        // SAFETY: `msghdr` is a C struct of integers and pointers, for which all zero is a valid value.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_name = storage.cast();
        // SAFETY: `try_init` passes valid pointers; the length is initialised.
        message.msg_namelen = unsafe { *storage_len };
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = mem::size_of_val(&control) as _;
        // SAFETY: name, buffer and control memory are exclusively borrowed, with the lengths given.
        let result = unsafe { libc::recvmsg(socket.as_raw_fd(), &mut message, flags) };
        let len = usize::try_from(result).map_err(|_| io::Error::last_os_error())?;
        // SAFETY: as above; the kernel wrote `msg_namelen` octets of the address.
        unsafe { *storage_len = message.msg_namelen };
        // SAFETY: `recvmsg` succeeded, so `msg_control` holds `msg_controllen` octets that it wrote.
        let (segment, overflow) = unsafe { control::read(&message) };
        Ok((len, segment, overflow, message.msg_flags & libc::MSG_TRUNC != 0))
    };
    // SAFETY: the closure fills in the address and its length as the kernel reported them.
    let ((len, segment, overflow, truncated), from) = unsafe { SockAddr::try_init(receive)? };
    let len = len.min(buffer.capacity());
    // SAFETY: `recvmsg` has filled so many octets of the room that the buffer has.
    unsafe { buffer.set_len(len) };
    Ok(Arrival { len, from, segment, truncated, overflow })
}

/// An entry of [`wait_readable`] for no socket.
pub(crate) const NOBODY: libc::pollfd = libc::pollfd { fd: -1, events: 0, revents: 0 };

/// Marks the sockets that have something to receive or were shut down, and waits for one, `patience` at most (`None`: without end);
/// true if there is one.
pub(crate) fn wait_readable(sockets: &mut [libc::pollfd], patience: Option<Duration>) -> io::Result<bool> {
    // In nanoseconds, as `poll` knows no wait of less than a millisecond.
    let limit = patience.map(timespec);
    let limit = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: pointer and count describe a live slice, exclusively borrowed; the limit is null, which means none, or outlives the
    // call; without a mask of signals none is read.
    let result =
        unsafe { libc::ppoll(sockets.as_mut_ptr(), sockets.len() as libc::nfds_t, limit, ptr::null()) };
    if result >= 0 { Ok(result > 0) } else { Err(io::Error::last_os_error()) }
}

fn timespec(limit: Duration) -> libc::timespec {
    // SAFETY: a value of zeroes is valid; some systems have padding in it.
    let mut time: libc::timespec = unsafe { mem::zeroed() };
    time.tv_sec = limit.as_secs().try_into().unwrap_or(libc::time_t::MAX);
    time.tv_nsec = i32::try_from(limit.subsec_nanos()).unwrap_or_default().into();
    time
}

/// An entry for [`wait_readable`].
pub(crate) fn poll_entry(socket: BorrowedFd<'_>) -> libc::pollfd {
    libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 }
}
