//! Strangers who speak in the name of nodes, from a place of their own, and nodes that name that place as theirs.

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{
    EntityId, Guid, GuidPrefix, Locator, ProtocolVersion, SequenceNumber, SequenceNumberSet, StatusInfo,
    VendorId, domain_ports,
};
use dunlin_discovery::builtin_endpoints;
use dunlin_sim::{NodeConfig, NodeId};
use dunlin_wire::{
    AckNack, DataSpec, Endianness, Gap, Header, Heartbeat, InfoSrc, MessageBuilder, ParameterListBuilder,
    PayloadSpec, inline_qos_for_status, pid,
};

use super::agenda::Action;
use super::{Known, MS, Run};
use crate::generate::Dice;
use crate::scenario::Fault;

/// Somebody who runs no participant.
pub(crate) struct Stranger {
    pub(super) id: NodeId,
    /// Octets that he sent.
    pub(crate) sent: u64,
    /// Somebody else, whose place nodes name as theirs, and octets that were sent to name it.
    victim: NodeId,
    pub(crate) named: u64,
    /// Somebody was told of that place, beside a node's own, before it knew the node: its answer counts for both
    /// (docs/hostile-input.md, several addresses).
    pub(crate) proven_beside: bool,
    pub(super) dice: Dice,
}

impl Stranger {
    /// Where he could be sent something.
    pub(crate) fn places(&self) -> [Locator; 2] {
        places(self.id)
    }

    /// Where the victim could be.
    pub(crate) fn places_of_victim(&self) -> [Locator; 2] {
        places(self.victim)
    }
}

fn places(node: NodeId) -> [Locator; 2] {
    let [_, discovery, _, user] = domain_ports(0, 0).expect("domain 0 has ports");
    [discovery, user].map(|port| Locator::udp_v4(node.address(), port))
}

/// What a forged message needs to know of who it names and whom it is for.
struct Names {
    source: GuidPrefix,
    writer: EntityId,
    reader: EntityId,
    own_writer: EntityId,
    /// Far ahead of all that was, or close to it.
    number: SequenceNumber,
    count: i32,
}

