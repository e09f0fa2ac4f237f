//! Who sends new data of a writer: the thread that writes it, or the timer.
//!
//! New data leaves in the order of its sequence numbers. A thread that writes holds the [turn](crate::turn) while it sends; the
//! output of a timer call, and of a message that was received, is sent later and without it. Until that is on the wire, writes only
//! put theirs into the history, and the timer sends it.

/// Who sends new data now, and who sends what waits in the history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sender {
    /// Whoever writes sends.
    Writes,
    /// The same. What was written while the timer sent is still to be sent by it, if no write comes before.
    TimerNext,
    /// New data of the timer is being sent.
    Timer,
    /// The same, and something was written meanwhile.
    TimerAgain,
}

impl Sender {
    /// Whether new data of the timer is being sent, so that writes must not send.
    #[inline]
    pub(super) fn is_timer(self) -> bool {
        matches!(self, Self::Timer | Self::TimerAgain)
    }

    /// Whether something was written that the timer is to send.
    #[inline]
    pub(super) fn has_queued(self) -> bool {
        matches!(self, Self::TimerNext | Self::TimerAgain)
    }

    /// New data of the timer is about to be sent.
    pub(super) fn timer_begins(&mut self) {
        *self = if self.has_queued() { Self::TimerAgain } else { Self::Timer };
    }

    /// It is on the wire.
    pub(super) fn timer_ended(&mut self) {
        *self = if self.has_queued() { Self::TimerNext } else { Self::Writes };
    }

    /// Something was written while the timer sends: it sends that too.
    pub(super) fn queue(&mut self) {
        debug_assert!(self.is_timer(), "who may send does not queue");
        *self = Self::TimerAgain;
    }

    /// What was queued leaves now; false if nothing was.
    pub(super) fn take_queued(&mut self) -> bool {
        let queued = self.has_queued();
        *self = if self.is_timer() { Self::Timer } else { Self::Writes };
        queued
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_queued_while_the_timer_sends_is_taken_once() {
        let mut sender = Sender::Writes;
        sender.timer_begins();
        assert!(sender.is_timer() && !sender.has_queued() && !sender.take_queued() && sender.is_timer());
        sender.queue();
        sender.queue();
        assert!(sender.is_timer() && sender.has_queued());
        sender.timer_ended();
        assert!(!sender.is_timer() && sender.has_queued());
        assert!(sender.take_queued() && !sender.take_queued());
        assert_eq!(sender, Sender::Writes);
    }

    #[test]
    fn queued_change_outlasts_another_turn_of_the_timer() {
        let mut sender = Sender::TimerNext;
        sender.timer_begins();
        assert_eq!(sender, Sender::TimerAgain);
        sender.timer_ended();
        assert_eq!(sender, Sender::TimerNext);
        sender.timer_begins();
        assert!(sender.take_queued());
        assert_eq!(sender, Sender::Timer);
        sender.timer_ended();
        assert_eq!(sender, Sender::Writes);
    }
}
