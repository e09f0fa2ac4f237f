//! New data on its way, without a writer (RTPS 2.5 §8.4.9).

use alloc::boxed::Box;

use dunlin_core::EntityId;
use dunlin_wire::Echo;

use super::*;
use crate::proxy_index::ProxyIndex;
use crate::tests::support::reader_guid;
use crate::writer::readers::{Flow, ReaderProxy};
use crate::{Pacing, ReaderProxyConfig};

const MS: u64 = 1_000_000;

fn at(ms: u64) -> MonoTime {
    MonoTime(ms * MS)
}

fn transmission(cfg: WriterConfig) -> Transmission {
    Transmission::new(&cfg)
}

/// A reliable reader with a window.
fn readers() -> Readers {
    let cfg = ReaderProxyConfig { guid: reader_guid(1), reliable: true, ..Default::default() };
    let mut proxy = ReaderProxy::new(cfg, true, SequenceNumber::ZERO);
    proxy.flow = Some(Box::new(Flow::new(0, 0)));
    let mut readers = Readers::default();
    readers.insert(ProxyIndex::new(0), proxy);
    readers
}

/// Sends datagrams until one may not leave; how many have left.
fn fill(transmission: &mut Transmission, now: MonoTime, len: usize) -> usize {
    let mut count = 0;
    while count < 1000 && transmission.may_leave(now, len) {
        transmission.spend(len, len, true);
        count += 1;
    }
    count
}

#[test]
fn a_change_is_on_the_wire_only_after_it_was_pushed() {
    let mut transmission = transmission(WriterConfig::default());
    transmission.written(SequenceNumber(3));
    transmission.mark_on_wire(SequenceNumber(3));
    assert_eq!(transmission.on_wire(), SequenceNumber::ZERO, "nothing was pushed");
    assert!(transmission.has_waiting_data());
    transmission.finish(SequenceNumber(2));
    transmission.mark_on_wire(SequenceNumber(9));
    assert_eq!((transmission.pushed().0, transmission.on_wire().0), (2, 2));
    transmission.mark_on_wire(SequenceNumber(1));
    assert_eq!(transmission.on_wire(), SequenceNumber(2), "it never falls");
    transmission.finish(SequenceNumber(3));
    assert!(!transmission.has_waiting_data());
}

#[test]
fn a_change_has_begun_when_its_first_fragment_has_left() {
    let mut transmission = transmission(WriterConfig::default());
    transmission.written(SequenceNumber(5));
    transmission.finish(SequenceNumber(4));
    assert_eq!((transmission.begun().0, transmission.next_fragment()), (4, 1));
    transmission.go_on_with(2);
    assert_eq!(transmission.begun(), SequenceNumber(5));
    transmission.finish(SequenceNumber(5));
    assert_eq!((transmission.begun().0, transmission.next_fragment()), (5, 1));
    transmission.split_mut().left(SequenceNumber(6));
    assert_eq!(transmission.begun(), SequenceNumber(6), "it has left through memory");
}

#[test]
fn data_that_waits_for_more_is_not_held_back() {
    let mut transmission =
        transmission(WriterConfig { latency_budget: Duration::from_millis(5), ..Default::default() });
    transmission.written(SequenceNumber(1));
    let until = transmission.batch_until(at(1), 10).expect("it may wait");
    transmission.hold(until);
    assert_eq!((until, transmission.deadline()), (at(6), Some(at(6))));
    assert!(transmission.is_holding() && !transmission.is_held_back(at(1)));
    assert!(transmission.may_join(at(5), 10) && !transmission.may_join(at(6), 10));
    transmission.joined(at(5), SequenceNumber(2), 10);
    assert_eq!(transmission.last_sn(), SequenceNumber(2));
    transmission.set_latency_budget(Duration::from_millis(7));
    assert!(!transmission.is_due(at(7)) && transmission.is_due(at(8)), "from the first sample on");
    transmission.begin();
    assert_eq!((transmission.deadline(), transmission.is_holding()), (None, false));
}

#[test]
fn data_that_waits_for_the_pacer_is_held_back_until_there_is_credit() {
    let pacing = Some(Pacing { rate: 1_000_000, burst: 1000 });
    let mut transmission = transmission(WriterConfig { pacing, ..Default::default() });
    transmission.written(SequenceNumber(1));
    transmission.begin();
    assert_eq!(fill(&mut transmission, at(0), 500), 2);
    let until = transmission.paced_until(at(0));
    transmission.wait_for_pacer(until);
    assert!(transmission.is_held_back(at(0)) && !transmission.is_holding());
    assert!(!transmission.is_held_back(until) && transmission.may_leave(until, 500));
    transmission.set_latency_budget(Duration::from_secs(1));
    assert_eq!(transmission.deadline(), Some(until), "a budget does not move it");
}

