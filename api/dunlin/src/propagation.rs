//! Which listener hears of a status (DDS 1.4 §2.2.4.2.3): the most specific one whose mask has it.

use crate::any::{AnyDataReader, AnyDataWriter, AnyTopic};
use crate::listener::{PublisherListener, SubscriberListener};
use crate::reader_inner::ReaderInner;
use crate::status::StatusMask;
use crate::topic::TopicInner;
use crate::writer_inner::WriterInner;
use dunlin_core::Guid;
use std::sync::Arc;

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
        if let Some(group) = self.publisher.state.entity.listener.of(status) {
            return group.into_iter().for_each(|listener| self.call_publisher(&*listener, status));
        }
        if let Some(participant) = self.participant.entity.listener.of(status) {
            participant.into_iter().for_each(|listener| self.call_publisher(&*listener, status));
        }
    }

    fn call_publisher<L: PublisherListener + ?Sized>(self: &Arc<Self>, listener: &L, status: StatusMask) {
        let writer = AnyDataWriter::from_core(Arc::clone(self));
        match status {
            StatusMask::PUBLICATION_MATCHED => {
                listener.on_publication_matched(&writer, self.read_status(status, |s| &mut s.matched));
            }
            StatusMask::OFFERED_INCOMPATIBLE_QOS => {
                listener
                    .on_offered_incompatible_qos(&writer, self.read_status(status, |s| &mut s.incompatible));
            }
            StatusMask::OFFERED_DEADLINE_MISSED => {
                listener.on_offered_deadline_missed(&writer, self.read_status(status, |s| &mut s.deadline));
            }
            StatusMask::LIVELINESS_LOST => {
                listener.on_liveliness_lost(&writer, self.read_status(status, |s| &mut s.liveliness));
            }
            _ => {}
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
        let _raise = self.subscriber.state.entity.signal.raise_at_end();
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
        if let Some(group) = self.subscriber.state.entity.listener.of(status) {
            return group.into_iter().for_each(|listener| self.call_subscriber(&*listener, status));
        }
        if let Some(participant) = self.participant.entity.listener.of(status) {
            participant.into_iter().for_each(|listener| self.call_subscriber(&*listener, status));
        }
    }

    /// DATA_ON_READERS; whether somebody answers for it. The caller wakes those who wait for the subscriber.
    fn tell_subscriber(&self) -> bool {
        let status = StatusMask::DATA_ON_READERS;
        let group = &self.subscriber.state.entity;
        group.note(status);
        // Without a call nothing is told instead of DATA_AVAILABLE.
        let told = if let Some(own) = group.listener.of(status) {
            own.map(|listener| self.call_data_on_readers(&*listener))
        } else {
            let participant = self.participant.entity.listener.of(status).flatten();
            participant.map(|listener| self.call_data_on_readers(&*listener))
        };
        told.is_some()
    }

    fn call_data_on_readers<L: SubscriberListener + ?Sized>(&self, listener: &L) {
        let state = &self.subscriber.state;
        state.entity.clear(StatusMask::DATA_ON_READERS);
        let _notifying = state.notifying();
        listener.on_data_on_readers(&self.subscriber);
    }

    /// What a call for DATA_AVAILABLE resets.
    fn clear_reported(&self, status: StatusMask) {
        if status == StatusMask::DATA_AVAILABLE {
            self.clear_data_available();
        }
    }

    fn call_subscriber<L: SubscriberListener + ?Sized>(self: &Arc<Self>, listener: &L, status: StatusMask) {
        let reader = AnyDataReader::from_core(Arc::clone(self));
        self.clear_reported(status);
        match status {
            StatusMask::DATA_AVAILABLE => listener.on_data_available(&reader),
            StatusMask::SUBSCRIPTION_MATCHED => {
                listener.on_subscription_matched(&reader, self.read_status(status, |s| &mut s.matched));
            }
            StatusMask::REQUESTED_INCOMPATIBLE_QOS => {
                let read = self.read_status(status, |s| &mut s.incompatible);
                listener.on_requested_incompatible_qos(&reader, read);
            }
            StatusMask::REQUESTED_DEADLINE_MISSED => {
                listener.on_requested_deadline_missed(&reader, self.read_status(status, |s| &mut s.deadline));
            }
            StatusMask::LIVELINESS_CHANGED => {
                listener.on_liveliness_changed(&reader, self.read_status(status, |s| &mut s.liveliness));
            }
            StatusMask::SAMPLE_LOST => {
                listener.on_sample_lost(&reader, self.read_lost());
            }
            StatusMask::SAMPLE_REJECTED => {
                listener.on_sample_rejected(&reader, self.read_status(status, |s| &mut s.rejected));
            }
            _ => {}
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
        let topic = AnyTopic(Arc::clone(self));
        if let Some(own) = self.entity.listener.of(status) {
            if let Some(listener) = own {
                listener.on_inconsistent_topic(&topic, self.read_inconsistent());
            }
        } else if let Some(participant) = self.participant.upgrade()
            && let Some(Some(listener)) = participant.entity.listener.of(status)
        {
            listener.on_inconsistent_topic(&topic, self.read_inconsistent());
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::listener::TopicListener;
    use crate::statistics::EntityStatistics;
    use crate::status::MatchedStatus;
    use crate::{Config, DomainParticipant};
    use dunlin_qos::{DataWriterQos, PublisherQos, TopicQos};
    use std::sync::atomic::{AtomicU32, Ordering};

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
    fn nobody_answers_for_a_writer_that_was_deleted() {
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
