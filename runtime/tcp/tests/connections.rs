//! How connections come and go.

mod common;

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use common::{PATIENCE, Raw, at, bind, config, control, data_of, nowhere, open, send, transport, until};
use dunlin_buf::{BufPool, Outbox, SharedBytes};
use dunlin_core::Locator;
use dunlin_tcp::{Listen, TcpConfig, TcpTransport};
use dunlin_transport::conformance::{Listener, pattern, push, single};
use dunlin_transport::{Channel, RecvMode, SendMode, Transport};

#[test]
fn a_participant_behind_a_router_is_answered_over_its_own_connection() {
    let server = open(&config(30_000));
    let hidden = open(&TcpConfig { listen: Listen::Off, ..config(30_000) });
    let (at_server, at_hidden) = (
        Listener::start(&transport(&server), Channel::Data),
        Listener::start(&transport(&hidden), Channel::Data),
    );
    assert!(TcpStream::connect(("127.0.0.1", hidden.port())).is_err(), "it does not listen");
    send(&hidden, data_of(&server), b"hello");
    let (_, from) = at_server.next();
    assert_eq!(from.to_tcp().unwrap().0, nowhere(hidden.port()));
    send(&server, data_of(&hidden), b"answer");
    assert_eq!(&*at_hidden.next().0, b"answer");
    assert_eq!((server.connections().connected, server.connections().accepted), (0, 1));
}

#[test]
fn an_address_behind_a_router_is_reached_by_the_connection_from_there() {
    let server = open(&config(30_250));
    // What it says of itself is an address of its own network, at which nobody answers here.
    let inside = nowhere(30_999);
    let mut hidden = Raw::bound(&server, inside);
    send(&server, Locator::tcp(inside, 7411), b"inward");
    hidden.open_ports(1);
    assert_eq!(hidden.next().unwrap(), (7411, b"inward".to_vec()));
}

#[test]
fn a_peer_that_comes_later_is_found_and_one_that_comes_back_too() {
    let client = open(&config(30_500));
    let to = Locator::tcp(nowhere(30_777), 30_511);
    assert_eq!(client.send(&single(b"is anybody there?", &[to]), SendMode::Blocking).sent, 1);
    until("it fails", || client.lost(&to).is_some_and(|why| why.contains("nobody listens there")));
    assert_eq!(client.warnings().len(), 1, "told once");
    for round in 0..3_u8 {
        let server = open(&at(30_777, 30_500));
        let listener = Listener::start(&transport(&server), Channel::Data);
        let start = Instant::now();
        // What is sent meanwhile waits, so it need not be sent again; the first time it was sent before.
        if round > 0 {
            until("the end was noticed", || {
                client.send(&single(&[round], &[to]), SendMode::Blocking).sent == 1
                    && client.connections().connected == u64::from(round) + 1
            });
        }
        let (bytes, _) = listener.next();
        let expected = if round == 0 { b"is anybody there?".to_vec() } else { vec![round] };
        assert_eq!(*bytes, *expected);
        assert!(start.elapsed() < PATIENCE);
        drop(listener);
        drop(server);
        until("the connection is gone", || client.connections().open == 0);
    }
}

#[test]
fn messages_sent_before_close_arrive() {
    let server = open(&config(30_750));
    let listener = Listener::start(&transport(&server), Channel::Data);
    for round in 0..20_u8 {
        let client = open(&config(30_750));
        send(&client, data_of(&server), &[round]);
        assert_eq!(*listener.next().0, [round]);
        // Now there is a connection, and nothing is between the last word and the end.
        client.shutdown();
        for number in 0..30_u8 {
            send(&client, data_of(&server), &[round, number]);
        }
        drop(client);
        for number in 0..30_u8 {
            assert_eq!(*listener.next().0, [round, number]);
        }
    }
}

