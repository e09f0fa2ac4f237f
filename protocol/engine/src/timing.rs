//! Time: what is due, and when something will be.

use dunlin_core::{MonoTime, Now};
use dunlin_qos::LivelinessKind;
use dunlin_wire::join_directed;

use crate::output::{Event, Output};
use crate::participant::Participant;
use crate::timers::TimerOwner;

impl Participant {
    /// When [`on_timer`](Self::on_timer) next has something to do; it may turn out to be nothing. Watch
    /// [`Output::deadline_closer`] for changes.
    #[must_use]
    pub fn next_deadline(&self) -> Option<MonoTime> {
        self.common.timers.next()
    }

    /// Has [`Event::Alarm`] told once at this time, instead of at the one that was set before; `None` for never.
    pub fn set_alarm(&self, at: Option<MonoTime>, out: &mut Output) {
        out.deadline_closer |= self.common.timers.set(self.common.alarm_timer, at);
    }

    /// Does everything that is due.
    pub fn on_timer(&self, now: Now, out: &mut Output) {
        // What is due again at once has its turn in the next call.
        let budget = self.common.timers.armed();
        self.pump(now, budget, out);
    }

    /// Does at most `budget` of the things that are due, in the order of their deadlines. Returns how many it did: fewer
    /// than `budget` means that nothing more is due. A participant without threads calls this in its time window,
    /// between [`on_datagram`](Self::on_datagram) for what arrived and sending `out`.
    pub fn pump(&self, now: Now, budget: usize, out: &mut Output) -> usize {
        let first = out.outbox.datagram_count();
        let mut done = 0usize;
        while done < budget
            && let Some(owner) = self.common.timers.pop_due(now.mono)
        {
            self.common.counters.timers_run();
            self.run(now, owner, out);
            done = done.saturating_add(1);
        }
        // What several paced writers may send now leaves in the order of their TRANSPORT_PRIORITY.
        out.outbox.put_urgent_first(first);
        done
    }

    fn run(&self, now: Now, owner: TimerOwner, out: &mut Output) {
        match owner {
            TimerOwner::Participant => self.run_discovery(now, out),
            TimerOwner::Alarm => out.events.push(Event::Alarm),
            TimerOwner::Writer(id) => {
                if let Some(writer) = self.routes.load().writer(id) {
                    writer.on_timer(now, out);
                    if writer.is_closed(now.mono) {
                        self.delete_writer(now, writer, out);
                    }
                }
            }
            TimerOwner::Reader(id) => {
                if let Some(reader) = self.routes.load().reader(id) {
                    reader.on_protocol_timer(now, out);
                }
            }
            TimerOwner::ReaderCache(id) => {
                if let Some(reader) = self.routes.load().reader(id) {
                    reader.on_cache_timer(now, out);
                }
            }
        }
    }

    fn run_discovery(&self, now: Now, out: &mut Output) {
        let asserted = self.common.manual.take_news(now.mono);
        let mut control = self.control.lock();
        control.armed = None;
        let crate::participant::Control { discovery, effects, .. } = &mut *control;
        if asserted {
            discovery.assert_liveliness(now, &mut out.outbox);
        }
        let from = out.outbox.datagram_count();
        discovery.on_timer(now, &mut out.outbox, effects);
        join_directed(&mut out.outbox, from, self.common.max_message_size);
        self.conclude(now, control, out);
        if asserted {
            for reader in self.routes.load().readers() {
                reader.on_liveliness(
                    now,
                    now.mono,
                    (self.common.prefix, LivelinessKind::ManualByParticipant),
                    out,
                );
            }
        }
    }
}
