//! Nodes of the other byte order: what an engine sends in little-endian is turned into the same message in big-endian
//! (RTPS 2.5 §9.4.5 EndiannessFlag, §10 for payloads).
//!
//! Written apart from the codecs of the engine, so that the two can disagree. A submessage or a payload that this does not
//! know stays as it is: each says of itself in which order it is. A parameter cannot, so there has to be a rule for each one.

use dunlin_wire::pid;

const HEADER: usize = 20;
const LITTLE: u8 = 0x01;
const INLINE_QOS: u8 = 0x02;

const PAD: u8 = 0x01;
const ACKNACK: u8 = 0x06;
const HEARTBEAT: u8 = 0x07;
const GAP: u8 = 0x08;
const INFO_TS: u8 = 0x09;
const INFO_DST: u8 = 0x0e;
const NACK_FRAG: u8 = 0x12;
const HEARTBEAT_FRAG: u8 = 0x13;
const DATA: u8 = 0x15;
const DATA_FRAG: u8 = 0x16;

/// Where the digests begin of a HEARTBEAT that speaks of its group.
const HEARTBEAT_DIGESTS: usize = 52;

const PARTICIPANT_MESSAGE_WRITER: [u8; 4] = [0, 2, 0, 0xc2];

/// Parameters that are words alone.
const WORDS: [u16; 21] = [
    pid::COHERENT_SET,
    pid::GROUP_COHERENT_SET,
    pid::GROUP_SEQ_NUM,
    pid::DOMAIN_ID,
    pid::BUILTIN_ENDPOINT_SET,
    pid::BUILTIN_ENDPOINT_QOS,
    pid::PARTICIPANT_LEASE_DURATION,
    pid::DURABILITY,
    pid::DURABILITY_SERVICE,
    pid::DEADLINE,
    pid::LATENCY_BUDGET,
    pid::LIVELINESS,
    pid::RELIABILITY,
    pid::LIFESPAN,
    pid::DESTINATION_ORDER,
    pid::HISTORY,
    pid::RESOURCE_LIMITS,
    pid::OWNERSHIP,
    pid::OWNERSHIP_STRENGTH,
    pid::TIME_BASED_FILTER,
    pid::TRANSPORT_PRIORITY,
];

/// Octets turned around in place, position by position.
struct Turn<'a> {
    bytes: &'a mut [u8],
}

impl Turn<'_> {
    fn two(&mut self, at: usize) -> Option<u16> {
        let field: &mut [u8; 2] = self.bytes.get_mut(at..at + 2)?.try_into().ok()?;
        field.reverse();
        Some(u16::from_be_bytes(*field))
    }

    fn four(&mut self, at: usize) -> Option<u32> {
        let field: &mut [u8; 4] = self.bytes.get_mut(at..at + 4)?.try_into().ok()?;
        field.reverse();
        Some(u32::from_be_bytes(*field))
    }

    /// Every word from one place to another.
    fn words(&mut self, from: usize, to: usize) {
        for word in self.bytes.get_mut(from..to).unwrap_or_default().chunks_exact_mut(4) {
            word.reverse();
        }
    }
}

/// Turns a whole message, as far as it is understood.
pub(crate) fn to_big_endian(message: &mut [u8]) {
    let mut at = HEADER;
    while let Some([id, flags, low, high]) =
        message.get(at..at + 4).and_then(|header| <[u8; 4]>::try_from(header).ok())
    {
        if flags & LITTLE == 0 {
            return;
        }
        let stated = usize::from(u16::from_le_bytes([low, high]));
        let start = at + 4;
        let end = if stated == 0 && id != PAD && id != INFO_TS { message.len() } else { start + stated };
        let Some(body) = message.get_mut(start..end) else { return };
        if turn_body(id, flags, body) {
            message[at + 1] &= !LITTLE;
            message[at + 2..at + 4].reverse();
        }
        at = end;
    }
}

fn turn_body(id: u8, flags: u8, body: &mut [u8]) -> bool {
    let end = body.len();
    match id {
        PAD | INFO_DST => {}
        INFO_TS => Turn { bytes: body }.words(0, end),
        // Reader and writer, then words alone.
        ACKNACK | GAP | NACK_FRAG | HEARTBEAT_FRAG => Turn { bytes: body }.words(8, end),
        // What it says of its group ends with digests, which are octets.
        HEARTBEAT => Turn { bytes: body }.words(8, end.min(HEARTBEAT_DIGESTS)),
        DATA => return turn_data(flags, body, 20).is_some(),
        DATA_FRAG => return turn_data(flags, body, 32).is_some(),
        _ => return false,
    }
    true
}

