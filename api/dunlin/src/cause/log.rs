//! One warning for each cause, however often it is found.

use std::fmt::Display;

use dunlin_cache::RejectReason;
use dunlin_core::{Duration, EntityId, Guid, GuidPrefix, Misbehaviour, MonoTime};
use dunlin_driver::{Again, Limiter};
use dunlin_qos::DurabilityKind;

use super::Cause;

/// Remembers what was logged. Nothing of it is keyed by what others choose, so that they cannot fill it or the log.
#[derive(Debug, Default)]
pub(crate) struct WhyLog {
    causes: Limiter<(EntityId, &'static str)>,
    /// By topic, so that an application that makes one endpoint after the other hears it once of each topic.
    without_service: Limiter<(String, &'static str)>,
    /// By topic too.
    unheard: Limiter<String>,
    unacknowledged: Limiter<String>,
    filters_dropped: Limiter<String>,
    from_future: Limiter<EntityId>,
    over_quota: Limiter<EntityId>,
    misbehaviours: Limiter<Misbehaviour>,
}

impl WhyLog {
    /// Logs a cause, unless it was logged lately.
    pub(crate) fn warn(&self, now: MonoTime, local: EntityId, cause: &Cause, subject: impl Display) {
        if let Some(again) = self.causes.admit(now, (local, cause.name())) {
            tell(cause, subject, again);
        }
    }

    /// Logs a cause that takes work to find, which is done only if it is logged.
    pub(crate) fn warn_of<S: Display>(
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
    pub(crate) fn without_service(
        &self,
        now: MonoTime,
        what: &'static str,
        topic: &str,
        kind: DurabilityKind,
    ) {
        if let Some(again) = self.without_service.admit(now, (topic.to_owned(), what)) {
            dunlin_driver::log!(
                target: "dunlin::why",
                WARN,
                "{what} of '{topic}' asks for {kind:?} durability, but there is no durability service: samples are \
                 kept by their writers, as with TransientLocal (durability.without_service = \"local\"){again}"
            );
        }
    }

    /// Tells of a writer that ends what nobody was there for. That readers come later than the first sample is common, and is
    /// logged at level info; that none ever came is most often a program that did not wait.
    pub(crate) fn unheard(&self, now: MonoTime, topic: &str, unheard: u64, written: u64) {
        if unheard == 0 {
            return;
        }
        let Some(again) = self.unheard.admit(now, topic.to_owned()) else { return };
        let hint = "wait_for_readers waits for readers before the first sample";
        if unheard < written {
            dunlin_driver::log!(
                target: "dunlin::why",
                INFO,
                "topic '{topic}': nobody got the first {unheard} of {written} samples of a writer that was deleted, as no \
                 reader had matched yet; {hint}{again}"
            );
            return;
        }
        let samples = if written == 1 { "sample" } else { "samples" };
        dunlin_driver::log!(
            target: "dunlin::why",
            WARN,
            "topic '{topic}': nobody got the {written} {samples} of a writer that was deleted, as no reader had matched \
             when they were written; {hint}{again}"
        );
    }

    /// Tells of a change that a reader which orders by source timestamp has refused.
    pub(crate) fn future_timestamp(
        &self,
        now: MonoTime,
        reader: EntityId,
        topic: &str,
        remote: Guid,
        ahead: Duration,
    ) {
        if let Some(again) = self.from_future.admit(now, reader) {
            let seconds = ahead.as_nanos() / 1_000_000_000;
            dunlin_driver::log!(
                target: "dunlin::why",
                WARN,
                "topic '{topic}': a reader that orders BY_SOURCE_TIMESTAMP refused a sample of {remote} that is from the future, by \
                 {seconds} s: the clocks of the hosts differ, or the writer was given the timestamp; quotas.timestamp_tolerance says \
                 how much is too much{again}"
            );
        }
    }

    /// Tells that another participant does what is refused. Of each cause once, whoever it is: anybody can speak in any name.
    pub(crate) fn misbehaviour(&self, now: MonoTime, who: GuidPrefix, what: Misbehaviour, count: u32) {
        let Some(again) = self.misbehaviours.admit(now, what) else { return };
        let who = match who {
            GuidPrefix::UNKNOWN => "somebody".to_owned(),
            known => format!("participant {known}"),
        };
        let times = if count == 1 { String::new() } else { format!(", {count} times by now") };
        dunlin_driver::log!(
            target: "dunlin::why",
            WARN,
            "{who} {what}, which is refused{times} ({}; DomainParticipant::misbehaviours counts it){again}",
            what.name()
        );
    }

    /// Tells of a reader that keeps as much of others as it may where its RESOURCE_LIMITS say nothing.
    pub(crate) fn over_quota(&self, now: MonoTime, reader: EntityId, topic: &str, reason: RejectReason) {
        let Some(again) = self.over_quota.admit(now, reader) else { return };
        let (what, quota, limit) = match reason {
            RejectReason::InstancesLimit => ("instances", "quotas.max_instances", "max_instances"),
            _ => ("bytes of samples", "quotas.max_samples_octets", "max_samples"),
        };
        dunlin_driver::log!(
            target: "dunlin::why",
            WARN,
            "topic '{topic}': a reader refused a sample of another participant, as it keeps as many {what} as {quota} \
             allows; RESOURCE_LIMITS with {limit} go before it{again}"
        );
    }

    /// Tells of a writer that has waited for its readers in vain.
    pub(crate) fn unacknowledged(&self, now: MonoTime, topic: &str, count: u64) {
        if count == 0 {
            return;
        }
        if let Some(again) = self.unacknowledged.admit(now, topic.to_owned()) {
            let samples = if count == 1 { "sample" } else { "samples" };
            dunlin_driver::log!(
                target: "dunlin::why",
                WARN,
                "topic '{topic}': a writer that was deleted waited for its readers, and some of them have not acknowledged \
                 its last {count} {samples}; wait_for_acknowledgments waits longer{again}"
            );
        }
    }

    /// Tells of content filters of a participant that a writer evaluates no more.
    pub(crate) fn filters_dropped(&self, now: MonoTime, topic: &str, participant: GuidPrefix) {
        if let Some(again) = self.filters_dropped.admit(now, topic.to_owned()) {
            dunlin_driver::log!(
                target: "dunlin::why",
                WARN,
                "topic '{topic}': content filters of participant {participant} take too many steps on a sample, so its \
                 readers get everything and filter it themselves; WriterStats::filters_dropped counts them{again}"
            );
        }
    }
}

fn tell(cause: &Cause, subject: impl Display, again: Again) {
    dunlin_driver::log!(target: "dunlin::why", WARN, "{subject}: {cause}; {}{again}", cause.hint());
}
