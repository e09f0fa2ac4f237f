//! The timer thread: everything that is due, for every participant of a group.

use crate::clock;
use crate::group::Group;
use dunlin_core::MonoTime;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Default)]
struct State {
    stopped: bool,
    /// A deadline came closer since the thread last looked.
    woken: bool,
}

/// How other threads reach the timer thread.
#[derive(Default)]
pub(crate) struct Timer {
    state: Mutex<State>,
    changed: Condvar,
}

impl Timer {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn wake(&self) {
        let mut state = self.lock();
        if !state.woken {
            state.woken = true;
            self.changed.notify_one();
        }
    }

    pub fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_one();
    }

    pub fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Sleeps until `deadline` unless woken before; false when stopped.
    fn sleep(&self, deadline: MonoTime) -> bool {
        let mut state = self.lock();
        while !state.stopped && !state.woken {
            let left = deadline.since(clock::now().mono).to_std().unwrap_or(Duration::from_secs(3600));
            if left.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.woken = false;
        !state.stopped
    }
}

pub(crate) fn run(group: &Group, interface_poll: Duration) {
    let poll = dunlin_core::Duration::from(interface_poll);
    let mut next_poll = clock::now().mono.plus(poll);
    loop {
        let members = group.members();
        let deadlines = members.iter().filter_map(|member| member.participant.next_deadline());
        let deadline = deadlines.min().unwrap_or(MonoTime::MAX).min(next_poll);
        if !group.timer.sleep(deadline) {
            return;
        }
        let now = clock::now().mono;
        for member in group.members().iter() {
            if member.participant.next_deadline().is_some_and(|due| due <= now) {
                group.run(member, |now, out| member.participant.on_timer(now, out));
            }
        }
        if now >= next_poll {
            next_poll = now.plus(poll);
            look_at_interfaces(group);
        }
    }
}

/// Announces the participants anew when the host's addresses have changed.
fn look_at_interfaces(group: &Group) {
    if !group.transport.refresh() {
        return;
    }
    let locators = crate::session::locators_of(&*group.transport);
    tracing::info!("network interfaces changed: now at {:?}", locators.default_unicast);
    for member in group.members().iter() {
        group.run(member, |now, out| member.participant.set_locators(now, locators.clone(), out));
    }
}
