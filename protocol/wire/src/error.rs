//! RTPS 2.5 §8.3.4.1 "Rules Followed by the Message Receiver": why a message, or the rest of one, is dropped.

use core::fmt;

/// Why a message, the rest of a message or a parameter list cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireError {
    /// Fewer bytes than the element needs.
    TooShort,
    /// The first four bytes are not `RTPS`.
    NotRtps,
    /// The major protocol version is above 2.
    UnsupportedVersion {
        /// Major version found.
        major: u8,
    },
    /// A submessage header or its length reaches beyond the end of the message.
    LengthBeyondMessage,
    /// A known submessage breaks its own validity rule; the rest of the message is dropped.
    Malformed {
        /// Submessage id.
        kind: u8,
        /// Which rule it breaks.
        reason: Malformation,
    },
    /// The header extension carries a parameter that has to be understood and is not; the message is ignored.
    NotUnderstoodParameter {
        /// Parameter id.
        pid: u16,
    },
    /// The checksum in the header extension does not match the message.
    ChecksumMismatch,
    /// A parameter list is not well formed.
    ParameterList(Malformation),
}

/// The rule that an element of a message breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformation {
    /// The element ends before its last field.
    TooShort,
    /// A sequence number that has to be positive is not, or is unknown.
    SequenceNumber,
    /// First and last of a range contradict each other.
    Range,
    /// A sequence number or fragment number set is invalid.
    NumberSet,
    /// Inline QoS offset before the end of the fixed fields or beyond the submessage.
    InlineQosOffset,
    /// A parameter's length is not a multiple of four.
    ParameterLength,
    /// A parameter list without sentinel, or a parameter that runs past the end.
    ParameterListEnd,
    /// A parameter's value is shorter than its type, or not a value of its type.
    ParameterValue,
    /// Flags that exclude each other.
    Flags,
    /// Fragment number, size or count outside what the sample size allows.
    Fragment,
    /// Payload too short or too long.
    Payload,
    /// Header extension that is not the first submessage.
    Misplaced,
    /// Message length in the header extension shorter than the header, or longer than what was received.
    MessageLength,
    /// A locator list announces more entries than bytes.
    LocatorList,
    /// A security element is inconsistent with its length.
    Security,
}

impl Malformation {
    /// What is wrong, as a short phrase.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TooShort => "too short",
            Self::SequenceNumber => "sequence number not positive",
            Self::Range => "contradictory range",
            Self::NumberSet => "invalid number set",
            Self::InlineQosOffset => "inline QoS offset outside the submessage",
            Self::ParameterLength => "parameter length not a multiple of four",
            Self::ParameterListEnd => "parameter list without end",
            Self::ParameterValue => "parameter value invalid",
            Self::Flags => "contradictory flags",
            Self::Fragment => "fragment numbers contradict the sample size",
            Self::Payload => "payload size invalid",
            Self::Misplaced => "not the first submessage",
            Self::MessageLength => "message length invalid",
            Self::LocatorList => "locator count beyond the bytes present",
            Self::Security => "security element invalid",
        }
    }
}

impl fmt::Display for Malformation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort => f.write_str("fewer bytes than the element needs"),
            Self::NotRtps => f.write_str("not an RTPS message"),
            Self::UnsupportedVersion { major } => write!(f, "unsupported RTPS major version {major}"),
            Self::LengthBeyondMessage => f.write_str("submessage reaches beyond the message"),
            Self::Malformed { kind, reason } => write!(f, "malformed submessage 0x{kind:02x}: {reason}"),
            Self::NotUnderstoodParameter { pid } => {
                write!(f, "header extension parameter 0x{pid:04x} has to be understood and is not")
            }
            Self::ChecksumMismatch => f.write_str("message checksum does not match"),
            Self::ParameterList(reason) => write!(f, "malformed parameter list: {reason}"),
        }
    }
}

impl core::error::Error for WireError {}