/// What both ends take goes in one piece; who does not say that it takes more gets what Fast DDS takes.
#[test]
fn long_messages_go_to_peers_that_accept_them() {
    const LONG: usize = 1 << 20;
    let (server, client) = (open(&config(32_000)), open(&config(32_000)));
    let at_server = Listener::start(&transport(&server), Channel::Data);
    let at_client = Listener::start(&transport(&client), Channel::Data);
    let (to_server, to_client) = (data_of(&server), data_of(&client));
    let path = client.path(&to_server);
    assert_eq!((path.max_message, path.room), (65_500, 0), "nothing is known before there is a connection");
    send(&client, to_server, b"hello");
    assert_eq!(&*at_server.next().0, b"hello");
    until("who is connected to says it unasked", || client.path(&to_server).max_message == LONG);
    send(&server, to_client, b"answer");
    assert_eq!(&*at_client.next().0, b"answer");
    for (from, to, listener) in [(&client, to_server, &at_server), (&server, to_client, &at_client)] {
        until("the other end has said it", || from.path(&to).max_message == LONG);
        assert!(from.path(&to).is_lossless());
        for (number, len) in [(1, 65_501), (2, 300_000), (3, 5), (4, LONG)] {
            let message = pattern(number, len);
            send(from, to, &message);
            assert!(*listener.next().0 == *message, "{len} octets");
        }
        assert_eq!(from.send(&single(&vec![0; LONG + 1], &[to]), SendMode::Blocking).failed, 1);
    }
    // Fast DDS gives transactions back and begins its own otherwise.
    let mut other = Raw::bound(&server, nowhere(32_900));
    let to = Locator::tcp(nowhere(32_900), 7411);
    assert_eq!((server.path(&to).max_message, server.path(&to).room), (65_500, 0));
    assert_eq!(server.send(&single(&[0; 65_501], &[to]), SendMode::Blocking).failed, 1);
    send(&server, to, b"short");
    other.open_ports(1);
    assert_eq!(other.next().unwrap(), (7411, b"short".to_vec()));
}

/// Who receives user data reads the connections itself; while it is away somebody stands in, even if it never leaves for long.
#[test]
fn discovery_goes_on_while_the_data_thread_is_busy() {
    let (server, client) = (open(&config(32_500)), open(&config(32_500)));
    let listener = Listener::start(&transport(&server), Channel::Meta);
    let (meta, data) = (server.locators().metatraffic_unicast[0], data_of(&server));
    for round in 0..3_u8 {
        let receiver = std::thread::spawn({
            let server = transport(&server);
            move || {
                let (mut pool, mut out) = (BufPool::new(0), Vec::new());
                while out.is_empty() {
                    server.recv(Channel::Data, RecvMode::Blocking, &mut pool, &mut out).unwrap();
                }
                out[0].0.to_vec()
            }
        });
        // After a while that nothing comes in nobody expects it to leave.
        std::thread::park_timeout(Duration::from_millis(100));
        send(&client, meta, &[round]);
        assert_eq!(&*listener.next().0, [round], "while it waits");
        send(&client, data, &[round]);
        assert_eq!(receiver.join().unwrap(), [round]);
        send(&client, meta, &[round, 1]);
        assert_eq!(&*listener.next().0, [round, 1], "while it is away");
    }
}

/// Messages of one call leave together, whoever they are for, and in order.
#[test]
fn messages_of_one_call_arrive_in_order() {
    let (server, client) = (open(&config(32_250)), open(&config(32_250)));
    let listener = Listener::start(&transport(&server), Channel::Data);
    let to = data_of(&server);
    send(&client, to, b"first");
    assert_eq!(&*listener.next().0, b"first");
    let message = |round: u64, number: u64| pattern(round * 40 + number, 21 + number as usize * 1_500);
    for round in 0..20 {
        let mut outbox = Outbox::new();
        for number in 0..40 {
            let message = message(round, number);
            if number % 2 == 0 {
                push(&mut outbox, &message, &[to]);
                continue;
            }
            // As samples that end their message, which are not copied.
            outbox.begin();
            outbox.put(&message[..20]);
            outbox.put_tail(SharedBytes::copy_from(&message[20..]));
            outbox.finish(&[to]);
        }
        assert_eq!(client.send(&outbox, SendMode::Blocking).sent, 40);
        for number in 0..40 {
            assert!(*listener.next().0 == *message(round, number), "{round} {number}");
        }
    }
}

