//! The send window: what is in flight to readers is bounded, and moves on as they say that they took it.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use dunlin_core::{EntityId, Guid, VendorId};

use super::support::*;
use crate::{ReaderConfig, ReaderProxyConfig, WriterConfig};

const WINDOW: usize = 127 * 1024;

fn source() -> Source {
    Source::new(WriterConfig { window: WINDOW, ..WriterConfig::default() })
}

fn octets(packets: &[Packet]) -> usize {
    packets.iter().map(|packet| packet.bytes.len()).sum()
}

/// A writer and a reader that know each other.
fn pair() -> (Source, Target) {
    let (mut source, mut target) = (source(), Target::new(0, ReaderConfig::default()));
    source.match_reader(at(0), reader_proxy(0));
    target.match_writer(at(0), false);
    deliver(&mut source, &mut target, 1, |_| true);
    (source, target)
}

/// Lets both talk until they are silent, one way taking 10 µs; `arrives` decides on each datagram of the writer. Returns the
/// most octets that left at once.
fn deliver(
    source: &mut Source,
    target: &mut Target,
    start: u64,
    mut arrives: impl FnMut(&Packet) -> bool,
) -> usize {
    let (mut time, mut most) = (start, 0);
    loop {
        let forth: VecDeque<_> = drain(&mut source.out).into();
        let silent = forth.is_empty();
        most = most.max(octets(&forth.iter().cloned().collect::<Vec<_>>()));
        time += 10;
        for packet in forth.iter().filter(|packet| arrives(packet)) {
            target.receive(at(time), packet);
        }
        time += 10;
        for packet in drain(&mut target.out) {
            source.receive(at(time), &packet);
        }
        if source.writer.is_push_due(at(time).mono) {
            source.timer(at(time));
        }
        if silent && source.out.datagrams().len() == 0 {
            return most;
        }
    }
}

#[test]
fn a_sample_of_any_size_leaves_a_window_at_a_time() {
    for len in [100 * 1024, 921_600, 4 << 20] {
        let (mut source, mut target) = pair();
        source.write(at(1_000), len);
        let most = deliver(&mut source, &mut target, 1_000, |_| true);
        assert!(most < WINDOW + 2_000, "{most} octets at once");
        assert_eq!(target.sink.got, [1]);
        assert_eq!(target.sink.payloads[0].as_ref().unwrap(), &sample(len));
        let stats = source.writer.stats();
        assert_eq!((stats.repair_fragments_sent, stats.repairs_sent, stats.window_probes), (0, 0, 0));
    }
}

#[test]
fn send_window_bounds_many_small_samples() {
    let (mut source, mut target) = pair();
    for _ in 0..5_000 {
        source.write(at(1_000), 64);
    }
    let first = source.out.datagrams().len();
    assert!((100..200).contains(&first), "{first} datagrams");
    deliver(&mut source, &mut target, 1_000, |_| true);
    assert_eq!(target.sink.got.len(), 5_000);
    assert_eq!(source.writer.stats().repairs_sent, 0);
}

#[test]
fn a_lost_heartbeat_of_the_send_window_is_repeated_soon() {
    let (mut source, mut target) = pair();
    source.write(at(1_000), 921_600);
    // Of all that leaves nothing arrives.
    let lost = drain(&mut source.out);
    assert!(octets(&lost) < WINDOW + 2_000);
    source.timer(at(1_500));
    assert!(drain(&mut source.out).is_empty(), "not yet");
    source.timer(at(3_100));
    assert_eq!(source.writer.stats().window_probes, 1);
    // The question alone is enough: what was lost is requested at once, what is left goes on.
    deliver(&mut source, &mut target, 3_100, |_| true);
    assert_eq!(target.sink.got, [1]);
}

#[test]
fn a_late_acknack_on_a_slow_line_causes_no_second_heartbeat() {
    let (mut source, mut target) = pair();
    let (mut now, mut learned) = (1_000, 0);
    for n in 0..10 {
        if n == 2 {
            learned = source.writer.stats().window_probes;
        }
        source.write(at(now), 921_600);
        for _ in 0..100 {
            // Answers wait 5 ms, behind the data.
            let forth = drain(&mut source.out);
            for _ in 0..5 {
                now += 1_000;
                source.timer(at(now));
            }
            forth.iter().for_each(|packet| target.receive(at(now), packet));
            drain(&mut target.out).iter().for_each(|packet| source.receive(at(now), packet));
            if target.sink.got.len() > n {
                break;
            }
        }
        assert_eq!(target.sink.got.len(), n + 1);
    }
    assert_eq!(source.writer.stats().window_probes, learned, "asked again though the answer was on its way");
}

