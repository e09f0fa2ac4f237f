//! Control messages: how a connection is bound to a participant, and logical ports are opened on it.
//!
//! A message is a header of sixteen octets (kind, flags, length, transaction), for responses a code, and mostly a payload:
//! encapsulation, length, and CDR with a header of its own. Everything is little-endian, as Fast DDS writes it everywhere
//! but on big-endian machines, which are not understood.

use dunlin_core::{Locator, LocatorKind};

use crate::frame::{FramingError, HEADER, Header};

/// Octets of the header of a control message.
const CONTROL_HEADER: usize = 16;
const LITTLE_ENDIAN: u8 = 2;
const HAS_PAYLOAD: u8 = 4;
const WANTS_RESPONSE: u8 = 8;
/// The version of the control protocol.
pub(crate) const VERSION: [u8; 2] = [1, 0];
/// Dunlin's vendor id.
const VENDOR: [u8; 2] = dunlin_core::VendorId::DUNLIN.0;
/// Most logical ports of one question.
const MAX_PORTS: usize = 64;

/// What a request led to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Code(pub(crate) u32);

impl Code {
    pub(crate) const OK: Self = Self(0);
    pub(crate) const EXISTING_CONNECTION: Self = Self(2);
    pub(crate) const INVALID_PORT: Self = Self(3);
    pub(crate) const INCOMPATIBLE_VERSION: Self = Self(5);
    pub(crate) const SERVER_ERROR: Self = Self(6);
}

/// Which answer belongs to which question.
pub(crate) type Transaction = [u8; 12];

/// A control message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Message {
    /// Who connects: the address under which it is announced.
    Bind {
        version: [u8; 2],
        locator: Locator,
    },
    Bound {
        code: Code,
        locator: Locator,
    },
    /// May messages be sent to this logical port?
    Open {
        port: u16,
    },
    Opened {
        code: Code,
    },
    /// Which of these logical ports are there?
    Check {
        ports: Vec<u16>,
    },
    Checked {
        ports: Vec<u16>,
    },
    KeepAlive {
        locator: Locator,
    },
    KeptAlive {
        code: Code,
    },
    /// A logical port is gone.
    PortClosed {
        port: u16,
    },
    Unbind,
}

impl Message {
    /// Whether the one who sent it has begun its transaction.
    pub(crate) fn is_question(&self) -> bool {
        matches!(self, Self::Bind { .. } | Self::Open { .. } | Self::Check { .. } | Self::KeepAlive { .. })
    }

    /// The unit that carries this message.
    pub(crate) fn encode(&self, transaction: &Transaction) -> Vec<u8> {
        let (kind, code, payload) = match self {
            Self::Bind { version, locator } => {
                let mut cdr = [*version, VENDOR].concat();
                put_locator(&mut cdr, locator);
                (0xd1, None, Some(cdr))
            }
            Self::Bound { code, locator } => (0xe1, Some(*code), Some(locator_cdr(locator))),
            Self::Open { port } => (0xd2, None, Some(port.to_le_bytes().to_vec())),
            Self::Opened { code } => (0xe2, Some(*code), None),
            Self::Check { ports } => (0xd3, None, Some(ports_cdr(ports))),
            Self::Checked { ports } => (0xe3, Some(Code::OK), Some(ports_cdr(ports))),
            Self::KeepAlive { locator } => (0xd4, None, Some(locator_cdr(locator))),
            Self::KeptAlive { code } => (0xe4, Some(*code), None),
            Self::PortClosed { port } => (0xd5, None, Some(port.to_le_bytes().to_vec())),
            Self::Unbind => (0xd6, None, None),
        };
        let flags = match self {
            Self::Unbind => 0,
            question if question.is_question() => HAS_PAYLOAD | WANTS_RESPONSE,
            _ => HAS_PAYLOAD,
        };
        let mut body = vec![kind, LITTLE_ENDIAN | flags, 0, 0];
        body.extend_from_slice(transaction);
        body.extend(code.iter().flat_map(|code| code.0.to_le_bytes()));
        if let Some(cdr) = payload {
            let length = u32::try_from(cdr.len() + 4).unwrap_or(u32::MAX);
            body.extend_from_slice(&[1, 0]);
            body.extend_from_slice(&length.to_le_bytes());
            body.extend_from_slice(&[0, 1, 0, 0]);
            body.extend_from_slice(&cdr);
        }
        let length = u16::try_from(body.len()).unwrap_or(u16::MAX);
        body[2..4].copy_from_slice(&length.to_le_bytes());
        let header = Header::of(0, body.len(), [&*body].into_iter()).encode();
        let mut unit = Vec::with_capacity(HEADER + body.len());
        unit.extend_from_slice(&header);
        unit.extend_from_slice(&body);
        unit
    }

