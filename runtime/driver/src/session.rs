//! A participant in its domain, as the façade uses it.

use crate::config::{DriverConfig, JoinError};
use crate::context::{on_receive_thread, put_output, take_output};
use crate::group::Group;
use crate::member::Member;
use crate::{EventSink, clock, identity};
use dunlin_core::{Now, SequenceNumber};
use dunlin_engine::{
    Locators, Output, Participant, ParticipantConfig, WriteError, WriteRequest, WriterSlot,
};
use dunlin_qos::ReliabilityKind;
use dunlin_transport::{SendMode, Transport, TransportStats};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A joined participant. Leaves its domain when told to or dropped.
pub struct Session {
    group: Arc<Group>,
    member: Arc<Member>,
    left: AtomicBool,
}

/// Where a transport can be reached, in the words of discovery.
pub(crate) fn locators_of(transport: &dyn Transport) -> Locators {
    let own = transport.locators();
    Locators {
        metatraffic_unicast: own.metatraffic_unicast,
        metatraffic_multicast: own.metatraffic_multicast,
        default_unicast: own.default_unicast,
        default_multicast: own.default_multicast,
    }
}

fn participant_config(config: &DriverConfig, transport: &dyn Transport) -> Result<ParticipantConfig, JoinError> {
    let prefix = identity::guid_prefix().map_err(JoinError::Network)?;
    let mut settings = ParticipantConfig::new(prefix, config.udp.domain);
    settings.domain_tag.clone_from(&config.domain_tag);
    settings.locators = locators_of(transport);
    settings.initial_peers.clone_from(&config.initial_peers);
    settings.spdp_destinations = transport.announce_to();
    settings.qos = config.qos.clone();
    settings.lease_duration = config.lease_duration;
    settings.announcement_period = config.announcement_period;
    settings.max_message_size = config.max_message_size.unwrap_or_else(|| transport.max_message_size());
    settings.tuning = config.tuning.clone();
    settings.quotas = config.quotas.clone();
    settings.seed = identity::seed().map_err(JoinError::Network)?;
    settings.entity_name.clone_from(&config.entity_name);
    Ok(settings)
}

impl Session {
    /// Opens or shares sockets and threads, and announces a new participant. Its events go to `sink`.
    ///
    /// # Errors
    /// When sockets, threads or the capture file cannot be had.
    pub fn join(config: DriverConfig, sink: Arc<dyn EventSink>) -> Result<Arc<Self>, JoinError> {
        let (group, member) = loop {
            let group = Group::obtain(&config)?;
            let settings = participant_config(&config, &*group.transport)?;
            let participant = Participant::new(settings);
            let member = Arc::new(Member::new(participant, Arc::clone(&sink)));
            if group.add(&member) {
                break (group, member);
            }
        };
        group.run(&member, |now, out| member.participant.start(now, out));
        group.timer.wake();
        Ok(Arc::new(Self { group, member, left: AtomicBool::new(false) }))
    }

    /// The engine.
    #[must_use]
    pub fn participant(&self) -> &Participant {
        &self.member.participant
    }

    /// Both clocks.
    #[must_use]
    pub fn now(&self) -> Now {
        clock::now()
    }

    /// Calls the engine, then sends what the call brought without blocking, and tells its events.
    pub fn run<R>(&self, call: impl FnOnce(Now, &mut Output) -> R) -> R {
        self.group.run(&self.member, call)
    }

    /// Writes: the datagrams are with the operating system when this returns. Blocks while the history
    /// of a reliable writer is full, and while its link is slower than it; a library thread never blocks.
    ///
    /// # Errors
    /// [`WriteError::Full`] when there was no room for max_blocking_time.
    pub fn write(&self, slot: &WriterSlot, request: WriteRequest) -> Result<SequenceNumber, WriteError> {
        let may_block = !on_receive_thread();
        let mut deadline = None;
        loop {
            let seen = self.member.space_generation();
            let mut out = take_output();
            let result = slot.write(clock::now(), request.clone(), &mut out).map(|turn| {
                let reliable = may_block && slot.qos().reliability.kind == ReliabilityKind::Reliable;
                let mode = if reliable { SendMode::Blocking } else { SendMode::NonBlocking };
                self.group.send(&self.member, &out, mode);
                let sn = turn.sequence_number();
                turn.finish();
                sn
            });
            if result.is_err() {
                self.group.send(&self.member, &out, SendMode::NonBlocking);
            }
            self.group.tell(&self.member, &mut out);
            put_output(out);
            match result {
                Err(WriteError::Full { until }) if may_block => {
                    let until = *deadline.get_or_insert(until);
                    if !self.member.wait_for_space(seen, until) {
                        return Err(WriteError::Full { until });
                    }
                }
                result => return result,
            }
        }
    }

    /// Counters of the sockets, which participants of one group share.
    #[must_use]
    pub fn transport_stats(&self) -> TransportStats {
        self.group.transport.stats()
    }

    /// Says goodbye to the other participants; ends the threads with the last participant of the group.
    pub fn leave(&self) {
        if self.left.swap(true, Ordering::AcqRel) {
            return;
        }
        self.run(|now, out| self.member.participant.shutdown(now, out));
        self.group.remove(&self.member);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.leave();
    }
}
