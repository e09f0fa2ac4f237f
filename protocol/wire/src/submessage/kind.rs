//! RTPS 2.5 §9.4.5.1.1 "submessageId" and DDS Security 1.1 §7.3: the ids that are understood.

/// Header extension.
pub const HEADER_EXTENSION: u8 = 0x00;
/// Padding.
pub const PAD: u8 = 0x01;
/// Acknowledgements and requests.
pub const ACKNACK: u8 = 0x06;
/// What a writer has.
pub const HEARTBEAT: u8 = 0x07;
/// What a writer will not send.
pub const GAP: u8 = 0x08;
/// Source timestamp.
pub const INFO_TS: u8 = 0x09;
/// Source participant.
pub const INFO_SRC: u8 = 0x0c;
/// Reply locators, IPv4 only.
pub const INFO_REPLY_IP4: u8 = 0x0d;
/// Destination participant.
pub const INFO_DST: u8 = 0x0e;
/// Reply locators.
pub const INFO_REPLY: u8 = 0x0f;
/// Request for fragments.
pub const NACK_FRAG: u8 = 0x12;
/// Which fragments a writer has.
pub const HEARTBEAT_FRAG: u8 = 0x13;
/// A change.
pub const DATA: u8 = 0x15;
/// Part of a change.
pub const DATA_FRAG: u8 = 0x16;
/// Security: encrypted content.
pub const SEC_BODY: u8 = 0x30;
/// Security: before a protected submessage.
pub const SEC_PREFIX: u8 = 0x31;
/// Security: after a protected submessage.
pub const SEC_POSTFIX: u8 = 0x32;
/// Security: before a protected message.
pub const SRTPS_PREFIX: u8 = 0x33;
/// Security: after a protected message.
pub const SRTPS_POSTFIX: u8 = 0x34;

/// Dunlin: a question that is answered at once.
pub const ECHO_REQUEST: u8 = 0xd0;
/// Dunlin: the answer to it.
pub const ECHO: u8 = 0xd1;

/// Whether a length field of zero means an empty submessage (§9.4.5.1.3); for the others it means "to the end of the
/// message".
pub const fn may_be_empty(kind: u8) -> bool {
    matches!(kind, PAD | INFO_TS)
}

/// The name of a submessage id, or `None` when it is reserved, deprecated or another vendor's.
pub const fn name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        HEADER_EXTENSION => "RTPS_HE",
        PAD => "PAD",
        ACKNACK => "ACKNACK",
        HEARTBEAT => "HEARTBEAT",
        GAP => "GAP",
        INFO_TS => "INFO_TS",
        INFO_SRC => "INFO_SRC",
        INFO_REPLY_IP4 => "INFO_REPLY_IP4",
        INFO_DST => "INFO_DST",
        INFO_REPLY => "INFO_REPLY",
        NACK_FRAG => "NACK_FRAG",
        HEARTBEAT_FRAG => "HEARTBEAT_FRAG",
        DATA => "DATA",
        DATA_FRAG => "DATA_FRAG",
        SEC_BODY => "SEC_BODY",
        SEC_PREFIX => "SEC_PREFIX",
        SEC_POSTFIX => "SEC_POSTFIX",
        SRTPS_PREFIX => "SRTPS_PREFIX",
        SRTPS_POSTFIX => "SRTPS_POSTFIX",
        ECHO_REQUEST => "DUNLIN_ECHO_REQUEST",
        ECHO => "DUNLIN_ECHO",
        _ => return None,
    })
}
