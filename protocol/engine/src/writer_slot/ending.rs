//! What a writer does before it is deleted (DDS 1.4 §2.2.2.4.1.6 delete_datawriter): it unregisters its instances.

use alloc::vec::Vec;

use dunlin_buf::SharedBytes;
use dunlin_core::{InstanceHandle, MonoTime, Now, SequenceNumber};
use dunlin_rtps::{ChangeKind, WriterHistory};

use super::life::Closing;
use super::{TxTurn, WriterCore, WriterSlot};
use crate::output::Output;

/// Instances that one turn unregisters at most: other writers and readers get a word in between.
const AT_ONCE: usize = 256;

impl WriterSlot {
    /// The registered instances with their keys: what is to be unregistered before the writer is deleted.
    #[must_use]
    pub fn registered_instances(&self) -> Vec<(InstanceHandle, Option<SharedBytes>)> {
        let core = self.turnstile.core();
        core.cache.registered_instances().map(|(instance, key)| (instance, key.cloned())).collect()
    }

    /// Begins the end of the writer: from now on nothing is written or registered ([`WriteError::Deleted`]), and whoever
    /// waits for room hears so. Returns the instances to [unregister](Self::end_instances); on a topic without key, none. Those that
    /// the writer has disposed of are not among them: readers know of their end, and other implementations say nothing more.
    ///
    /// [`WriteError::Deleted`]: crate::WriteError::Deleted
    pub fn begin_end(&self, out: &mut Output) -> Vec<InstanceHandle> {
        let mut core = self.turnstile.core();
        core.life.end();
        core.tell_space(self.id(), out);
        core.cache.living_instances().filter(|instance| !instance.is_nil()).collect()
    }

    /// Unregisters some of these instances, and takes them off the list; with `dispose` they are disposed too. Several share a
    /// datagram. `None` when nothing is left to do. No limit of the history holds that up.
    pub fn end_instances(
        &self,
        now: Now,
        instances: &mut Vec<InstanceHandle>,
        dispose: bool,
        out: &mut Output,
    ) -> Option<TxTurn<'_>> {
        if instances.is_empty() {
            return None;
        }
        let kind = if dispose { ChangeKind::DisposedUnregistered } else { ChangeKind::Unregistered };
        let ended = instances.split_off(instances.len().saturating_sub(AT_ONCE));
        let (turn, sn) =
            self.turnstile.begin(|core| core.end_instances(now, &ended, kind, self, out)).ok()?;
        Some(TxTurn { turn, sn })
    }

    /// Begins to wait for the readers, until then at most; false if there is nothing to wait for.
    pub(crate) fn begin_to_close(&self, now: Now, until: MonoTime, out: &mut Output) -> bool {
        let mut core = self.turnstile.core();
        let last = core.cache.last_sn();
        if !core.life.takes_new_readers() || core.is_acked(last) || until <= now.mono {
            return false;
        }
        core.life.close(Closing { last, until });
        self.arm(&mut core, out);
        true
    }

    /// Whether it has waited for its readers, to the end.
    pub(crate) fn is_closed(&self, now: MonoTime) -> bool {
        let core = self.turnstile.core();
        core.life.closing().is_some_and(|closing| closing.until <= now || core.is_acked(closing.last))
    }
}

impl WriterCore {
    /// Whether every matched reliable reader has acknowledged everything up to there.
    pub(super) fn is_acked(&self, last: SequenceNumber) -> bool {
        self.writer.acked_by_all() >= last
    }

    fn end_instances(
        &mut self,
        now: Now,
        instances: &[InstanceHandle],
        kind: ChangeKind,
        slot: &WriterSlot,
        out: &mut Output,
    ) -> Result<(Option<SequenceNumber>, SequenceNumber), ()> {
        if self.life.is_deleted() {
            return Err(());
        }
        let before = self.writer.sent_sn();
        self.let_kept_leave(now, kind, out);
        let time = self.cache.last_source_timestamp().map_or(now.wall, |last| last.max(now.wall));
        for instance in instances {
            let Some(sn) = self.cache.end_instance(now, *instance, kind, time) else { continue };
            if let Some(list) = self.member.as_mut().and_then(|member| member.number(sn)) {
                self.cache.set_inline_qos(sn, list);
            }
        }
        self.note_alive(now.mono, slot, out);
        let last = self.cache.last_sn();
        if self.sender.is_timer() {
            self.sender.queue();
        } else {
            self.progressing(out, |core, out| {
                core.writer.on_new_change(now, last, &core.cache, &mut out.outbox);
                core.writer.flush(now, &core.cache, &mut out.outbox);
            });
        }
        slot.arm(self, out);
        let sent = self.writer.sent_sn();
        Ok(((sent > before).then_some(sent), last))
    }
}
