//! Sending somebody else what he did not ask for.

use std::time::Duration;

use anyhow::{Result, ensure};
use dunlin_core::{EntityId, Guid, GuidPrefix, Locator};
use dunlin_core::{SequenceNumber, SequenceNumberSet};
use dunlin_wire::{AckNack, InfoReplyIp4, PayloadSpec, pid};

use crate::announce::{Endpoint, Participant};
use crate::field::{Field, Listener};
use crate::forge;
use crate::pair::{RATE, TOPIC, TYPE_NAME};
use crate::places::{Channel, Side};

const MS_100: Duration = Duration::from_millis(100);

/// A verified peer with a matched reader says that it has moved to the bystander, for ever.
pub(super) fn peer_moves_itself(field: &mut Field) -> Result<()> {
    let mut peer = field.peer()?;
    peer.announce(peer.reader(1).list().finish(), false);
    peer.pump(MS_100);
    let victim = field.bystander().to_vec();
    peer.participant.metatraffic = victim[..4].to_vec();
    peer.participant.data = victim[..4].to_vec();
    peer.participant.lease = dunlin_core::Duration::INFINITE;
    peer.announce_itself();
    // And is never heard again.
    field.rest(field.left());
    Ok(())
}

/// One that goes on answering from its old place.
pub(super) fn peer_moves_and_stays(field: &mut Field) -> Result<()> {
    let mut peer = field.peer()?;
    peer.announce(peer.reader(1).list().finish(), false);
    peer.pump(MS_100);
    peer.participant.data = field.bystander()[..4].to_vec();
    peer.participant.metatraffic.extend(&field.bystander()[..4]);
    while !field.is_over() {
        peer.pump(MS_100);
    }
    Ok(())
}

/// A verified peer announces its reader again, with the bystander's locators.
pub(super) fn peer_moves_its_reader(field: &mut Field) -> Result<()> {
    let mut peer = field.peer()?;
    peer.announce(peer.reader(1).list().finish(), false);
    peer.pump(MS_100);
    let locators = field.bystander()[..8].to_vec();
    peer.announce(Endpoint { locators, ..peer.reader(1) }.list().finish(), false);
    while !field.is_over() {
        peer.pump(MS_100);
    }
    Ok(())
}

/// A peer that names the bystander for its data from the beginning.
pub(super) fn peer_names_a_bystander(field: &mut Field) -> Result<()> {
    let mut peer = field.unverified_peer()?;
    peer.participant.data = field.bystander()[..4].to_vec();
    peer.be_verified(field.left())?;
    peer.announce(peer.reader(1).list().finish(), false);
    while !field.is_over() {
        peer.pump(MS_100);
    }
    Ok(())
}

/// A hundred readers of one peer, each with eight ports of the bystander.
pub(super) fn hundred_readers_elsewhere(field: &mut Field) -> Result<()> {
    let mut peer = field.peer()?;
    for key in 1..=100 {
        let half = if key % 2 == 0 { 0 } else { 8 };
        let locators = field.bystander()[half..half + 8].to_vec();
        peer.announce(Endpoint { locators, ..peer.reader(key) }.list().finish(), false);
        peer.pump(Duration::from_millis(1));
    }
    while !field.is_over() {
        peer.pump(MS_100);
    }
    Ok(())
}

/// Ports of the attacker's own address, from the first on, each of which is a place of one of his readers.
const PORTS: std::ops::Range<u16> = 20_000..20_800;
/// Places of the endpoints of one participant that count, and octets of the pair's stream at one place in a second.
const MOST_PLACES: usize = 64;
const MOST_AT_ONE: u64 = 200 * RATE;

/// A hundred readers of one peer at 800 ports of its own address: what is sent there must not grow with them.
pub(super) fn places_without_limit(field: &mut Field) -> Result<()> {
    let mut peer = field.peer()?;
    field.listen(PORTS)?;
    for (key, first) in (1..).zip(PORTS.step_by(8)) {
        let ports = first..first + 8;
        let locators = ports.map(|port| (field.places.attacker(), port).into()).collect();
        peer.announce(Endpoint { locators, ..peer.reader(key) }.list().finish(), false);
        peer.pump(Duration::from_millis(1));
    }
    while !field.is_over() {
        peer.pump(MS_100);
    }
    let heard: Vec<u64> = field.listener().into_iter().flat_map(Listener::heard).collect();
    let places = heard.iter().filter(|octets| **octets > 0).count();
    let most = heard.into_iter().max().unwrap_or(0);
    ensure!(places > 0, "nothing was sent to the readers");
    if places > MOST_PLACES || most > MOST_AT_ONE * field.seconds() {
        field.broken.push(format!("{places} places of one peer got data, one of them {most} octets"));
    }
    Ok(())
}