#[test]
fn logical_ports_that_are_not_there_are_refused_and_the_others_work() {
    let (server, client) = (open(&config(31_000)), open(&config(31_000)));
    let listener = Listener::start(&transport(&server), Channel::Data);
    let (address, data) = data_of(&server).to_tcp().unwrap();
    let other = Locator::tcp(address, data + 20);
    send(&client, data_of(&server), b"first");
    until("it is refused", || client.send(&single(b"nobody", &[other]), SendMode::Blocking).failed == 1);
    send(&client, data_of(&server), b"second");
    assert_eq!((&*listener.next().0, &*listener.next().0), (&b"first"[..], &b"second"[..]));
    listener.expect_nothing_more();
}

#[test]
fn questions_are_answered_as_fast_dds_expects() {
    let server = open(&config(31_250));
    let mut raw = Raw::bound(&server, nowhere(31_900));
    let meta = server.locators().metatraffic_unicast[0].to_tcp().unwrap().1;
    let ports = [3_u32.to_le_bytes().to_vec(), [1_u16, meta, 2].map(u16::to_le_bytes).concat()].concat();
    raw.0.write_all(&control(0xd3, [5; 12], None, &ports)).unwrap();
    let (_, body) = raw.next().unwrap();
    assert_eq!((body[0], &body[4..16], &body[16..20]), (0xe3, &[5; 12][..], &[0; 4][..]));
    assert_eq!(&body[30..], [&[1, 0, 0, 0][..], &meta.to_le_bytes()].concat(), "the one that is there");
    raw.0.write_all(&control(0xd4, [6; 12], None, &[0; 24])).unwrap();
    let (_, body) = raw.next().unwrap();
    assert_eq!((body[0], &body[4..20]), (0xe4, &[&[6; 12][..], &[0; 4]].concat()[..]));
    raw.0.write_all(&bind(nowhere(31_900))).unwrap();
    let (_, body) = raw.next().unwrap();
    assert_eq!((body[0], body[16]), (0xe1, 2), "there is one already");
    raw.0.write_all(&control(0xd6, [0; 12], None, &[])).unwrap();
    assert!(raw.is_closed(), "unbind");
}

/// Fast DDS overlooks the answer while it has not decided which logical port to ask for.
#[test]
fn a_bind_response_is_repeated_to_a_silent_peer() {
    let server = open(&config(31_750));
    let meta = server.locators().metatraffic_unicast[0].to_tcp().unwrap().1;
    let ask = control(0xd2, [7; 12], None, &meta.to_le_bytes());
    let mut silent = Raw::bound(&server, nowhere(31_900));
    let mut speaks = Raw::bound(&server, nowhere(31_901));
    let asks = |raw: &mut Raw| {
        raw.0.write_all(&ask).unwrap();
        let (_, body) = raw.next().expect("an answer");
        assert_eq!((body[0], &body[4..20]), (0xe2, &[&[7; 12][..], &[0; 4]].concat()[..]));
    };
    asks(&mut speaks);
    for _ in 0..2 {
        let (port, body) = silent.next().expect("another answer");
        assert_eq!((port, body[0], &body[4..20]), (0, 0xe1, &[&[1; 12][..], &[0; 4]].concat()[..]));
    }
    asks(&mut silent);
    // Who has spoken was told once.
    asks(&mut speaks);
}

#[test]
fn a_port_that_is_taken_is_named_with_what_helps() {
    let taken = open(&config(31_500));
    let error = TcpTransport::open(at(taken.port(), 31_500)).err().expect("refused").to_string();
    assert!(error.contains(&taken.port().to_string()) && error.contains("`tcp.port`"), "{error}");
}
