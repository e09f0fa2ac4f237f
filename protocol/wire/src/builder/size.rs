//! RTPS 2.5 §9.4.4 and §9.4.5: how many bytes things take, for filling datagrams.

/// RTPS header.
pub const HEADER: usize = 20;
/// Submessage header.
pub const SUBMESSAGE_HEADER: usize = 4;
/// INFO_DST.
pub const INFO_DST: usize = 16;
/// INFO_TS with a timestamp.
pub const INFO_TS: usize = 12;
/// HEARTBEAT without group information.
pub const HEARTBEAT: usize = 32;
/// HEARTBEAT with the numbers of the publisher and the digests of its writers.
pub const HEARTBEAT_OF_GROUP: usize = 64;
/// ACKNACK with 256 bits.
pub const ACKNACK_MAX: usize = 60;
/// GAP with 256 bits and everything optional.
pub const GAP_MAX: usize = 88;
/// NACK_FRAG with 256 bits.
pub const NACK_FRAG_MAX: usize = 64;
/// ECHO_REQUEST.
pub const ECHO_REQUEST: usize = 16;
/// HEARTBEAT_FRAG.
pub const HEARTBEAT_FRAG: usize = 28;
/// DATA before inline QoS and payload.
pub const DATA: usize = 24;
/// DATA_FRAG before inline QoS and payload.
pub const DATA_FRAG: usize = 36;

/// Bytes of a DATA with inline QoS and payload of these lengths.
pub const fn data(inline_qos: usize, payload: usize) -> usize {
    padded(DATA.saturating_add(inline_qos).saturating_add(payload))
}

/// Bytes of a DATA_FRAG with inline QoS and fragments of these lengths.
pub const fn data_frag(inline_qos: usize, payload: usize) -> usize {
    padded(DATA_FRAG.saturating_add(inline_qos).saturating_add(payload))
}

/// Submessages begin at multiples of four bytes.
pub(super) const fn padded(len: usize) -> usize {
    len.saturating_add(3) & !3
}
