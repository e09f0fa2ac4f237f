//! QoS profiles: QoS of entities under a name, in the configuration file.
//!
//! ```toml
//! [profile.sensor]
//! base = "common"
//!
//! [profile.sensor.writer]
//! reliability.kind = "reliable"
//! reliability.max_blocking_time = "1s"
//!
//! [[profile.sensor.reader]]
//! topic = "Camera*"
//! history.depth = 3
//! ```
//!
//! What a profile does not say, its base says, and else the default of DDS. Of several settings of one field that apply, the last
//! in the file counts, and those of a profile before those of its base.

pub(crate) mod policies;

use std::collections::BTreeMap;
use std::fmt;

use dunlin_qos::{
    DataReaderQos, DataWriterQos, DomainParticipantQos, PublisherQos, SubscriberQos, TopicQos,
    partition_names_match,
};
use toml::de::{DeTable, DeValue};

use crate::Origin;
use crate::error::Problems;
use crate::layers::raw;
use crate::nearest::nearest;
use crate::value::{Raw, quoted};

/// Longest chain of bases.
const MAX_BASES: usize = 32;
/// Octets of the longest name of a profile, and of topics.
const MAX_NAME: usize = 256;
/// Most profiles.
pub(crate) const MAX_PROFILES: usize = 1_000;
/// Most settings of one section.
const MAX_SETTINGS: usize = 1_000;
/// Most looks at whether a section is about a topic, while all that can come out of profiles is tried.
const MAX_LOOKS: usize = 1_000_000;

/// A kind of entity that has a QoS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entity {
    Participant,
    Topic,
    Publisher,
    Subscriber,
    Writer,
    Reader,
}

impl Entity {
    pub(crate) const ALL: [Self; 6] =
        [Self::Participant, Self::Topic, Self::Publisher, Self::Subscriber, Self::Writer, Self::Reader];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Participant => "participant",
            Self::Topic => "topic",
            Self::Publisher => "publisher",
            Self::Subscriber => "subscriber",
            Self::Writer => "writer",
            Self::Reader => "reader",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|entity| entity.name() == name)
    }

    const fn has_topic(self) -> bool {
        matches!(self, Self::Topic | Self::Writer | Self::Reader)
    }

    /// Whether such an entity can have this.
    pub(crate) fn accepts(self, path: &str, raw: &Raw) -> Result<(), policies::Refusal> {
        match self {
            Self::Participant => policies::participant(&mut Default::default(), path, raw),
            Self::Topic => policies::topic(&mut Default::default(), path, raw),
            Self::Publisher => policies::publisher(&mut Default::default(), path, raw),
            Self::Subscriber => policies::subscriber(&mut Default::default(), path, raw),
            Self::Writer => policies::writer(&mut Default::default(), path, raw),
            Self::Reader => policies::reader(&mut Default::default(), path, raw),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Block {
    entity: Entity,
    /// Which topics: a name with the wildcards of POSIX fnmatch; all if there is none.
    topic: Option<String>,
    settings: Vec<(String, Raw)>,
}

#[derive(Clone, Debug, PartialEq)]
struct Profile {
    base: Option<String>,
    blocks: Vec<Block>,
    origin: Origin,
}

/// The QoS profiles of a configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profiles(BTreeMap<String, Profile>);

/// There is no profile of this name.
#[derive(Clone, PartialEq, Eq)]
pub struct UnknownProfile {
    /// The name.
    pub name: String,
    /// One that is there and was probably meant.
    pub meant: Option<String>,
}

impl fmt::Display for UnknownProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no QoS profile '{}'", self.name)?;
        self.meant.as_ref().map_or(Ok(()), |meant| write!(f, "; did you mean '{meant}'?"))
    }
}

/// What a program prints whose `main` returns it.
impl fmt::Debug for UnknownProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for UnknownProfile {}

