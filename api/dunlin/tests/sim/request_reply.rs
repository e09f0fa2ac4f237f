//! Requests and replies: whoever waited for the service gets an answer, whatever the network and the order of things.

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::request_reply::{PendingRequest, Replier, ReplyError, Request, RequestError, Requester, Service};
use dunlin::sim::{Context, Delay, Node, PathConfig, Result, Sim};
use dunlin::{Config, CreateEntityError, DdsType, DomainParticipant, StatusMask, WaitForError};

use crate::support::*;

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Numbers {
    a: i32,
    b: i32,
}

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Sum {
    sum: i32,
}

type Client = Requester<Numbers, Sum>;
type Server = Replier<Numbers, Sum>;

fn service() -> Service {
    Service::new("Add")
}

fn numbers(a: i32) -> Numbers {
    Numbers { a, b: 1000 }
}

fn client_of(node: &Node, participant: &DomainParticipant) -> Result<Client> {
    Ok(node.run(|| Client::new(participant, &service()))?)
}

fn server_of(node: &Node, participant: &DomainParticipant) -> Result<Server> {
    Ok(node.run(|| Server::new(participant, &service()))?)
}

/// Answers with the sum and so much more, for ever.
async fn serve(more: i32) -> Result {
    answer(Server::new(&DomainParticipant::new(0)?, &service())?, more).await
}