/// DATA has 20 octets before inline QoS, DATA_FRAG 32.
fn turn_data(flags: u8, body: &mut [u8], fixed: usize) -> Option<()> {
    let writer: [u8; 4] = body.get(8..12)?.try_into().ok()?;
    body.get(..fixed)?;
    let mut turn = Turn { bytes: body };
    turn.two(0)?;
    turn.two(2)?;
    turn.words(12, 20);
    if fixed == 32 {
        turn.four(20)?;
        turn.two(24)?;
        turn.two(26)?;
        turn.four(28)?;
    }
    let mut at = fixed;
    if flags & INLINE_QOS != 0 {
        at = turn_parameters(&mut turn, at)?;
    }
    let payload = body.get_mut(at..)?;
    let built_in = writer[3] & 0xc0 == 0xc0;
    if built_in && fixed == 20 && payload.len() > 4 {
        turn_payload(writer, payload);
    }
    Some(())
}

/// The payloads of discovery; those of applications are turned by the applications.
fn turn_payload(writer: [u8; 4], payload: &mut [u8]) {
    match payload {
        [0, encapsulation @ 3, ..] => {
            *encapsulation = 2;
            turn_parameters(&mut Turn { bytes: payload }, 4);
        }
        [0, encapsulation @ 1, ..] if writer == PARTICIPANT_MESSAGE_WRITER => {
            *encapsulation = 0;
            Turn { bytes: payload }.four(20);
        }
        _ => {}
    }
}

/// Turns a parameter list; returns where it ends.
fn turn_parameters(turn: &mut Turn<'_>, mut at: usize) -> Option<usize> {
    loop {
        let id = turn.two(at)?;
        let len = usize::from(turn.two(at + 2)?);
        at += 4;
        if id == pid::SENTINEL {
            return Some(at);
        }
        turn_value(turn, id, at, len);
        at += len;
    }
}

fn turn_value(turn: &mut Turn<'_>, id: u16, at: usize, len: usize) {
    let end = at + len;
    match id {
        // Octets, whatever they mean, or something with an order of its own.
        pid::KEY_HASH
        | pid::STATUS_INFO
        | pid::DIRECTED_WRITE
        | pid::WRITER_GROUP_INFO
        | pid::VENDORID
        | pid::PROTOCOL_VERSION
        | pid::ENDPOINT_GUID
        | pid::PARTICIPANT_GUID
        | pid::GROUP_ENTITYID
        | pid::RELATED_ENTITY_GUID
        | pid::EXPECTS_INLINE_QOS
        | pid::TYPE_INFORMATION
        | pid::vendor::SOURCE_PORTS
        | pid::vendor::GOODBYE_HASH
        | pid::vendor::GOODBYE_SECRET => {}
        // A word, then octets.
        pid::TOPIC_NAME
        | pid::TYPE_NAME
        | pid::ENTITY_NAME
        | pid::DOMAIN_TAG
        | pid::USER_DATA
        | pid::TOPIC_DATA
        | pid::GROUP_DATA
        | pid::PRESENTATION => {
            turn.four(at);
        }
        pid::UNICAST_LOCATOR
        | pid::MULTICAST_LOCATOR
        | pid::METATRAFFIC_UNICAST_LOCATOR
        | pid::METATRAFFIC_MULTICAST_LOCATOR
        | pid::DEFAULT_UNICAST_LOCATOR
        | pid::DEFAULT_MULTICAST_LOCATOR => turn.words(at, at + 8),
        pid::ORIGINAL_WRITER_INFO
        | pid::RELATED_SAMPLE_IDENTITY
        | pid::vendor::CUSTOM_RELATED_SAMPLE_IDENTITY => turn.words(at + 16, at + 24),
        pid::TYPE_CONSISTENCY_ENFORCEMENT => {
            turn.two(at);
        }
        pid::DATA_REPRESENTATION => {
            let count = turn.four(at).unwrap_or(0) as usize;
            (0..count.min(len / 2)).for_each(|index| {
                turn.two(at + 4 + 2 * index);
            });
        }
        pid::CONTENT_FILTER_INFO => {
            // Words of results, how many signatures, and those as octets.
            let results = turn.four(at).unwrap_or(0) as usize;
            turn.words(at + 4, end.min(at + 8 + 4 * results));
        }
        pid::PARTITION => _ = turn_strings(turn, at, end),
        pid::PROPERTY_LIST => _ = turn_properties(turn, at, end),
        pid::CONTENT_FILTER_PROPERTY => _ = turn_filter(turn, at, end),
        id if WORDS.contains(&id) => turn.words(at, end),
        _ => panic!("a big-endian node sends parameter {id:#06x}, for which there is no rule here"),
    }
}

/// Turns a string that begins at a place or up to three octets behind it; returns where it ends.
fn turn_string(turn: &mut Turn<'_>, at: usize, end: usize) -> Option<usize> {
    let text = at.next_multiple_of(4) + 4;
    let len = if text <= end { turn.four(text - 4)? } else { return None };
    Some(text + len as usize)
}

/// A sequence of strings.
fn turn_strings(turn: &mut Turn<'_>, at: usize, end: usize) -> Option<usize> {
    let count = turn.four(at)?;
    (0..count).try_fold(at + 4, |at, _| turn_string(turn, at, end))
}

/// Names and values.
fn turn_properties(turn: &mut Turn<'_>, at: usize, end: usize) -> Option<usize> {
    let count = turn.four(at)?;
    (0..count.saturating_mul(2)).try_fold(at + 4, |at, _| turn_string(turn, at, end))
}

