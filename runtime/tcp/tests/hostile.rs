//! Peers that are slow, silent, wrong or many: they cost bounded memory and time, and disturb nobody.

mod common;

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use common::{
    PATIENCE, Raw, bind, config, control, data_of, nowhere, open, send, takes, transport, unit, until,
};
use dunlin_core::Locator;
use dunlin_tcp::{TcpConfig, TcpTransport};
use dunlin_transport::conformance::{Listener, pattern, push, single};
use dunlin_transport::{Channel, SendMode, Transport};

/// Octets of memory that this process has.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// The logical port of user data.
fn data_port(of: &TcpTransport) -> u16 {
    data_of(of).to_tcp().unwrap().1
}

#[test]
fn a_message_that_comes_octet_by_octet_arrives() {
    let server = open(&config(27_000));
    let listener = Listener::start(&transport(&server), Channel::Data);
    let mut raw = Raw::connect(&server);
    let stream = [bind(nowhere(27_900)), unit(data_port(&server), &pattern(1, 500))].concat();
    for octet in &stream {
        raw.0.write_all(&[*octet]).unwrap();
    }
    assert_eq!(*listener.next().0, *pattern(1, 500));
}

#[test]
fn a_message_that_is_too_long_ends_the_connection_and_no_other() {
    let server = open(&config(27_250));
    let listener = Listener::start(&transport(&server), Channel::Data);
    let mut good = Raw::bound(&server, nowhere(27_900));
    let mut stranger = Raw::connect(&server);
    stranger.0.write_all(&unit(1, &[0; 1_025])[..14]).unwrap();
    assert!(stranger.is_closed(), "before it is bound, 1,024 octets are the most");
    let mut bound = Raw::bound(&server, nowhere(27_901));
    bound.0.write_all(&unit(data_port(&server), &vec![0; 65_501])[..14]).unwrap();
    assert!(bound.is_closed(), "65,500 octets are the most");
    good.0.write_all(&unit(data_port(&server), &pattern(2, 65_500))).unwrap();
    assert_eq!(*listener.next().0, *pattern(2, 65_500));
    assert_eq!((server.connections().refused, server.connections().open), (2, 1));
}

#[test]
fn an_announced_message_length_allocates_no_memory() {
    const LONG: u32 = 1 << 20;
    let server = open(&config(29_500));
    let port = data_port(&server);
    let mut greedy = Raw::bound_as(&server, nowhere(29_900), takes(u32::MAX));
    let too_long = [b"RTCP", &(LONG + 15).to_le_bytes()[..], &[0; 4], &port.to_le_bytes()].concat();
    greedy.0.write_all(&too_long).unwrap();
    assert!(greedy.is_closed(), "{LONG} octets are the most, whatever it says");
    let before = resident();
    let promises: Vec<Raw> = (0..400)
        .map(|n| {
            let mut raw = Raw::bound_as(&server, nowhere(28_000 + n), takes(LONG));
            let header = [b"RTCP", &(LONG + 14).to_le_bytes()[..], &[0; 4], &port.to_le_bytes()].concat();
            raw.0.write_all(&[&header[..], &[7; 100]].concat()).unwrap();
            raw
        })
        .collect();
    let listener = Listener::start(&transport(&server), Channel::Data);
    let mut good = Raw::bound(&server, nowhere(29_901));
    good.0.write_all(&unit(port, b"through")).unwrap();
    assert_eq!(&*listener.next().0, b"through");
    let grown = resident().saturating_sub(before);
    assert!(grown < 400 * (192 << 10), "{grown} octets for {} promises", promises.len());
}

/// It gets everything, as fast as it takes it, and holds up nobody else.
#[test]
fn a_slow_peer_delays_no_other() {
    let (server, other) = (open(&config(29_750)), open(&config(29_750)));
    let listener = Listener::start(&transport(&other), Channel::Data);
    let mut slow = Raw::bound(&server, nowhere(29_902));
    let to = Locator::tcp(nowhere(29_902), 7411);
    send(&server, to, b"open it");
    slow.open_ports(1);
    send(&server, data_of(&other), b"open it, too");
    assert_eq!(&*listener.next().0, b"open it, too");
    let (done, before) = (AtomicBool::new(false), resident());
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut got = 0;
            while let Some((_, body)) = slow.next() {
                got += 1;
                if body == b"the end" {
                    return got;
                }
                std::thread::park_timeout(Duration::from_micros(500));
            }
            got
        });
        let writer = scope.spawn(|| {
            let mut sent = 0;
            for _ in 0..500 {
                sent += server.send(&single(&[7; 60_000], &[to]), SendMode::Blocking).sent;
            }
            until("there is room", || server.send(&single(b"the end", &[to]), SendMode::Blocking).sent == 1);
            done.store(true, Relaxed);
            sent
        });
        let (mut number, mut longest) = (0, Duration::ZERO);
        while !done.load(Relaxed) {
            let start = Instant::now();
            let message = pattern(number, 5_000);
            send(&server, data_of(&other), &message);
            assert_eq!(*listener.next().0, *message);
            longest = longest.max(start.elapsed());
            number += 1;
        }
        println!("{number} exchanges beside it, longest {longest:?}");
        assert!(number > 0 && longest < Duration::from_secs(5), "{number} {longest:?}");
        // The first message, those that found room, and the last one.
        assert_eq!(reader.join().unwrap(), writer.join().unwrap() + 2);
    });
    assert!(resident().saturating_sub(before) < 32 << 20);
}