#[test]
fn a_change_leaves_at_once_only_after_all_earlier_ones_were_sent() {
    let mut transmission = transmission(WriterConfig::default());
    assert!(transmission.may_leave_at_once(SequenceNumber(1)));
    assert!(!transmission.may_leave_at_once(SequenceNumber(2)), "1 is missing");
    transmission.delivered_locally(SequenceNumber(1));
    assert!(transmission.may_leave_at_once(SequenceNumber(2)));
    transmission.written(SequenceNumber(2));
    transmission.finish(SequenceNumber(2));
    assert!(!transmission.may_leave_at_once(SequenceNumber(3)), "2 is not on the wire");
    transmission.mark_on_wire(SequenceNumber(2));
    assert!(transmission.may_leave_at_once(SequenceNumber(3)));
    transmission.set_suspended(true);
    assert!(!transmission.may_leave_at_once(SequenceNumber(3)));
}

#[test]
fn a_full_window_opens_with_the_answer_of_the_reader() {
    let mut transmission = transmission(WriterConfig { window: 16 * 1024, ..Default::default() });
    let (mut readers, mut stats) = (readers(), WriterStats::default());
    transmission.survey(&readers);
    transmission.written(SequenceNumber(100));
    transmission.begin();
    let sent = fill(&mut transmission, at(0), 1000);
    assert!((2..20).contains(&sent), "{sent}");
    assert_eq!(transmission.wait_for_readers(at(0), &mut readers, &mut stats), Blocked::Asking);
    assert!(transmission.is_held_back(at(0)) && stats.window_full == 1);
    let request = transmission.window_mut().request(at(0), EntityId::UNKNOWN);

    let echo = Echo { reader_id: reader_guid(1).entity_id, count: request.count, ..echo() };
    let proxy = readers.get_mut(ProxyIndex::new(0)).unwrap();
    let answer = transmission.window().answered(at(1), proxy, &echo, None).expect("it was asked");
    assert!(answer.news && answer.moves);
    transmission.survey(&readers);
    assert!(transmission.is_due(at(1)) && transmission.may_leave(at(1), 1000));
    let proxy = readers.get_mut(ProxyIndex::new(0)).unwrap();
    let unknown = Echo { count: 77, ..echo };
    assert_eq!(transmission.window().answered(at(1), proxy, &unknown, None), None);
}

fn echo() -> Echo {
    Echo { reader_id: EntityId::UNKNOWN, writer_id: EntityId::UNKNOWN, count: 0, room: 0 }
}

#[test]
fn a_reader_that_does_not_answer_is_asked_again_and_then_not_waited_for() {
    let cfg = WriterConfig { window: 4096, window_patience: Duration::from_millis(50), ..Default::default() };
    let mut transmission = transmission(cfg);
    let (mut readers, mut stats) = (readers(), WriterStats::default());
    transmission.survey(&readers);
    transmission.written(SequenceNumber(100));
    fill(&mut transmission, at(0), 1000);
    let (mut now, mut questions) = (at(0), 0);
    loop {
        match transmission.wait_for_readers(now, &mut readers, &mut stats) {
            Blocked::No => break,
            Blocked::Asking => {
                transmission.window_mut().request(now, EntityId::UNKNOWN);
                questions += 1;
            }
            Blocked::Waiting => {}
        }
        now = transmission.deadline().unwrap();
        assert!(now < at(500), "it is waited for without end");
    }
    assert!(now >= at(50) && questions >= 3, "{questions} questions until {now:?}");
    assert_eq!((stats.readers_overdue, stats.window_full), (1, 1));
    assert!(transmission.may_leave(now, 1000), "nobody is waited for");
}

#[test]
fn a_reader_that_has_acknowledged_everything_has_taken_everything() {
    let mut transmission = transmission(WriterConfig { window: 4096, ..Default::default() });
    let (mut readers, mut stats) = (readers(), WriterStats::default());
    transmission.survey(&readers);
    transmission.written(SequenceNumber(2));
    fill(&mut transmission, at(0), 1000);
    transmission.finish(SequenceNumber(1));
    transmission.wait_for_readers(at(0), &mut readers, &mut stats);
    transmission.note_taken(at(1), &mut readers, ProxyIndex::new(0));
    assert!(!transmission.may_leave(at(1), 1000), "it has acknowledged nothing");
    readers.acknowledge(ProxyIndex::new(0), SequenceNumber(1));
    transmission.note_taken(at(1), &mut readers, ProxyIndex::new(0));
    assert!(transmission.is_due(at(1)) && transmission.may_leave(at(1), 1000));
}