macro_rules! lookups {
    ($($(#[doc = $doc:literal])* $function:ident($($topic:ident)?): $entity:ident, $set:ident -> $qos:ty;)+) => {$(
        $(#[doc = $doc])*
        ///
        /// # Errors
        /// When there is no such profile.
        pub fn $function(&self, profile: &str $(, $topic: &str)?) -> Result<$qos, UnknownProfile> {
            let topic: Option<&str> = None;
            $(let topic = topic.or(Some($topic));)?
            let mut qos = <$qos>::default();
            for (path, raw) in self.settings(profile, Entity::$entity, topic)? {
                // Every setting was tried when it was read.
                let _ = policies::$set(&mut qos, path, raw);
            }
            Ok(qos)
        }
    )+};
}

impl Profiles {
    /// The names of the profiles.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    lookups! {
        /// The QoS of participants.
        participant_qos(): Participant, participant -> DomainParticipantQos;
        /// The QoS of a topic.
        topic_qos(topic_name): Topic, topic -> TopicQos;
        /// The QoS of publishers.
        publisher_qos(): Publisher, publisher -> PublisherQos;
        /// The QoS of subscribers.
        subscriber_qos(): Subscriber, subscriber -> SubscriberQos;
        /// The QoS of writers of a topic.
        writer_qos(topic_name): Writer, writer -> DataWriterQos;
        /// The QoS of readers of a topic.
        reader_qos(topic_name): Reader, reader -> DataReaderQos;
    }

    /// Changes what a profile says of writers of a topic, and leaves the rest of a QoS as it is.
    ///
    /// # Errors
    /// When there is no such profile.
    pub fn overlay_writer(
        &self,
        profile: &str,
        topic_name: &str,
        qos: &mut DataWriterQos,
    ) -> Result<(), UnknownProfile> {
        for (path, raw) in self.settings(profile, Entity::Writer, Some(topic_name))? {
            let _ = policies::writer(qos, path, raw);
        }
        Ok(())
    }

    /// Changes what a profile says of publishers, and leaves the rest of a QoS as it is.
    ///
    /// # Errors
    /// When there is no such profile.
    pub fn overlay_publisher(&self, profile: &str, qos: &mut PublisherQos) -> Result<(), UnknownProfile> {
        for (path, raw) in self.settings(profile, Entity::Publisher, None)? {
            let _ = policies::publisher(qos, path, raw);
        }
        Ok(())
    }

    /// The profile and its bases, the last base first.
    fn chain(&self, name: &str) -> Result<Vec<&Profile>, UnknownProfile> {
        let find = |name: &str| {
            self.0.get(name).ok_or_else(|| UnknownProfile {
                name: name.to_owned(),
                meant: nearest(name, self.names()).map(str::to_owned),
            })
        };
        let mut chain = vec![find(name)?];
        while let Some(base) = chain.last().and_then(|profile| profile.base.as_deref())
            && chain.len() <= MAX_BASES
        {
            chain.push(find(base)?);
        }
        chain.reverse();
        Ok(chain)
    }

    fn settings(
        &self,
        name: &str,
        entity: Entity,
        topic: Option<&str>,
    ) -> Result<impl Iterator<Item = (&str, &Raw)>, UnknownProfile> {
        let wanted = |block: &&Block| {
            let topics = block.topic.as_deref();
            block.entity == entity
                && topics.is_none_or(|names| topic.is_some_and(|topic| covers(names, topic)))
        };
        let blocks: Vec<&Block> =
            self.chain(name)?.into_iter().flat_map(|profile| &profile.blocks).filter(wanted).collect();
        Ok(blocks.into_iter().flat_map(|block| &block.settings).map(|(path, raw)| (path.as_str(), raw)))
    }

    /// Takes the table `profile` of a file.
    pub(crate) fn read(&mut self, table: DeTable<'_>, at: &dyn Fn(usize) -> Origin, problems: &mut Problems) {
        for (name, value) in table {
            if problems.is_full() {
                return;
            }
            let origin = at(name.span().start);
            let name = name.into_inner().into_owned();
            match value.into_inner() {
                _ if name.is_empty() || name.len() > MAX_NAME => {
                    problems.add(origin, "the name of a profile has 1 to 256 bytes".into());
                }
                _ if self.0.len() >= MAX_PROFILES => {
                    return problems.add(origin, format!("more than {MAX_PROFILES} profiles"));
                }
                DeValue::Table(contents) => {
                    let profile = read_profile(&name, contents, origin, at, problems);
                    self.0.insert(name, profile);
                }
                other => problems.add(
                    origin,
                    format!(
                        "profile.{name} = {}: a profile is a section, write [profile.{name}]",
                        raw(other)
                    ),
                ),
            }
        }
        self.check(problems);
    }

    /// Whether bases exist, chains end, and what comes out can be used.
    fn check(&self, problems: &mut Problems) {
        let mut looks = 0_usize;
        for (name, profile) in &self.0 {
            if problems.is_full() {
                return;
            }
            let mut add =
                |text: String| problems.add(profile.origin.clone(), format!("profile '{name}': {text}"));
            match self.chain(name) {
                Err(unknown) => add(format!("its base is missing: {unknown}")),
                Ok(chain) if chain.len() > MAX_BASES => {
                    add("its bases go in a circle, or are more than 32".into())
                }
                Ok(chain) => {
                    let blocks = || chain.iter().flat_map(|profile| &profile.blocks);
                    let mut topics: Vec<String> =
                        blocks().filter_map(|block| block.topic.as_deref()).map(an_example).collect();
                    topics.push(String::new());
                    topics.sort_unstable();
                    topics.dedup();
                    looks += topics.len() * blocks().count();
                    if looks > MAX_LOOKS {
                        return add(
                            "so many sections are about so many topics that they are not tried".into()
                        );
                    }
                    topics.iter().filter_map(|topic| self.first_problem(name, topic)).take(1).for_each(add);
                }
            }
        }
    }

    fn first_problem(&self, name: &str, topic: &str) -> Option<String> {
        let found = [
            ("participant", self.participant_qos(name).ok()?.validate()),
            ("topic", self.topic_qos(name, topic).ok()?.validate()),
            ("publisher", self.publisher_qos(name).ok()?.validate()),
            ("subscriber", self.subscriber_qos(name).ok()?.validate()),
            ("writer", self.writer_qos(name, topic).ok()?.validate()),
            ("reader", self.reader_qos(name, topic).ok()?.validate()),
        ];
        found.into_iter().find_map(|(entity, result)| result.err().map(|error| format!("{entity}: {error}")))
    }
}

/// A path as a key of TOML: what stands behind the policy may need quotes.
pub(crate) fn key(path: &str) -> String {
    let (policy, field) = path.split_once('.').unwrap_or((path, ""));
    let bare = !field.is_empty() && field.bytes().all(|octet| octet.is_ascii_alphanumeric() || octet == b'_');
    if bare { path.to_owned() } else { format!("{policy}.{}", quoted(field)) }
}

/// As sections of a file.
impl fmt::Display for Profiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, profile) in &self.0 {
            writeln!(f, "\n[profile.{}]", quoted(name))?;
            if let Some(base) = &profile.base {
                writeln!(f, "base = {}", quoted(base))?;
            }
            for block in &profile.blocks {
                writeln!(f, "\n[[profile.{}.{}]]", quoted(name), block.entity.name())?;
                if let Some(topic) = &block.topic {
                    writeln!(f, "topic = {}", quoted(topic))?;
                }
                for (path, raw) in &block.settings {
                    writeln!(f, "{} = {}", key(path), raw.print())?;
                }
            }
        }
        Ok(())
    }
}