#[test]
fn malformed_frames_close_the_connection() {
    let server = open(&config(27_500));
    let data = data_port(&server);
    let foreign: [&[u8]; 5] =
        [b"GET / HTTP/1.1\r\n\r\n", b"RTPS\x02\x03", &[0x16, 3, 1, 0], &[0; 64], &[255; 64]];
    for octets in foreign {
        let mut raw = Raw::connect(&server);
        raw.0.write_all(octets).unwrap();
        assert!(raw.is_closed(), "{octets:02x?}");
    }
    let mut wrong_sum = unit(data, b"hello");
    wrong_sum[8] = 1;
    for octets in [wrong_sum, control(0xd2, [0; 12], None, &[]), unit(0, &[0xd2; 5])] {
        let mut raw = Raw::bound(&server, nowhere(27_900));
        raw.0.write_all(&octets).unwrap();
        assert!(raw.is_closed(), "{octets:02x?}");
    }
    let mut early = Raw::connect(&server);
    early.0.write_all(&unit(data, b"who am I?")).unwrap();
    assert!(early.is_closed(), "data before it says who it is");
    until("all are counted", || server.connections().refused == 9);
    let troubles = server.warnings().join("\n");
    for said in ["another service", "Cyclone DDS", "TLS is off here", "checksum", "ends early"] {
        assert!(troubles.contains(said), "{said} in {troubles}");
    }
}

#[test]
fn silent_connections_are_closed() {
    let (server, client) = (open(&config(27_750)), open(&config(27_750)));
    let listener = Listener::start(&transport(&server), Channel::Data);
    let silent: Vec<TcpStream> =
        (0..200).map(|_| TcpStream::connect(("127.0.0.1", server.port())).unwrap()).collect();
    until("all were accepted", || server.connections().accepted == 200);
    assert!(server.connections().open <= 64, "{:?}", server.connections());
    send(&client, data_of(&server), b"through");
    assert_eq!(&*listener.next().0, b"through");
    until("nobody waits for those that say nothing", || server.connections().open == 1);
    drop(silent);
}

#[test]
fn a_flood_of_connections_delays_no_traffic() {
    let (server, client) = (open(&config(28_000)), open(&config(28_000)));
    let listener = Listener::start(&transport(&server), Channel::Data);
    send(&client, data_of(&server), b"first");
    assert_eq!(&*listener.next().0, b"first");
    let (stop, before) = (AtomicBool::new(false), resident());
    let port = server.port();
    std::thread::scope(|scope| {
        let flood = scope.spawn(|| {
            let (mut kept, mut count) = (std::collections::VecDeque::new(), 0_u32);
            let start = Instant::now();
            while !stop.load(Relaxed) {
                if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
                    // Some say who they are, some nothing.
                    if count % 3 == 0 {
                        let _ = stream.write_all(&bind(nowhere(28_900 + (count % 50) as u16)));
                    }
                    kept.push_back(stream);
                    kept.truncate(400);
                }
                count += 1;
                let due = start + Duration::from_micros(u64::from(count) * 700);
                std::thread::park_timeout(due.saturating_duration_since(Instant::now()));
            }
            f64::from(count) / start.elapsed().as_secs_f64()
        });
        let start = Instant::now();
        let mut number = 0;
        while start.elapsed() < Duration::from_secs(3) {
            let message = pattern(number, 5_000);
            send(&client, data_of(&server), &message);
            assert_eq!(*listener.next().0, *message);
            assert!(server.connections().open <= 512);
            number += 1;
        }
        stop.store(true, Relaxed);
        let rate = flood.join().unwrap();
        println!("{rate:.0} connects/s, {number} exchanges beside them");
        assert!(number > 100, "{number} exchanges");
    });
    let grown = resident().saturating_sub(before);
    println!("{} KiB more, {:?}", grown >> 10, server.connections());
    assert!(grown < 64 << 20, "{grown} octets");
    assert_eq!(client.connections().connected, 1, "the connection of those who work was left alone");
}

