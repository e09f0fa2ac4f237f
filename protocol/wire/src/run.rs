//! RTPS 2.5 §8.3.8.2, §8.3.8.3 and §9.4.5: changes of one writer that follow each other in a message, and fragments that follow
//! each other in messages of their own, in the form that nearly all have.

use dunlin_core::{EntityId, RtpsTime, SequenceNumber, WallTime};

use crate::submessage::kind;
use crate::{DataFrag, Submessages, size};

/// Little-endian, nothing else.
const INFO_TS_FLAGS: u8 = 0x01;
/// Little-endian, with a value.
const DATA_FLAGS: u8 = 0x05;
/// Little-endian, without inline QoS, part of a value.
const DATA_FRAG_FLAGS: u8 = 0x01;
/// Bytes of a DATA submessage between its header and the payload.
const FIXED_LEN: usize = 20;
const ENCAPSULATION_LEN: usize = 4;

/// A DATA submessage without inline QoS, and the timestamp before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainData<'a> {
    /// What an INFO_TS before it says; `None` if there is none.
    pub timestamp: Option<Option<WallTime>>,
    /// The change. At least 1.
    pub writer_sn: SequenceNumber,
    /// The value, with its encapsulation header.
    pub payload: &'a [u8],
}

/// A timestamp at the start of `rest`, and what is behind it; the same bytes if there is none.
fn timestamp(rest: &[u8]) -> (Option<Option<WallTime>>, &[u8]) {
    let Some(([kind::INFO_TS, INFO_TS_FLAGS, 8, 0, time @ ..], behind)) = rest.split_first_chunk::<12>()
    else {
        return (None, rest);
    };
    let [s0, s1, s2, s3, f0, f1, f2, f3] = *time;
    let seconds = u32::from_le_bytes([s0, s1, s2, s3]);
    let time = RtpsTime { seconds, fraction: u32::from_le_bytes([f0, f1, f2, f3]) };
    (Some(time.to_wall()), behind)
}

/// A message that has nothing but fragments of one change, and perhaps a timestamp before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoneFragments<'a> {
    /// What an INFO_TS before them says; `None` without one.
    pub timestamp: Option<WallTime>,
    /// The fragments, without inline QoS.
    pub fragments: DataFrag<'a>,
}

impl<'a> LoneFragments<'a> {
    /// What a message is that begins with this header; `None` if it is anything else, whatever that is.
    #[must_use]
    pub fn parse(message: &'a [u8], header: &[u8; size::HEADER]) -> Option<Self> {
        let (_, rest) =
            message.split_first_chunk::<{ size::HEADER }>().filter(|(first, _)| *first == header)?;
        let (stated, rest) = timestamp(rest);
        let ([kind::DATA_FRAG, DATA_FRAG_FLAGS, l0, l1], body) = rest.split_first_chunk::<4>()? else {
            return None;
        };
        let length = usize::from(u16::from_le_bytes([*l0, *l1]));
        let is_all = length == 0 || length == body.len();
        let fragments = DataFrag::parse(DATA_FRAG_FLAGS, body).ok().filter(|_| is_all)?;
        Some(Self { timestamp: stated.flatten(), fragments })
    }
}

impl<'a> Submessages<'a> {
    /// The next submessage, or next two, if it is a DATA that names these entities, in the usual form: little-endian, a value
    /// without inline QoS, an INFO_TS before it or none. Otherwise nothing is taken, whatever comes.
    pub fn next_plain(&mut self, reader_id: EntityId, writer_id: EntityId) -> Option<PlainData<'a>> {
        let (timestamp, rest) = timestamp(self.rest()?);
        let (head, body) = rest.split_first_chunk::<24>()?;
        let [kind::DATA, DATA_FLAGS, l0, l1, _, _, 16, 0, ids @ .., h0, h1, h2, h3, n0, n1, n2, n3] = *head
        else {
            return None;
        };
        let ([r0, r1, r2, r3, w0, w1, w2, w3], named) = (ids, (reader_id, writer_id));
        if (EntityId([r0, r1, r2, r3]), EntityId([w0, w1, w2, w3])) != named {
            return None;
        }
        let (high, low) = (i32::from_le_bytes([h0, h1, h2, h3]), u32::from_le_bytes([n0, n1, n2, n3]));
        let writer_sn = SequenceNumber::from_parts(high, low);
        let length = usize::from(u16::from_le_bytes([l0, l1])).checked_sub(FIXED_LEN)?;
        let (payload, behind) = body.split_at_checked(length)?;
        if length < ENCAPSULATION_LEN || writer_sn < SequenceNumber::FIRST {
            return None;
        }
        self.go_on_with(behind);
        Some(PlainData { timestamp, writer_sn, payload })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::{Message, Payload, Submessage};

