//! What services ask of their endpoints and say of themselves. DDS has no policies for it, so it travels as PROPERTY, which other
//! participants see.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use dunlin_core::Duration;

use crate::{
    entity::{DataReaderQos, DataWriterQos, DomainParticipantQos},
    error::UnsupportedPolicy,
    id::PolicyId,
    kinds::{DestinationOrderKind, DurabilityKind, ReliabilityKind},
    policy::Property,
};

/// Names that have a meaning begin like this; others are the application's.
const RESERVED: &str = "dunlin.";

/// Of a reader: whether it drops samples that it has had, see [`DataReaderQos::remove_duplicates`].
const DUPLICATES: &str = "dunlin.duplicates";
/// Samples are told apart by the writer and the number that they had first.
const BY_ORIGINAL_WRITER: &str = "by_original_writer";
/// Every sample is shown.
const KEPT: &str = "kept";

/// Of a reader: when it acknowledges what it shows, see [`DataReaderQos::acknowledge_on_commit`].
const ACKNOWLEDGMENT: &str = "dunlin.acknowledgment";
/// When the application says so.
const ON_COMMIT: &str = "on_commit";

/// Of a reader: which changes it shows, see [`DataReaderQos::show_every_change`].
const CHANGES: &str = "dunlin.changes";
/// Each by a sample of its own.
const EVERY: &str = "every";

/// Of a reader: the id of a service, see [`DataReaderQos::ignore_service`].
const IGNORED: &str = "dunlin.ignored_service";

/// Of a writer: whether it sends past the daemon of its host, see [`DataWriterQos::direct_write`].
const DIRECT: &str = "dunlin.direct_write";

const KIND: &str = "dunlin.service.kind";
const ID: &str = "dunlin.service.id";
const PATH: &str = "dunlin.service.path";

/// Most services that a path names.
pub const MAX_SERVICE_PATH: usize = 8;

/// That a participant, writer or reader is a service's: so that services do not take each other's copies for originals, and routers do
/// not route in circles.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ServiceMark {
    /// What it is: "router", "durability", "recorder" or another word without a space.
    pub kind: String,
    /// Tells the instances of a kind apart: any text without `/`, at most 64 octets.
    pub id: String,
    /// The ids of the services that what it offers has come through, the first one first; at most [`MAX_SERVICE_PATH`].
    pub path: Vec<String>,
}

impl ServiceMark {
    /// Whether what it offers has come through the service with this id, itself included.
    #[must_use]
    pub fn has_passed(&self, id: &str) -> bool {
        self.id == id || self.path.iter().any(|passed| passed == id)
    }

    fn is_sound(&self) -> bool {
        is_id(&self.kind)
            && !self.kind.contains(' ')
            && is_id(&self.id)
            && self.path.len() <= MAX_SERVICE_PATH
            && self.path.iter().all(|id| is_id(id))
    }
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 64 && !id.contains('/')
}

impl Property {
    /// The value of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    fn put(&mut self, name: &str, value: impl Into<String>) {
        self.values.retain(|(known, _)| known != name);
        self.values.push((name.to_string(), value.into()));
    }

    /// The mark of a service, if it is one's and well formed.
    #[must_use]
    pub fn service(&self) -> Option<ServiceMark> {
        let path = self.get(PATH).filter(|path| !path.is_empty());
        let path = path.into_iter().flat_map(|path| path.split('/')).take(MAX_SERVICE_PATH + 1);
        let mark = ServiceMark {
            kind: self.get(KIND)?.to_string(),
            id: self.get(ID)?.to_string(),
            path: path.map(ToString::to_string).collect(),
        };
        mark.is_sound().then_some(mark)
    }

    fn set_service(&mut self, mark: &ServiceMark) {
        self.put(KIND, &*mark.kind);
        self.put(ID, &*mark.id);
        self.put(PATH, mark.path.join("/"));
    }
}

macro_rules! marks {
    ($($qos:ty),+) => {$(
        impl $qos {
            /// Says that this is a service's. Creating the entity is refused if the mark is not as [`ServiceMark`] says.
            #[must_use]
            pub fn service(mut self, mark: &ServiceMark) -> Self {
                self.property.set_service(mark);
                self
            }
        }
    )+};
}

marks!(DomainParticipantQos, DataWriterQos, DataReaderQos);

impl DataWriterQos {
    /// In the federated architecture: whether the writer sends to readers on other hosts, or their daemons, itself, and not by way
    /// of the daemon of its host. What its participant says is `daemon.direct_write` in the configuration; without that this is
    /// refused. In the other architectures every writer does. Not changeable.
    #[must_use]
    pub fn direct_write(mut self, direct: bool) -> Self {
        self.property.put(DIRECT, if direct { "true" } else { "false" });
        self
    }

