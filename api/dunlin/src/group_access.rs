//! What publishers and subscribers do with all their endpoints at once: PRESENTATION (DDS 1.4 §2.2.3.6) and suspended
//! publications.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use dunlin_cache::{InstanceSelect, Selection};
use dunlin_core::WallTime;

use crate::any::AnyDataReader;
use crate::error::GroupAccessError;
use crate::mutex::lock;
use crate::publisher::Publisher;
use crate::reader::StateMasks;
use crate::reader_inner::ReaderInner;
use crate::subscriber::Subscriber;
use crate::writer_inner::WriterInner;

impl Publisher {
    /// begin_coherent_changes: what the publisher's writers write from now on is shown together or not at all by readers
    /// that ask for coherent access. Calls nest. Without coherent_access in the publisher's PRESENTATION it has no effect.
    ///
    /// With access scope GROUP a set comprises all writers of the publisher, otherwise each writer's part is a set.
    ///
    /// # Errors
    /// [`GroupAccessError::NotEnabled`], [`GroupAccessError::AlreadyDeleted`].
    pub fn begin_coherent_changes(&self) -> Result<(), GroupAccessError> {
        self.state.entity.check_usable()?;
        let mut sets = lock(&self.state.sets);
        sets.depth = sets.depth.saturating_add(1);
        if let Some(group) = &sets.group {
            group.begin_set();
        }
        Ok(())
    }

    /// end_coherent_changes: the outermost call lets readers see what was written since the first begin.
    ///
    /// # Errors
    /// [`GroupAccessError::NotBegun`] without a begin that was not ended; [`GroupAccessError::NotEnabled`];
    /// [`GroupAccessError::AlreadyDeleted`].
    pub fn end_coherent_changes(&self) -> Result<(), GroupAccessError> {
        self.state.entity.check_usable()?;
        let mut sets = lock(&self.state.sets);
        sets.depth = sets.depth.checked_sub(1).ok_or(GroupAccessError::NotBegun)?;
        let end = sets.group.as_ref().and_then(|group| group.end_set().flatten());
        drop(sets);
        if let Some(end) = end {
            for writer in self.state.urgent_first() {
                writer.end_set(&end);
            }
        }
        Ok(())
    }

    /// suspend_publications: what the publisher's writers write from now on waits until it is resumed, or fills
    /// `batching.max_size`, or a call of the writer waits. Suspending twice is suspending once.
    ///
    /// # Errors
    /// [`GroupAccessError::NotEnabled`], [`GroupAccessError::AlreadyDeleted`].
    pub fn suspend_publications(&self) -> Result<(), GroupAccessError> {
        self.state.entity.check_usable()?;
        self.state.suspended.store(true, SeqCst);
        self.state.writers().iter().for_each(|writer| writer.set_suspended(true));
        Ok(())
    }

    /// resume_publications: what has waited leaves, that of the writer with the highest TRANSPORT_PRIORITY first.
    ///
    /// # Errors
    /// [`GroupAccessError::NotBegun`] when publications are not suspended; [`GroupAccessError::NotEnabled`],
    /// [`GroupAccessError::AlreadyDeleted`].
    pub fn resume_publications(&self) -> Result<(), GroupAccessError> {
        self.state.entity.check_usable()?;
        if !self.state.suspended.swap(false, SeqCst) {
            return Err(GroupAccessError::NotBegun);
        }
        self.state.urgent_first().iter().for_each(|writer| writer.set_suspended(false));
        Ok(())
    }

    /// Sends what waits for more samples, of all writers, that of the highest TRANSPORT_PRIORITY first: see
    /// [`DataWriter::flush`](crate::DataWriter::flush).
    pub fn flush(&self) {
        self.state.urgent_first().iter().for_each(|writer| writer.flush());
    }
}

impl WriterInner {
    fn end_set(&self, end: &dunlin_engine::SetEnd) {
        if let Some(slot) = self.slot() {
            self.participant.end_set(slot, end);
        }
    }

    /// As its publisher is, also if others suspend and resume that at this moment.
    pub(crate) fn follow_suspension(&self) {
        loop {
            let suspended = self.publisher.suspended.load(SeqCst);
            self.set_suspended(suspended);
            if self.publisher.suspended.load(SeqCst) == suspended {
                return;
            }
        }
    }

