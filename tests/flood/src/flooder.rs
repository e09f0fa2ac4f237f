//! Sends as fast as loopback carries it, to every port that the pair listens on.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{JoinHandle, spawn};

use anyhow::Result;

use crate::datagrams::{Rng, any};

/// Different datagrams of each thread: making them would take longer than sending them.
const PREPARED: usize = 50_000;

/// Threads that send until they are stopped.
pub(crate) struct Flood {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<u64>>,
}

/// The unicast ports of the first two participants of a domain (RTPS 2.5 §9.6.2).
fn ports(domain: u32) -> impl Iterator<Item = u16> {
    let base = 7_400 + 250 * domain;
    [10, 11, 12, 13].into_iter().filter_map(move |offset| u16::try_from(base + offset).ok())
}

impl Flood {
    pub(crate) fn start(domain: u32, threads: usize) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let sockets: Vec<UdpSocket> =
            (0..threads).map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))).collect::<Result<_, _>>()?;
        let start = |(number, socket)| {
            let stop = Arc::clone(&stop);
            spawn(move || send(&socket, domain, number, &stop))
        };
        let threads = sockets.into_iter().enumerate().map(start).collect();
        Ok(Self { stop, threads })
    }

    /// How many datagrams were sent.
    pub(crate) fn stop(self) -> u64 {
        self.stop.store(true, Relaxed);
        self.threads.into_iter().map(|thread| thread.join().unwrap_or(0)).sum()
    }
}

fn send(socket: &UdpSocket, domain: u32, number: usize, stop: &AtomicBool) -> u64 {
    let mut rng = Rng::new(number as u64);
    let prepared: Vec<Vec<u8>> = (0..PREPARED).map(|_| any(&mut rng, domain)).collect();
    let mut sent = 0;
    loop {
        for datagram in &prepared {
            if stop.load(Relaxed) {
                return sent;
            }
            for port in ports(domain) {
                // A port that nobody listens on says so; the others are still there.
                sent += u64::from(socket.send_to(datagram, (Ipv4Addr::LOCALHOST, port)).is_ok());
            }
        }
    }
}