/// Topic, related topic, class and expression, then the parameters.
fn turn_filter(turn: &mut Turn<'_>, at: usize, end: usize) -> Option<usize> {
    let parameters = (0..4).try_fold(at, |at, _| turn_string(turn, at, end))?;
    turn_strings(turn, parameters.next_multiple_of(4), end)
}

#[cfg(test)]
mod tests {
    use dunlin_core::{EntityId, Guid, GuidPrefix, SequenceNumber};
    use dunlin_wire::{Endianness, GroupDigest, Message, ParameterListBuilder, Submessage, params};

    use super::*;

    #[test]
    fn a_heartbeat_reads_the_same_from_the_other_end() {
        let mut message = b"RTPS\x02\x05\x01\x10".to_vec();
        message.extend_from_slice(&[7; 12]);
        message.extend_from_slice(&[HEARTBEAT, 0x03, 28, 0]);
        message.extend_from_slice(&[0, 0, 0, 4, 0, 0, 1, 2]);
        for word in [0_u32, 1, 0, 0x0102_0304, 9] {
            message.extend_from_slice(&word.to_le_bytes());
        }
        to_big_endian(&mut message);
        assert_eq!(message[20..24], [HEARTBEAT, 0x02, 0, 28]);
        assert_eq!(message[24..32], [0, 0, 0, 4, 0, 0, 1, 2], "ids have no order");
        assert_eq!(message[44..48], [1, 2, 3, 4]);
        let once = message.clone();
        to_big_endian(&mut message);
        assert_eq!(message, once, "what is big-endian stays so");
    }

    /// A DATA of a user's writer with these parameters as inline QoS.
    fn data_with(parameters: &[u8]) -> Vec<u8> {
        let mut message = b"RTPS\x02\x05\x01\x10".to_vec();
        message.extend_from_slice(&[7; 12]);
        message.extend_from_slice(&[DATA, 0x03, 0, 0]);
        message.extend_from_slice(&[0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0, 0, 0]);
        message.extend_from_slice(parameters);
        message
    }

    #[test]
    fn the_digest_of_a_group_and_guids_have_no_order() {
        let digest = GroupDigest([1, 2, 3, 4]);
        let (number, guid) =
            (SequenceNumber(0x0102_0304), Guid::new(GuidPrefix([5; 12]), EntityId([1, 2, 3, 4])));
        let mut list = ParameterListBuilder::with_endianness(Endianness::Little);
        list.put_sequence_number(pid::GROUP_SEQ_NUM, number);
        list.put_bytes(pid::WRITER_GROUP_INFO, &digest.0);
        list.put_guid(pid::DIRECTED_WRITE, guid);
        let mut message = data_with(&list.finish());
        to_big_endian(&mut message);
        let message = Message::parse(&message).expect("a message");
        let turned = message.submessages().next().expect("a submessage").expect("understood");
        let Submessage::Data(data) = turned.body else { panic!("{turned:?}") };
        let list = data.inline_qos.expect("there is some");
        assert_eq!(data.writer_sn, SequenceNumber(9));
        assert_eq!(params::group_sequence_number(&list), Some(number));
        assert_eq!(params::writer_group_info(&list), Some(digest));
        assert_eq!(params::directed_write(&list), Some(guid));
    }

    #[test]
    fn strings_keep_their_order_and_their_lengths_are_turned() {
        let mut little = ParameterListBuilder::with_endianness(Endianness::Little);
        let mut big = ParameterListBuilder::with_endianness(Endianness::Big);
        for list in [&mut little, &mut big] {
            list.put_with(pid::CONTENT_FILTER_PROPERTY, |out| {
                ["a", "Squares", "DDSSQL", "x > %0"].iter().for_each(|text| out.string(text));
                out.length(1);
                out.string("3");
            });
            list.put_with(pid::PROPERTY_LIST, |out| {
                out.length(1);
                out.string("name");
                out.string("value");
            });
        }
        let (mut message, expected) = (data_with(&little.finish()), big.finish());
        to_big_endian(&mut message);
        assert_eq!(message[44..], expected);
    }

    #[test]
    #[should_panic(expected = "no rule")]
    fn a_parameter_without_a_rule_is_not_passed_on_in_some_order() {
        to_big_endian(&mut data_with(&[0xfe, 0x7f, 4, 0, 1, 2, 3, 4, 1, 0, 0, 0]));
    }

    #[test]
    fn byte_swapping_a_truncated_message_stays_within_its_end() {
        for id in [pid::PARTITION, pid::PROPERTY_LIST, pid::CONTENT_FILTER_PROPERTY, pid::DATA_REPRESENTATION]
        {
            let mut parameters = id.to_le_bytes().to_vec();
            parameters.extend_from_slice(&[16, 0]);
            parameters.extend_from_slice(&[0xff; 16]);
            let message = data_with(&parameters);
            for len in 0..message.len() {
                to_big_endian(&mut message[..len].to_vec());
            }
        }
    }
}
