//! What matched endpoints have shown, endpoints that belong together, and a reader whose data one part of the program takes: what
//! request and reply, services and bindings build on.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::sim::{Node, Result, Sim};
use dunlin::{
    Activity, DataReader, DataWriter, DomainParticipant, EntityId, NotMatched, SampleStateMask, StateMasks,
    StatusMask, SubscriberListener, WaitForError,
};

use crate::support::*;

fn reliable_writer(node: &Node, participant: &DomainParticipant) -> Result<DataWriter<Reading>> {
    node.run(|| {
        let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default())?;
        let publisher = participant.create_publisher(&PublisherQos::default())?;
        Ok(publisher.create_datawriter(&topic, &DataWriterQos::default().reliable().keep_all())?)
    })
}

fn reliable_reader(node: &Node, participant: &DomainParticipant) -> Result<DataReader<Reading>> {
    node.run(|| {
        let topic = participant.create_topic::<Reading>("Readings", &TopicQos::default())?;
        let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
        Ok(subscriber.create_datareader(&topic, &DataReaderQos::default().reliable().keep_all())?)
    })
}

/// A writer that has nothing to send shows a reader that it knows it because the reader asks, and hears of it by that.
#[test]
fn idle_match_is_confirmed_on_both_sides_by_reader_request() {
    Sim::builder().seeds(0..16, |sim| {
        let (a, b, one, other) = discovered_pair(sim)?;
        let writer = reliable_writer(&a, &one)?;
        let reader = reliable_reader(&b, &other)?;
        sim.run_until(|| reader.matched_publications().len() == 1, secs(10))?;
        let (of_writer, of_reader) = (writer.instance_handle(), reader.instance_handle());
        let told = Arc::new(AtomicUsize::new(0));
        let (count, watched) = (Arc::clone(&told), reader.clone());
        b.spawn(move |_| async move {
            Activity::until([watched.activity()], || {
                count.fetch_add(1, SeqCst);
                let state = watched.matched_publication_state(of_writer);
                state.is_ok_and(|state| state.knows_reader).then_some(())
            })
            .await;
            count.store(1_000, SeqCst);
            Ok(())
        });
        reader.confirm_match(of_writer)?;
        sim.run_until(|| told.load(SeqCst) == 1_000, secs(10))?;
        assert!(reader.matched_publication_state(of_writer)?.was_heard);
        let confirmed = || {
            let state = writer.matched_subscription_state(of_reader);
            state.is_ok_and(|state| state.has_acknowledged && !state.is_inactive)
        };
        sim.run_until(confirmed, secs(10))?;
        let data = (writer.all_matched_subscription_data(), reader.all_matched_publication_data());
        assert_eq!((data.0.len(), data.0[0].guid), (1, of_reader.to_guid()));
        assert_eq!((data.1.len(), data.1[0].guid), (1, of_writer.to_guid()));
        Ok(())
    });
}

#[test]
fn states_of_endpoints_that_are_not_matched_are_refused() {
    Sim::builder().seeds(0..1, |sim| {
        let (a, b, one, other) = discovered_pair(sim)?;
        let (writer, reader) = (reliable_writer(&a, &one)?, reliable_reader(&b, &other)?);
        let unknown = one.instance_handle();
        assert_eq!(writer.matched_subscription_state(unknown), Err(NotMatched::UnknownHandle));
        assert_eq!(reader.matched_publication_state(unknown), Err(NotMatched::UnknownHandle));
        assert_eq!(reader.confirm_match(unknown), Err(NotMatched::UnknownHandle));
        sim.run_until(|| matched(&writer, &reader), secs(10))?;
        let (of_writer, of_reader) = (writer.instance_handle(), reader.instance_handle());
        assert!(!writer.is_deleted() && !reader.is_deleted());
        a.run(|| writer.publisher().delete_datawriter(&writer))?;
        b.run(|| reader.subscriber().delete_datareader(&reader))?;
        assert!(writer.is_deleted() && reader.is_deleted());
        assert_eq!(writer.matched_subscription_state(of_reader), Err(NotMatched::AlreadyDeleted));
        assert_eq!(reader.matched_publication_state(of_writer), Err(NotMatched::AlreadyDeleted));
        assert_eq!(reader.confirm_match(of_writer), Err(NotMatched::AlreadyDeleted));
        assert!(writer.all_matched_subscription_data().is_empty());
        assert!(reader.all_matched_publication_data().is_empty());
        Ok(())
    });
}

#[test]
fn a_matched_reader_that_does_not_acknowledge_is_shown_as_inactive() {
    Sim::builder().seeds(0..4, |sim| {
        let (a, b, one, other) = discovered_pair(sim)?;
        let mut qos = DataWriterQos::default().reliable().keep_last(4);
        qos.reliability.max_blocking_time = millis(100);
        let writer = a.run(|| -> Result<_> {
            let topic = one.create_topic::<Reading>("Readings", &TopicQos::default())?;
            Ok(one.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, &qos)?)
        })?;
        let reader = reliable_reader(&b, &other)?;
        sim.run_until(|| matched(&writer, &reader), secs(10))?;
        let handle = reader.instance_handle();
        sim.cut(&a, &b);
        let inactive = || writer.matched_subscription_state(handle).is_ok_and(|state| state.is_inactive);
        for n in 0..200 {
            if inactive() {
                break;
            }
            // It may have to wait for the reader until that counts as inactive.
            let _ = a.run(|| writer.write(&reading(n)));
            sim.run_for(millis(50))?;
        }
        assert!(inactive());
        sim.mend(&a, &b);
        sim.run_until(|| !inactive(), secs(30))?;
        Ok(())
    });
}