    /// Reads a control message; `None` for one of an unknown kind.
    pub(crate) fn decode(body: &[u8]) -> Result<(Option<Self>, Transaction), FramingError> {
        let mut rest = Rest(body);
        let [kind, flags, l0, l1] = rest.take()?;
        let transaction: Transaction = rest.take()?;
        if usize::from(u16::from_le_bytes([l0, l1])) != body.len() || body.len() < CONTROL_HEADER {
            return Err(FramingError::Control("its length is another one"));
        }
        if flags & LITTLE_ENDIAN == 0 {
            return Err(FramingError::Control("it is big-endian"));
        }
        let message = match kind {
            0xd1 => {
                rest.payload()?;
                let [major, minor, _, _] = rest.take()?;
                Self::Bind { version: [major, minor], locator: rest.locator()? }
            }
            0xe1 => {
                let code = rest.code()?;
                // What is refused need not say where.
                let locator = rest.payload().and_then(|()| rest.locator()).unwrap_or_default();
                Self::Bound { code, locator }
            }
            0xd2 => rest.payload().and_then(|()| Ok(Self::Open { port: rest.port()? }))?,
            0xe2 => Self::Opened { code: rest.code()? },
            0xd3 => rest.payload().and_then(|()| Ok(Self::Check { ports: rest.ports()? }))?,
            // In place of an answer to `Open` there may be this one, with a code alone.
            0xe3 => match rest.code()? {
                Code::OK => rest.payload().and_then(|()| Ok(Self::Checked { ports: rest.ports()? }))?,
                code => Self::Opened { code },
            },
            0xd4 => rest.payload().and_then(|()| Ok(Self::KeepAlive { locator: rest.locator()? }))?,
            0xe4 => Self::KeptAlive { code: rest.code()? },
            0xd5 => rest.payload().and_then(|()| Ok(Self::PortClosed { port: rest.port()? }))?,
            0xd6 => Self::Unbind,
            _ => return Ok((None, transaction)),
        };
        Ok((Some(message), transaction))
    }
}

fn put_locator(cdr: &mut Vec<u8>, locator: &Locator) {
    cdr.extend_from_slice(&locator.kind.0.to_le_bytes());
    cdr.extend_from_slice(&locator.port.to_le_bytes());
    cdr.extend_from_slice(&locator.address);
}

fn locator_cdr(locator: &Locator) -> Vec<u8> {
    let mut cdr = Vec::new();
    put_locator(&mut cdr, locator);
    cdr
}

fn ports_cdr(ports: &[u16]) -> Vec<u8> {
    let count = u32::try_from(ports.len()).unwrap_or(u32::MAX);
    let ports = ports.iter().flat_map(|port| port.to_le_bytes());
    count.to_le_bytes().into_iter().chain(ports).collect()
}

/// What is left of a message.
struct Rest<'m>(&'m [u8]);