#[test]
fn a_blocked_peer_is_waited_for_once() {
    let (server, other) = (open(&config(28_250)), open(&config(28_250)));
    let listener = Listener::start(&transport(&other), Channel::Data);
    let mut stuck = Raw::bound(&server, nowhere(28_900));
    let to = Locator::tcp(nowhere(28_900), 7411);
    send(&server, to, b"open it");
    stuck.open_ports(1);
    let (mut full, before) = (0, resident());
    let mut longest = Duration::ZERO;
    let start = Instant::now();
    // Twice what a socket of this system can hold, and more.
    for _ in 0..1_000 {
        let call = Instant::now();
        full += server.send(&single(&[7; 60_000], &[to]), SendMode::Blocking).full;
        longest = longest.max(call.elapsed());
    }
    assert!(full > 500, "{full}");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}, longest {longest:?}", start.elapsed());
    // The receiver's socket holds some of it, too.
    assert!(resident().saturating_sub(before) < 32 << 20);
    let start = Instant::now();
    for _ in 0..1_000 {
        server.send(&single(&[7; 60_000], &[to]), SendMode::NonBlocking);
    }
    assert!(start.elapsed() < Duration::from_secs(1), "who may not wait does not: {:?}", start.elapsed());
    send(&server, data_of(&other), b"to somebody else");
    assert_eq!(&*listener.next().0, b"to somebody else");
    // Once it takes something again, it gets what is sent then.
    let reader = std::thread::spawn(move || {
        let start = Instant::now();
        loop {
            let (_, body) = stuck.next().expect("it goes on");
            if body == b"news" {
                return;
            }
            assert!(start.elapsed() < PATIENCE);
        }
    });
    until("there is room again", || server.send(&single(b"news", &[to]), SendMode::Blocking).sent == 1);
    reader.join().unwrap();
}

#[test]
fn questions_without_end_cost_bounded_memory() {
    let server = open(&config(28_500));
    let mut raw = Raw::bound(&server, nowhere(28_900));
    let before = resident();
    let question = control(0xd4, [3; 12], None, &[0; 24]).repeat(100);
    let start = Instant::now();
    // It never reads an answer.
    while raw.0.write_all(&question).is_ok() {
        assert!(start.elapsed() < PATIENCE, "it is cut off in the end");
    }
    assert!(resident().saturating_sub(before) < 32 << 20);
    until("it is gone", || server.connections().open == 0);
}

#[test]
fn a_participant_that_stops_reading_blocks_neither_sender_nor_discovery() {
    let (server, client) = (open(&config(28_750)), open(&config(28_750)));
    let meta = Listener::start(&transport(&server), Channel::Meta);
    let to = server.locators();
    // Nobody takes user data.
    let mut outbox = dunlin_buf::Outbox::new();
    for _ in 0..64 {
        push(&mut outbox, &[7; 60_000], &to.default_unicast[..1]);
    }
    let start = Instant::now();
    while client.stats().send_full == 0 || server.stats().receive_overflow == 0 {
        client.send(&outbox, SendMode::Blocking);
        assert!(start.elapsed() < PATIENCE, "both ends notice");
    }
    until("discovery passes", || {
        client.send(&single(b"discovery", &to.metatraffic_unicast[..1]), SendMode::NonBlocking).sent == 1
    });
    assert_eq!(&*meta.next().0, b"discovery");
}

#[test]
fn an_end_that_only_closes_its_half_is_over() {
    let server = open(&config(29_000));
    let mut raw = Raw::bound(&server, nowhere(29_900));
    until("it is there", || server.connections().open == 1);
    raw.0.shutdown(Shutdown::Write).unwrap();
    assert!(raw.is_closed());
    until("it is gone", || server.connections().open == 0);
}

#[test]
fn a_peer_that_claims_the_address_of_another_does_not_get_its_data() {
    let far = TcpConfig { interfaces: vec!["127.0.0.1".into()], ..config(29_250) };
    let (server, victim) = (open(&far), open(&far));
    let listener = Listener::start(&transport(&victim), Channel::Data);
    // From other addresses of this host, as from other hosts; more of them than connections of a peer are kept.
    let thieves: Vec<Raw> = (9..15).map(|host| claims(&server, host, nowhere(victim.port()))).collect();
    let to = data_of(&victim);
    send(&server, to, b"who is there?");
    until("the address itself is tried", || server.connections().connected == 1);
    send(&server, to, b"for the victim");
    assert_eq!(&*listener.next().0, b"for the victim");
    drop(thieves);
}

/// Somebody at another address of the loopback interface who says that it is reached at `address`.
fn claims(server: &TcpTransport, host: u8, address: std::net::SocketAddr) -> Raw {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&std::net::SocketAddr::from(([127, 0, 0, host], 0)).into()).unwrap();
    socket.connect(&std::net::SocketAddr::from(([127, 0, 0, 1], server.port())).into()).unwrap();
    let mut raw = Raw(socket.into());
    raw.0.set_read_timeout(Some(PATIENCE)).unwrap();
    raw.0.write_all(&bind(address)).unwrap();
    assert_eq!(raw.next().expect("an answer").1[0], 0xe1);
    raw
}