impl Run<'_> {
    /// An attack goes on: one more message, and the next one is planned.
    pub(super) fn attack(&mut self, index: usize) {
        if !self.active.contains(&index) {
            return;
        }
        let (first, period) = match self.scenario.faults[index].fault {
            Fault::Forger(named, at, period) => {
                self.forge(named, at);
                (named, period)
            }
            Fault::Liar(node, period) => {
                self.lie(node);
                (node, period)
            }
            Fault::Goodbyes(named, at, period) => {
                self.bid_goodbye(named, at);
                (named, period)
            }
            Fault::Samples(writer, at, period) => {
                self.replace_samples(writer, at);
                (writer, period)
            }
            _ => return,
        };
        let varied = 1 + (period * MS + first as u64 * 977) / 2;
        self.agenda.at(self.age() + varied, Action::Attack(index));
    }

    pub(super) fn stranger(&mut self) -> &mut Stranger {
        if self.stranger.is_none() {
            let mut bystander =
                || self.world.add_bystander(NodeConfig { multicast: false, ..NodeConfig::default() });
            let (id, victim) = (bystander(), bystander());
            let dice = Dice::new(self.scenario.seed.number, 3_000_000);
            self.stranger = Some(Stranger { id, sent: 0, victim, named: 0, proven_beside: false, dice });
        }
        self.stranger.as_mut().expect("there is one")
    }

    pub(super) fn prefix_of(&self, node: usize) -> Option<(NodeId, GuidPrefix)> {
        let machine = self.machines[node].as_ref().filter(|machine| machine.up)?;
        Some((machine.id, self.world.participant(machine.id).guid_prefix()))
    }

    /// Any entity of a node.
    fn entity_of(&mut self, node: usize, writer: bool) -> EntityId {
        let entities = self.machines[node].iter().flat_map(|machine| &machine.entities);
        let fits = |known: &Known| matches!(known, Known::Writer(_)) == writer;
        let fitting: Vec<EntityId> = entities.filter(|(_, known)| fits(known)).map(|(id, _)| *id).collect();
        let at = self.stranger().dice.index(fitting.len().max(1));
        fitting.get(at).copied().unwrap_or(EntityId::SEDP_PUBLICATIONS_WRITER)
    }

    /// A stranger speaks in the name of a node to another one.
    fn forge(&mut self, named: usize, at: usize) {
        let (Some((_, source)), Some((target, _))) = (self.prefix_of(named), self.prefix_of(at)) else {
            return;
        };
        let home = self.machines[at].as_ref().map_or(target.address(), |machine| machine.home);
        let (writer, reader) = (self.entity_of(named, true), self.entity_of(named, false));
        let own_writer = self.entity_of(at, true);
        let dice = &mut self.stranger().dice;
        let far = dice.percent(50);
        let number = if far { 1 << 40 } else { dice.small(1, 300) as i64 };
        let count = if far { 1 << 29 } else { dice.small(1, 5_000) as i32 };
        let names = Names { source, writer, reader, own_writer, number: SequenceNumber(number), count };
        let kind = dice.index(9);
        let [place, _] = self.stranger().places();
        let bytes = forgery(&names, kind, place);
        let [_, discovery, _, user] = domain_ports(0, 0).expect("domain 0 has ports");
        let port = if kind < 6 { user } else { discovery };
        let stranger = self.stranger();
        stranger.sent += bytes.len() as u64;
        let id = stranger.id;
        self.world.inject(id, place, Locator::udp_v4(home, port), bytes);
    }

    /// Whether the participant of a node says that it knows another one.
    fn knows(&self, node: usize, other: GuidPrefix) -> bool {
        let Some((id, _)) = self.prefix_of(node) else { return false };
        let known = self.world.participant(id).discovered_participants();
        known.iter().any(|data| data.guid_prefix == other)
    }

    /// A node names the place of the stranger to all others as its own, once.
    fn lie(&mut self, node: usize) {
        let Some((_, source)) = self.prefix_of(node) else { return };
        let Some(home) = self.machines[node].as_ref().map(|machine| machine.home) else { return };
        let [_, discovery, _, _] = domain_ports(0, 0).expect("domain 0 has ports");
        let own = Locator::udp_v4(home, discovery);
        let [place, _] = self.stranger().places_of_victim();
        let beside = self.stranger().dice.percent(40);
        let places: Vec<Locator> = if beside { vec![own, place] } else { vec![place] };
        let lease = self.scenario.nodes[node].lease;
        let bytes = announcement(source, &places, lease);
        for other in (0..self.machines.len()).filter(|other| *other != node) {
            let Some(to) = self.machines[other].as_ref().map(|machine| machine.home) else { continue };
            let known = self.knows(other, source);
            let stranger = self.stranger();
            stranger.proven_beside |= beside && !known;
            stranger.named += bytes.len() as u64;
            // He forges the source as well, so that what nodes send is theirs alone.
            let id = stranger.id;
            self.world.inject(id, own, Locator::udp_v4(to, discovery), bytes.clone());
        }
    }
}