    fn set_suspended(&self, suspended: bool) {
        if let Some(slot) = self.slot() {
            slot.set_suspended(suspended);
            if !suspended {
                self.participant.flush(slot);
            }
        }
    }

    pub(crate) fn flush(&self) {
        if let Some(slot) = self.slot() {
            self.participant.flush(slot);
        }
    }
}

impl Subscriber {
    /// begin_access: until it is ended, the subscriber's readers show nothing new of what they show together, so that
    /// several of them can be read as of one moment. Calls nest. Of readers without coherent and group-wide ordered access
    /// it changes nothing.
    ///
    /// # Errors
    /// [`GroupAccessError::NotEnabled`], [`GroupAccessError::AlreadyDeleted`].
    pub fn begin_access(&self) -> Result<(), GroupAccessError> {
        self.state.entity.check_usable()?;
        let mut accesses = lock(&self.state.accesses);
        accesses.count = accesses.count.saturating_add(1);
        if let Some(group) = &accesses.group {
            group.begin_access();
        }
        Ok(())
    }

    /// end_access: what has arrived since becomes visible.
    ///
    /// # Errors
    /// [`GroupAccessError::NotBegun`] without a begin that was not ended; [`GroupAccessError::NotEnabled`];
    /// [`GroupAccessError::AlreadyDeleted`].
    pub fn end_access(&self) -> Result<(), GroupAccessError> {
        self.state.entity.check_usable()?;
        let mut accesses = lock(&self.state.accesses);
        accesses.count = accesses.count.checked_sub(1).ok_or(GroupAccessError::NotBegun)?;
        let group = accesses.group.clone();
        drop(accesses);
        if let Some(group) = group {
            self.participant.end_access(&group);
        }
        Ok(())
    }

    /// get_datareaders: the readers with samples in these states. With ordered access of scope GROUP there is one entry
    /// for each such sample, in the order in which they are to be read: take or read one sample from each. Otherwise each
    /// reader is there once.
    ///
    /// # Errors
    /// [`GroupAccessError::NotBegun`] with access scope GROUP outside of
    /// [`begin_access`](Self::begin_access) and [`end_access`](Self::end_access), unless
    /// [`on_data_on_readers`](crate::SubscriberListener::on_data_on_readers) runs; [`GroupAccessError::NotEnabled`],
    /// [`GroupAccessError::AlreadyDeleted`].
    pub fn datareaders(&self, states: StateMasks) -> Result<Vec<AnyDataReader>, GroupAccessError> {
        self.state.entity.check_usable()?;
        self.state.check_access()?;
        let selection = crate::reader::selection(usize::MAX, states, InstanceSelect::Any);
        let mut found: Vec<(WallTime, AnyDataReader)> = Vec::new();
        for core in self.state.readers() {
            let times = receptions(&core, &selection);
            let wanted = if self.state.scope().one_by_one { times.len() } else { times.len().min(1) };
            let entries = times.into_iter().take(wanted);
            found.extend(entries.map(|time| (time, AnyDataReader::from_core(Arc::clone(&core)))));
        }
        found.sort_by_key(|(time, _)| *time);
        Ok(found.into_iter().map(|(_, reader)| reader).collect())
    }
}

impl ReaderInner {
    /// Reads within an access of its own where one is needed.
    pub(crate) fn in_access<R>(&self, read: impl FnOnce() -> R) -> R {
        if !self.subscriber.scope().by_group {
            return read();
        }
        /// Ends the access also if `read` panics.
        struct Access(Subscriber);
        impl Drop for Access {
            fn drop(&mut self) {
                // Another thread may have ended one access too many.
                let _ = self.0.end_access();
            }
        }
        let subscriber = self.subscriber();
        if subscriber.begin_access().is_err() {
            // Reading says so too.
            return read();
        }
        let _access = Access(subscriber);
        read()
    }
}

fn receptions(core: &ReaderInner, selection: &Selection) -> Vec<WallTime> {
    let mut times = Vec::new();
    if let Some(slot) = core.slot() {
        // Only a selection by instance can fail.
        let _ = slot.receptions(selection, &mut times);
    }
    times
}