    /// See [`direct_write`](Self::direct_write); `None` if it says nothing about it.
    #[must_use]
    pub fn writes_directly(&self) -> Option<bool> {
        self.property.get(DIRECT).map(|value| value == "true")
    }
}

impl DataReaderQos {
    /// Whether the reader drops what it has had: samples of one original writer with one number (RTPS 2.5 §9.6.4,
    /// PID_ORIGINAL_WRITER_INFO), whichever way they came. Readers with DURABILITY TRANSIENT or PERSISTENT do unless this says
    /// otherwise, others do not. Not changeable.
    ///
    /// What a durability service sends may come after newer live samples. Take DESTINATION_ORDER BY_SOURCE_TIMESTAMP, so that it does
    /// not replace them under KEEP_LAST.
    #[must_use]
    pub fn remove_duplicates(mut self, remove: bool) -> Self {
        self.property.put(DUPLICATES, if remove { BY_ORIGINAL_WRITER } else { KEPT });
        self
    }

    /// See [`remove_duplicates`](Self::remove_duplicates).
    #[must_use]
    pub fn removes_duplicates(&self) -> bool {
        match self.property.get(DUPLICATES) {
            Some(value) => value == BY_ORIGINAL_WRITER,
            None => self.durability.kind >= DurabilityKind::Transient,
        }
    }
}

impl DataReaderQos {
    /// Samples that the reader shows are acknowledged when the application has committed them, not when they arrive: so that
    /// `wait_for_acknowledgments` at the writer, of any vendor, means "stored", and a KEEP_ALL writer that is ahead by its resource
    /// limits blocks, up to its max_blocking_time. Needs RELIABILITY RELIABLE and no TIME_BASED_FILTER; not changeable.
    #[must_use]
    pub fn acknowledge_on_commit(mut self) -> Self {
        self.property.put(ACKNOWLEDGMENT, ON_COMMIT);
        self
    }

    /// See [`acknowledge_on_commit`](Self::acknowledge_on_commit).
    #[must_use]
    pub fn acknowledges_on_commit(&self) -> bool {
        self.property.get(ACKNOWLEDGMENT) == Some(ON_COMMIT)
    }

    pub(crate) fn check_acknowledgment(&self) -> Result<(), UnsupportedPolicy> {
        if !self.acknowledges_on_commit() {
            return Ok(());
        }
        if self.reliability.kind != ReliabilityKind::Reliable {
            return refused("acknowledging on commit needs RELIABILITY RELIABLE");
        }
        if self.time_based_filter.minimum_separation > Duration::ZERO {
            return refused("acknowledging on commit needs every sample, and so no TIME_BASED_FILTER");
        }
        Ok(())
    }
}

impl DataReaderQos {
    /// The reader does not match writers whose [`ServiceMark`] says that their data has come through the service with this id: so a
    /// router does not get its own data back. Both sides decide so. Not changeable.
    #[must_use]
    pub fn ignore_service(mut self, id: impl Into<String>) -> Self {
        self.property.put(IGNORED, id);
        self
    }

    /// See [`ignore_service`](Self::ignore_service).
    #[must_use]
    pub fn ignored_service(&self) -> Option<&str> {
        self.property.get(IGNORED)
    }
}

impl DataReaderQos {
    /// Every change is shown by a sample of its own, and `take` hands them out in the order in which they arrived, across instances.
    /// So a service can pass on what happened and not only what came of it:
    ///
    /// - Each end of an instance is a sample without data, also if it changes nothing because another writer keeps the instance
    ///   alive. `instance_state` says what it was: NOT_ALIVE_DISPOSED a dispose, NOT_ALIVE_NO_WRITERS an unregistration or the loss of
    ///   the last writer. A message that does both is shown as two samples with one identity.
    /// - Of samples with data `instance_state` is ALIVE.
    /// - Samples without data take room (HISTORY, RESOURCE_LIMITS) like others.
    ///
    /// Needs DESTINATION_ORDER BY_RECEPTION_TIMESTAMP; not changeable.
    #[must_use]
    pub fn show_every_change(mut self) -> Self {
        self.property.put(CHANGES, EVERY);
        self
    }

    /// See [`show_every_change`](Self::show_every_change).
    #[must_use]
    pub fn shows_every_change(&self) -> bool {
        self.property.get(CHANGES) == Some(EVERY)
    }

    pub(crate) fn check_changes(&self) -> Result<(), UnsupportedPolicy> {
        if self.shows_every_change()
            && self.destination_order.kind != DestinationOrderKind::ByReceptionTimestamp
        {
            return refused("showing every change needs DESTINATION_ORDER BY_RECEPTION_TIMESTAMP");
        }
        Ok(())
    }
}

fn refused(reason: &'static str) -> Result<(), UnsupportedPolicy> {
    Err(UnsupportedPolicy { policy: PolicyId::Property, reason })
}

