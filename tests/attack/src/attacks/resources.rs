//! Making the pair remember, or work.

use std::time::Duration;

use anyhow::Result;
use dunlin_buf::SharedBytes;
use dunlin_core::Guid;
use dunlin_wire::{ParameterListBuilder, PayloadSpec, pid};

use crate::field::Field;
use crate::forge;
use crate::pair::TOPIC;
use crate::peer::Peer;
use crate::places::{Channel, Side};

const MS_1: Duration = Duration::from_millis(1);
const MS_100: Duration = Duration::from_millis(100);

/// A verified peer with a matched writer.
fn writing(field: &mut Field) -> Result<(Peer, Guid)> {
    let mut peer = field.peer()?;
    peer.announce(peer.writer(2).list().finish(), true);
    peer.pump(MS_100);
    let guid = peer.writer(2).guid;
    // A reader takes what comes from the first HEARTBEAT on.
    let bytes = forge::heartbeat(guid, 1, 0, peer.next_count());
    peer.send(Side::Reader, Channel::Data, &bytes);
    Ok((peer, guid))
}

/// 100,000 samples, each with a key of its own.
pub(super) fn keys_without_limit(field: &mut Field) -> Result<()> {
    let (mut peer, writer) = writing(field)?;
    let mut sn = 0;
    while sn < 100_000 && !field.is_over() {
        for _ in 0..50 {
            sn += 1;
            let payload = PayloadSpec::Data(super::tick(sn as u32, 0));
            peer.send(Side::Reader, Channel::Data, &forge::data(writer, sn, &[], payload));
        }
        let bytes = forge::heartbeat(writer, 1, sn, peer.next_count());
        peer.send(Side::Reader, Channel::Data, &bytes);
        peer.pump(Duration::from_micros(500));
    }
    Ok(())
}

/// The first fragments of samples of 16 MB, and never the rest.
pub(super) fn fragments_never_completed(field: &mut Field) -> Result<()> {
    let (mut peer, writer) = writing(field)?;
    let reader = field.reader.guid.entity_id;
    field.again(MS_1, |_, round| {
        for number in [1, 2, 3, 4, 16_000] {
            let bytes = forge::fragment(writer, reader, 1 + round as i64, number, 16 << 20);
            peer.send(Side::Reader, Channel::Data, &bytes);
        }
        peer.pump(Duration::ZERO);
        Ok(())
    })
}

/// Samples of 60 KB that all wait for the first one.
pub(super) fn samples_out_of_order(field: &mut Field) -> Result<()> {
    let (mut peer, writer) = writing(field)?;
    let payload: SharedBytes = [&[0, 1, 0, 0][..], &[0; 60_000]].concat().into();
    field.again(MS_1, |_, round| {
        let bytes = forge::data(writer, 2 + round as i64, &[], PayloadSpec::Data(payload.clone()));
        peer.send(Side::Reader, Channel::Data, &bytes);
        peer.pump(Duration::ZERO);
        Ok(())
    })
}

/// LIKEs of one filter: as many as are accepted.
const LIKES: usize = 255;

/// 32 readers of one peer, each with a filter of as many LIKEs as are accepted, another one for each.
pub(super) fn filters_of_many_likes(field: &mut Field) -> Result<()> {
    let mut peer = field.peer()?;
    for key in 1..=32 {
        let mut list = peer.reader(key).list();
        let like = format!("text LIKE '%q%u%i%c%k%o%w%n%x%{key}'");
        let expression = vec![like; LIKES].join(" OR ");
        list.put_with(pid::CONTENT_FILTER_PROPERTY, |out| {
            for text in ["Filtered", TOPIC, "DDSSQL", &expression] {
                out.string(text);
            }
            out.strings(std::iter::empty());
        });
        peer.announce(list.finish(), false);
        peer.pump(Duration::from_millis(2));
    }
    while !field.is_over() {
        peer.pump(MS_100);
    }
    Ok(())
}

/// 3,000 endpoints of one peer.
pub(super) fn endpoints_without_limit(field: &mut Field) -> Result<()> {
    let mut peer = field.peer()?;
    for key in 1..=3_000 {
        if field.is_over() {
            break;
        }
        let endpoint = peer.endpoint(key, key % 2 == 0, if key % 3 == 0 { TOPIC } else { "Other" });
        peer.announce(endpoint.list().finish(), key % 2 == 0);
        if key % 20 == 0 {
            peer.pump(MS_1);
        }
    }
    while !field.is_over() {
        peer.pump(MS_100);
    }
    Ok(())
}

/// Samples that carry 40 KB of inline QoS.
pub(super) fn inline_qos_without_limit(field: &mut Field) -> Result<()> {
    let (mut peer, writer) = writing(field)?;
    let mut list = ParameterListBuilder::new();
    (0..2_000).for_each(|n| _ = list.put_bytes(0x3a00 + n % 100, &[7; 16]));
    let inline = list.finish();
    field.again(MS_1, |_, round| {
        let payload = PayloadSpec::Data(super::tick(1, round));
        peer.send(Side::Reader, Channel::Data, &forge::data(writer, 1 + round as i64, &inline, payload));
        peer.pump(Duration::ZERO);
        Ok(())
    })
}

/// Announcements with the longest user data, properties and partitions that a datagram carries.
pub(super) fn long_announcements(field: &mut Field) -> Result<()> {
    let mut peer = field.peer()?;
    field.again(Duration::from_millis(5), |_, round| {
        let mut list = peer.reader(1 + (round % 50) as u32).list();
        list.put_octets(pid::USER_DATA, &[7; 16_000]);
        list.put_octets(pid::GROUP_DATA, &[7; 16_000]);
        let names: Vec<String> = (0..400).map(|n| format!("partition*{n}?{round}")).collect();
        list.put_strings(pid::PARTITION, names.iter().map(String::as_str));
        list.put_with(pid::PROPERTY_LIST, |out| {
            out.length(500);
            for n in 0..500 {
                out.string(&format!("name{n}"));
                out.string("value");
            }
        });
        peer.announce(list.finish(), false);
        peer.pump(MS_1);
        Ok(())
    })
}

/// Samples whose strings and sequences claim to be 4 GB long.
pub(super) fn lengths_that_lie(field: &mut Field) -> Result<()> {
    let (mut peer, writer) = writing(field)?;
    field.again(MS_1, |_, round| {
        let mut payload = vec![0, 1, 0, 0, 1, 0, 0, 0];
        payload.extend([0; 12]);
        payload.extend([0xff, 0xff, 0xff, [0x7f, 0xff][round as usize % 2]]);
        payload.extend([7; 32]);
        let payload = PayloadSpec::Data(payload.into());
        peer.send(Side::Reader, Channel::Data, &forge::data(writer, 1 + round as i64, &[], payload));
        peer.pump(Duration::ZERO);
        Ok(())
    })
}
