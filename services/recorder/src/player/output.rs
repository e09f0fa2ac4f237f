//! Writers like those that were recorded, and what they write.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dunlin::qos::{
    DataRepresentationId, DataWriterQos, DurabilityKind, HistoryKind, PublisherQos, Reliability,
    ReliabilityKind, TopicQos,
};
use dunlin::{
    DataWriter, DomainParticipant, DynamicType, Guid, SampleIdentity, SequenceNumber, SerializedData, Topic,
    VendorId, WallTime, WriteError, WriteParams,
};

use super::control::Control;
use super::stats::{Lateness, Played};
use super::{PlayError, PlayerOptions};
use crate::event::{Event, EventKind};
use crate::file::{ChannelInfo, Contents, Message};
use crate::source::Source;

/// Longest time that a write waits before the player looks whether it is to stop.
const PATIENCE: dunlin::Duration = dunlin::Duration::from_millis(100);
/// Samples of a volatile reliable writer that wait for slow readers.
const ROOM: i32 = 10_000;

/// Which identity samples have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Identity {
    /// That of the player's writers.
    #[default]
    New,
    /// Readers see the writer and the number that a sample had first ([`SampleInfo::original_sample`](dunlin::SampleInfo)), and
    /// those that remove duplicates drop what they have had.
    Original,
}

/// Which source timestamp samples have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SourceTime {
    /// That of the recording.
    #[default]
    Recorded,
    /// When it is played: for readers that look at the age of samples, and topics with LIFESPAN.
    Now,
}

struct Output {
    writer: DataWriter<SerializedData>,
    /// The writer that was recorded.
    source: Option<Guid>,
    topic: String,
    vendor: VendorId,
    opaque: bool,
    /// What was said of the sample that follows.
    details: Option<Box<Event>>,
    /// The number of the end that was written last.
    ended: i64,
}

/// Something that is to be written.
pub(super) struct Ready {
    channel: u16,
    kind: EventKind,
    data: SerializedData,
    params: WriteParams,
    published: u64,
    number: i64,
}

pub(super) struct Outputs {
    outputs: BTreeMap<u16, Output>,
    by_source: BTreeMap<Guid, u16>,
    events: Option<u16>,
    identity: Identity,
    source_time: SourceTime,
    played: Played,
    lateness: Lateness,
}

impl Outputs {
    pub(super) fn new(participant: &DomainParticipant, contents: &Contents, options: &PlayerOptions) -> Self {
        let events = contents.channels.iter().find(|(_, info)| info.is_events()).map(|(id, _)| *id);
        let mut outputs = Self {
            outputs: BTreeMap::new(),
            by_source: BTreeMap::new(),
            events,
            identity: options.identity,
            source_time: options.source_time,
            played: Played::default(),
            lateness: Lateness::default(),
        };
        for (id, info) in &contents.channels {
            if info.is_events() || !options.topics.allow(&info.topic) {
                continue;
            }
            match open(participant, contents, info, options) {
                Ok((output, changed)) => {
                    changed.into_iter().for_each(|text| outputs.problem(text));
                    outputs.by_source.extend(output.source.map(|source| (source, *id)));
                    outputs.outputs.insert(*id, output);
                }
                Err(why) => outputs.unplayed(format!("'{}' is not played: {why}", info.topic)),
            }
        }
        outputs
    }

