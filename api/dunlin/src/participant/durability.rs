//! DURABILITY TRANSIENT and PERSISTENT (DDS 1.4 §2.2.3.4): whether somebody keeps samples when their writer is gone.

use std::sync::Arc;

use dunlin_core::{Duration, Guid, GuidPrefix};
use dunlin_discovery::ParticipantData;
use dunlin_qos::{Durability, DurabilityKind, Property, UnsupportedPolicy};

use super::{DomainParticipant, ParticipantInner};
use crate::builtin::PublicationBuiltinTopicData;
use crate::delivered_history::DeliveredHistory;
use crate::error::WaitForError;

/// The kind of a service that keeps samples, in its [`ServiceMark`](dunlin_qos::ServiceMark).
const DURABILITY: &str = "durability";

pub(crate) fn is_durability_service(property: &Property) -> bool {
    property.service().is_some_and(|mark| mark.kind == DURABILITY)
}

impl ParticipantInner {
    /// Whether this or another participant says that it is a durability service.
    pub(crate) fn has_durability_service(&self) -> bool {
        let is_service = |data: &ParticipantData| is_durability_service(&data.property);
        self.qos.with(|qos| is_durability_service(&qos.property))
            || self.engine().discovered_participants().iter().any(|data| is_service(data))
    }

    /// Whether the durability services that are known have said all about a reader that is matched with these writers: those whose
    /// writer is matched that the reader has everything, the others all their writers.
    pub(crate) fn has_history_of_services(
        &self,
        reader: Guid,
        matched: &[Arc<PublicationBuiltinTopicData>],
    ) -> bool {
        let services = self.engine().discovered_participants();
        let services = services.iter().filter(|data| is_durability_service(&data.property));
        services.into_iter().all(|data| {
            let (service, tells) =
                (data.guid_prefix, data.property.get(DeliveredHistory::PROPERTY).is_some());
            let mut of_service = matched.iter().filter(|writer| {
                writer.guid.prefix == service && is_durability_service(&writer.qos.property)
            });
            let done = |writer: &Arc<PublicationBuiltinTopicData>| {
                DeliveredHistory::is_complete(&writer.qos.user_data.0, reader) != Some(false)
            };
            match of_service.next() {
                Some(first) => done(first) && of_service.all(done),
                None => !tells || self.knows_all_of(service),
            }
        })
    }

    /// Whether all writers are known with which a service gave history when it was met.
    fn knows_all_of(&self, service: GuidPrefix) -> bool {
        let is_last = |writer: &Arc<PublicationBuiltinTopicData>| {
            writer.guid.prefix == service && DeliveredHistory::is_end_marker(&writer.qos.user_data.0)
        };
        self.engine().discovered_writers().iter().any(is_last)
    }

    /// Whether a DURABILITY can be had.
    pub(crate) fn check_durability(&self, durability: Durability) -> Result<(), UnsupportedPolicy> {
        let lasts = durability.kind > DurabilityKind::TransientLocal;
        durability.check_service(self.durable_is_local || (lasts && self.has_durability_service()))
    }

    /// Whether a DURABILITY can be had in the place of another one. What an entity has it keeps while no service is there.
    pub(crate) fn check_new_durability(
        &self,
        old: Durability,
        new: Durability,
    ) -> Result<(), UnsupportedPolicy> {
        if old == new { Ok(()) } else { self.check_durability(new) }
    }

    /// Says of an endpoint that is as durable as its writer at most.
    pub(crate) fn note_durability(&self, what: &'static str, topic: &str, durability: Durability) {
        if durability.kind > DurabilityKind::TransientLocal && !self.has_durability_service() {
            self.sink.note_durability(what, topic, durability.kind);
        }
    }
}

impl DomainParticipant {
    /// Whether a durability service is known: a participant whose QoS has a [`ServiceMark`](crate::qos::ServiceMark) of kind
    /// "durability", this one included. While one is, TRANSIENT and PERSISTENT are accepted; otherwise the configuration key
    /// `durability.without_service` says what becomes of them.
    #[must_use]
    pub fn has_durability_service(&self) -> bool {
        self.inner().has_durability_service()
    }

    /// Waits until a durability service is known: before topics, writers or readers with DURABILITY TRANSIENT or PERSISTENT are
    /// created.
    ///
    /// # Errors
    /// [`WaitForError::Timeout`], [`WaitForError::AlreadyDeleted`].
    pub fn wait_for_durability_service(&self, max_wait: Duration) -> Result<(), WaitForError> {
        let inner = self.inner();
        inner.entity.check_usable().map_err(WaitForError::from)?;
        let done = || inner.has_durability_service() || inner.entity.is_deleted();
        inner.wait_for(&inner.entity.signal, max_wait, done)?;
        Ok(inner.entity.check()?)
    }
}
