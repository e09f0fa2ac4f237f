//! A participant with a matched peer, in whose name anybody may speak.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Arc;

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{
    Duration, EntityId, GuidPrefix, Locator, ProtocolVersion, SequenceNumber, SequenceNumberSet, VendorId,
};
use dunlin_engine::{Event, Output, ParticipantStats, ReaderSlot, SourcePorts, WriterSlot};
use dunlin_qos::{DataReaderQos, DataWriterQos};
use dunlin_wire::{
    AckNack, DataSpec, Header, Heartbeat, Message, MessageBuilder, ParameterListBuilder, PayloadSpec,
    Submessage,
};

use crate::common::{Net, config, unpack};

/// The largest number that can be counted to and beyond.
pub const HUGE: i64 = 1 << 62;
const VICTIM: usize = 0;
const PEER: usize = 1;

/// What came of one datagram.
#[derive(Debug)]
pub struct Answer {
    /// Octets of all answers, each as often as it was sent.
    pub octets: usize,
    pub datagrams: usize,
    /// Memory that was taken at most meanwhile.
    pub memory: u64,
    /// Where it was sent.
    pub destinations: BTreeSet<Locator>,
}

impl Answer {
    /// Nobody gets more than a kilobyte or two for a datagram, and it does not take much memory either.
    #[track_caller]
    pub fn is_small(&self) {
        assert!(self.octets <= 2_000 && self.datagrams <= 3 && self.memory <= 64 * 1024, "{self:?}");
    }

    #[track_caller]
    pub fn is_nothing(&self) {
        assert!(self.octets == 0 && self.memory <= 4 * 1024, "{self:?}");
    }
}

pub struct Target {
    pub net: Net,
    /// Of the victim.
    pub writer: Arc<WriterSlot>,
    pub reader: Arc<ReaderSlot>,
    /// Of the peer.
    pub peer_writer: Arc<WriterSlot>,
    pub peer_reader: Arc<ReaderSlot>,
    /// The peer's next SEDP samples: publications, subscriptions.
    next: [SequenceNumber; 2],
    written: u32,
    acknowledged: i32,
}

impl Target {
    /// The two are matched in both directions and have exchanged a sample.
    pub fn new() -> Self {
        Self::with_source_ports([7410, 0, 0, 0])
    }

    /// The same; both say that they send from these ports. They send from 7410.
    pub fn with_source_ports(source_ports: SourcePorts) -> Self {
        let mut net = Net::with_configs((0..2).map(|index| {
            let mut config = config(index);
            config.source_ports = source_ports;
            config
        }));
        net.record = Some(vec![]);
        net.start();
        let writer_qos = DataWriterQos::default().reliable().keep_all();
        let reader_qos = DataReaderQos::default().reliable().keep_all();
        let writer = net.writer(VICTIM, "Out", &writer_qos);
        let reader = net.reader(VICTIM, "In", &reader_qos);
        let peer_writer = net.writer(PEER, "In", &writer_qos);
        let peer_reader = net.reader(PEER, "Out", &reader_qos);
        net.settle();
        let record = net.record.take().expect("a record");
        let next = next_numbers(&record, net.nodes[PEER].participant.guid_prefix());
        let mut target =
            Self { net, writer, reader, peer_writer, peer_reader, next, written: 0, acknowledged: 0 };
        target.still_talks();
        target
    }

    pub fn peer(&self) -> GuidPrefix {
        self.net.nodes[PEER].participant.guid_prefix()
    }

    pub fn victim(&self) -> GuidPrefix {
        self.net.nodes[VICTIM].participant.guid_prefix()
    }

    pub fn stats(&self) -> ParticipantStats {
        self.net.nodes[VICTIM].participant.stats()
    }

    /// The numbers that the peer's next announcements of a writer and of a reader will have.
    pub fn next_announcements(&self) -> [SequenceNumber; 2] {
        self.next
    }

    /// The number that the peer's next sample will have.
    pub fn next_sn(&self) -> SequenceNumber {
        self.peer_writer.last_sn().next()
    }

