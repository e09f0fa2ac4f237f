//! Segments: MCAP files without chunks, so that each value is at a place of its own, and every tool for MCAP reads them.

use std::collections::BTreeMap;
use std::io::Cursor;

use mcap::records::{MessageHeader, op};

use crate::change::{GroupId, Head, Payload, Position, take};
use crate::store::StoreError;
use crate::topic::Topic;

/// Where each value of a segment is: its offset and length.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Segment {
    /// By position.
    pub values: BTreeMap<Position, (u64, u32)>,
}

/// Octets of a message before its value: the channel, its number there, two times.
const BEFORE: usize = 22;
/// Octets of a value in the list.
const ENTRY: usize = 20;

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Backend(Box::new(error))
}

impl Segment {
    /// Writes values into a segment; where each is, and the octets.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn of(
        values: &[(Position, Head, Payload)],
        names: &BTreeMap<GroupId, Topic>,
    ) -> Result<(Self, Vec<u8>), StoreError> {
        let options = mcap::WriteOptions::new().use_chunks(false).compression(None).library("dunlin-store");
        let mut writer = options.create(Cursor::new(Vec::new())).map_err(failed)?;
        let mut channels = BTreeMap::new();
        for (position, head, payload) in values {
            let channel = match channels.get(&head.group) {
                Some(channel) => *channel,
                None => {
                    let channel = channel(&mut writer, head.group, names.get(&head.group)).map_err(failed)?;
                    channels.insert(head.group, channel);
                    channel
                }
            };
            let at = u64::try_from(head.source_timestamp.0).unwrap_or(0);
            let number = head.origin.sequence_number.0 as u32;
            let header = MessageHeader {
                channel_id: channel,
                sequence: number,
                log_time: *position,
                publish_time: at,
            };
            writer.write_to_known_channel(&header, payload).map_err(failed)?;
        }
        writer.finish().map_err(failed)?;
        let octets = writer.into_inner().into_inner();
        let places = places(&octets).ok_or_else(|| StoreError::Damaged("a segment cannot be read".into()))?;
        let values = values.iter().zip(places).map(|((position, ..), place)| (*position, place)).collect();
        Ok((Self { values }, octets))
    }

    /// The list as stores keep it.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let entry = |(position, (offset, length)): (&Position, &(u64, u32))| {
            [&position.to_le_bytes()[..], &offset.to_le_bytes(), &length.to_le_bytes()].concat()
        };
        self.values.iter().flat_map(entry).collect()
    }

    /// What [`encode`](Self::encode) made; `None` if it is not that.
    #[must_use]
    pub fn decode(mut octets: &[u8]) -> Option<Self> {
        (octets.len() % ENTRY == 0).then_some(())?;
        let mut values = BTreeMap::new();
        while !octets.is_empty() {
            let position = u64::from_le_bytes(take(&mut octets)?);
            let offset = u64::from_le_bytes(take(&mut octets)?);
            let length = u32::from_le_bytes(take(&mut octets)?);
            offset.checked_add(u64::from(length))?;
            values.insert(position, (offset, length));
        }
        Some(Self { values })
    }
}

fn channel(
    writer: &mut mcap::Writer<Cursor<Vec<u8>>>,
    group: GroupId,
    topic: Option<&Topic>,
) -> mcap::McapResult<u16> {
    let idl = topic.and_then(|topic| topic.idl.as_ref());
    let schema = idl.map_or(Ok(0), |(name, idl)| writer.add_schema(name, "omgidl", idl.as_bytes()))?;
    let name = topic.map_or_else(|| format!("group {group}"), |topic| topic.key.topic.clone());
    let partitions = topic.map_or_else(String::new, |topic| topic.key.partitions.join(","));
    let about = [("group".to_owned(), group.to_string()), ("partitions".to_owned(), partitions)];
    writer.add_channel(schema, &name, "cdr", &about.into())
}

/// Where the values of the messages are, in their order.
fn places(file: &[u8]) -> Option<Vec<(u64, u32)>> {
    let (mut places, mut at) = (Vec::new(), mcap::MAGIC.len());
    while let Some(mut head) = file.get(at..at + 9) {
        let [kind] = take(&mut head)?;
        let length = usize::try_from(u64::from_le_bytes(take(&mut head)?)).ok()?;
        if kind == op::MESSAGE {
            let value = length.checked_sub(BEFORE)?;
            places.push(((at + 9 + BEFORE) as u64, u32::try_from(value).ok()?));
        }
        if kind == op::FOOTER {
            return Some(places);
        }
        at = at.checked_add(9)?.checked_add(length)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use dunlin::{Guid, InstanceHandle, SampleIdentity, SequenceNumber, VendorId, WallTime};

    use super::*;
    use crate::change::Kind;

    #[test]
    fn values_are_where_the_list_says_and_tools_read_them() {
        let head = |number: i64| Head {
            group: 1 + number as u32 % 2,
            instance: InstanceHandle([1; 16]),
            origin: SampleIdentity {
                writer: Guid::from_bytes([2; 16]),
                sequence_number: SequenceNumber(number),
            },
            source_timestamp: WallTime(number * 1000),
            expires: None,
            vendor: VendorId::DUNLIN,
            kind: Kind::Data,
            octets: 0,
        };
        let value = |number: i64| Payload::copy_from(&vec![number as u8; number as usize * 7]);
        let values: Vec<_> = (1..20).map(|number| (number as u64 * 3, head(number), value(number))).collect();
        let (segment, file) = Segment::of(&values, &BTreeMap::new()).unwrap();
        for (position, _, value) in &values {
            let (offset, length) = segment.values[position];
            assert_eq!(&file[offset as usize..][..length as usize], &value[..]);
        }
        let read: Vec<_> = mcap::MessageStream::new(&file).unwrap().map(Result::unwrap).collect();
        assert_eq!(read.len(), 19);
        assert_eq!(read[4].channel.topic, "group 2");
        assert_eq!((&read[4].data[..], read[4].publish_time), (&[5; 35][..], 5000));
        assert_eq!(Segment::decode(&segment.encode()), Some(segment));
        assert_eq!(Segment::decode(&[0; 19]), None);
    }
}