impl Rest<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], FramingError> {
        let (octets, rest) = self.0.split_first_chunk().ok_or(FramingError::Control("it ends early"))?;
        self.0 = rest;
        Ok(*octets)
    }

    fn code(&mut self) -> Result<Code, FramingError> {
        Ok(Code(u32::from_le_bytes(self.take()?)))
    }

    /// Goes to the CDR of the payload.
    fn payload(&mut self) -> Result<(), FramingError> {
        let _encapsulation: [u8; 2] = self.take()?;
        let length = u32::from_le_bytes(self.take()?) as usize;
        if length != self.0.len() {
            return Err(FramingError::Control("its payload has another length"));
        }
        match self.take()? {
            [0, 1, _, _] => Ok(()),
            _ => Err(FramingError::Control("its payload is not in little-endian CDR")),
        }
    }

    fn port(&mut self) -> Result<u16, FramingError> {
        Ok(u16::from_le_bytes(self.take()?))
    }

    fn ports(&mut self) -> Result<Vec<u16>, FramingError> {
        let count = u32::from_le_bytes(self.take()?) as usize;
        if count > MAX_PORTS {
            return Err(FramingError::Control("it asks for too many ports"));
        }
        (0..count).map(|_| self.port()).collect()
    }

    fn locator(&mut self) -> Result<Locator, FramingError> {
        let kind = LocatorKind(i32::from_le_bytes(self.take()?));
        let port = u32::from_le_bytes(self.take()?);
        Ok(Locator { kind, port, address: self.take()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Message> {
        let locator = Locator::tcp("192.0.2.1:7410".parse().unwrap(), 7411);
        vec![
            Message::Bind { version: VERSION, locator },
            Message::Bound { code: Code::OK, locator },
            Message::Open { port: 7410 },
            Message::Opened { code: Code::INVALID_PORT },
            Message::Check { ports: vec![7412, 7414] },
            Message::Checked { ports: vec![7414] },
            Message::KeepAlive { locator },
            Message::KeptAlive { code: Code::OK },
            Message::PortClosed { port: 7411 },
            Message::Unbind,
        ]
    }

    #[test]
    fn messages_round_trip() {
        for message in all() {
            let unit = message.encode(&[7; 12]);
            let header = Header::decode(unit.first_chunk().unwrap(), 1024).unwrap();
            let body = &unit[HEADER..];
            assert_eq!((header.len, header.port, header.check(body)), (body.len(), 0, Ok(())));
            assert_eq!(Message::decode(body), Ok((Some(message), [7; 12])));
        }
    }

    #[test]
    fn every_truncation_is_refused() {
        for message in all() {
            let unit = message.encode(&[7; 12]);
            for end in HEADER..unit.len() {
                let mut body = unit[HEADER..end].to_vec();
                assert!(Message::decode(&body).is_err(), "{message:?} up to {end}");
                if body.len() >= 4 {
                    let length = u16::try_from(body.len()).unwrap();
                    body[2..4].copy_from_slice(&length.to_le_bytes());
                    // With a length that fits it may mean something else, but no more than is there.
                    let _ = Message::decode(&body);
                }
            }
        }
    }

    #[test]
    fn questions_are_laid_out_as_fast_dds_reads_them() {
        let open = Message::Open { port: 7410 }.encode(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let body = b"\xd2\x0e\x1c\0\x01\0\0\0\0\0\0\0\0\0\0\0\x01\0\x06\0\0\0\0\x01\0\0\xf2\x1c";
        assert_eq!(&open[HEADER..], body);
        let locator = Locator::tcp("10.0.0.2:5100".parse().unwrap(), 0);
        let bind = Message::Bind { version: VERSION, locator }.encode(&[0; 12]);
        let body = &bind[HEADER..];
        assert_eq!((body.len(), body[0], body[1], body[2]), (54, 0xd1, 0x0e, 54));
        assert_eq!(&body[16..26], b"\x01\0\x20\0\0\0\0\x01\0\0");
        assert_eq!(body[26..28], [1, 0]);
        assert_eq!(&body[30..38], b"\x04\0\0\0\xec\x13\0\0");
        assert_eq!(&body[50..], [10, 0, 0, 2]);
    }

    #[test]
    fn a_count_promises_no_memory() {
        let mut unit = Message::Check { ports: vec![] }.encode(&[0; 12]);
        let count = unit.len() - 4;
        unit[count..].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(Message::decode(&unit[HEADER..]), Err(FramingError::Control(_))));
    }
}
