//! What matched endpoints have shown: who builds a protocol of its own on writers and readers needs to know whether what it sends
//! now can arrive (DDS-RPC 1.0 §7.6.2; services, bindings).

use std::sync::Arc;

use dunlin_cdr::TopicType;
use dunlin_core::{InstanceHandle, SequenceNumber};

use crate::activity::Activity;
use crate::builtin::{PublicationBuiltinTopicData, SubscriptionBuiltinTopicData};
use crate::error::NotMatched;
use crate::reader::DataReader;
use crate::writer::DataWriter;

/// How it stands with a matched reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MatchedReaderState {
    /// Whether it has ever acknowledged anything (ACKNACK, RTPS 2.5 §8.3.8.1), so that it has matched the writer too. Always
    /// false of a BEST_EFFORT reader, which never acknowledges.
    pub has_acknowledged: bool,
    /// Whether the writer does not wait for it any more because it is slow, or does not wait for it again yet
    /// (`docs/slow-readers.md`).
    pub is_inactive: bool,
}

/// How it stands with a matched writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MatchedWriterState {
    /// Whether anything has come from it.
    pub was_heard: bool,
    /// Whether it has matched the reader too: it has sent a HEARTBEAT or GAP that names this reader, behind an INFO_DST that
    /// names this participant (RTPS 2.5 §8.3.8.4, §8.3.8.6). What it writes reliably from then on arrives.
    pub knows_reader: bool,
}

impl<T: TopicType> DataWriter<T> {
    /// get_matched_subscription_data of all matched readers, by GUID; none of a writer that is disabled or was deleted.
    #[must_use]
    pub fn all_matched_subscription_data(&self) -> Vec<Arc<SubscriptionBuiltinTopicData>> {
        self.core().matched()
    }

    /// How it stands with a matched reader. A change raises the [`activity`](Self::activity).
    ///
    /// # Errors
    /// [`NotMatched`]: a handle that names no matched reader, a writer that is disabled or was deleted.
    pub fn matched_subscription_state(
        &self,
        handle: InstanceHandle,
    ) -> Result<MatchedReaderState, NotMatched> {
        let (slot, reader) = (self.core().usable()?, handle.to_guid());
        let is_inactive = slot.is_inactive(reader).ok_or(NotMatched::UnknownHandle)?;
        Ok(MatchedReaderState { has_acknowledged: slot.has_heard(reader) == Some(true), is_inactive })
    }

    /// Whether a matched reader has acknowledged this writer's sample of a number and all before it; of a BEST_EFFORT reader, whether
    /// they were sent. A change raises the [`activity`](Self::activity).
    ///
    /// # Errors
    /// [`NotMatched`]: a handle that names no matched reader, a writer that is disabled or was deleted.
    pub fn is_acknowledged_by(
        &self,
        handle: InstanceHandle,
        through: SequenceNumber,
    ) -> Result<bool, NotMatched> {
        let (slot, reader) = (self.core().usable()?, handle.to_guid());
        slot.is_inactive(reader).ok_or(NotMatched::UnknownHandle)?;
        Ok(slot.is_acked_by(reader, through))
    }

    /// Raised when something of this writer may have changed: statuses, what readers have acknowledged, its end.
    #[must_use]
    pub fn activity(&self) -> Activity {
        Activity(Arc::clone(&self.core().signal))
    }

    /// Whether it was deleted: its operations fail with ALREADY_DELETED (DDS 1.4 §2.2.1.1).
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.core().is_deleted()
    }
}

impl<T: TopicType> DataReader<T> {
    /// get_matched_publication_data of all matched writers, by GUID; of a multi-topic, those of all its topics. None of a reader
    /// that is disabled or was deleted.
    #[must_use]
    pub fn all_matched_publication_data(&self) -> Vec<Arc<PublicationBuiltinTopicData>> {
        self.core().matched()
    }

    /// How it stands with a matched writer. A change raises the [`activity`](Self::activity).
    ///
    /// # Errors
    /// [`NotMatched`]: a handle that names no matched writer, a reader that is disabled or was deleted.
    pub fn matched_publication_state(
        &self,
        handle: InstanceHandle,
    ) -> Result<MatchedWriterState, NotMatched> {
        self.core().usable()?;
        let writer = handle.to_guid();
        let state = |part: Arc<crate::reader_inner::ReaderInner>| {
            let slot = part.slot()?;
            Some(MatchedWriterState {
                was_heard: slot.has_heard(writer)?,
                knows_reader: slot.is_known_to(writer)?,
            })
        };
        self.core().parts().into_iter().find_map(state).ok_or(NotMatched::UnknownHandle)
    }

    /// Asks a matched RELIABLE writer, again and again, until it shows that it knows this reader
    /// ([`MatchedWriterState::knows_reader`]); otherwise a writer that has nothing to send need not show it. Calls after the first do
    /// nothing, nor is anything asked of a BEST_EFFORT writer.
    ///
    /// # Errors
    /// [`NotMatched`]: a handle that names no matched writer, a reader that is disabled or was deleted.
    pub fn confirm_match(&self, handle: InstanceHandle) -> Result<(), NotMatched> {
        self.core().usable()?;
        let writer = handle.to_guid();
        for part in self.core().parts() {
            if let Some(slot) = part.slot().filter(|slot| slot.is_known_to(writer).is_some()) {
                part.participant.insist(slot, writer);
                return Ok(());
            }
        }
        Err(NotMatched::UnknownHandle)
    }

    /// Raised when something of this reader may have changed: arrivals, statuses, what writers have shown, its end.
    #[must_use]
    pub fn activity(&self) -> Activity {
        Activity(Arc::clone(&self.core().signal))
    }

    /// Whether it was deleted: its operations fail with ALREADY_DELETED (DDS 1.4 §2.2.1.1).
    #[must_use]
    pub fn is_deleted(&self) -> bool {
        self.core().is_deleted()
    }
}