#[test]
fn the_send_window_skips_a_silent_reader_until_it_acknowledges() {
    let (mut source, mut target) = pair();
    source.write(at(1_000), 921_600);
    let mut kept = drain(&mut source.out);
    let mut now = 1_000;
    while source.writer.has_waiting_data() {
        let next = source.writer.next_deadline().unwrap().0 / 1000 + 1;
        assert!(next < 1_000_000);
        now = next.max(now);
        source.timer(at(now));
        kept.append(&mut drain(&mut source.out));
    }
    assert!((200_000..300_000).contains(&now), "given up after {now} us");
    assert_eq!(source.writer.stats().readers_overdue, 1);
    for packet in &kept {
        target.receive(at(now), packet);
    }
    assert_eq!(target.sink.got, [1]);
    deliver(&mut source, &mut target, now, |_| true);
    // It has answered: it has a window again.
    source.write(at(now + 1_000), 921_600);
    assert!(source.writer.has_waiting_data());
}

#[test]
fn the_slowest_of_two_readers_is_waited_for() {
    let (mut source, mut fast) = pair();
    source.match_reader(at(100), reader_proxy(1));
    let mut slow = Target::new(1, ReaderConfig::default());
    slow.match_writer(at(100), false);
    for packet in drain(&mut source.out) {
        slow.receive(at(110), &packet);
    }
    drain(&mut slow.out).iter().for_each(|packet| source.receive(at(120), packet));
    source.write(at(1_000), 921_600);
    let first = drain(&mut source.out);
    first.iter().for_each(|packet| fast.receive(at(1_010), packet));
    drain(&mut fast.out).iter().for_each(|packet| source.receive(at(1_020), packet));
    assert!(!source.writer.is_push_due(at(1_030).mono));
    first.iter().for_each(|packet| slow.receive(at(1_040), packet));
    drain(&mut slow.out).iter().for_each(|packet| source.receive(at(1_050), packet));
    assert!(source.writer.is_push_due(at(1_060).mono));
}

#[test]
fn far_readers_and_other_vendors_are_not_slowed_down() {
    let mut source = source();
    source.match_reader(at(0), ReaderProxyConfig { vendor: VendorId([1, 0x10]), ..reader_proxy(0) });
    drain(&mut source.out);
    source.write(at(1_000), 921_600);
    assert!(octets(&drain(&mut source.out)) > 921_600);
    // At 100 ms what the path holds comes on top, twice as much with each round trip.
    let (mut source, mut target) = pair();
    source.write(at(1_000), 8 << 20);
    let (mut now, mut rounds) = (1_000, 0);
    while source.writer.has_waiting_data() {
        drain(&mut source.out).iter().for_each(|packet| target.receive(at(now + 50_000), packet));
        now += 100_000;
        drain(&mut target.out).iter().for_each(|packet| source.receive(at(now), packet));
        source.timer(at(now));
        rounds += 1;
        assert!(rounds < 9);
    }
    assert_eq!(source.writer.stats().repair_fragments_sent, 0);
}

/// Lets one near reader and one 50 ms away take what is sent. Returns the most octets that left before the near one had
/// answered.
fn deliver_near_and_far(source: &mut Source, near: &mut Target, far: &mut Target, start: u64) -> usize {
    let (mut now, mut most) = (start, 0);
    let (mut forth, mut back) = (VecDeque::new(), VecDeque::new());
    loop {
        let packets = drain(&mut source.out);
        most = most.max(octets(&packets));
        packets.iter().for_each(|packet| near.receive(at(now + 10), packet));
        forth.extend(packets.into_iter().map(|packet| (now + 50_000, packet)));
        now += 20;
        drain(&mut near.out).iter().for_each(|packet| source.receive(at(now), packet));
        let due = |(due, _): &(u64, Packet)| *due <= now;
        while forth.front().is_some_and(due) {
            forth.pop_front().iter().for_each(|(_, packet)| far.receive(at(now), packet));
        }
        back.extend(drain(&mut far.out).into_iter().map(|packet| (now + 50_000, packet)));
        while back.front().is_some_and(due) {
            back.pop_front().iter().for_each(|(_, packet)| source.receive(at(now), packet));
        }
        if source.writer.is_push_due(at(now).mono) {
            source.timer(at(now));
        }
        let silent = source.out.datagrams().len() == 0;
        if silent && forth.is_empty() && back.is_empty() && !source.writer.has_waiting_data() {
            return most;
        }
        assert!(now < start + 20_000_000);
        if silent {
            let next = forth.front().into_iter().chain(back.front()).map(|(due, _)| *due).min();
            let timer = source.writer.next_deadline().map_or(u64::MAX, |at| at.0 / 1_000 + 1);
            now = next.unwrap_or(u64::MAX).min(timer).max(now + 1);
            source.timer(at(now));
        }
    }
}