    const HEADER: &[u8] = b"RTPS\x02\x05\x01\x29abcdefghijkl";
    const READER: EntityId = EntityId([0, 0, 1, 4]);
    const WRITER: EntityId = EntityId([0, 0, 2, 3]);
    const TIMED: &[u8] = &[
        9, 1, 8, 0, 7, 0, 0, 0, 0, 0, 0, 0x80, // INFO_TS
        0x15, 5, 28, 0, 0, 0, 16, 0, 0, 0, 1, 4, 0, 0, 2, 3, 0, 0, 0, 0, 9, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4,
    ];

    fn message(body: &[u8]) -> Vec<u8> {
        [HEADER, body].concat()
    }

    /// What the general parser makes of the same bytes.
    fn parsed(octets: &[u8]) -> Option<(Option<Option<WallTime>>, SequenceNumber, Vec<u8>)> {
        let message = Message::parse(octets).ok()?;
        let mut all = message.submessages();
        let (mut stated, mut next) = (None, all.next()?.ok()?.body);
        if let Submessage::InfoTs(time) = next {
            (stated, next) = (Some(time), all.next()?.ok()?.body);
        }
        match next {
            Submessage::Data(data) if (data.reader_id, data.writer_id) == (READER, WRITER) => {
                match data.payload {
                    Payload::Data(payload) if data.inline_qos.is_none() => {
                        Some((stated, data.writer_sn, payload.to_vec()))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    const FRAGMENTS: &[u8] = &[
        9, 1, 8, 0, 7, 0, 0, 0, 0, 0, 0, 0x80, // INFO_TS
        0x16, 1, 40, 0, 0, 0, 28, 0, 0, 0, 1, 4, 0, 0, 2, 3, 0, 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0, 2, 0, 4, 0,
        14, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8,
    ];

    #[test]
    fn lone_fragments_are_what_the_general_parser_sees() {
        let header = HEADER.first_chunk().expect("twenty octets");
        let mut taken = 0;
        for at in 0..FRAGMENTS.len() {
            for value in 0..=u8::MAX {
                let mut body = FRAGMENTS.to_vec();
                body[at] = value;
                let octets = message(&body);
                let Some(lone) = LoneFragments::parse(&octets, header) else { continue };
                let walked = Message::parse(&octets).expect("the header is as it was");
                let mut all = walked.submessages().map(|parsed| parsed.expect("well formed").body);
                let (mut stated, mut next) = (None, all.next());
                if let Some(Submessage::InfoTs(time)) = next {
                    (stated, next) = (time, all.next());
                }
                assert_eq!(next, Some(Submessage::DataFrag(lone.fragments)), "octet {at} is {value}");
                assert_eq!((all.next(), lone.timestamp), (None, stated));
                taken += 1;
            }
        }
        assert!(taken > 1_000, "{taken}");
        let octets = message(FRAGMENTS);
        assert!(LoneFragments::parse(&octets, &[7; 20]).is_none(), "somebody else's");
        assert!(LoneFragments::parse(&message(&FRAGMENTS[12..]), header).is_some(), "without a timestamp");
        let more = message(&[FRAGMENTS, &FRAGMENTS[..12]].concat());
        assert!(LoneFragments::parse(&more, header).is_none(), "something follows");
        for len in 0..octets.len() {
            assert!(LoneFragments::parse(&octets[..len], header).is_none(), "cut after {len}");
        }
        assert!(LoneFragments::parse(&message(TIMED), header).is_none());
    }

    #[test]
    fn the_run_parser_agrees_with_the_general_parser() {
        let octets = message(TIMED);
        let half = WallTime(7_500_000_000);
        assert_eq!(
            parsed(&octets).map(|(time, ..)| time),
            Some(Some(Some(half))),
            "the example is a good one"
        );
        let (mut taken, mut left) = (0, 0);
        for at in 0..TIMED.len() {
            for value in 0..=u8::MAX {
                let mut body = TIMED.to_vec();
                body[at] = value;
                let octets = message(&body);
                let walked = Message::parse(&octets).expect("the header is as it was");
                let mut rest = walked.submessages();
                match rest.next_plain(READER, WRITER) {
                    Some(plain) => {
                        let seen = (plain.timestamp, plain.writer_sn, plain.payload.to_vec());
                        assert_eq!(Some(seen), parsed(&octets), "octet {at} is {value}");
                        taken += 1;
                    }
                    None => {
                        assert_eq!(rest.octets_left(), TIMED.len(), "nothing is taken");
                        left += 1;
                    }
                }
            }
        }
        assert!(taken > 1_000 && left > 1_000, "{taken} and {left}");
        let (cut, whole) = (message(&TIMED[..TIMED.len() - 1]), message(TIMED));
        assert!(Message::parse(&cut).expect("a header").submessages().next_plain(READER, WRITER).is_none());
        let walked = Message::parse(&whole).expect("a header");
        let mut rest = walked.submessages();
        assert!(rest.next_plain(WRITER, READER).is_none() && rest.next_plain(READER, WRITER).is_some());
        assert!(rest.next().is_none());
    }
}
