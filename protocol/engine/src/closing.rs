//! Writers on their way out: what their readers have not acknowledged is sent again for a while, although nobody holds them
//! (DDS 1.4 §2.2.2.4.1.6 delete_datawriter).

use dunlin_core::{MonoTime, Now};

use crate::output::Output;
use crate::participant::Participant;
use crate::writer_slot::WriterSlot;

/// Writers on their way out at once, at most: with one more the oldest goes whether it is acknowledged or not.
pub const MOST_CLOSING_WRITERS: usize = 1_024;

impl Participant {
    /// Deletes a writer, at once if every matched reliable reader has acknowledged everything, and otherwise when they have, at
    /// `until` at the latest. Meanwhile it answers its readers and takes no new ones; [`Event::WriterClosed`] tells that it is
    /// gone. Unregistering its instances comes before. True if it waits for readers.
    ///
    /// [`Event::WriterClosed`]: crate::Event::WriterClosed
    pub fn close_writer(&self, now: Now, writer: &WriterSlot, until: MonoTime, out: &mut Output) -> bool {
        // Under the lock that a timer needs to delete it, which so cannot come first.
        let mut control = self.control.lock();
        if !writer.begin_to_close(now, until, out) {
            drop(control);
            self.delete_writer(now, writer, out);
            return false;
        }
        control.closing.push_back(writer.guid().entity_id);
        let oldest = (control.closing.len() > MOST_CLOSING_WRITERS).then(|| control.closing.front().copied());
        drop(control);
        let oldest = oldest.flatten().and_then(|id| self.routes.load().writer(id).cloned());
        if let Some(oldest) = oldest {
            self.delete_writer(now, &oldest, out);
        }
        true
    }

    /// How many writers are on their way out, see [`close_writer`](Self::close_writer).
    #[must_use]
    pub fn closing_writers(&self) -> usize {
        self.control.lock().closing.len()
    }
}
