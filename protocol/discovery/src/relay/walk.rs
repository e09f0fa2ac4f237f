//! What a submessage says about its way, and messages made of parts of another one: RTPS 2.5 §8.3.4.

use alloc::vec::Vec;

use dunlin_core::{EntityId, GuidPrefix};
use dunlin_wire::{Header, Parsed, ReceiverState, Submessage};

/// Reader and writer that a submessage names.
pub(crate) fn parties(submessage: &Submessage<'_>) -> Option<(EntityId, EntityId)> {
    Some(match submessage {
        Submessage::Data(data) => (data.reader_id, data.writer_id),
        Submessage::DataFrag(frag) => (frag.reader_id, frag.writer_id),
        Submessage::Heartbeat(heartbeat) => (heartbeat.reader_id, heartbeat.writer_id),
        Submessage::HeartbeatFrag(heartbeat) => (heartbeat.reader_id, heartbeat.writer_id),
        Submessage::Gap(gap) => (gap.reader_id, gap.writer_id),
        Submessage::AckNack(acknack) => (acknack.reader_id, acknack.writer_id),
        Submessage::NackFrag(nack) => (nack.reader_id, nack.writer_id),
        Submessage::EchoRequest(request) => (request.reader_id, request.writer_id),
        Submessage::Echo(echo) => (echo.reader_id, echo.writer_id),
        _ => return None,
    })
}

/// Whom what follows is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destination {
    /// This participant alone.
    Own,
    /// Another one.
    One(GuidPrefix),
    /// Whoever it concerns.
    Open,
}

pub(crate) fn destination_of(state: &ReceiverState) -> Destination {
    if !state.is_destination() {
        Destination::One(state.dest_prefix)
    } else if state.directed {
        Destination::Own
    } else {
        Destination::Open
    }
}

/// Who speaks, as the header of a message of his own says it.
pub(crate) fn header_of(state: &ReceiverState) -> Header {
    Header { version: state.source_version, vendor_id: state.source_vendor, guid_prefix: state.source_prefix }
}

/// What was said before a submessage that matters to it.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Context<'a> {
    destination: Option<&'a [u8]>,
    timestamp: Option<&'a [u8]>,
}

impl<'a> Context<'a> {
    /// Takes note of a submessage that says something about those behind it; false if it is none that matters.
    pub(crate) fn note(&mut self, parsed: &Parsed<'a>) -> bool {
        match parsed.body {
            Submessage::InfoSrc(_) => self.timestamp = None,
            Submessage::InfoDst(_) => self.destination = Some(parsed.raw),
            Submessage::InfoTs(_) => self.timestamp = Some(parsed.raw),
            _ => return false,
        }
        true
    }

    /// Begins a message in which what follows means the same.
    pub(crate) fn message(&self, header: Header) -> Vec<u8> {
        let mut message = header.to_bytes().to_vec();
        for part in [self.destination, self.timestamp].into_iter().flatten() {
            message.extend_from_slice(part);
        }
        message
    }
}
