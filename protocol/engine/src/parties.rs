//! Between whom a submessage goes (RTPS 2.5 §8.3.8).

use dunlin_core::EntityId;
use dunlin_wire::Submessage;

/// The two endpoints that a submessage names.
pub(crate) struct Parties {
    pub(crate) reader: EntityId,
    pub(crate) writer: EntityId,
    /// It goes from the writer to the reader.
    pub(crate) from_writer: bool,
}

/// Reader and writer of a submessage that goes from a writer to readers.
pub(crate) fn writer_to_reader(submessage: &Submessage<'_>) -> Option<(EntityId, EntityId)> {
    parties(submessage).filter(|parties| parties.from_writer).map(|parties| (parties.reader, parties.writer))
}

/// Who a submessage is from and for; `None` if it names no endpoints.
pub(crate) fn parties(submessage: &Submessage<'_>) -> Option<Parties> {
    let (reader, writer, from_writer) = match submessage {
        Submessage::Data(data) => (data.reader_id, data.writer_id, true),
        Submessage::DataFrag(frag) => (frag.reader_id, frag.writer_id, true),
        Submessage::Heartbeat(heartbeat) => (heartbeat.reader_id, heartbeat.writer_id, true),
        Submessage::HeartbeatFrag(heartbeat) => (heartbeat.reader_id, heartbeat.writer_id, true),
        Submessage::Gap(gap) => (gap.reader_id, gap.writer_id, true),
        Submessage::AckNack(acknack) => (acknack.reader_id, acknack.writer_id, false),
        Submessage::NackFrag(nack) => (nack.reader_id, nack.writer_id, false),
        Submessage::EchoRequest(request) => (request.reader_id, request.writer_id, true),
        Submessage::Echo(echo) => (echo.reader_id, echo.writer_id, false),
        _ => return None,
    };
    Some(Parties { reader, writer, from_writer })
}
