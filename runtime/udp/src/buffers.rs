//! Sizes of the kernel's socket buffers.

use std::fmt;
use std::io;

use socket2::Socket;

/// What is asked for a receiving socket when the user says nothing.
const DEFAULT_RECEIVE: usize = 4 << 20;

/// Which buffer of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Receive,
    Send,
}

/// The kernel gave less than was asked.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Shortage {
    side: Side,
    asked: usize,
    got: usize,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, limit) = match self.side {
            Side::Receive => ("receive", "net.core.rmem_max"),
            Side::Send => ("send", "net.core.wmem_max"),
        };
        let Self { asked, got, .. } = self;
        write!(
            f,
            "asked for a {name} buffer of {asked} bytes, the kernel gave {got}; \
             to allow more, run `sysctl -w {limit}={asked}` as root"
        )
    }
}

/// Sets the receive buffer. A shortage is reported only to a user who asked for a size.
pub(crate) fn set_receive(socket: &Socket, asked: Option<usize>) -> io::Result<Option<Shortage>> {
    socket.set_recv_buffer_size(clamp(asked.unwrap_or(DEFAULT_RECEIVE)))?;
    let got = usable(socket.recv_buffer_size()?);
    Ok(asked.filter(|asked| got < *asked).map(|asked| Shortage { side: Side::Receive, asked, got }))
}

/// Sets the send buffer if the user asked for a size.
pub(crate) fn set_send(socket: &Socket, asked: Option<usize>) -> io::Result<Option<Shortage>> {
    let Some(asked) = asked else { return Ok(None) };
    socket.set_send_buffer_size(clamp(asked))?;
    let got = usable(socket.send_buffer_size()?);
    Ok((got < asked).then_some(Shortage { side: Side::Send, asked, got }))
}

/// Octets of data in flight that one sender may count on: a quarter of what the system takes into account, for there are other
/// senders, and datagrams that take up twice their size.
pub(crate) fn receive_room(socket: &Socket) -> Option<usize> {
    socket.recv_buffer_size().ok().map(|reported| usable(reported) / 2)
}

/// The kernel takes a C `int`.
fn clamp(octets: usize) -> usize {
    octets.min(i32::MAX as usize)
}

/// Linux doubles what was asked, for its own book-keeping, and reports the double.
fn usable(reported: usize) -> usize {
    reported / 2
}

#[cfg(test)]
mod tests {
    use socket2::{Domain, Type};

    use super::*;

    #[test]
    fn a_shortage_says_what_was_asked_what_was_given_and_what_to_do() {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
        let asked = 1 << 30;
        let shortage = set_receive(&socket, Some(asked)).unwrap().expect("nobody gives a gigabyte");
        assert!(shortage.got >= 1024 && shortage.got < asked);
        let text = shortage.to_string();
        assert!(text.contains("1073741824") && text.contains(&shortage.got.to_string()), "{text}");
        assert!(text.contains("sysctl -w net.core.rmem_max=1073741824"), "{text}");
        let shortage = set_send(&socket, Some(usize::MAX)).unwrap().expect("nor this");
        assert!(shortage.to_string().contains("net.core.wmem_max"));
    }

    #[test]
    fn a_small_receive_buffer_request_is_granted_without_a_warning() {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
        assert_eq!(set_receive(&socket, Some(16_384)).unwrap(), None);
        assert_eq!(usable(socket.recv_buffer_size().unwrap()), 16_384);
        assert_eq!(set_send(&socket, Some(16_384)).unwrap(), None);
        assert_eq!(set_receive(&socket, None).unwrap(), None);
        assert_eq!(set_send(&socket, None).unwrap(), None);
    }
}
