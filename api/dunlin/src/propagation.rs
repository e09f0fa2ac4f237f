//! Which listener hears of a status (DDS 1.4 §2.2.4.2.3): the most specific one whose mask has it.

use std::sync::Arc;

use dunlin_core::Guid;

use crate::reader_inner::ReaderInner;
use crate::status::StatusMask;
use crate::topic::TopicInner;
use crate::writer_inner::WriterInner;

impl WriterInner {
    /// Tells writer, publisher or participant.
    pub(crate) fn tell(self: &Arc<Self>, status: StatusMask) {
        if let Some(own) = self.listener.of(status) {
            return own.into_iter().for_each(|listener| listener.call(self, status));
        }
        // Deletion has taken its listener away: nobody else answers for it.
        if self.is_deleted() {
            return;
        }
        if let Some(group) = self.publisher.entity.listener.of(status) {
            return group.into_iter().for_each(|listener| listener.call(self, status));
        }
        if let Some(participant) = self.participant.entity.listener.of(status) {
            participant.into_iter().for_each(|listener| listener.call_of_writer(self, status));
        }
    }
}

impl ReaderInner {
    /// Tells reader, subscriber or participant. Of data the subscriber or participant that wants DATA_ON_READERS hears
    /// first, and then nobody hears of DATA_AVAILABLE.
    pub(crate) fn tell(self: &Arc<Self>, status: StatusMask) {
        if status == StatusMask::DATA_AVAILABLE
            && let Some(consumer) = self.consumer.get()
        {
            return consumer.call(self, status);
        }
        if status != StatusMask::DATA_AVAILABLE || self.rows.is_some() {
            return self.tell_plain(status);
        }
        if self.is_deleted() {
            return;
        }
        // Every listener comes before those who wait for the subscriber (§2.2.4.4): a call resets DATA_ON_READERS, so that
        // who woke before it would see what is soon untrue.
        let _raise = self.subscriber.entity.signal.raise_at_end();
        if !self.tell_subscriber() {
            self.tell_plain(status);
        }
    }

    /// DATA_AVAILABLE after DATA_ON_READERS was told.
    pub(crate) fn tell_data_available(self: &Arc<Self>) {
        self.tell_plain(StatusMask::DATA_AVAILABLE);
    }

    fn tell_plain(self: &Arc<Self>, status: StatusMask) {
        if let Some(own) = self.listener.of(status) {
            return own.into_iter().for_each(|listener| {
                self.clear_reported(status);
                listener.call(self, status);
            });
        }
        // Deletion has taken its listener away: nobody else answers for it.
        if self.rows.is_some() || self.is_deleted() {
            return;
        }
        if let Some(group) = self.subscriber.entity.listener.of(status) {
            return group.into_iter().for_each(|listener| {
                self.clear_reported(status);
                listener.call(self, status);
            });
        }
        if let Some(participant) = self.participant.entity.listener.of(status) {
            participant.into_iter().for_each(|listener| {
                self.clear_reported(status);
                listener.call_of_reader(self, status);
            });
        }
    }

    /// DATA_ON_READERS; whether somebody answers for it. The caller wakes those who wait for the subscriber.
    fn tell_subscriber(self: &Arc<Self>) -> bool {
        let status = StatusMask::DATA_ON_READERS;
        let group = &self.subscriber.entity;
        group.note(status);
        // Without a call nothing is told instead of DATA_AVAILABLE.
        let told = if let Some(own) = group.listener.of(status) {
            own.map(|listener| self.during_data_on_readers(|| listener.call_data_on_readers(self)))
        } else {
            let participant = self.participant.entity.listener.of(status).flatten();
            participant.map(|listener| self.during_data_on_readers(|| listener.call_data_on_readers(self)))
        };
        told.is_some()
    }

    fn during_data_on_readers(&self, call: impl FnOnce()) {
        let state = &self.subscriber;
        state.entity.clear(StatusMask::DATA_ON_READERS);
        let _notifying = state.notifying();
        call();
    }

    /// What a call for DATA_AVAILABLE resets.
    fn clear_reported(&self, status: StatusMask) {
        if status == StatusMask::DATA_AVAILABLE {
            self.clear_data_available();
        }
    }
}

impl TopicInner {
    /// Another endpoint uses the name with another type.
    pub(crate) fn on_inconsistent(self: &Arc<Self>, remote: Guid) {
        if !self.entity.is_enabled() || !self.count_inconsistent(remote) {
            return;
        }
        let status = StatusMask::INCONSISTENT_TOPIC;
        self.entity.note(status);
        let _raise = self.entity.signal.raise_at_end();
        if let Some(own) = self.entity.listener.of(status) {
            if let Some(listener) = own {
                listener.call(self, status);
            }
        } else if let Some(participant) = self.participant_inner()
            && let Some(Some(listener)) = participant.entity.listener.of(status)
        {
            listener.call_of_topic(self, status);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use dunlin_qos::{DataWriterQos, PublisherQos, TopicQos};

    use super::*;
    use crate::any::AnyDataWriter;
    use crate::listener::{PublisherListener, SubscriberListener, TopicListener};
    use crate::statistics::EntityStatistics;
    use crate::status::MatchedStatus;
    use crate::{Config, DomainParticipant};

    struct Counts(Arc<AtomicU32>);

    impl PublisherListener for Counts {
        fn on_publication_matched(&self, _: &AnyDataWriter, _: MatchedStatus) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    impl SubscriberListener for Counts {}
    impl TopicListener for Counts {}

    /// A reader may come or go between the end of its listener and its leaving the domain.
    #[test]
    fn no_listener_is_called_for_a_deleted_writer() {
        let mut config = Config::default();
        config.set("network.interfaces", "lo").unwrap();
        let participant = DomainParticipant::builder(229).config(config).build().unwrap();
        let heard = Arc::new(AtomicU32::new(0));
        participant.set_listener(Counts(Arc::clone(&heard)), StatusMask::PUBLICATION_MATCHED);
        let topic = participant.create_topic::<EntityStatistics>("T", &TopicQos::default()).unwrap();
        let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
        let writer = publisher.create_datawriter(&topic, &DataWriterQos::default()).unwrap();
        writer.core().tell(StatusMask::PUBLICATION_MATCHED);
        assert_eq!(heard.load(Ordering::SeqCst), 1, "the participant answers for it");
        publisher.delete_datawriter(&writer).unwrap();
        writer.core().tell(StatusMask::PUBLICATION_MATCHED);
        assert_eq!(heard.load(Ordering::SeqCst), 1);
    }
}
