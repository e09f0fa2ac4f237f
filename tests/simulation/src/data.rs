//! What the applications write: a key, who wrote it, its number, and octets that differ from place to place.

use std::sync::Arc;

use dunlin_buf::SharedBytes;
use dunlin_cdr::{CdrError, DdsType, DecodeOptions, Extensibility, Limits, TypeDescription, TypeSupport};
use dunlin_core::{InstanceHandle, Rng};
use dunlin_engine::{ContentFilter, ContentFilterProperty, WriteRequest};
use dunlin_filter::Filter;
use dunlin_rtps::ChangeKind;

/// Encapsulation, key, writer, number.
pub const HEADER: usize = 20;
const WINDOWS: u64 = 509;

/// How the samples of a topic with key look to a filter.
#[derive(DdsType)]
#[dds(final, name = "Keyed")]
pub struct Keyed {
    #[dds(key)]
    key: u32,
    writer: u32,
    number: u64,
}

/// How those of a topic without key look.
#[derive(DdsType)]
#[dds(final, name = "Plain")]
pub struct Plain {
    key: u32,
    writer: u32,
    number: u64,
}

/// What filters know of the samples of a topic.
#[must_use]
pub fn description(keyed: bool) -> &'static TypeDescription {
    if keyed { dunlin_cdr::description::<Keyed>() } else { dunlin_cdr::description::<Plain>() }
}

/// The filter of a reader.
#[must_use]
pub fn filter(keyed: bool, expression: &str) -> Arc<ContentFilter> {
    let property = ContentFilterProperty {
        content_filtered_topic_name: "Some".into(),
        related_topic_name: "All".into(),
        filter_class_name: ContentFilterProperty::SQL.into(),
        filter_expression: expression.into(),
        expression_parameters: Vec::new(),
    };
    let none: [String; 0] = [];
    let filter =
        if keyed { Filter::new::<Keyed>(expression, &none) } else { Filter::new::<Plain>(expression, &none) };
    Arc::new(ContentFilter::new(property, filter.expect("a good filter"), 0))
}

/// The type of a topic with or without key.
pub struct Data {
    /// Samples begin with a 32-bit key.
    pub keyed: bool,
}

fn key_hash(key: u32) -> [u8; 16] {
    let mut hash = [0; 16];
    hash[..4].copy_from_slice(&key.to_be_bytes());
    hash
}

fn bad_payload() -> CdrError {
    dunlin_cdr::from_payload::<u32>(&[], &Limits::default()).expect_err("nothing is no number")
}

fn number<const N: usize>(payload: &[u8], at: usize) -> Option<[u8; N]> {
    let mut octets: [u8; N] = payload.get(at..at + N)?.try_into().ok()?;
    match payload.get(..2)? {
        [0, 0] => {}
        [0, 1] => octets.reverse(),
        _ => return None,
    }
    Some(octets)
}

impl TypeSupport for Data {
    fn type_name(&self) -> &str {
        if self.keyed { "Keyed" } else { "Plain" }
    }

    fn has_key(&self) -> bool {
        self.keyed
    }

    fn extensibility(&self) -> Extensibility {
        Extensibility::Final
    }

    fn max_key_size(&self) -> Option<usize> {
        self.keyed.then_some(4)
    }

    fn key_hash_with(
        &self,
        payload: &[u8],
        _key_only: bool,
        _options: DecodeOptions,
        _scratch: &mut Vec<u8>,
    ) -> Result<[u8; 16], CdrError> {
        let key = number(payload, 4).ok_or_else(bad_payload)?;
        Ok(key_hash(u32::from_be_bytes(key)))
    }

    fn key_payload_with(
        &self,
        payload: &[u8],
        _options: DecodeOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        out.clear();
        out.extend_from_slice(payload.get(..8).ok_or_else(bad_payload)?);
        Ok(())
    }
}

/// The instance of a key, by its key hash.
#[must_use]
pub fn instance(key: u32) -> InstanceHandle {
    InstanceHandle(key_hash(key))
}

/// The key of an instance handle; keys begin at 1, so none is nil. Without keys everything is instance 1.
#[must_use]
pub fn key_of(handle: InstanceHandle, keyed: bool) -> u32 {
    let [a, b, c, d, ..] = handle.0;
    if keyed { u32::from_be_bytes([a, b, c, d]) } else { 1 }
}

/// What is in a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Content {
    /// The key.
    pub key: u32,
    /// Which writer of the run.
    pub writer: u32,
    /// The sequence number.
    pub number: u64,
}

/// The writer of samples that no writer wrote.
pub const NOBODY: u32 = u32::MAX;

/// A sample in the name of somebody else.
#[must_use]
pub fn forged(key: u32, number: u64) -> SharedBytes {
    let head: &[u8] = &[0, 1, 0, 0];
    [head, &key.to_le_bytes(), &NOBODY.to_le_bytes(), &number.to_le_bytes()].concat().into()
}

/// Makes payloads and looks at every octet of them.
pub struct Filling(Vec<u8>);

impl Filling {
    /// For payloads of so many octets at most.
    #[must_use]
    pub fn new(longest: usize) -> Self {
        let mut rng = Rng::new(0xf111);
        let octets = (longest + WINDOWS as usize).div_ceil(8);
        Self((0..octets).flat_map(|_| rng.next_u64().to_le_bytes()).collect())
    }

    fn of(&self, number: u64, len: usize) -> &[u8] {
        let start = (number % WINDOWS) as usize;
        &self.0[start..start + len]
    }

    /// A request to write. What is no sample carries its key alone.
    #[must_use]
    pub fn request(&self, kind: ChangeKind, content: Content, len: usize, big_endian: bool) -> WriteRequest {
        let mut bytes = Vec::with_capacity(len);
        let alive = kind == ChangeKind::Alive;
        if big_endian {
            bytes.extend_from_slice(&[0, 0, 0, 0]);
            bytes.extend_from_slice(&content.key.to_be_bytes());
        } else {
            bytes.extend_from_slice(&[0, 1, 0, 0]);
            bytes.extend_from_slice(&content.key.to_le_bytes());
        }
        if alive {
            let (writer, number) = (content.writer, content.number);
            if big_endian {
                bytes.extend_from_slice(&writer.to_be_bytes());
                bytes.extend_from_slice(&number.to_be_bytes());
            } else {
                bytes.extend_from_slice(&writer.to_le_bytes());
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            bytes.extend_from_slice(self.of(number, len.saturating_sub(HEADER)));
        }
        let payload = SharedBytes::from(bytes);
        WriteRequest { kind, instance: instance(content.key), source_timestamp: None, payload }
    }

    /// What a payload says; `None` if any octet is not what was written.
    #[must_use]
    pub fn open(&self, payload: &[u8]) -> Option<Content> {
        let key = u32::from_be_bytes(number(payload, 4)?);
        let writer = u32::from_be_bytes(number(payload, 8)?);
        let number = u64::from_be_bytes(number(payload, 12)?);
        let filling = payload.get(HEADER..)?;
        let room = self.0.len() - WINDOWS as usize;
        (filling.len() <= room && filling == self.of(number, filling.len())).then_some(Content {
            key,
            writer,
            number,
        })
    }
}