/// Whether a filter covers a topic: the same name, or a pattern that it fits.
fn covers(filter: &str, topic: &str) -> bool {
    filter == topic || filter == "*" || partition_names_match(filter, topic)
}

/// A name that a filter covers.
fn an_example(filter: &str) -> String {
    filter.replace('*', "").replace('?', "x")
}

fn read_profile(
    name: &str,
    contents: DeTable<'_>,
    origin: Origin,
    at: &dyn Fn(usize) -> Origin,
    problems: &mut Problems,
) -> Profile {
    let mut profile = Profile { base: None, blocks: Vec::new(), origin };
    for (key, value) in contents {
        if problems.is_full() {
            break;
        }
        let origin = at(key.span().start);
        let key = key.into_inner().into_owned();
        let Some(entity) = Entity::named(&key) else {
            match raw(value.into_inner()) {
                Raw::Text(base) if key == "base" => profile.base = Some(base),
                found => {
                    let known = Entity::ALL.into_iter().map(Entity::name).chain(["base"]);
                    let hint = nearest(&key, known).map(|name| format!("; did you mean {name}?"));
                    let hint = hint.unwrap_or_default();
                    problems
                        .add(origin, format!("profile.{name}.{key:.100} = {found} is not understood{hint}"));
                }
            }
            continue;
        };
        let blocks = match value.into_inner() {
            DeValue::Table(block) => vec![block],
            DeValue::Array(items) => items
                .into_iter()
                .filter_map(|item| match item.into_inner() {
                    DeValue::Table(block) => Some(block),
                    _ => None,
                })
                .collect(),
            _ => Vec::new(),
        };
        if blocks.is_empty() {
            problems.add(
                origin,
                format!("profile.{name}.{key}: write [profile.{name}.{key}] and policies below it"),
            );
        }
        for block in blocks {
            profile.blocks.push(read_block(entity, block, at, problems));
        }
    }
    profile
}

fn read_block(
    entity: Entity,
    contents: DeTable<'_>,
    at: &dyn Fn(usize) -> Origin,
    problems: &mut Problems,
) -> Block {
    let mut block = Block { entity, topic: None, settings: Vec::new() };
    for (key, value) in contents {
        let origin = at(key.span().start);
        let path = key.into_inner().into_owned();
        match value.into_inner() {
            DeValue::Table(fields) => {
                for (field, value) in fields {
                    let origin = at(field.span().start);
                    let path = format!("{path}.{}", field.into_inner());
                    add_setting(&mut block, path, raw(value.into_inner()), origin, problems);
                }
            }
            DeValue::String(topic) if path == "topic" && entity.has_topic() => {
                if topic.len() > MAX_NAME {
                    problems.add(origin, format!("topic: more than {MAX_NAME} bytes"));
                }
                block.topic = Some(topic.into_owned()).filter(|topic| topic.len() <= MAX_NAME);
            }
            other => add_setting(&mut block, path, raw(other), origin, problems),
        }
    }
    block
}

fn add_setting(block: &mut Block, path: String, raw: Raw, origin: Origin, problems: &mut Problems) {
    if problems.is_full() {
        return;
    }
    match block.entity.accepts(&path, &raw) {
        Ok(()) if block.settings.len() >= MAX_SETTINGS => {
            problems.add(origin, format!("more than {MAX_SETTINGS} settings in one section"));
        }
        Ok(()) => block.settings.push((path, raw)),
        Err(refusal) => problems.add(origin, format!("{path:.100} {refusal}")),
    }
}

#[cfg(test)]
mod tests;
