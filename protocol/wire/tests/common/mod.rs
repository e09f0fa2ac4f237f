//! Helpers of the tests of messages: bytes from hexadecimal text, messages around submessages, complete walks.
#![allow(dead_code, reason = "each test binary uses some of these")]

use dunlin_buf::Outbox;
use dunlin_core::{GuidPrefix, Locator};
use dunlin_wire::{
    Endianness, Message, MessageBuilder, ParameterList, Parsed, SecuritySubmessage, Submessage, WireError,
};

pub const SOURCE: GuidPrefix = GuidPrefix(*b"abcdefghijkl");
pub const HEADER: &str = "52545053 0205 01d0 6162636465666768696a6b6c";

/// Bytes from hexadecimal digits; white space between them is ignored.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16).expect("a digit")).collect();
    assert!(digits.len().is_multiple_of(2), "odd number of digits");
    digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
}

/// A message with these submessages.
pub fn message(submessages: &str) -> Vec<u8> {
    let mut bytes = hex(HEADER);
    bytes.extend(hex(submessages));
    bytes
}

pub fn walk(bytes: &[u8]) -> Vec<Result<Parsed<'_>, WireError>> {
    Message::parse(bytes).expect("a header").submessages().collect()
}

/// The only submessage of a message.
pub fn only(bytes: &[u8]) -> Result<Submessage<'_>, WireError> {
    let mut all = walk(bytes);
    assert_eq!(all.len(), 1, "one submessage");
    all.remove(0).map(|parsed| parsed.body)
}

/// The bytes of a message of [`SOURCE`].
pub fn build(endianness: Endianness, write: impl FnOnce(&mut MessageBuilder<'_>)) -> Vec<u8> {
    let mut outbox = Outbox::new();
    let mut builder = MessageBuilder::new(&mut outbox, SOURCE).with_endianness(endianness);
    write(&mut builder);
    let len = builder.len();
    builder.finish(&[Locator::LOCAL]);
    let mut bytes = Vec::new();
    outbox.datagrams().for_each(|datagram| datagram.copy_to(&mut bytes));
    assert!(outbox.is_empty() || bytes.len() == len);
    bytes
}

/// Reads everything that a message offers, as a receiver would, and returns how many items that were.
pub fn visit(bytes: &[u8]) -> usize {
    let Ok(message) = Message::parse(bytes) else { return 0 };
    let mut items = 0;
    for parsed in &message {
        items += 1;
        let Ok(parsed) = parsed else { continue };
        assert_eq!(&bytes[parsed.offset..parsed.offset + parsed.raw.len()], parsed.raw);
        items += visit_body(&parsed.body);
    }
    items
}

fn visit_body(body: &Submessage<'_>) -> usize {
    match body {
        Submessage::AckNack(acknack) => acknack.reader_sn_state.iter().count(),
        Submessage::Gap(gap) => gap.gap_list.iter().count(),
        Submessage::NackFrag(nack) => nack.fragment_number_state.iter().count(),
        Submessage::InfoReply(reply) => {
            assert_eq!(reply.unicast.iter().count(), reply.unicast.len());
            reply.unicast.len() + reply.multicast.map_or(0, |list| list.iter().count())
        }
        Submessage::Data(data) => visit_list(data.inline_qos.as_ref()),
        Submessage::DataFrag(data) => {
            assert!(data.payload.len() <= data.sample_size as usize);
            assert!(data.offset() as usize + data.payload.len() <= data.sample_size as usize);
            assert!(data.fragment_starting_num <= data.total_fragments());
            visit_list(data.inline_qos.as_ref())
        }
        Submessage::HeaderExtension(extension) => visit_list(extension.parameters.as_ref()),
        Submessage::Security(security) => visit_security(security),
        _ => 0,
    }
}

fn visit_security(security: &SecuritySubmessage<'_>) -> usize {
    assert!(security.header().is_some() ^ security.content().is_some() ^ security.footer().is_some());
    security.footer().map_or(0, |footer| footer.receiver_macs().count())
}

fn visit_list(list: Option<&ParameterList<'_>>) -> usize {
    let Some(list) = list else { return 0 };
    let _ = dunlin_wire::status_info(list);
    let _ = dunlin_wire::key_hash(list);
    list.iter().map(|parameter| 1 + parameter.value.len() % 4).sum()
}