async fn answer(server: Server, more: i32) -> Result {
    loop {
        let request = server.wait_async().await?;
        let reply = Sum { sum: request.data.a + request.data.b + more };
        match server.send_reply_async(request.id, &reply).await {
            Ok(()) | Err(ReplyError::RequesterGone) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Asks so often, with all requests in flight at once; each is answered right and once.
async fn ask(cx: Context, client: &Client, count: i32) -> Result {
    let mut pending = Vec::new();
    for a in 0..count {
        pending.push(client.send_request_async(&numbers(a)).await?);
    }
    for (a, request) in (0..count).zip(&pending) {
        let reply = cx.timeout(secs(60), request.wait_async()).await??;
        assert_eq!((reply.data.sum, reply.request), (a + 1000, request.id()));
    }
    cx.sleep(secs(2)).await;
    assert!(pending.iter().all(|request| request.take_reply().is_none()));
    assert_eq!((client.stats().late, client.stats().dropped), (0, 0));
    Ok(())
}

/// A first requester becomes ready and asks; what it waits for, and what the replier took.
fn first_request(
    sim: &mut Sim,
    node: &Node,
    participant: &DomainParticipant,
    server: &Server,
) -> Result<(Client, PendingRequest<Sum>, Request<Numbers>)> {
    let first = client_of(node, participant)?;
    sim.run_until(|| first.is_service_ready(), secs(30))?;
    let waiting = node.run(|| first.send_request(&numbers(1)))?;
    let mut taken = None;
    let asked = || {
        taken = taken.take().or_else(|| server.take_request());
        taken.is_some()
    };
    sim.run_until(asked, secs(10))?;
    Ok((first, waiting, taken.ok_or("no request")?))
}

fn some_time(sim: &mut Sim, most: u64) -> Result {
    let time = i64::try_from(sim.random() % most).unwrap_or(0);
    Ok(sim.run_for(millis(1 + time))?)
}

fn bad_path() -> PathConfig {
    PathConfig {
        loss_ppm: 200_000,
        reorder_ppm: 200_000,
        reorder_by: millis(100),
        duplicate_ppm: 50_000,
        delay: Delay::Uniform(millis(1), millis(60)),
        ..PathConfig::default()
    }
}

#[test]
fn a_requester_that_waited_for_the_service_is_answered_under_loss() {
    Sim::builder().network(bad_path()).seeds(0..32, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        let server_first = sim.random() % 2 == 0;
        if server_first {
            b.spawn(|_| serve(0));
            some_time(sim, 4_000)?;
        }
        let asked = a.spawn(|cx| async move {
            let client = Client::new(&DomainParticipant::new(0)?, &service())?;
            assert!(matches!(client.send_request(&numbers(0)), Err(RequestError::NotReady)));
            cx.timeout(secs(60), client.wait_for_service_async()).await??;
            ask(cx, &client, 10).await
        });
        if !server_first {
            some_time(sim, 4_000)?;
            b.spawn(|_| serve(0));
        }
        Ok(sim.join(&asked, secs(200))?)
    });
}

/// Announcements of one side, its first HEARTBEATs or its ACKNACKs are lost: the requester is not ready before both know
/// each other, and then it is answered.
#[test]
fn requester_with_a_one_sided_match_is_not_ready() {
    Sim::builder().seeds(0..32, |sim| {
        let (a, b, one, other) = discovered_pair(sim)?;
        let server_first = sim.random() % 2 == 0;
        // If the replier knows the requester before it begins, its own announcements are all there is to lose.
        let (from, to) = if server_first && sim.random() % 2 == 0 { (&a, &b) } else { (&b, &a) };
        let (client, server) = if server_first {
            let server = server_of(&b, &other)?;
            some_time(sim, 2_000)?;
            sim.cut(from, to);
            (client_of(&a, &one)?, server)
        } else {
            let client = client_of(&a, &one)?;
            some_time(sim, 2_000)?;
            sim.cut(from, to);
            (client, server_of(&b, &other)?)
        };
        for _ in 0..40 {
            assert!(!client.is_service_ready());
            sim.run_for(millis(50))?;
        }
        some_time(sim, 3_000)?;
        sim.mend(from, to);
        b.spawn(move |_| answer(server, 0));
        sim.run_until(|| client.is_service_ready(), secs(30))?;
        let asked = a.spawn(move |cx| async move { ask(cx, &client, 3).await });
        Ok(sim.join(&asked, secs(100))?)
    });
}

/// At the moment of readiness the replier has matched both endpoints of the requester, whichever announcement came late.
#[test]
fn readiness_is_that_of_the_other_side_too() {
    Sim::builder().network(PathConfig { loss_ppm: 300_000, ..bad_path() }).seeds(0..64, |sim| {
        let (a, b, one, other) = discovered_pair(sim)?;
        let (client, server) = if sim.random() % 2 == 0 {
            let client = client_of(&a, &one)?;
            some_time(sim, 500)?;
            (client, server_of(&b, &other)?)
        } else {
            let server = server_of(&b, &other)?;
            some_time(sim, 500)?;
            (client_of(&a, &one)?, server)
        };
        while !client.is_service_ready() {
            sim.run_for(millis(1))?;
            assert!(sim.elapsed() < secs(120));
        }
        assert_eq!(server.reply_writer().matched_subscriptions(), [client.reply_reader().instance_handle()]);
        assert_eq!(
            server.request_reader().matched_publications(),
            [client.request_writer().instance_handle()]
        );
        Ok(())
    });
}

/// The path breaks for a moment at any point of the match, so that any one datagram of it is the lost one.
#[test]
fn requester_is_answered_after_a_short_break_during_the_match() {
    Sim::builder().delay(millis(1), millis(5)).seeds(0..48, |sim| {
        let (a, b, one, other) = discovered_pair(sim)?;
        let server = server_of(&b, &other)?;
        b.spawn(move |_| answer(server, 0));
        some_time(sim, 30)?;
        let client = client_of(&a, &one)?;
        let ready = client.clone();
        let asked = a.spawn(move |cx| async move {
            ready.wait_for_service_async().await?;
            ask(cx, &ready, 2).await
        });
        some_time(sim, 30)?;
        let (from, to) = if sim.random() % 2 == 0 { (&a, &b) } else { (&b, &a) };
        sim.cut(from, to);
        some_time(sim, 200)?;
        sim.mend(from, to);
        Ok(sim.join(&asked, secs(100))?)
    });
}

/// What a replier says to the first requester of a participant proves nothing for the second.
#[test]
fn a_second_requester_has_to_be_known_itself() {
    Sim::builder().seeds(0..8, |sim| {
        let (a, b, one, other) = discovered_pair(sim)?;
        let server = server_of(&b, &other)?;
        let (_first, waiting, request) = first_request(sim, &a, &one, &server)?;
        sim.cut(&a, &b);
        let second = client_of(&a, &one)?;
        // HEARTBEATs for the first one go on, as it cannot acknowledge.
        b.run(|| server.send_reply(request.id, &Sum { sum: 1 }))?;
        for _ in 0..40 {
            sim.run_for(millis(50))?;
            assert!(!second.is_service_ready());
        }
        assert_eq!(waiting.take_reply().map(|reply| reply.data), Some(Sum { sum: 1 }));
        sim.mend(&a, &b);
        sim.run_until(|| second.is_service_ready(), secs(30))?;
        b.spawn(move |_| answer(server, 0));
        let asked = a.spawn(move |cx| async move { ask(cx, &second, 3).await });
        Ok(sim.join(&asked, secs(100))?)
    });
}

/// What the replier says to the second alone is lost, and what it says to all is not: the second has to ask.
#[test]
fn a_second_requester_asks_until_it_is_known() {
    Sim::builder().delay(millis(1), millis(3)).seeds(0..32, |sim| {
        let (a, b, one, other) = discovered_pair(sim)?;
        let server = server_of(&b, &other)?;
        let (_first, waiting, request) = first_request(sim, &a, &one, &server)?;
        let second = client_of(&a, &one)?;
        sim.run_for(millis(1))?;
        sim.cut(&b, &a);
        some_time(sim, 40)?;
        b.run(|| server.send_reply(request.id, &Sum { sum: 1 }))?;
        some_time(sim, 10)?;
        sim.mend(&b, &a);
        b.spawn(move |_| answer(server, 0));
        sim.run_until(|| second.is_service_ready(), secs(10))?;
        sim.run_until(|| waiting.take_reply().is_some(), secs(10))?;
        let asked = a.spawn(move |cx| async move { ask(cx, &second, 3).await });
        Ok(sim.join(&asked, secs(100))?)
    });
}

/// A request comes from somebody whose reader of replies is not there yet, as it may with other vendors.
#[test]
fn a_replier_holds_what_it_cannot_answer_yet() {
    let mut sim = bad_network().seed(5).build();
    let (a, b, one, other) = discovered_pair(&mut sim).unwrap();
    let server = b.run(|| Server::new(&other, &service().max_outstanding(2))).unwrap();
    let qos = DataWriterQos::default().reliable().keep_all();
    let publisher = one.create_publisher(&PublisherQos::default()).unwrap();
    let topic = one.create_topic::<Numbers>("AddRequest", &TopicQos::default()).unwrap();
    let writer = a.run(|| publisher.create_datawriter(&topic, &qos)).unwrap();
    sim.run_until(|| !writer.matched_subscriptions().is_empty(), secs(30)).unwrap();
    a.run(|| (1..=3).try_for_each(|n| writer.write(&numbers(n)))).unwrap();
    let held = || server.take_request().is_none() && server.stats().displaced == 1;
    sim.run_until(held, secs(30)).unwrap();
    assert_eq!(server.stats().held, 2);
    let subscriber = one.create_subscriber(&SubscriberQos::default()).unwrap();
    let topic = one.create_topic::<Sum>("AddReply", &TopicQos::default()).unwrap();
    let qos = DataReaderQos::default().reliable().keep_all();
    let reader = a.run(|| subscriber.create_datareader(&topic, &qos)).unwrap();
    let mut seen = Vec::new();
    let answered = || {
        if let Some(request) = server.take_request() {
            seen.push(request.data.a);
            server.send_reply(request.id, &Sum { sum: request.data.a }).unwrap();
        }
        seen.len() == 2
    };
    sim.run_until(answered, secs(30)).unwrap();
    assert_eq!(seen, [2, 3]);
    let mut replies = Vec::new();
    let complete = || {
        replies.extend(reader.take(10).unwrap());
        replies.len() == 2
    };
    sim.run_until(complete, secs(30)).unwrap();
    let related = replies[1].info.related_sample.unwrap();
    assert_eq!((Some(related.writer), related.sequence_number.0), (writer.guid(), 3));
    // Whoever is gone is not answered.
    drop(reader);
    sim.run_until(|| server.request_reader().matched_publications().len() == 1, secs(5)).unwrap();
    a.run(|| writer.write(&numbers(4))).unwrap();
    sim.run_until(|| server.take_request().is_none() && server.stats().held == 1, secs(30)).unwrap();
    drop(writer);
    sim.run_until(|| server.take_request().is_none() && server.stats().abandoned == 1, secs(30)).unwrap();
}

#[test]
fn a_replier_that_crashes_comes_back_as_another() {
    Sim::builder().loss(0.1).seeds(0..8, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        b.on_start(|_| serve(0));
        let client =
            a.run(|| Client::new(&DomainParticipant::new(0)?, &service()).map_err(dunlin::sim::Error::from))?;
        sim.run_until(|| client.is_service_ready(), secs(60))?;
        let before = client.ready_repliers();
        b.crash();
        let lost = a.run(|| client.send_request(&numbers(1)))?;
        sim.run_until(|| !client.is_service_ready(), secs(30))?;
        assert!(matches!(a.run(|| client.send_request(&numbers(2))), Err(RequestError::NotReady)));
        b.restart();
        sim.run_until(|| client.is_service_ready(), secs(60))?;
        assert_ne!(client.ready_repliers(), before);
        assert!(lost.take_reply().is_none(), "the request went with the replier");
        drop(lost);
        let asked = a.spawn(move |cx| async move { ask(cx, &client, 3).await });
        Ok(sim.join(&asked, secs(100))?)
    });
}

#[test]
fn every_replier_answers_and_each_requester_gets_its_own() {
    bad_network().seeds(0..8, |sim| {
        let (a, b, c) = (sim.node("a"), sim.node("b"), sim.node("c"));
        // Two in one process: their endpoints must not be taken for one another's.
        b.spawn(|_| async {
            let participant = DomainParticipant::new(0)?;
            let (one, two) = (Server::new(&participant, &service())?, Server::new(&participant, &service())?);
            drop(two);
            answer(one, 1).await
        });
        c.spawn(|_| serve(2));
        let clients = [1, 2].map(|number| {
            a.spawn(move |cx| async move {
                let client = Client::new(&DomainParticipant::new(0)?, &service())?;
                while client.ready_repliers().len() < 2 {
                    cx.sleep(millis(10)).await;
                }
                for round in 0..5 {
                    let request = client.send_request_async(&numbers(number * 100 + round)).await?;
                    let mut sums = Vec::new();
                    while sums.len() < 2 {
                        sums.push(cx.timeout(secs(30), request.wait_async()).await??.data.sum);
                    }
                    sums.sort_unstable();
                    let expected = 1000 + number * 100 + round;
                    assert_eq!(sums, [expected + 1, expected + 2]);
                }
                cx.sleep(secs(2)).await;
                assert_eq!((client.stats().late, client.stats().outstanding), (0, 0));
                Ok(())
            })
        });
        clients.iter().try_for_each(|client| Ok(sim.join(client, secs(200))?))
    });
}

#[test]
fn threads_wait_with_a_limit_and_what_is_dropped_is_cancelled() {
    let mut sim = bad_network().seed(3).build();
    let (a, b) = (sim.node("a"), sim.node("b"));
    let asked = a.spawn_thread(|cx| {
        let participant = DomainParticipant::new(0)?;
        let client = Client::new(&participant, &service().max_outstanding(3).max_replies(1))?;
        assert_eq!(client.wait_for_service(secs(1)), Err(WaitForError::Timeout(secs(1))));
        client.wait_for_service(secs(60))?;
        let pending =
            (0..3).map(|n| client.send_request(&numbers(n))).collect::<std::result::Result<Vec<_>, _>>()?;
        assert!(matches!(client.send_request(&numbers(9)), Err(RequestError::TooManyOutstanding(3))));
        // The replier is slow: it answers twice, after a second.
        assert!(matches!(pending[0].wait(millis(10)), Err(RequestError::Wait(WaitForError::Timeout(_)))));
        drop(pending);
        assert_eq!(client.stats().outstanding, 0);
        assert_eq!(client.call(&numbers(5), secs(60))?.data, Sum { sum: 1005 });
        cx.sleep_blocking(secs(10))?;
        let stats = client.stats();
        assert_eq!(stats.late + stats.dropped, 7, "{stats:?}");
        Ok(())
    });
    b.spawn_thread(|cx| -> Result {
        cx.sleep_blocking(secs(2))?;
        let server = Server::new(&DomainParticipant::new(0)?, &service())?;
        assert!(matches!(server.wait(millis(1)), Err(WaitForError::Timeout(_))));
        loop {
            let request = server.wait(secs(3600))?;
            cx.sleep_blocking(secs(1))?;
            let reply = Sum { sum: request.data.a + request.data.b };
            server.send_reply(request.id, &reply)?;
            server.send_reply(request.id, &reply)?;
        }
    });
    sim.join(&asked, secs(200)).unwrap();
}

#[test]
fn request_is_answered_within_one_participant_without_waiting() {
    let mut sim = Sim::new(1);
    let a = sim.node("a");
    let participant = a.run(|| DomainParticipant::new(0)).unwrap();
    let (client, server) = (client_of(&a, &participant).unwrap(), server_of(&a, &participant).unwrap());
    sim.run_until(|| client.is_service_ready(), secs(10)).unwrap();
    a.spawn(move |_| answer(server, 0));
    let asked = a.spawn(move |cx| async move { ask(cx, &client, 5).await });
    sim.join(&asked, secs(60)).unwrap();
}

/// Listeners of whatever owns the reader of replies, or set on it, do not come between.
#[test]
fn listeners_keep_no_reply_from_its_requester() {
    struct IdleListener;
    impl dunlin::SubscriberListener for IdleListener {}
    impl dunlin::PublisherListener for IdleListener {}
    impl dunlin::TopicListener for IdleListener {}
    let mut sim = Sim::new(1);
    let (a, b, one, other) = discovered_pair(&mut sim).unwrap();
    one.set_listener(IdleListener, StatusMask::ALL);
    let (client, server) = (client_of(&a, &one).unwrap(), server_of(&b, &other).unwrap());
    client.reply_reader().set_listener(|_: &dunlin::DataReader<Sum>| {}, StatusMask::ALL);
    sim.run_until(|| client.is_service_ready(), secs(30)).unwrap();
    b.spawn(move |_| answer(server, 0));
    let asked = a.spawn(move |cx| async move { ask(cx, &client, 3).await });
    sim.join(&asked, secs(100)).unwrap();
}

#[test]
fn keys_are_refused() {
    #[derive(DdsType, Clone, Debug, Default, PartialEq)]
    struct Keyed {
        #[dds(key)]
        id: i32,
    }
    let mut sim = Sim::new(1);
    let a = sim.node("a");
    let participant = a.run(|| DomainParticipant::new(0)).unwrap();
    let refused = |error| matches!(error, CreateEntityError::KeyedService(_));
    assert!(a.run(|| Requester::<Numbers, Keyed>::new(&participant, &service())).is_err_and(refused));
    assert!(a.run(|| Replier::<Keyed, Sum>::new(&participant, &service())).is_err_and(refused));
}

/// A reader that never acknowledges is none that a request is sure to reach.
#[test]
fn a_best_effort_reader_of_requests_is_not_ready() {
    let mut sim = Sim::new(1);
    let (a, b, one, other) = discovered_pair(&mut sim).unwrap();
    let client = client_of(&a, &one).unwrap();
    let publisher = other.create_publisher(&PublisherQos::default()).unwrap();
    let topic = other.create_topic::<Sum>("AddReply", &TopicQos::default()).unwrap();
    let qos = DataWriterQos::default().reliable().keep_all();
    let _writer = b.run(|| publisher.create_datawriter(&topic, &qos)).unwrap();
    let subscriber = other.create_subscriber(&SubscriberQos::default()).unwrap();
    let topic = other.create_topic::<Numbers>("AddRequest", &TopicQos::default()).unwrap();
    let _lossy = b.run(|| subscriber.create_datareader(&topic, &DataReaderQos::default())).unwrap();
    sim.run_for(secs(2)).unwrap();
    assert!(!client.is_service_ready());
    sim.run_for(secs(5)).unwrap();
    assert_eq!(client.request_writer().matched_subscriptions().len(), 1);
    assert!(!client.is_service_ready());
    let qos = DataReaderQos::default().reliable().keep_all();
    let _reliable = b.run(|| subscriber.create_datareader(&topic, &qos)).unwrap();
    sim.run_until(|| client.is_service_ready(), secs(30)).unwrap();
}

/// To whom nothing is sent until it answers again, no request is sent either.
#[test]
fn an_inactive_replier_is_not_ready() {
    let mut sim = Sim::builder().delay(millis(1), millis(3)).seed(1).build();
    let (a, b) = (sim.node("a"), sim.node("b"));
    let mut config = Config::default();
    config.set("reliability.inactive_after", "500ms").unwrap();
    let one = a.run(|| DomainParticipant::builder(0).config(config).build()).unwrap();
    let other = b.run(|| DomainParticipant::new(0)).unwrap();
    let (client, _server) = (client_of(&a, &one).unwrap(), server_of(&b, &other).unwrap());
    sim.run_until(|| client.is_service_ready(), secs(30)).unwrap();
    sim.cut(&b, &a);
    let _lost = a.run(|| client.send_request(&numbers(1))).unwrap();
    sim.run_until(|| !client.is_service_ready(), secs(4)).unwrap();
    assert_eq!(client.request_writer().matched_subscriptions().len(), 1, "it is not forgotten");
    let waiting = client.clone();
    let waits = a.spawn(move |_| async move {
        waiting.wait_for_service_async().await?;
        Ok(())
    });
    sim.run_for(millis(500)).unwrap();
    assert!(!client.is_service_ready());
    sim.mend(&b, &a);
    sim.join(&waits, secs(5)).unwrap();
}
