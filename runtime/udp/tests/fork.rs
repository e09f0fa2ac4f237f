//! What a child of `fork` keeps of the sockets of its parent. The only test of this program: other threads of it could hold what the
//! child needs.
#![cfg(target_os = "linux")]

use std::io::{self, Read, Write};

use dunlin_core::PortParameters;
use dunlin_transport::Transport;
use dunlin_udp::{ParticipantIndex, UdpConfig, UdpTransport};

/// The child has a file of its own under the number of a socket that was closed, which stays its own.
#[test]
fn a_living_child_of_fork_does_not_keep_the_ports_of_its_parent() {
    let ports = PortParameters { base: 24_750, ..PortParameters::default() };
    let interfaces = vec!["lo".into()];
    let index = ParticipantIndex::Fixed(0);
    let config = UdpConfig { ports, interfaces, participant_index: index, ..UdpConfig::default() };
    let ((mut hears, tells), (rest, keep)) = (io::pipe().unwrap(), io::pipe().unwrap());
    drop(UdpTransport::open(config.clone()).unwrap());
    // Under the numbers that its sockets had.
    let others: Vec<_> = (0..8).map(|_| io::pipe().unwrap()).collect();
    let transport = UdpTransport::open(config.clone()).unwrap();
    // SAFETY: no other thread runs here that could hold a lock; the child ends here.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let open = others.iter().all(|(reader, writer)| {
            (&*writer).write_all(b"!").is_ok() && (&*reader).read(&mut [0]).is_ok_and(|len| len == 1)
        });
        drop(keep);
        _ = (&tells).write_all(if open { b"+" } else { b"-" });
        // Until the test has ended.
        _ = (&rest).read(&mut [0]);
        // SAFETY: the process ends here.
        unsafe { libc::_exit(0) };
    }
    // Or what is heard would never end.
    drop(tells);
    let mut heard = [0];
    hears.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"+", "what is not of the transport is still open");
    transport.shutdown();
    drop(transport);
    UdpTransport::open(config).expect("the ports are free");
}