/// Strangers, each of whom says that he is where the bystander is.
pub(super) fn strangers_elsewhere(field: &mut Field) -> Result<()> {
    let victim = field.bystander()[0];
    field.again(Duration::from_millis(2), |field, round| {
        let mut prefix = [9; 12];
        prefix[..8].copy_from_slice(&round.to_le_bytes());
        let mut unverified = Participant::at(GuidPrefix(prefix), victim);
        unverified.lease = dunlin_core::Duration::INFINITE;
        send_announcement(field, &unverified, 1);
        Ok(())
    })
}

fn send_announcement(field: &Field, participant: &Participant, sn: i64) {
    let writer = Guid::new(participant.prefix, EntityId::SPDP_WRITER);
    let bytes = forge::data(writer, sn, &[], PayloadSpec::Data(participant.list().finish().into()));
    for side in [Side::Reader, Side::Writer] {
        field.send(side, Channel::Metatraffic, &bytes);
    }
}

/// The reader's participant is said to be where the bystander is.
pub(super) fn reader_is_said_to_move(field: &mut Field) -> Result<()> {
    let mut moved = Participant::at(field.reader.guid.prefix, field.bystander()[0]);
    moved.data = field.bystander()[..8].to_vec();
    field.again(MS_100, |field, round| {
        send_announcement(field, &moved, 1_000 + round as i64);
        Ok(())
    })
}

/// The writer's participant is said to be where the bystander is.
pub(super) fn writer_is_said_to_move(field: &mut Field) -> Result<()> {
    let mut moved = Participant::at(field.writer.guid.prefix, field.bystander()[0]);
    moved.data = field.bystander()[..8].to_vec();
    field.again(MS_100, |field, round| {
        send_announcement(field, &moved, 1_000 + round as i64);
        Ok(())
    })
}

/// The pair's reader is announced again, with the bystander's locators.
pub(super) fn readers_endpoint_is_said_to_move(field: &mut Field) -> Result<()> {
    let peer = field.peer()?;
    let writer = Guid::new(field.reader.guid.prefix, EntityId::SEDP_SUBSCRIPTIONS_WRITER);
    let next = peer.announced.get(&writer).copied().unwrap_or(1) + 1;
    let mut moved = Endpoint::new(field.reader.guid, TOPIC, TYPE_NAME);
    moved.locators = field.bystander()[..8].to_vec();
    let payload = moved.list().finish();
    field.again(MS_100, |field, round| {
        let bytes = forge::data(writer, next + round as i64, &[], PayloadSpec::Data(payload.clone().into()));
        field.send(Side::Writer, Channel::Metatraffic, &bytes);
        Ok(())
    })
}

/// ACKNACKs in the reader's name that want the answers to go to the bystander (INFO_REPLY).
pub(super) fn replies_elsewhere(field: &mut Field) -> Result<()> {
    let (reader, writer) = (field.reader.guid, field.writer.guid);
    let unicast = Locator::udp(field.bystander()[0]);
    field.again(Duration::from_millis(2), |field, round| {
        let bytes = forge::message(reader.prefix, |message| {
            message.info_dst(writer.prefix);
            message.info_reply_ip4(&InfoReplyIp4 { unicast, multicast: None });
            message.info_reply(&[unicast; 8], None);
            let mut asked = SequenceNumberSet::empty(SequenceNumber(1));
            (1..=255).for_each(|sn| _ = asked.insert(SequenceNumber(sn)));
            message.acknack(&AckNack {
                reader_id: reader.entity_id,
                writer_id: writer.entity_id,
                reader_sn_state: asked,
                count: 5_000 + round as i32,
                final_flag: false,
            });
        });
        field.send(Side::Writer, Channel::Data, &bytes);
        field.send(Side::Writer, Channel::Metatraffic, &bytes);
        Ok(())
    })
}

/// A peer that names a broadcast address and groups for its data.
pub(super) fn peer_names_groups(field: &mut Field) -> Result<()> {
    let mut peer = field.peer()?;
    let mut list = peer.reader(1).list();
    for place in ["127.255.255.255:21000", "255.255.255.255:21000", "0.0.0.0:21000", "239.255.7.7:21000"] {
        let locator = Locator::udp(place.parse()?);
        list.put_locator(pid::UNICAST_LOCATOR, &locator);
    }
    peer.announce(list.finish(), false);
    while !field.is_over() {
        peer.pump(MS_100);
    }
    Ok(())
}