    pub(super) fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }

    /// Notes something that could not be played at all.
    pub(super) fn unplayed(&mut self, text: String) {
        self.played.unplayed += 1;
        self.problem(text);
    }

    pub(super) fn problem(&mut self, text: String) {
        if self.played.problems.len() < 100 && !self.played.problems.contains(&text) {
            self.played.problems.push(text);
        }
    }

    pub(super) fn problems(&self) -> &[String] {
        &self.played.problems
    }

    pub(super) fn wait_for_readers(
        &self,
        wanted: usize,
        wait: Duration,
        control: &Control,
    ) -> Result<(), PlayError> {
        let deadline = Instant::now() + wait;
        let missing = || self.outputs.values().find(|it| it.writer.matched_subscriptions().len() < wanted);
        while Instant::now() < deadline && !control.is_stopped() && (wanted == 0 || missing().is_some()) {
            std::thread::park_timeout(Duration::from_millis(5));
        }
        match missing().filter(|_| !control.is_stopped()) {
            Some(output) => {
                let (topic, there) = (output.topic.clone(), output.writer.matched_subscriptions().len());
                Err(PlayError::NoReaders { topic, there, wanted, waited: wait })
            }
            None => Ok(()),
        }
    }

    pub(super) fn wait_for_acknowledgments(&self, longest: Duration, control: &Control) {
        let deadline = Instant::now() + longest;
        for output in self.outputs.values() {
            while output.writer.wait_for_acknowledgments(PATIENCE).is_err()
                && Instant::now() < deadline
                && !control.is_stopped()
            {}
        }
    }

    pub(super) fn played(&self) -> Played {
        Played {
            late_median: self.lateness.percentile(50),
            late_99: self.lateness.percentile(99),
            late_max: self.lateness.longest(),
            ..self.played.clone()
        }
    }

    /// What a message asks to write.
    pub(super) fn prepare(&mut self, message: &Message<'_>) -> Option<Ready> {
        if self.events == Some(message.channel) {
            return self.prepare_event(message);
        }
        let output = self.outputs.get_mut(&message.channel)?;
        let details = output.details.take();
        let details = details.filter(|it| crate::file::low_half(it.number) == message.sequence);
        let number = details.as_ref().map_or(i64::from(message.sequence), |it| it.number);
        let mut data = SerializedData::new(message.data.to_vec()).made_by(output.vendor);
        if let Some(details) = details.as_ref().filter(|_| output.opaque) {
            data = data.with_key_hash(details.instance);
        }
        let (channel, kind, published) = (message.channel, EventKind::Details, message.publish_time);
        let params = self.params(channel, number, details.as_deref());
        Some(Ready { channel, kind, data, params, published, number })
    }

    fn prepare_event(&mut self, message: &Message<'_>) -> Option<Ready> {
        let event = Event::from_octets(message.data).ok()?;
        let channel = *self.by_source.get(&Guid::from_bytes(event.writer))?;
        let output = self.outputs.get_mut(&channel)?;
        match event.kind {
            EventKind::Details => {
                output.details = Some(Box::new(event));
                None
            }
            EventKind::Dispose | EventKind::Unregister => {
                let mut data = SerializedData::key(event.key.clone()).made_by(output.vendor);
                if output.opaque {
                    data = data.with_key_hash(event.instance);
                }
                let (kind, published, number) = (event.kind, message.publish_time, event.number);
                let params = self.params(channel, number, Some(&event));
                Some(Ready { channel, kind, data, params, published, number })
            }
            _ => None,
        }
    }

    fn params(&self, channel: u16, number: i64, details: Option<&Event>) -> WriteParams {
        let source = self.outputs.get(&channel).and_then(|output| output.source);
        let own = source.filter(|_| number > 0);
        let own = own.map(|writer| SampleIdentity { writer, sequence_number: SequenceNumber(number) });
        let original = details.and_then(Event::original).or(own);
        WriteParams {
            original: original.filter(|_| self.identity == Identity::Original),
            related: details.and_then(Event::related),
            ..WriteParams::default()
        }
    }

    pub(super) fn write(&mut self, ready: &Ready, shift: u64, late: Duration, control: &Control) {
        let Some(output) = self.outputs.get_mut(&ready.channel) else { return };
        let mut params = ready.params;
        if self.source_time == SourceTime::Recorded {
            let time = i64::try_from(ready.published.saturating_add(shift)).unwrap_or(i64::MAX);
            params.source_timestamp = Some(WallTime(time));
        }
        // A message that ends an instance in both ways was recorded twice, with one number.
        let is_end = ready.kind != EventKind::Details;
        if is_end && (ready.number == 0 || output.ended == ready.number) {
            params.original = None;
        }
        let mut result = output.write(ready, &params);
        while matches!(result, Err(WriteError::Timeout(_))) && !control.is_stopped() {
            result = output.write(ready, &params);
        }
        if matches!(result, Err(WriteError::BadTimestamp)) {
            params.source_timestamp = None;
            self.played.retimed += 1;
            result = output.write(ready, &params);
        }
        match result {
            Ok(()) if is_end => {
                output.ended = ready.number;
                self.played.ends += 1;
            }
            Ok(()) => {
                self.played.samples += 1;
                self.lateness.note(late);
            }
            // Nothing of the instance has been played, so there is nothing to end.
            Err(WriteError::NotRegistered | WriteError::UnknownInstance) if is_end => {}
            Err(error) => {
                self.played.refused += 1;
                let text = format!("'{}': {error}", output.topic);
                self.problem(text);
            }
        }
    }
}