/// Whether properties that have a meaning are such that they take effect.
pub(crate) fn check(property: &Property, of_reader: bool) -> Result<(), UnsupportedPolicy> {
    let mut marked = false;
    for (name, value) in property.values.iter().filter(|(name, _)| name.starts_with(RESERVED)) {
        match &**name {
            KIND | ID | PATH => marked = true,
            DUPLICATES if !of_reader => return refused("dunlin.duplicates is for readers"),
            DUPLICATES if value == BY_ORIGINAL_WRITER || value == KEPT => {}
            DUPLICATES => return refused("dunlin.duplicates is \"by_original_writer\" or \"kept\""),
            ACKNOWLEDGMENT if !of_reader => return refused("dunlin.acknowledgment is for readers"),
            ACKNOWLEDGMENT if value == ON_COMMIT => {}
            ACKNOWLEDGMENT => return refused("dunlin.acknowledgment is \"on_commit\", or is left out"),
            IGNORED if !of_reader => return refused("dunlin.ignored_service is for readers"),
            IGNORED if is_id(value) => {}
            IGNORED => return refused("dunlin.ignored_service is an id of 1 to 64 bytes without '/'"),
            DIRECT if value == "true" || value == "false" => {}
            DIRECT => return refused("dunlin.direct_write is \"true\" or \"false\""),
            CHANGES if !of_reader => return refused("dunlin.changes is for readers"),
            CHANGES if value == EVERY => {}
            CHANGES => return refused("dunlin.changes is \"every\", or is left out"),
            _ => return refused("no such name begins with \"dunlin.\": see docs/services-api.md"),
        }
    }
    if marked && property.service().is_none() {
        return refused(
            "a mark of a service has a kind without spaces, an id and a path of at most 8 ids, each of 1 to 64 bytes without '/'",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(path: &[&str]) -> ServiceMark {
        let path = path.iter().map(ToString::to_string).collect();
        ServiceMark { kind: "router".into(), id: "r1".into(), path }
    }

    #[test]
    fn marks_of_services_come_back_and_are_checked() {
        for path in [&[][..], &["r0"], &["a", "b", "c", "d", "e", "f", "g", "h"]] {
            let qos = DataWriterQos::default().service(&mark(path));
            assert_eq!(qos.property.service(), Some(mark(path)));
            assert!(qos.validate().is_ok());
            assert!(mark(path).has_passed("r1") && !mark(path).has_passed("r2"));
        }
        assert!(mark(&["r0"]).has_passed("r0"));
        let long = ["x"; MAX_SERVICE_PATH + 1];
        for bad in [mark(&long), mark(&["a/b", ""]), ServiceMark { id: String::new(), ..mark(&[]) }] {
            assert!(DomainParticipantQos::default().service(&bad).validate().is_err(), "{bad:?}");
            assert_eq!(DomainParticipantQos::default().service(&bad).property.service(), None);
        }
    }

    #[test]
    fn direct_writing_is_said_or_not() {
        let plain = DataWriterQos::default();
        assert_eq!(plain.writes_directly(), None);
        assert_eq!(plain.clone().direct_write(true).direct_write(false).writes_directly(), Some(false));
        assert!(plain.clone().direct_write(true).check_supported().is_ok());
        assert!(plain.property(DIRECT, "perhaps").check_supported().is_err());
    }

    #[test]
    fn acknowledging_on_commit_needs_every_sample() {
        let qos = DataReaderQos::default().acknowledge_on_commit();
        assert!(qos.acknowledges_on_commit() && !DataReaderQos::default().acknowledges_on_commit());
        assert!(qos.validate().is_err() && qos.clone().reliable().validate().is_ok());
        let separated = qos.reliable().time_based_filter(Duration::from_secs(1));
        assert!(separated.validate().is_err());
        assert!(DataReaderQos::default().property(ACKNOWLEDGMENT, "now").validate().is_err());
        assert!(DataWriterQos::default().property(ACKNOWLEDGMENT, ON_COMMIT).validate().is_err());
    }

    #[test]
    fn readers_of_lasting_data_remove_duplicates_and_others_on_request() {
        let lasting = DataReaderQos::default().durability(DurabilityKind::Transient);
        assert!(
            lasting.removes_duplicates() && !lasting.clone().remove_duplicates(false).removes_duplicates()
        );
        let plain = DataReaderQos::default();
        assert!(!plain.removes_duplicates() && plain.clone().remove_duplicates(true).removes_duplicates());
        assert!(plain.clone().property(DUPLICATES, "never").check_supported().is_err());
        assert!(plain.property("dunlin.duplicate", KEPT).check_supported().is_err());
        assert!(DataWriterQos::default().property(DUPLICATES, KEPT).check_supported().is_err());
    }
}