pub(super) fn message(source: GuidPrefix, write: impl FnOnce(&mut MessageBuilder<'_>)) -> SharedBytes {
    let mut outbox = Outbox::new();
    let header = Header { version: ProtocolVersion::V2_5, vendor_id: VendorId::DUNLIN, guid_prefix: source };
    let mut builder = MessageBuilder::with_header(&mut outbox, header);
    write(&mut builder);
    builder.finish(&[Locator::INVALID]);
    let mut bytes = Vec::new();
    outbox.datagrams().for_each(|datagram| datagram.copy_to(&mut bytes));
    bytes.into()
}

fn forgery(names: &Names, kind: usize, place: Locator) -> SharedBytes {
    let Names { source, writer, number, .. } = *names;
    match kind {
        0 => message(source, |message| heartbeat(message, names)),
        1 => message(source, |message| _ = message.gap(&gap(names))),
        2 => message(source, |message| acknack(message, names)),
        3 => message(source, |message| data(message, writer, number)),
        4 => message(GuidPrefix([0xee; 12]), |message| {
            let (version, vendor_id) = (ProtocolVersion::V2_5, VendorId::DUNLIN);
            message.info_src(&InfoSrc { version, vendor_id, guid_prefix: source });
            heartbeat(message, names);
            acknack(message, names);
        }),
        5 => message(source, |message| {
            heartbeat(message, names);
            message.gap(&gap(names));
            data(message, writer, number);
        }),
        6 => message(source, |message| {
            goodbye(message, EntityId::SPDP_WRITER, Guid::new(source, EntityId::PARTICIPANT), number)
        }),
        7 => message(source, |message| {
            goodbye(message, EntityId::SEDP_PUBLICATIONS_WRITER, Guid::new(source, writer), number);
            goodbye(message, EntityId::SEDP_SUBSCRIPTIONS_WRITER, Guid::new(source, names.reader), number);
        }),
        _ => announcement(source, &[place], 10_000),
    }
}

fn gap(names: &Names) -> Gap {
    Gap {
        reader_id: EntityId::UNKNOWN,
        writer_id: names.writer,
        gap_start: SequenceNumber(1),
        gap_list: SequenceNumberSet::empty(names.number),
        group: None,
        filtered_count: None,
    }
}

fn heartbeat(message: &mut MessageBuilder<'_>, names: &Names) {
    message.heartbeat(&Heartbeat {
        reader_id: EntityId::UNKNOWN,
        writer_id: names.writer,
        first_sn: names.number,
        last_sn: names.number,
        count: names.count,
        final_flag: false,
        liveliness_flag: true,
        group: None,
    });
}

fn acknack(message: &mut MessageBuilder<'_>, names: &Names) {
    message.acknack(&AckNack {
        reader_id: names.reader,
        writer_id: names.own_writer,
        reader_sn_state: SequenceNumberSet::empty(names.number),
        count: names.count,
        final_flag: true,
    });
}

fn data(message: &mut MessageBuilder<'_>, writer_id: EntityId, writer_sn: SequenceNumber) {
    let payload = PayloadSpec::Data(vec![0, 1, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0].into());
    message.data(&DataSpec { reader_id: EntityId::UNKNOWN, writer_id, writer_sn, inline_qos: &[], payload });
}

fn goodbye(message: &mut MessageBuilder<'_>, writer_id: EntityId, gone: Guid, writer_sn: SequenceNumber) {
    let status = StatusInfo(StatusInfo::DISPOSED | StatusInfo::UNREGISTERED);
    let inline_qos = inline_qos_for_status(status, Some(&gone.to_bytes()));
    let reader_id = EntityId::UNKNOWN;
    message.data(&DataSpec {
        reader_id,
        writer_id,
        writer_sn,
        inline_qos: &inline_qos,
        payload: PayloadSpec::None,
    });
}

/// An announcement as a node makes it, with other places. The lease is in milliseconds.
fn announcement(source: GuidPrefix, places: &[Locator], lease: u64) -> SharedBytes {
    let mut list = ParameterListBuilder::payload(Endianness::Little);
    list.put_protocol_version(ProtocolVersion::V2_5);
    list.put_vendor_id(VendorId::DUNLIN);
    list.put_guid(pid::PARTICIPANT_GUID, Guid::new(source, EntityId::PARTICIPANT));
    list.put_u32(pid::BUILTIN_ENDPOINT_SET, builtin_endpoints::ALL);
    list.put_duration(pid::PARTICIPANT_LEASE_DURATION, dunlin_core::Duration::from_millis(lease as i64));
    for place in places {
        list.put_locator(pid::METATRAFFIC_UNICAST_LOCATOR, place);
        list.put_locator(pid::DEFAULT_UNICAST_LOCATOR, place);
    }
    let payload = PayloadSpec::Data(list.finish().into());
    let (reader_id, writer_id, writer_sn) = (EntityId::UNKNOWN, EntityId::SPDP_WRITER, SequenceNumber(1));
    message(source, |message| {
        _ = message.data(&DataSpec { reader_id, writer_id, writer_sn, inline_qos: &[], payload })
    })
}
