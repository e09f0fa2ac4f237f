//! A participant beside the product: the engine with one socket of the test's own, which sees how each datagram comes and
//! may announce what Dunlin's own driver never does, as other vendors can.
#![allow(dead_code, reason = "each test uses its part")]

use std::io::IoSliceMut;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicData};
use dunlin_buf::SharedBytes;
use dunlin_core::{GuidPrefix, Locator, MonoTime, Now, WallTime, domain_ports};
use dunlin_engine::{
    EndpointLocators, Locators, Output, Participant, ParticipantConfig, ReaderSpec, WriterSpec,
};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};

use crate::common::{Reading, eventually};

pub struct Elsewhere {
    engine: Participant,
    socket: UdpSocket,
    began: Instant,
    out: Output,
    /// What came, each with its traffic class.
    pub received: Vec<(u8, Vec<u8>)>,
}

fn locator(place: SocketAddr) -> Locator {
    match place.ip() {
        IpAddr::V4(ip) => Locator::udp_v4(ip, place.port()),
        IpAddr::V6(ip) => Locator::udp_v6(ip, place.port()),
    }
}

impl Elsewhere {
    /// Receives everything at this address of the host.
    pub fn new(domain: u32, ip: IpAddr) -> Self {
        let socket = UdpSocket::bind((ip, 0)).unwrap();
        socket.set_read_timeout(Some(std::time::Duration::from_millis(5))).unwrap();
        let options = socket2::SockRef::from(&socket);
        if ip.is_ipv4() { options.set_recv_tos_v4(true) } else { options.set_recv_tclass_v6(true) }.unwrap();
        let [_, metatraffic, ..] = domain_ports(domain, 0).unwrap();
        let mut config =
            ParticipantConfig::new(GuidPrefix([0x01, 0xd0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), domain);
        let place = locator(socket.local_addr().unwrap());
        config.locators = Locators {
            metatraffic_unicast: vec![place],
            default_unicast: vec![place],
            ..Locators::default()
        };
        config.initial_peers = vec![locator(SocketAddr::new(ip, metatraffic))];
        let (engine, began, out) = (Participant::new(config), Instant::now(), Output::new());
        Self { engine, socket, began, out, received: Vec::new() }
    }

    fn with<R>(&mut self, call: impl FnOnce(&Participant, Now, &mut Output) -> R) -> R {
        let mono = MonoTime(1_000_000_000 + u64::try_from(self.began.elapsed().as_nanos()).unwrap());
        let now = Now { mono, wall: WallTime(1_700_000_000_000_000_000 + mono.0 as i64) };
        let result = call(&self.engine, now, &mut self.out);
        let mut octets = Vec::new();
        for datagram in self.out.outbox.datagrams() {
            octets.clear();
            datagram.copy_to(&mut octets);
            for ip in datagram.destinations().iter().filter_map(|place| Some((place.ip()?, place.port))) {
                let to = SocketAddr::new(ip.0, u16::try_from(ip.1).unwrap());
                self.socket.send_to(&octets, to).unwrap();
            }
        }
        self.out.clear();
        result
    }

    /// Wants user data here from now on.
    pub fn receive_at(&mut self, ip: IpAddr) {
        let place = locator(self.socket.local_addr().unwrap());
        let locators = Locators {
            metatraffic_unicast: vec![place],
            default_unicast: vec![locator(SocketAddr::new(ip, 7411))],
            ..Locators::default()
        };
        self.with(|engine, now, out| engine.set_locators(now, locators, out));
    }

    /// Sends octets of the test's own to the first participant of the host in the domain.
    pub fn say(&self, domain: u32, octets: &[u8]) {
        let [_, metatraffic, ..] = domain_ports(domain, 0).unwrap();
        let ip = self.socket.local_addr().unwrap().ip();
        self.socket.send_to(octets, SocketAddr::new(ip, metatraffic)).unwrap();
    }

    pub fn read(&mut self, topic: &str, qos: DataReaderQos) {
        let spec = ReaderSpec {
            topic_name: topic.into(),
            type_name: "Reading".into(),
            qos,
            subscriber_qos: SubscriberQos::default(),
            topic_data: TopicData::default(),
            type_information: None,
            locators: EndpointLocators::default(),
            type_support: Arc::new(dunlin_cdr::TypeSupportOf::<Reading>::default()),
        };
        self.with(|engine, now, out| engine.create_reader(now, spec, out)).unwrap();
    }

    pub fn write(&mut self, topic: &str) {
        let spec = WriterSpec {
            topic_name: topic.into(),
            type_name: "Reading".into(),
            keyed: false,
            qos: DataWriterQos::default(),
            publisher_qos: PublisherQos::default(),
            topic_data: TopicData::default(),
            type_information: None,
            type_description: None,
            locators: EndpointLocators::default(),
        };
        self.with(|engine, now, out| engine.create_writer(now, spec, out)).unwrap();
    }

    /// Begins to announce itself.
    pub fn start(&mut self) {
        self.with(|engine, now, out| engine.start(now, out));
    }

    pub fn run(&mut self, ended: &AtomicBool) {
        self.start();
        while !ended.load(Ordering::SeqCst) {
            self.turn();
        }
    }

    /// Goes on until something is so.
    pub fn until(&mut self, what: &str, mut condition: impl FnMut(&Self) -> bool) {
        eventually(what, || {
            self.turn();
            condition(self)
        });
    }

    /// Takes in what has come, or waits a moment for it.
    fn turn(&mut self) {
        if let Some((octets, class, from)) = self.receive() {
            let packet = SharedBytes::from(octets.clone());
            self.received.push((class, octets));
            self.with(|engine, now, out| engine.on_datagram(now, from, &packet, out));
        }
        self.with(|engine, now, out| engine.on_timer(now, out));
    }

    /// A datagram, its traffic class and its sender.
    fn receive(&self) -> Option<(Vec<u8>, u8, Locator)> {
        let mut octets = vec![0; 65536];
        let mut space = nix::cmsg_space!(i32);
        let mut parts = [IoSliceMut::new(&mut octets)];
        let fd = self.socket.as_raw_fd();
        let got = recvmsg::<SockaddrStorage>(fd, &mut parts, Some(&mut space), MsgFlags::empty()).ok()?;
        let class = got.cmsgs().unwrap().find_map(|message| match message {
            ControlMessageOwned::Ipv4Tos(class) => Some(class),
            ControlMessageOwned::Ipv6TClass(class) => u8::try_from(class).ok(),
            _ => None,
        });
        let from = got.address.as_ref().unwrap();
        let from = match (from.as_sockaddr_in(), from.as_sockaddr_in6()) {
            (Some(v4), _) => Locator::udp_v4(v4.ip(), v4.port()),
            (_, Some(v6)) => Locator::udp_v6(v6.ip(), v6.port()),
            _ => return None,
        };
        let (len, class) = (got.bytes, class.expect("the kernel tells the class"));
        octets.truncate(len);
        Some((octets, class, from))
    }
}
