//! Whole endpoints of a real participant under the model checker: few calls, every interleaving of their locks
//! is explored.

use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

use dunlin_buf::SharedBytes;
use dunlin_cache::{CachedSample, Selection};
use dunlin_cdr::{CdrError, DecodeOptions, Extensibility, TypeSupport};
use dunlin_core::{GuidPrefix, InstanceHandle, Locator, MonoTime, Now, WallTime};
use dunlin_qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicData};
use dunlin_rtps::{ChangeKind, Pacing};
use loom::sync::Mutex;
use loom::thread;

use crate::{
    EndpointLocators, Event, Output, Participant, ParticipantConfig, ReaderSlot, ReaderSpec, Tuning,
    WriteError, WriteRequest, WriterSlot, WriterSpec,
};

/// Octets without meaning or key.
struct Opaque;

fn no_key() -> CdrError {
    dunlin_cdr::from_payload::<u32>(&[], &dunlin_cdr::Limits::default()).expect_err("nothing is no number")
}

impl TypeSupport for Opaque {
    fn type_name(&self) -> &str {
        "Opaque"
    }
    fn has_key(&self) -> bool {
        false
    }
    fn extensibility(&self) -> Extensibility {
        Extensibility::Final
    }
    fn max_key_size(&self) -> Option<usize> {
        Some(0)
    }
    fn key_hash_with(
        &self,
        _payload: &[u8],
        _key_only: bool,
        _options: DecodeOptions,
        _scratch: &mut Vec<u8>,
    ) -> Result<[u8; 16], CdrError> {
        Ok([0; 16])
    }
    fn key_payload_with(
        &self,
        _payload: &[u8],
        _options: DecodeOptions,
        _out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        Err(no_key())
    }
}

/// Machine words of stack: a participant does not fit into what the checker gives a thread by itself.
const STACK: usize = 1 << 17;

fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
    thread::Builder::new().stack_size(STACK).spawn(f).expect("threads of the checker do not fail")
}

/// Explores every interleaving.
fn explore(model: fn()) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 10_000;
    builder.check(move || spawn(model).join().expect("no panic"));
}

fn at(ms: u64) -> Now {
    let mono = MonoTime(3_600_000_000_000 + ms * 1_000_000);
    Now { mono, wall: WallTime(1_700_000_000_000_000_000 + mono.0 as i64) }
}

fn participant(pacing: Option<Pacing>) -> Participant {
    let mut config = ParticipantConfig::new(GuidPrefix([1; 12]), 0);
    config.tuning = Tuning { pacing, ..Tuning::default() };
    Participant::new(config)
}

fn create_writer(participant: &Participant, qos: DataWriterQos, out: &mut Output) -> Arc<WriterSlot> {
    let spec = WriterSpec {
        topic_name: "T".to_string(),
        type_name: "Opaque".to_string(),
        keyed: false,
        qos,
        publisher_qos: PublisherQos::default(),
        topic_data: TopicData::default(),
        type_information: None,
        type_description: None,
        locators: EndpointLocators::default(),
    };
    participant.create_writer(at(0), spec, out).expect("a good writer")
}

fn create_reader(participant: &Participant, qos: DataReaderQos, out: &mut Output) -> Arc<ReaderSlot> {
    let spec = ReaderSpec {
        topic_name: "T".to_string(),
        type_name: "Opaque".to_string(),
        qos,
        subscriber_qos: SubscriberQos::default(),
        topic_data: TopicData::default(),
        type_information: None,
        locators: EndpointLocators::default(),
        type_support: Arc::new(Opaque),
    };
    participant.create_reader(at(0), spec, out).expect("a good reader")
}

/// What left, in the order in which it left. All of it goes from the participant to itself.
#[derive(Default)]
struct Wire(Mutex<Vec<SharedBytes>>);

impl Wire {
    fn send(&self, out: &Output) {
        for datagram in out.outbox.datagrams() {
            let mut bytes = Vec::new();
            datagram.copy_to(&mut bytes);
            self.0.lock().expect("no poison").push(bytes.into());
        }
    }

    /// Hands everything over and tells how many samples were lost.
    fn deliver(&self, participant: &Participant, out: &mut Output) -> u64 {
        for packet in self.0.lock().expect("no poison").drain(..) {
            participant.on_datagram(at(20), Locator::LOCAL, &packet, out);
        }
        let lost = |event: &Event| if let Event::SampleLost { count, .. } = event { *count } else { 0 };
        out.events.drain(..).map(|event| lost(&event)).sum()
    }
}

fn request(value: u8) -> WriteRequest {
    WriteRequest {
        kind: ChangeKind::Alive,
        instance: InstanceHandle::NIL,
        source_timestamp: None,
        payload: SharedBytes::from(alloc::vec![0, 1, 0, 0, value, 0, 0, 0]),
    }
}