impl Output {
    fn write(&self, ready: &Ready, params: &WriteParams) -> Result<(), WriteError> {
        match ready.kind {
            EventKind::Dispose => self.writer.dispose_with(&ready.data, params).map(drop),
            EventKind::Unregister => self.writer.unregister_instance_with(&ready.data, params).map(drop),
            _ => self.writer.write_with(&ready.data, params).map(drop),
        }
    }
}

/// A writer for a channel, and what it has otherwise than the one that was recorded.
fn open(
    participant: &DomainParticipant,
    contents: &Contents,
    info: &ChannelInfo,
    options: &PlayerOptions,
) -> Result<(Output, Vec<String>), String> {
    if info.encoding != "cdr" {
        return Err(format!("its messages are \"{}\", not \"cdr\"", info.encoding));
    }
    let ty = type_of(contents, info)?;
    let (mut changed, vendor) = (Vec::new(), info.source.as_ref().map_or(VendorId([0, 0]), |it| it.vendor));
    let (mut qos, mut publisher) = match &info.source {
        Some(source) => source.policies()?,
        None => (DataWriterQos::default().reliable().keep_all(), PublisherQos::default()),
    };
    fit(participant, &info.topic, &mut qos, &mut changed);
    publisher.partition.names.iter_mut().for_each(|name| *name = renamed(&options.remap_partition, name));
    let topic = topic(participant, &renamed(&options.remap, &info.topic), info.source.as_ref(), ty.as_ref())?;
    let publisher = participant.create_publisher(&publisher).map_err(|error| error.to_string())?;
    let writer = publisher.create_datawriter(&topic, &qos).map_err(|error| error.to_string())?;
    let source = info.source.as_ref().map(|source| source.writer);
    let opaque = ty.is_none();
    let topic = info.topic.clone();
    Ok((Output { writer, source, topic, vendor, opaque, details: None, ended: -1 }, changed))
}

fn type_of(contents: &Contents, info: &ChannelInfo) -> Result<Option<DynamicType>, String> {
    match contents.schemas.get(&info.schema) {
        Some(schema) if schema.encoding == "omgidl" => {
            crate::type_text::from_text(&schema.name, &schema.data).map(Some)
        }
        None if info.source.is_some() => Ok(None),
        Some(schema) => {
            Err(format!("its type is told as \"{}\"; IDL (\"omgidl\") is needed", schema.encoding))
        }
        None => Err("its type is not told".into()),
    }
}

fn topic(
    participant: &DomainParticipant,
    name: &str,
    source: Option<&Source>,
    ty: Option<&DynamicType>,
) -> Result<Topic<SerializedData>, String> {
    let qos = &TopicQos::default();
    let type_name = source.map(|source| source.type_name.as_str());
    let made = match ty {
        Some(ty) => participant
            .create_dynamic_topic_of_type(name, type_name.unwrap_or(ty.name()), ty, qos)
            .map(|topic| topic.serialized()),
        None => {
            let keyed = source.is_some_and(Source::is_keyed);
            participant.create_serialized_topic(name, type_name.unwrap_or_default(), keyed, qos)
        }
    };
    made.map_err(|error| error.to_string())
}

/// What a writer that plays needs.
fn fit(participant: &DomainParticipant, topic: &str, qos: &mut DataWriterQos, changed: &mut Vec<String>) {
    qos.writer_data_lifecycle.autodispose_unregistered_instances = false;
    qos.reliability = Reliability { max_blocking_time: PATIENCE, ..qos.reliability };
    if qos.representation.ids.is_empty() {
        // So it is on the wire.
        qos.representation.ids = vec![DataRepresentationId::Xcdr1];
    }
    if qos.durability.kind > DurabilityKind::TransientLocal && !participant.has_durability_service() {
        qos.durability.kind = DurabilityKind::TransientLocal;
        let text = "is played with DURABILITY TRANSIENT_LOCAL: there is no durability service in the domain";
        changed.push(format!("'{topic}' {text}"));
    }
    if qos.reliability.kind == ReliabilityKind::Reliable && qos.durability.kind == DurabilityKind::Volatile {
        qos.history.kind = HistoryKind::KeepAll;
        qos.resource_limits.max_samples = ROOM;
        qos.resource_limits.max_samples_per_instance = -1;
        qos.resource_limits.max_instances = -1;
    }
}

fn renamed(names: &[(String, String)], name: &str) -> String {
    names.iter().find(|(old, _)| old == name).map_or_else(|| name.to_owned(), |(_, new)| new.clone())
}
