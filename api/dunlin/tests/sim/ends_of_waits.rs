//! Whoever waits for an entity that is deleted meanwhile hears of it.

use dunlin::request_reply::{Replier, RequestError, Requester, Service};
use dunlin::sim::{Node, Result, Sim, Task};
use dunlin::{DomainParticipant, DomainParticipantFactory, Duration, FindTopicError, WaitForError};

use crate::support::*;

type Client = Requester<Reading, Reading>;
type Server = Replier<Reading, Reading>;

/// Longer than any test: nothing but the deletion ends the wait.
const EVER: Duration = Duration::from_secs(100_000);

/// A task, and a thread that blocks, both of which wait on a node.
struct Waits<T> {
    task: Task<T>,
    thread: Task<T>,
}

impl<T: Send + 'static> Waits<T> {
    /// What they say when `delete` has run on the node.
    fn end(self, sim: &mut Sim, node: &Node, delete: impl FnOnce() -> Result) -> [T; 2] {
        sim.run_for(secs(3)).unwrap();
        assert!(!self.task.is_over() && !self.thread.is_over(), "they wait");
        node.run(delete).unwrap();
        [sim.join(&self.task, secs(3)).unwrap(), sim.join(&self.thread, secs(3)).unwrap()]
    }
}

#[test]
fn a_stream_ends_with_its_reader() {
    let mut sim = Sim::new(1);
    let a = sim.node("a");
    let reader = a.run(|| reader(&reader_qos())).unwrap();
    let mut stream = reader.stream();
    let task = a.spawn(move |_| async move { Ok(stream.next().await) });
    sim.run_for(secs(3)).unwrap();
    assert!(!task.is_over());
    a.run(|| reader.subscriber().delete_datareader(&reader)).unwrap();
    assert!(sim.join(&task, secs(3)).unwrap().is_none());
}

#[test]
fn waits_of_requests_and_replies_end_with_their_participant() {
    let mut sim = Sim::new(2);
    let (a, b, one, other) = discovered_pair(&mut sim).unwrap();
    let server = b.run(|| Server::new(&other, &Service::new("Echo"))).unwrap();
    let (asks, blocks) = (server.clone(), server.clone());
    let requests = Waits {
        task: b.spawn(move |_| async move { Ok(asks.wait_async().await.map(drop)) }),
        thread: b.spawn_thread(move |_| Ok(blocks.wait(EVER).map(drop))),
    };
    let client = a.run(|| Client::new(&one, &Service::new("Echo"))).unwrap();
    sim.run_until(|| client.is_service_ready(), secs(30)).unwrap();
    // Nobody takes these: the two that wait have gone.
    let ended = requests.end(&mut sim, &b, || Ok(other.delete_contained_entities()?));
    assert_eq!(ended, [Err(WaitForError::AlreadyDeleted), Err(WaitForError::AlreadyDeleted)]);

    let (asks, blocks) = (client.clone(), client.clone());
    let services = Waits {
        task: a.spawn(move |cx| async move {
            cx.sleep(secs(1)).await;
            Ok(asks.wait_for_service_async().await)
        }),
        thread: a.spawn_thread(move |cx| {
            cx.sleep_blocking(secs(1))?;
            Ok(blocks.wait_for_service(EVER))
        }),
    };
    let ended = services.end(&mut sim, &a, || Ok(one.delete_contained_entities()?));
    assert_eq!(ended, [Err(WaitForError::AlreadyDeleted), Err(WaitForError::AlreadyDeleted)]);
}

#[test]
fn replies_are_not_waited_for_when_their_reader_is_gone() {
    let mut sim = Sim::new(3);
    let (a, b, one, other) = discovered_pair(&mut sim).unwrap();
    let _server = b.run(|| Server::new(&other, &Service::new("Echo"))).unwrap();
    let client = a.run(|| Client::new(&one, &Service::new("Echo"))).unwrap();
    sim.run_until(|| client.is_service_ready(), secs(30)).unwrap();
    let send = || client.send_request(&reading(1));
    let (asked, blocked) = (a.run(send).unwrap(), a.run(send).unwrap());
    let replies = Waits {
        task: a.spawn(move |_| async move { Ok(asked.wait_async().await.map(drop)) }),
        thread: a.spawn_thread(move |_| Ok(blocked.wait(EVER).map(drop))),
    };
    for ended in replies.end(&mut sim, &a, || Ok(one.delete_contained_entities()?)) {
        assert!(matches!(ended, Err(RequestError::Wait(WaitForError::AlreadyDeleted))), "{ended:?}");
    }
}

#[test]
fn topics_and_services_are_not_waited_for_when_the_participant_is_gone() {
    let mut sim = Sim::new(4);
    let a = sim.node("a");
    let participant = a.run(|| DomainParticipant::new(0)).unwrap();
    let (finds, waits) = (participant.clone(), participant.clone());
    let topic = a.spawn_thread(move |_| Ok(finds.find_topic::<Reading>("Nowhere", EVER).map(drop)));
    let service = a.spawn_thread(move |_| Ok(waits.wait_for_durability_service(EVER)));
    sim.run_for(secs(3)).unwrap();
    assert!(!topic.is_over() && !service.is_over(), "they wait");
    a.run(|| DomainParticipantFactory::instance().delete_participant(&participant)).unwrap();
    let found = sim.join(&topic, secs(3)).unwrap();
    assert!(matches!(found, Err(FindTopicError::Wait(WaitForError::AlreadyDeleted))), "{found:?}");
    assert_eq!(sim.join(&service, secs(3)).unwrap(), Err(WaitForError::AlreadyDeleted));
}
