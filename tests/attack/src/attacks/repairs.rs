//! Asking again and again.

use std::time::Duration;

use anyhow::Result;
use dunlin_core::EntityId;
use dunlin_wire::EchoRequest;

use crate::field::Field;
use crate::forge;
use crate::peer::Answers;
use crate::places::{Channel, Side};

const OFTEN: Duration = Duration::from_micros(500);
const MS_100: Duration = Duration::from_millis(100);

/// 2,000 ACKNACKs each second in the reader's name, each for the last 255 samples or so.
pub(super) fn acknacks_in_the_readers_name(field: &mut Field) -> Result<()> {
    let (reader, writer) = (field.reader.guid, field.writer.guid);
    field.again(OFTEN, |field, round| {
        let base = 1.max(200 + round as i64 / 2);
        let bytes = forge::acknack(reader, writer.entity_id, base, 255, 5_000 + round as i32);
        field.send(Side::Writer, Channel::Data, &bytes);
        Ok(())
    })
}

/// A verified reader that asks for everything with each HEARTBEAT, and of its own accord 2,000 times a second.
pub(super) fn acknacks_of_a_peer(field: &mut Field) -> Result<()> {
    let mut peer = field.peer()?;
    peer.answers = Answers::Again;
    peer.announce(peer.reader(1).list().finish(), false);
    peer.pump(MS_100);
    let (guid, writer) = (peer.reader(1).guid, field.writer.guid);
    let mut base = 1;
    field.again(OFTEN, |field, _| {
        peer.pump(Duration::ZERO);
        base = peer.written.get(&writer).copied().unwrap_or(base).saturating_sub(200).max(1);
        let bytes = forge::acknack(guid, writer.entity_id, base, 255, peer.next_count());
        peer.send(Side::Writer, Channel::Data, &bytes);
        _ = field;
        Ok(())
    })
}

/// Requests for fragments of samples that have none, and of those that do not exist.
pub(super) fn fragment_requests(field: &mut Field) -> Result<()> {
    let (reader, writer) = (field.reader.guid, field.writer.guid);
    field.again(OFTEN, |field, round| {
        let bytes = forge::nack_frag(reader, writer.entity_id, 1 + round as i64, 5_000 + round as i32);
        field.send(Side::Writer, Channel::Data, &bytes);
        Ok(())
    })
}

/// A verified reader that never answers.
pub(super) fn silent_reader(field: &mut Field) -> Result<()> {
    let mut peer = field.peer()?;
    peer.answers = Answers::Nothing;
    peer.announce(peer.reader(1).list().finish(), false);
    while !field.is_over() {
        peer.pump(MS_100);
    }
    Ok(())
}

/// A verified writer that wants an answer 2,000 times each second.
pub(super) fn heartbeats_of_a_peer(field: &mut Field) -> Result<()> {
    let mut peer = field.peer()?;
    peer.announce(peer.writer(2).list().finish(), true);
    peer.pump(MS_100);
    let writer = peer.writer(2).guid;
    field.again(OFTEN, |_, round| {
        peer.pump(Duration::ZERO);
        let bytes = forge::heartbeat(writer, 1 + round as i64, 10_000 + round as i64, peer.next_count());
        peer.send(Side::Reader, Channel::Data, &bytes);
        Ok(())
    })
}

/// A verified reader is made, deleted and made again, with history to be sent each time.
pub(super) fn reader_comes_and_goes(field: &mut Field) -> Result<()> {
    let mut peer = field.peer()?;
    peer.answers = Answers::Again;
    field.again(Duration::from_millis(10), |_, round| {
        let mut endpoint = peer.reader(1);
        endpoint.topic = if round % 2 == 0 { endpoint.topic } else { "Elsewhere".into() };
        peer.announce(endpoint.list().finish(), false);
        peer.pump(Duration::from_millis(1));
        Ok(())
    })
}

/// Questions that a reader answers at once, in the writer's name and in that of a peer.
pub(super) fn echo_requests(field: &mut Field) -> Result<()> {
    let (reader, writer) = (field.reader.guid, field.writer.guid);
    field.again(OFTEN, |field, round| {
        let bytes = forge::message(writer.prefix, |message| {
            for reader_id in [reader.entity_id, EntityId::UNKNOWN] {
                let count = 5_000 + round as i32;
                message.echo_request(&EchoRequest { reader_id, writer_id: writer.entity_id, count });
            }
        });
        field.send(Side::Reader, Channel::Data, &bytes);
        Ok(())
    })
}