/// A writer names a reader, and a reader a writer (DDS-RPC 1.0 §7.6.2): everybody sees it in the discovered data.
#[test]
fn endpoints_announce_that_they_belong_together() {
    Sim::builder().seeds(0..4, |sim| {
        let (a, b, one, other) = discovered_pair(sim)?;
        let replies = reliable_reader(&a, &one)?;
        let own = replies.guid().ok_or("disabled")?;
        let writer = a.run(|| -> Result<_> {
            let topic = one.create_topic::<Reading>("Requests", &TopicQos::default())?;
            let publisher = one.create_publisher(&PublisherQos::default())?;
            let qos = DataWriterQos::default().reliable();
            Ok(publisher.create_related_datawriter(&topic, &qos, own)?)
        })?;
        let elsewhere = dunlin::Guid { entity_id: EntityId([0, 0, 9, 2]), ..other.guid() };
        let reader = b.run(|| -> Result<_> {
            let topic = other.create_topic::<Reading>("Requests", &TopicQos::default())?;
            let subscriber = other.create_subscriber(&SubscriberQos::default())?;
            let qos = DataReaderQos::default().reliable();
            Ok(subscriber.create_related_datareader(&topic, &qos, elsewhere)?)
        })?;
        sim.run_until(|| matched(&writer, &reader), secs(10))?;
        assert_eq!(reader.all_matched_publication_data()[0].related, Some(own));
        assert_eq!(writer.all_matched_subscription_data()[0].related, Some(elsewhere));
        Ok(())
    });
}

struct Tell(Arc<AtomicUsize>);

impl SubscriberListener for Tell {
    fn on_data_on_readers(&self, _: &dunlin::Subscriber) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Neither the reader's listener nor DATA_ON_READERS of its subscriber comes before the consumer.
#[test]
fn a_consumer_takes_all_data_whatever_listeners_are_set() {
    Sim::builder().seeds(0..8, |sim| {
        let (a, b, one, other) = discovered_pair(sim)?;
        let (writer, reader) = (reliable_writer(&a, &one)?, reliable_reader(&b, &other)?);
        let (taken, heard) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let list = Arc::clone(&taken);
        let first = reader.consume_data(move |reader| {
            for raw in reader.take_payloads(10).unwrap_or_default() {
                let sample = reader.decode_raw(raw).ok().and_then(|sample| sample.data);
                list.lock().unwrap().extend(sample.map(|reading| reading.n));
            }
        });
        assert!(first && !reader.consume_data(|_| ()));
        let count = Arc::clone(&heard);
        let listener = move |_: &DataReader<Reading>| {
            count.fetch_add(1, SeqCst);
        };
        reader.set_listener(listener, StatusMask::DATA_AVAILABLE);
        reader.subscriber().set_listener(Tell(Arc::clone(&heard)), StatusMask::DATA_ON_READERS);
        sim.run_until(|| matched(&writer, &reader), secs(10))?;
        for n in 0..5 {
            a.run(|| writer.write(&reading(n)))?;
        }
        sim.run_until(|| taken.lock().unwrap().len() == 5, secs(10))?;
        assert_eq!((taken.lock().unwrap().clone(), heard.load(SeqCst)), (vec![0, 1, 2, 3, 4], 0));
        assert!(
            reader.read_states(1, StateMasks { sample: SampleStateMask::ANY, ..StateMasks::ANY })?.is_empty()
        );
        Ok(())
    });
}

/// On a thread of the node, which may wait.
#[test]
fn a_thread_waits_until_an_activity_makes_it_true() {
    Sim::builder().seeds(0..4, |sim| {
        let a = sim.node("a");
        let participant = a.run(|| DomainParticipant::new(0))?;
        let (activity, value) = (Activity::new(), Arc::new(AtomicUsize::new(0)));
        let (raised, changed) = (activity.clone(), Arc::clone(&value));
        a.spawn(move |cx| async move {
            cx.sleep(millis(500)).await;
            changed.store(7, SeqCst);
            raised.raise();
            Ok(())
        });
        let waits = a.spawn_thread(move |_| {
            let in_time = participant.wait_until(&[&activity], secs(10), || value.load(SeqCst) == 7);
            assert_eq!(in_time, Ok(()));
            let late = participant.wait_until(&[&activity], millis(10), || false);
            assert_eq!(late, Err(WaitForError::Timeout(millis(10))));
            Ok(())
        });
        Ok(sim.join(&waits, secs(60))?)
    });
}