#[test]
fn a_near_reader_has_no_more_room_because_another_is_far() {
    let (mut source, mut near) = pair();
    source.match_reader(at(100), reader_proxy(1));
    let mut far = Target::new(1, ReaderConfig::default());
    far.match_writer(at(100), false);
    for round in 0..4 {
        source.write(at(1_000_000 * (round + 1)), 8 << 20);
        let most = deliver_near_and_far(&mut source, &mut near, &mut far, 1_000_000 * (round + 1));
        assert!(most < WINDOW + 2_000, "{most} octets at once in round {round}");
    }
    assert_eq!((near.sink.got.len(), far.sink.got.len()), (4, 4));
    assert_eq!((source.writer.stats().repair_fragments_sent, source.writer.stats().readers_overdue), (0, 0));
}

fn echo(count: u64) -> dunlin_wire::Echo {
    let reader_id = reader_guid(0).entity_id;
    dunlin_wire::Echo { reader_id, writer_id: WRITER.entity_id, count: count as i32, room: 0 }
}

/// Lets timers run until everything has left although nobody answers.
fn until_sent(source: &mut Source, now: &mut u64) {
    drain(&mut source.out);
    while source.writer.has_waiting_data() {
        *now = (source.writer.next_deadline().unwrap().0 / 1_000 + 1).max(*now);
        source.timer(at(*now));
        drain(&mut source.out);
    }
}

/// How long a writer of a sample of 64 octets each millisecond stands still in a second because of 30 silent readers. One is matched
/// in each `interval`; `of` is its participant.
fn held_up_by_silent_readers(interval: u64, of: impl Fn(u8) -> u8) -> u64 {
    let mut source = source();
    let (mut now, mut waited, mut matched) = (1_000, 0, 0);
    while now < 1_000_000 {
        if matched < 30 && now > 1_000 + interval * u64::from(matched) {
            let guid =
                Guid::new(reader_guid(of(matched)).prefix, EntityId::user_reader(matched.into(), true));
            source.match_reader(at(now), ReaderProxyConfig { guid, ..reader_proxy(0) });
            matched += 1;
        }
        source.write(at(now), 64);
        let begin = now;
        until_sent(&mut source, &mut now);
        drain(&mut source.out);
        waited += now - begin;
        now += 1_000;
    }
    waited
}

#[test]
fn silent_readers_do_not_hold_up_the_others_one_after_the_other() {
    // The patience is 200 ms.
    let at_once = held_up_by_silent_readers(3_000, |n| n);
    assert!((150_000..450_000).contains(&at_once), "stood still for {at_once} us");
    // Those of one participant that come later are not waited for at all.
    let later = held_up_by_silent_readers(30_000, |_| 0);
    assert!((150_000..450_000).contains(&later), "stood still for {later} us");
}

#[test]
fn old_acknacks_do_not_bring_a_reader_back_into_the_send_window() {
    let (mut source, _) = pair();
    let mut now = 1_000;
    for round in 0..10 {
        source.write(at(now), 300_000);
        let asked = source.writer.stats().echoes_requested;
        until_sent(&mut source, &mut now);
        for count in 0..=if round == 0 { asked } else { 3 } {
            source.writer.on_echo(at(now), reader_guid(0).prefix, &echo(count));
        }
        now += 1_000;
    }
    assert_eq!(source.writer.stats().readers_overdue, 1);
    assert!(now < 300_000, "waited for until {now} us");
}

#[test]
fn a_reader_that_stops_repeatedly_is_waited_for_ever_more_rarely() {
    let (mut source, _) = pair();
    let (mut now, mut asked) = (1_000, 0);
    while now < 10_000_000 {
        source.write(at(now), 300_000);
        until_sent(&mut source, &mut now);
        // A single reader that was given up is asked again although nothing waits for it.
        now += 70_000;
        let before = source.writer.stats().echoes_requested;
        source.write(at(now), 1_000);
        until_sent(&mut source, &mut now);
        let count = source.writer.stats().echoes_requested;
        asked += u64::from(count > before);
        source.writer.on_echo(at(now + 100), reader_guid(0).prefix, &echo(count));
        now += 1_000;
    }
    let given_up = source.writer.stats().readers_overdue;
    assert!((3..=8).contains(&given_up), "given up {given_up} times in ten seconds");
    assert!(asked > 50, "asked {asked} times");
}