fn write(writer: &WriterSlot, wire: &Wire, now: Now, value: u8) {
    let mut out = Output::new();
    let turn = writer.write(now, request(value), &mut out).expect("there is room");
    wire.send(&out);
    turn.finish();
}

fn run_timer(participant: &Participant, wire: &Wire, now: Now) {
    let mut out = Output::new();
    participant.on_timer(now, &mut out);
    wire.send(&out);
}

fn take(reader: &ReaderSlot) -> Vec<CachedSample> {
    let mut samples = Vec::new();
    reader.take(at(21), &Selection::default(), &mut samples, &mut Output::new()).expect("a good selection");
    samples
}

/// Two application threads and the timer, which sends what pacing held back: a best-effort reader, which drops what
/// arrives late, loses nothing.
#[test]
fn paced_and_new_data_leave_in_the_order_of_their_numbers() {
    explore(|| {
        let mut out = Output::new();
        let participant = Arc::new(participant(Some(Pacing { rate: 100_000, burst: 50 })));
        let reader = create_reader(&participant, DataReaderQos::default().keep_all(), &mut out);
        let writer = create_writer(&participant, DataWriterQos::default().best_effort().keep_all(), &mut out);
        let wire = Arc::new(Wire::default());
        write(&writer, &wire, at(1), 1);
        write(&writer, &wire, at(1), 2);
        let threads = [3, 4].map(|value| {
            let (writer, wire) = (Arc::clone(&writer), Arc::clone(&wire));
            // Late enough for the pacer to let it go at once, were there nothing before it.
            spawn(move || write(&writer, &wire, at(10), value))
        });
        run_timer(&participant, &wire, at(3));
        for thread in threads {
            thread.join().expect("no panic");
        }
        for ms in 11..20 {
            run_timer(&participant, &wire, at(ms));
        }
        assert_eq!(wire.deliver(&participant, &mut out), 0, "out of order on the wire");
        assert_eq!(take(&reader).len(), 4);
    });
}

/// Two threads create endpoints, one deletes one, one receives: no change of the routing tables is lost, and what
/// is received for an endpoint that stays arrives.
#[test]
fn routes_follow_creation_and_deletion() {
    explore(|| {
        let mut out = Output::new();
        let participant = Arc::new(participant(None));
        let stays = create_reader(&participant, DataReaderQos::default().keep_all(), &mut out);
        let goes = create_reader(&participant, DataReaderQos::default().keep_all(), &mut out);
        let writer = create_writer(&participant, DataWriterQos::default().best_effort().keep_all(), &mut out);
        let wire = Arc::new(Wire::default());
        write(&writer, &wire, at(1), 1);
        let creator = {
            let participant = Arc::clone(&participant);
            spawn(move || {
                create_reader(&participant, DataReaderQos::default().keep_all(), &mut Output::new())
            })
        };
        let deleter = {
            let participant = Arc::clone(&participant);
            spawn(move || participant.delete_reader(at(2), &goes, &mut Output::new()))
        };
        assert_eq!(wire.deliver(&participant, &mut out), 0);
        let created = creator.join().expect("no panic");
        deleter.join().expect("no panic");
        assert_eq!(take(&stays).len(), 1);
        assert_eq!(writer.matched_readers().len(), 2);
        write(&writer, &wire, at(3), 2);
        wire.deliver(&participant, &mut out);
        let last =
            |reader: &ReaderSlot| take(reader).pop().and_then(|sample| sample.payload).map(|bytes| bytes[4]);
        assert_eq!((last(&stays), last(&created)), (Some(2), Some(2)));
    });
}

/// A write that finds no room, beside the deletion of its writer: it is refused as deleted, or the one who deletes is
/// told to wake whoever was refused.
#[test]
fn a_refused_write_hears_of_the_deletion() {
    explore(|| {
        let mut out = Output::new();
        let participant = Arc::new(participant(None));
        let _reader = create_reader(&participant, DataReaderQos::default().reliable(), &mut out);
        let qos = DataWriterQos::default().reliable().keep_all().resource_limits(1, 1, 1);
        let writer = create_writer(&participant, qos, &mut out);
        write(&writer, &Wire::default(), at(1), 1);
        let deleter = {
            let (participant, writer) = (Arc::clone(&participant), Arc::clone(&writer));
            spawn(move || {
                let mut out = Output::new();
                participant.delete_writer(at(2), &writer, &mut out);
                out.events.contains(&Event::SpaceFreed { writer: writer.guid().entity_id })
            })
        };
        let refused = writer.write(at(2), request(2), &mut out).err().expect("no room");
        let told = deleter.join().expect("no panic");
        assert!(told || refused == WriteError::Deleted, "would wait for ever: {refused}");
    });
}