    /// A message in the name of the peer.
    pub fn forge(&self, write: impl FnOnce(&mut MessageBuilder<'_>)) -> Vec<u8> {
        message(self.peer(), write)
    }

    /// The victim receives octets from the peer's address.
    pub fn attack(&mut self, bytes: &[u8]) -> Answer {
        self.attack_from(Ipv4Addr::new(10, 0, 0, 2), bytes)
    }

    pub fn attack_from(&mut self, from: Ipv4Addr, bytes: &[u8]) -> Answer {
        self.attack_at(Locator::udp_v4(from, 7410), bytes)
    }

    pub fn attack_at(&mut self, from: Locator, bytes: &[u8]) -> Answer {
        let (now, mut out) = (self.net.clock(), Output::new());
        let packet = SharedBytes::copy_from(bytes);
        let participant = &self.net.nodes[VICTIM].participant;
        let used = allocation_counter::measure(|| participant.on_datagram(now, from, &packet, &mut out));
        let sent = out.outbox.datagrams().map(|datagram| datagram.len() * datagram.destinations().len());
        let octets = sent.sum();
        let destinations =
            out.outbox.datagrams().flat_map(|datagram| datagram.destinations().to_vec()).collect();
        Answer { octets, datagrams: out.outbox.datagram_count(), memory: used.bytes_max, destinations }
    }

    /// What the victim tells of octets from the peer's address.
    pub fn events_of(&mut self, bytes: &[u8]) -> Vec<Event> {
        let (now, mut out) = (self.net.clock(), Output::new());
        let from = Locator::udp_v4(Ipv4Addr::new(10, 0, 0, 2), 7410);
        let participant = &self.net.nodes[VICTIM].participant;
        participant.on_datagram(now, from, &SharedBytes::copy_from(bytes), &mut out);
        out.events.drain(..).collect()
    }

    /// The peer's reader has everything; the next one of a row.
    pub fn an_acknowledgment(&mut self) -> AckNack {
        self.acknowledged += 1;
        AckNack {
            reader_id: self.peer_reader.guid().entity_id,
            writer_id: self.writer.guid().entity_id,
            reader_sn_state: SequenceNumberSet::empty(self.writer.last_sn().next()),
            count: 1_000 + self.acknowledged,
            final_flag: true,
        }
    }

    /// The peer announces one more endpoint: a writer, or a reader.
    pub fn announce(&mut self, writer: bool, list: ParameterListBuilder) -> Answer {
        let channel = usize::from(!writer);
        let writer_id = [EntityId::SEDP_PUBLICATIONS_WRITER, EntityId::SEDP_SUBSCRIPTIONS_WRITER][channel];
        let writer_sn = self.next[channel];
        self.next[channel] = writer_sn.next();
        let payload = PayloadSpec::Data(list.finish().into());
        let bytes = self.forge(|message| {
            let reader_id = EntityId::UNKNOWN;
            message.data(&DataSpec { reader_id, writer_id, writer_sn, inline_qos: &[], payload });
            message.heartbeat(&Heartbeat {
                reader_id,
                writer_id,
                first_sn: writer_sn,
                last_sn: writer_sn,
                count: 10_000 + (writer_sn.0 as i32 & 0x3fff),
                final_flag: true,
                liveliness_flag: false,
                group: None,
            });
        });
        self.attack(&bytes)
    }

    /// Both directions still work: a sample arrives within ten seconds.
    #[track_caller]
    pub fn still_talks(&mut self) {
        self.written += 1;
        let number = self.written;
        let writers = [(VICTIM, Arc::clone(&self.writer)), (PEER, Arc::clone(&self.peer_writer))];
        for (node, writer) in writers {
            self.net.write(node, &writer, number, b"is alive").expect("no limits");
        }
        let readers = [(VICTIM, Arc::clone(&self.reader)), (PEER, Arc::clone(&self.peer_reader))];
        let mut arrived = [false; 2];
        for _ in 0..100 {
            self.net.run(Duration::from_millis(100));
            for (node, reader) in &readers {
                let samples = self.net.take(*node, reader);
                let honest = |sample: &_| unpack(sample) == (number, b"is alive".to_vec());
                let data = samples.iter().filter(|sample| sample.payload.is_some());
                arrived[*node] |= data.into_iter().any(honest);
            }
            if arrived == [true; 2] {
                return;
            }
        }
        panic!("what arrived: {arrived:?}, {:?}", self.reader.stats());
    }
}

/// A message in anybody's name.
pub fn message(source: GuidPrefix, write: impl FnOnce(&mut MessageBuilder<'_>)) -> Vec<u8> {
    let mut outbox = Outbox::new();
    let header = Header { version: ProtocolVersion::V2_5, vendor_id: VendorId::DUNLIN, guid_prefix: source };
    let mut builder = MessageBuilder::with_header(&mut outbox, header);
    write(&mut builder);
    builder.finish(&[Locator::LOCAL]);
    let mut bytes = vec![];
    outbox.datagrams().for_each(|datagram| datagram.copy_to(&mut bytes));
    bytes
}

fn next_numbers(record: &[SharedBytes], peer: GuidPrefix) -> [SequenceNumber; 2] {
    let mut next = [SequenceNumber::FIRST; 2];
    for packet in record {
        let message = Message::parse(packet).expect("a message of ours");
        if message.header().guid_prefix != peer {
            continue;
        }
        for parsed in message.submessages().flatten() {
            let (writer, sn) = match parsed.body {
                Submessage::Data(data) => (data.writer_id, data.writer_sn.next()),
                Submessage::Heartbeat(heartbeat) => (heartbeat.writer_id, heartbeat.last_sn.next()),
                _ => continue,
            };
            let channel = match writer {
                EntityId::SEDP_PUBLICATIONS_WRITER => 0,
                EntityId::SEDP_SUBSCRIPTIONS_WRITER => 1,
                _ => continue,
            };
            next[channel] = next[channel].max(sn);
        }
    }
    next
}