#[test]
fn suspend_publications_does_not_hold_a_partly_sent_change() {
    let (mut source, mut target) = pair();
    source.write(at(1_000), 921_600);
    source.writer.set_suspended(true);
    drain(&mut source.out).iter().for_each(|packet| target.receive(at(1_010), packet));
    drain(&mut target.out).iter().for_each(|packet| source.receive(at(1_020), packet));
    assert!(source.writer.is_push_due(at(1_030).mono));
    source.write(at(1_030), 10);
    deliver(&mut source, &mut target, 1_040, |_| true);
    assert_eq!(target.sink.got, [1, 2]);
}

#[test]
fn echo_requests_in_a_writers_name_get_few_answers() {
    let mut target = Target::new(0, ReaderConfig::default());
    target.match_writer(at(0), false);
    drain(&mut target.out);
    for count in 0..1_000 {
        let reader_id = dunlin_core::EntityId::UNKNOWN;
        let request = dunlin_wire::EchoRequest { reader_id, writer_id: WRITER.entity_id, count };
        target.reader.on_echo_request(at(1_000), WRITER.prefix, &request, &mut target.out);
    }
    assert_eq!(drain(&mut target.out).len(), 256);
    let echo = dunlin_wire::Echo {
        reader_id: reader_guid(0).entity_id,
        writer_id: WRITER.entity_id,
        count: 7,
        room: 0,
    };
    let (mut source, _) = pair();
    assert!(!source.writer.on_echo(at(1_000), reader_guid(0).prefix, &echo), "never asked");
}

#[test]
fn a_reader_that_was_inactive_has_a_send_window_again() {
    let inactive_after = dunlin_core::Duration::from_secs(1);
    let mut source = Source::new(WriterConfig { window: WINDOW, inactive_after, ..WriterConfig::default() });
    let mut target = Target::new(0, ReaderConfig::default());
    source.match_reader(at(0), reader_proxy(0));
    target.match_writer(at(0), false);
    deliver(&mut source, &mut target, 1, |_| true);
    source.write(at(1_000), 100);
    drain(&mut source.out);
    let mut now = 1_000;
    while source.writer.is_inactive(reader_guid(0)) == Some(false) {
        now = (source.writer.next_deadline().unwrap().0 / 1_000 + 1).max(now);
        assert!(now < 3_000_000);
        source.timer(at(now));
        drain(&mut source.out);
    }
    source.write(at(now), 1_000);
    assert!(drain(&mut source.out).is_empty());
    let mut now = now + 1_100_000;
    source.timer(at(now));
    drain(&mut source.out).iter().for_each(|packet| target.receive(at(now), packet));
    drain(&mut target.out).iter().for_each(|packet| source.receive(at(now), packet));
    // What is repaired is lost, so it goes on without ever having acknowledged everything.
    drain(&mut source.out);
    let asked = source.writer.stats().echoes_requested;
    now += 1_000;
    source.write(at(now), 1_000);
    assert!(source.writer.stats().echoes_requested > asked);
    deliver(&mut source, &mut target, now, |_| true);
    now += 1_000_000;
    source.write(at(now), 921_600);
    assert!(source.writer.has_waiting_data(), "no more than a window leaves");
}

#[test]
fn send_window_skips_a_silent_near_reader_soon_despite_a_far_one() {
    let (mut source, mut near) = pair();
    source.match_reader(at(100), reader_proxy(1));
    let mut far = Target::new(1, ReaderConfig::default());
    far.match_writer(at(100), false);
    source.write(at(1_000_000), 8 << 20);
    deliver_near_and_far(&mut source, &mut near, &mut far, 1_000_000);
    // From now on only the far one answers.
    let begin = 20_000_000;
    source.write(at(begin), 921_600);
    let (mut now, mut forth, mut back) = (begin, VecDeque::new(), VecDeque::new());
    while source.writer.stats().readers_overdue == 0 {
        forth.extend(drain(&mut source.out).into_iter().map(|packet| (now + 50_000, packet)));
        let timer = source.writer.next_deadline().map_or(u64::MAX, |at| at.0 / 1_000 + 1);
        let next = |queue: &VecDeque<(u64, Packet)>| queue.front().map_or(u64::MAX, |(due, _)| *due);
        now = timer.min(next(&forth)).min(next(&back)).max(now + 1);
        while next(&forth) <= now {
            forth.pop_front().iter().for_each(|(_, packet)| far.receive(at(now), packet));
        }
        back.extend(drain(&mut far.out).into_iter().map(|packet| (now + 50_000, packet)));
        while next(&back) <= now {
            back.pop_front().iter().for_each(|(_, packet)| source.receive(at(now), packet));
        }
        source.timer(at(now));
        assert!(now < begin + 10_000_000);
    }
    assert!(now < begin + 220_000, "given up after {} us", now - begin);
}
