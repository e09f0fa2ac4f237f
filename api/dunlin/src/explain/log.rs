//! One warning for each cause, however often it is found.

use super::Cause;
use dunlin_core::{EntityId, MonoTime};
use dunlin_driver::{Again, Limiter};
use dunlin_qos::DurabilityKind;
use std::fmt::Display;

/// Remembers what was told. Nothing of it is keyed by what others choose, so that they cannot fill it or the log.
#[derive(Debug, Default)]
pub(crate) struct WhyLog {
    causes: Limiter<(EntityId, &'static str)>,
    /// By topic, so that an application that makes one endpoint after the other hears it once of each topic.
    without_service: Limiter<(String, &'static str)>,
}

impl WhyLog {
    /// Tells a cause, unless it was told lately.
    pub fn warn(&self, now: MonoTime, local: EntityId, cause: &Cause, subject: impl Display) {
        if let Some(again) = self.causes.admit(now, (local, cause.name())) {
            tell(cause, subject, again);
        }
    }

    /// The same of a cause that takes work to find, which is done only if it is told.
    pub fn warn_of<S: Display>(
        &self,
        now: MonoTime,
        local: EntityId,
        name: &'static str,
        find: impl FnOnce() -> (Cause, S),
    ) {
        if let Some(again) = self.causes.admit(now, (local, name)) {
            let (cause, subject) = find();
            debug_assert_eq!(cause.name(), name);
            tell(&cause, subject, again);
        }
    }

    /// Tells that an endpoint is as durable as its writer at most.
    pub fn without_service(&self, now: MonoTime, what: &'static str, topic: &str, kind: DurabilityKind) {
        if let Some(again) = self.without_service.admit(now, (topic.to_owned(), what)) {
            dunlin_driver::log!(
                target: "dunlin::why",
                WARN,
                "{what} of '{topic}' asks for {kind:?} durability, but there is no durability service: samples are \
                 kept by their writers, as with TransientLocal (durability.without_service = \"local\"){again}"
            );
        }
    }
}

fn tell(cause: &Cause, subject: impl Display, again: Again) {
    dunlin_driver::log!(target: "dunlin::why", WARN, "{subject}: {cause}; {}{again}", cause.hint());
}
