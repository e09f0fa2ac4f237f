//! A writer of the domain, for what comes from zenoh.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dunlin::qos::PublisherQos;
use dunlin::{DataWriter, Publisher, SerializedData, WallTime, WriteError, WriteParams};
use zenoh::bytes::ZBytes;

use crate::attachment::{Change, Meta};
use crate::bridge::Shared;
use crate::offer::Offer;
use crate::origins::Origins;
use crate::stats::Count;
use crate::types::Found;

/// How long a new output waits for the readers that it was made for.
const OPENING: Duration = Duration::from_secs(2);
/// Highest representation identifier of DDS-XTypes 1.3 §7.6.2.
const LAST_REPRESENTATION: u8 = 0x0b;

/// How a write ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Written {
    /// Written, or counted as left out.
    Done,
    /// The readers have to acknowledge first.
    Full,
}

/// An output.
pub(crate) struct Output {
    pub(crate) offer: Offer,
    writer: DataWriter<SerializedData>,
    _publisher: Publisher,
    opaque: bool,
    had: Origins,
    opened: Instant,
    is_open: bool,
    shared: Arc<Shared>,
}

impl Output {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        topic: &Found,
        partition: &str,
        offer: Offer,
    ) -> Result<Self, String> {
        let partition = (!partition.is_empty()).then(|| partition.to_owned());
        let publisher = shared
            .participant
            .create_publisher(&PublisherQos::default().partition(partition))
            .map_err(|error| format!("its publisher cannot be created: {error}"))?;
        let qos = shared.marked_writer(offer.writer_qos(shared.config.limits.samples));
        let writer = publisher
            .create_datawriter(&topic.topic, &qos)
            .map_err(|error| format!("the output cannot be created: {error}"))?;
        let (opaque, had) = (topic.opaque, Origins::default());
        let (shared, opened) = (Arc::clone(shared), Instant::now());
        Ok(Self { offer, writer, _publisher: publisher, opaque, had, opened, is_open: false, shared })
    }

    /// Whether the readers for which it was made have found it, or had time enough.
    pub(crate) fn is_open(&mut self) -> bool {
        self.is_open = self.is_open
            || !self.writer.matched_subscriptions().is_empty()
            || self.opened.elapsed() > OPENING;
        self.is_open
    }

    /// Whether every reader has everything.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.writer.wait_for_acknowledgments(dunlin::Duration::ZERO).is_ok()
    }

    /// Writes a change of another bridge.
    pub(crate) fn write(&mut self, meta: &Meta, payload: &ZBytes) -> Written {
        let counts = &self.shared.counts;
        let is_told = meta.origin.sequence_number.0 > 0;
        if is_told && self.shared.is_present(&meta.origin.writer) {
            counts.one(Count::AlreadyThere);
            return Written::Done;
        }
        // A message that disposes and gives up is two changes with one identity.
        if is_told && meta.change != Change::Unregister && self.had.contains(meta.origin) {
            counts.one(Count::Copies);
            return Written::Done;
        }
        let written = self.write_as(meta, payload.to_bytes().into_owned());
        if written == Written::Done && is_told {
            self.had.note(meta.origin);
        }
        written
    }

    fn write_as(&self, meta: &Meta, octets: Vec<u8>) -> Written {
        let data = match meta.change {
            Change::Data => SerializedData::new(octets),
            _ => SerializedData::key(octets),
        };
        let data = if self.opaque { data.of_instance(meta.instance) } else { data };
        let is_repeated = meta.change == Change::Unregister && self.had.contains(meta.origin);
        let is_told = meta.origin.sequence_number.0 > 0 && !is_repeated;
        let params = WriteParams {
            source_timestamp: is_told.then_some(meta.timestamp),
            original: is_told.then_some(meta.origin),
            related: meta.related,
            ..WriteParams::default()
        };
        if is_told {
            // Before it is written: who reads it at once may pass it on.
            self.shared.note_from_zenoh(meta.origin);
        }
        let counts = &self.shared.counts;
        let (result, count) = match meta.change {
            Change::Data => (self.writer.write_with(&data, &params).map(drop), Count::FromZenoh),
            Change::Dispose => (self.writer.dispose_with(&data, &params).map(drop), Count::EndsFromZenoh),
            Change::Unregister => {
                (self.writer.unregister_instance_with(&data, &params).map(drop), Count::EndsFromZenoh)
            }
        };
        match result {
            Ok(()) => {
                counts.one(count);
                Written::Done
            }
            Err(error) => self.failed(&error),
        }
    }

    /// Gives up the instance of a sample that passes by another output.
    pub(crate) fn give_up(&self, meta: &Meta, payload: &ZBytes) -> Written {
        let data = SerializedData::new(payload.to_bytes().into_owned());
        let data = if self.opaque { data.of_instance(meta.instance) } else { data };
        match self.writer.unregister_instance_with(&data, &WriteParams::default()) {
            Ok(_) => Written::Done,
            Err(error) => self.failed(&error),
        }
    }

    /// Writes a sample of somebody else.
    pub(crate) fn write_foreign(&self, payload: &ZBytes, time: Option<WallTime>) -> Written {
        let octets = payload.to_bytes().into_owned();
        let is_cdr = matches!(octets.get(..4), Some([0, id, ..]) if *id <= LAST_REPRESENTATION);
        if !is_cdr {
            self.shared.counts.one(Count::NoCdr);
            return Written::Done;
        }
        let data = SerializedData::new(octets);
        let at = |source_timestamp| WriteParams { source_timestamp, ..WriteParams::default() };
        let written = match self.writer.write_with(&data, &at(time)) {
            Err(WriteError::BadTimestamp) => self.writer.write_with(&data, &at(None)),
            other => other,
        };
        match written {
            Ok(identity) => {
                self.shared.note_from_zenoh(identity);
                self.shared.counts.one(Count::FromZenoh);
                Written::Done
            }
            Err(error) => self.failed(&error),
        }
    }

    fn failed(&self, error: &WriteError) -> Written {
        match error {
            WriteError::Timeout(_) | WriteError::InTask | WriteError::InSimulation => return Written::Full,
            // Nothing of the instance has come, so there is nothing to end.
            WriteError::NotRegistered | WriteError::UnknownInstance | WriteError::NoKey => {}
            _ => self.shared.counts.one(Count::NotWritten),
        }
        Written::Done
    }
}
