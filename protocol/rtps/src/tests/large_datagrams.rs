//! Large changes where the ways to readers carry long datagrams: several fragments in each.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use dunlin_core::{EntityId, Guid, GuidPrefix, Locator, LocatorKind, Path, Paths, VendorId};
use dunlin_wire::{EchoRequest, Message, Submessage};

use super::support::*;
use crate::{ReaderConfig, ReaderProxyConfig, ReceiveRoom, WriterConfig, WriterProxyConfig};

const WINDOW: usize = 127 * 1024;

/// Everything but the last two readers is within the host.
#[derive(Debug)]
struct Host;

impl Paths for Host {
    fn path(&self, to: &Locator) -> Path {
        let (max_message, same_host) = match to {
            to if to.kind == LocatorKind::SHARED_MEMORY => return Ring(1 << 20).path(to),
            to if *to == host(reader_guid(8).prefix) => (0, false),
            to if *to == host(reader_guid(9).prefix) => (8_972, false),
            _ => (65_507, true),
        };
        Path { max_message, same_host, ..Path::unknown(to.kind) }
    }
}

fn source(window: usize) -> Source {
    Source::new(WriterConfig { window, paths: Some(Arc::new(Host)), ..WriterConfig::default() })
}

fn near(n: u8) -> ReaderProxyConfig {
    ReaderProxyConfig { vendor: VendorId::DUNLIN, ..reader_proxy(n) }
}

/// First fragment, count and size of fragments of a DATA_FRAG.
type Part = (u32, u16, u16);

/// Of each DATA_FRAG.
fn fragments(packet: &Packet) -> Vec<Part> {
    let message = Message::parse(&packet.bytes).unwrap();
    let all = message.submessages().filter_map(|parsed| match parsed.unwrap().body {
        Submessage::DataFrag(frag) => {
            Some((frag.fragment_starting_num, frag.fragments_in_submessage, frag.fragment_size))
        }
        _ => None,
    });
    all.collect()
}

fn holds(packet: &Packet, kind: impl Fn(&Submessage<'_>) -> bool) -> bool {
    let message = Message::parse(&packet.bytes).unwrap();
    message.submessages().any(|parsed| kind(&parsed.unwrap().body))
}

fn asks(packet: &Packet) -> bool {
    holds(packet, |body| matches!(body, Submessage::EchoRequest(_)))
}

fn target(n: u8) -> Target {
    let mut target = Target::new(n, ReaderConfig::default());
    target.match_writer(at(0), false);
    target
}

/// Both talk until they are silent, 10 µs one way; `arrives` decides on each datagram of the writer. Returns those datagrams.
fn talk(source: &mut Source, target: &mut Target, arrives: impl FnMut(&Packet) -> bool) -> Vec<Packet> {
    talk_since(1_000, source, target, arrives)
}

/// The same from a time on, for 8 ms.
fn talk_since(
    mut time: u64,
    source: &mut Source,
    target: &mut Target,
    mut arrives: impl FnMut(&Packet) -> bool,
) -> Vec<Packet> {
    let mut sent = vec![];
    for _ in 0..400 {
        time += 10;
        for packet in drain(&mut source.out) {
            if arrives(&packet) {
                target.receive(at(time), &packet);
            }
            sent.push(packet);
        }
        time += 10;
        drain(&mut target.out).iter().for_each(|packet| source.receive(at(time), packet));
        if source.writer.next_deadline().is_some_and(|due| due <= at(time).mono) {
            source.timer(at(time));
        }
    }
    sent
}

#[test]
fn many_fragments_share_a_datagram_within_a_host() {
    for len in [64_000, 100 * 1024, 921_600, 4 << 20] {
        let (mut source, mut target) = (source(WINDOW), target(1));
        source.match_reader(at(0), near(1));
        talk(&mut source, &mut target, |_| true);
        source.write(at(1_000), len);
        let sent = talk(&mut source, &mut target, |_| true);
        assert_eq!(target.sink.payloads, [Some(sample(len))]);
        let large: Vec<_> = sent.iter().filter(|packet| !fragments(packet).is_empty()).collect();
        assert_eq!(large.len(), len.div_ceil(45 * 1404), "{len} octets");
        assert!(large.iter().all(|packet| packet.bytes.len() <= WINDOW / 2));
        assert!(
            large
                .iter()
                .flat_map(|packet| fragments(packet))
                .all(|(_, count, size)| { (2..=45).contains(&count) && size == 1404 })
        );
        let stats = source.writer.stats();
        assert_eq!((stats.repair_fragments_sent, stats.repairs_sent, stats.window_probes), (0, 0, 0));
        assert_eq!(stats.fragments_sent as usize, len.div_ceil(1404));
        // The question and what announces the data are in the datagrams with the data.
        assert!(sent.len() <= large.len() + 1, "{} datagrams for {len} octets", sent.len());
        assert!(len < WINDOW || large.iter().filter(|packet| asks(packet)).count() >= large.len() - 2);
    }
}

#[test]
fn large_datagrams_in_transit_stay_within_the_send_window() {
    let mut source = source(WINDOW);
    source.match_reader(at(0), near(1));
    source.out.clear();
    source.write(at(1_000), 4 << 20);
    let packets = drain(&mut source.out);
    assert_eq!(packets.iter().filter(|packet| packet.bytes.len() > 60_000).count(), 2);
    assert!(packets.iter().map(|packet| packet.bytes.len() + 1_024).sum::<usize>() <= WINDOW);
}

/// Octets that leave at once of a large sample, and that all of it arrives, after a reader `n` has said that its receive
/// buffer has room for `told`.
fn at_once(n: u8, told: usize, limit: usize) -> usize {
    let paths = Some(Arc::new(Host) as Arc<dyn Paths>);
    let mut source =
        Source::new(WriterConfig { window: WINDOW, window_limit: limit, paths, ..WriterConfig::default() });
    let mut target =
        Target::new(n, ReaderConfig { receive_room: ReceiveRoom::new(told), ..ReaderConfig::default() });
    target.match_writer(at(0), false);
    source.match_reader(at(0), near(n));
    talk(&mut source, &mut target, |_| true);
    source.write(at(1_000), 921_600);
    talk(&mut source, &mut target, |_| true);
    source.write(at(100_000), 4 << 20);
    let first = drain(&mut source.out);
    let octets = first.iter().map(|packet| packet.bytes.len()).sum();
    first.iter().for_each(|packet| target.receive(at(100_010), packet));
    talk(&mut source, &mut target, |_| true);
    assert_eq!(target.sink.payloads, [Some(sample(921_600)), Some(sample(4 << 20))]);
    assert_eq!(source.writer.stats().repair_fragments_sent, 0);
    octets
}

#[test]
#[cfg_attr(miri, ignore = "too much to interpret")]
fn the_window_grows_as_far_as_a_reader_within_the_host_has_room() {
    let limit = 1 << 20;
    for told in [500_000, 800_000, 1_000_000] {
        let octets = at_once(1, told, limit);
        assert!((told - 70_000..=told).contains(&octets), "{octets} octets for {told}");
    }
    let octets = at_once(1, 8 << 20, limit);
    assert!((limit - 70_000..=limit).contains(&octets), "{octets} octets: no more than is set");
}

#[test]
#[cfg_attr(miri, ignore = "too much to interpret")]
fn the_window_stays_where_there_is_no_room_or_the_way_is_a_network() {
    for (reader, told, limit) in
        [(1, 0, 1 << 20), (1, 50_000, 1 << 20), (1, 8 << 20, 0), (9, 8 << 20, 1 << 20)]
    {
        let octets = at_once(reader, told, limit);
        assert!(octets <= WINDOW, "{octets} octets");
    }
}

#[test]
fn receive_buffer_room_is_shared_by_all_writers() {
    let receive_room = ReceiveRoom::new(900_000);
    let mut targets = [1, 2].map(|n| {
        Target::new(n, ReaderConfig { receive_room: receive_room.clone(), ..ReaderConfig::default() })
    });
    let told = |target: &mut Target, count| {
        let request = EchoRequest { reader_id: EntityId::UNKNOWN, writer_id: WRITER.entity_id, count };
        drain(&mut target.out);
        target.reader.on_echo_request(at(10), WRITER.prefix, &request, &mut target.out);
        let mut answers = drain(&mut target.out).into_iter();
        let (Some(answer), None) = (answers.next(), answers.next()) else { panic!("one answer") };
        let message = Message::parse(&answer.bytes).unwrap();
        let room = message.submessages().find_map(|parsed| match parsed.unwrap().body {
            Submessage::Echo(echo) => Some(echo.room),
            _ => None,
        });
        room.unwrap()
    };
    let other = Guid::new(GuidPrefix([9; 12]), WRITER.entity_id);
    let matched = WriterProxyConfig { guid: other, reliable: true, ..WriterProxyConfig::default() };
    targets[0].match_writer(at(0), false);
    assert_eq!(told(&mut targets[0], 1), 900_000);
    targets[0].reader.match_writer(at(0), matched, &mut dunlin_buf::Outbox::new());
    assert_eq!(told(&mut targets[0], 2), 450_000);
    // Those of another reader arrive in the same sockets.
    targets[1].match_writer(at(0), false);
    assert_eq!((told(&mut targets[0], 3), told(&mut targets[1], 1)), (300_000, 300_000));
    targets[0].reader.unmatch_writer(other);
    assert_eq!(told(&mut targets[1], 2), 450_000);
    let [first, mut last] = targets;
    drop(first);
    assert_eq!(told(&mut last, 3), 900_000);
}

#[test]
fn a_sample_that_fits_into_one_datagram_is_one_data() {
    for len in [1_500, 8_192, 16_384, 63_000] {
        let (mut source, mut target) = (source(WINDOW), target(1));
        source.match_reader(at(0), near(1));
        talk(&mut source, &mut target, |_| true);
        source.write(at(1_000), len);
        let sent = talk(&mut source, &mut target, |_| true);
        let whole = |packet: &&Packet| holds(packet, |body| matches!(body, Submessage::Data(_)));
        assert_eq!(sent.iter().filter(whole).count(), 1, "{len} octets");
        assert!(sent.iter().all(|packet| fragments(packet).is_empty()));
        assert_eq!(target.sink.payloads, [Some(sample(len))]);
    }
}

#[test]
fn a_configured_fragment_size_rules_out_large_datagrams() {
    let paths = Some(Arc::new(Host) as Arc<dyn Paths>);
    let mut source = Source::new(WriterConfig { fragment_size: 64, paths, ..WriterConfig::default() });
    source.match_reader(at(0), near(1));
    source.out.clear();
    source.write(at(10), 5_000);
    let packets = drain(&mut source.out);
    let sent: Vec<_> = packets.iter().flat_map(fragments).collect();
    assert!(!sent.is_empty() && sent.iter().all(|(_, _, size)| *size == 64), "{sent:?}");
}

#[test]
fn lost_datagrams_with_a_data_or_many_fragments_are_repaired() {
    for (len, lost) in [(8_192, 0), (921_600, 3), (921_600, 14)] {
        let (mut source, mut target) = (source(WINDOW), target(1));
        source.match_reader(at(0), near(1));
        talk(&mut source, &mut target, |_| true);
        source.write(at(1_000), len);
        let mut number = 0;
        let mut sent = talk(&mut source, &mut target, |packet| {
            let large = packet.bytes.len() > 1_472;
            number += usize::from(large);
            !large || number != lost + 1
        });
        source.timer(at(200_000));
        sent.extend(talk(&mut source, &mut target, |_| true));
        assert_eq!(target.sink.payloads, [Some(sample(len))], "{len} octets without {lost}");
        let in_fragments = sent.iter().any(|packet| !fragments(packet).is_empty());
        assert_eq!(in_fragments, len > 65_000, "a repair has the form that the sample had at first");
    }
}

/// A reader that comes later, and one that needs fragments, decide how the next sample leaves, not how an older one is repaired.
#[test]
fn a_repair_has_the_form_of_the_first_time() {
    for whole in [true, false] {
        let (mut source, mut target) = (source(0), target(1));
        source.match_reader(at(0), near(1));
        let narrow = ReaderProxyConfig { vendor: VendorId::RUST_DDS, ..near(2) };
        if !whole {
            source.match_reader(at(0), narrow.clone());
        }
        talk(&mut source, &mut target, |_| true);
        source.write(at(1_000), 10_000);
        let lost = drain(&mut source.out);
        let is_whole = |packet: &Packet| holds(packet, |body| matches!(body, Submessage::Data(_)));
        assert_eq!(lost.iter().any(is_whole), whole);
        if whole {
            source.match_reader(at(1_001), narrow);
            drain(&mut source.out);
            source.write(at(1_002), 10_000);
        } else {
            source.writer.unmatch_reader(narrow.guid);
            source.write(at(1_002), 10_000);
        }
        let next = drain(&mut source.out);
        assert_eq!(next.iter().any(is_whole), !whole);
        next.iter().for_each(|packet| target.receive(at(1_010), packet));
        let sent = talk(&mut source, &mut target, |_| true);
        assert_eq!(sent.iter().filter(|packet| is_whole(packet)).count(), usize::from(whole));
        assert_eq!(sent.iter().flat_map(fragments).count() > 0, !whole);
        assert_eq!(target.sink.payloads, [Some(sample(10_000)), Some(sample(10_000))]);
    }
}

/// Every reader that the window waits for has to be asked, also one that has the sample through memory.
#[test]
fn a_reader_in_shared_memory_gets_a_heartbeat_for_the_send_window() {
    let place = Locator::shared_memory([1; 8], 1);
    let beside = ReaderProxyConfig { unicast: [place].into(), ..near(1) };
    let mut source = source(WINDOW);
    for reader in [beside, near(2)] {
        source.match_reader(at(0), reader);
    }
    drain(&mut source.out);
    source.write(at(1_000), 300_000);
    let sent = drain(&mut source.out);
    assert!(sent.iter().any(|packet| !fragments(packet).is_empty()));
    let asks = |packet: &&Packet| holds(packet, |body| matches!(body, Submessage::EchoRequest(_)));
    let asked: Vec<_> = sent.iter().filter(asks).map(|packet| packet.to.contains(&place)).collect();
    assert!(!asked.is_empty() && asked.iter().all(|both| *both), "{asked:?}");
}

/// The datagrams with fragments that are sent again when those with the numbers in `lost`, of all with fragments, are lost.
fn repairs(reader: ReaderProxyConfig, cfg: WriterConfig, lost: &[usize]) -> (Source, Vec<Vec<Part>>) {
    let number_of_reader = reader.guid.prefix;
    let n = (0..10).find(|n| reader_guid(*n).prefix == number_of_reader).unwrap();
    let paths = Some(Arc::new(Host) as Arc<dyn Paths>);
    let (mut source, mut target) = (Source::new(WriterConfig { window: WINDOW, paths, ..cfg }), target(n));
    source.match_reader(at(0), reader);
    talk(&mut source, &mut target, |_| true);
    source.write(at(1_000), 921_600);
    let mut number = 0;
    let mut sent = talk(&mut source, &mut target, |packet| {
        let large = !fragments(packet).is_empty();
        number += usize::from(large);
        !large || !lost.contains(&number)
    });
    source.timer(at(200_000));
    sent.extend(talk(&mut source, &mut target, |_| true));
    assert_eq!(target.sink.payloads, [Some(sample(921_600))]);
    let mut sent_through = 0;
    let again = sent.iter().map(fragments).filter(|all| {
        let last = all.last().map_or(0, |(first, count, _)| first + u32::from(*count));
        let repeated = last > 0 && last <= sent_through;
        sent_through = sent_through.max(last);
        repeated
    });
    let again = again.collect();
    (source, again)
}

#[test]
fn a_lost_datagram_with_many_fragments_is_repaired_by_one() {
    let (source, again) = repairs(near(1), WriterConfig::default(), &[3]);
    let each = 657_u32.div_ceil(15) as u16;
    assert_eq!(again, [[(1 + 2 * u32::from(each), each, 1404)]]);
    assert_eq!(source.writer.stats().repair_fragments_sent, u64::from(each));
    // Two that follow each other, in as many datagrams.
    let (source, again) = repairs(near(1), WriterConfig::default(), &[5, 6]);
    assert_eq!(source.writer.stats().repair_fragments_sent, 2 * u64::from(each));
    assert_eq!(again.len(), 2, "{again:?}");
}

#[test]
fn repairs_are_no_longer_than_the_budget_or_the_way_allows() {
    let cfg = WriterConfig { repair_budget_per_event: 10 * 1_472, ..WriterConfig::default() };
    let (_, again) = repairs(near(1), cfg, &[3]);
    assert!(!again.is_empty() && again.iter().flatten().all(|(_, count, _)| *count <= 10), "{again:?}");
    let (_, again) = repairs(near(9), WriterConfig::default(), &[30]);
    assert!(!again.is_empty() && again.iter().flatten().all(|(_, count, _)| *count <= 6), "{again:?}");
    let unknown = ReaderProxyConfig { vendor: VendorId::RUST_DDS, ..near(1) };
    let (_, again) = repairs(unknown, WriterConfig::default(), &[100, 101]);
    assert_eq!(again, [[(100, 1, 1404)], [(101, 1, 1404)]]);
}

#[test]
#[cfg_attr(miri, ignore = "too much to interpret")]
fn repairs_shrink_when_large_datagrams_are_lost() {
    // The last one has more fragments than repairs are remembered of.
    for len in [8_192, 300_000, 3_000_000] {
        let (mut source, mut target) = (source(WINDOW), target(1));
        source.match_reader(at(0), near(1));
        talk(&mut source, &mut target, |_| true);
        source.write(at(1_000), len);
        for round in 1..100 {
            talk(&mut source, &mut target, |packet| packet.bytes.len() <= 1_472);
            source.timer(at(round * 200_000));
            target.timer(at(round * 200_000 + 1));
        }
        assert_eq!(target.sink.payloads, [Some(sample(len))], "{len} octets");
    }
}

/// What became of a sample: how many datagrams were longer than the way carries, how long the longest one was, and whether it
/// arrived at once.
type Sent = (usize, usize, bool);

/// Writes samples of so many octets, each 10 ms after the one before.
fn stream_of(
    source: &mut Source,
    target: &mut Target,
    time: &mut u64,
    (count, len): (usize, usize),
    carries: usize,
) -> Vec<Sent> {
    let mut seen = vec![];
    for round in 1..=count {
        *time += 10_000;
        source.write(at(*time), len);
        let sent = talk_since(*time, source, target, |packet| packet.bytes.len() <= carries);
        let longest = sent.iter().map(|packet| packet.bytes.len()).max().unwrap();
        let lost = sent.iter().filter(|packet| packet.bytes.len() > carries).count();
        seen.push((lost, longest, target.sink.payloads.len() == round));
    }
    assert_eq!(target.sink.payloads.len(), count);
    assert!(target.sink.payloads.drain(..).all(|payload| payload == Some(sample(len))));
    seen
}

/// A reader whose way is said to carry long datagrams has moved to where they do not arrive: that is found out once, and looked for
/// ever less often, not with each sample.
#[test]
#[cfg_attr(miri, ignore = "too much to interpret")]
fn a_way_that_lets_no_long_datagram_pass_is_remembered() {
    for len in [151_224, 921_600, 20_000] {
        let (mut source, mut target) = (source(WINDOW), target(1));
        source.match_reader(at(0), near(1));
        talk(&mut source, &mut target, |_| true);
        let mut time = 10_000;
        stream_of(&mut source, &mut target, &mut time, (4, len), 65_507);
        let moved = stream_of(&mut source, &mut target, &mut time, (60, len), 9_000);
        let lost = |part: &[Sent]| part.iter().map(|(lost, _, _)| lost).sum::<usize>();
        assert!(lost(&moved[..10]) <= 40 && lost(&moved[10..]) <= 6, "{moved:?}");
        assert!(moved[20..].iter().any(|(_, longest, _)| (2_900..=9_000).contains(longest)), "{moved:?}");
        // A datagram that is the whole sample has to be lost as often as three that are one.
        let late = moved.iter().filter(|(_, _, at_once)| !at_once).count();
        assert!(late <= 3, "{moved:?}");
        let back = stream_of(&mut source, &mut target, &mut time, (80, len), 65_507);
        assert!(back[79].1 >= len.min(50_000), "it carries them again: {back:?}");
    }
}

/// On a busy host most long datagrams find no room where they arrive, again and again.
#[test]
#[cfg_attr(miri, ignore = "too much to interpret")]
fn a_reader_that_fails_on_mixed_forms_gets_one_form_within_a_host() {
    let (mut source, mut target) = (source(0), target(1));
    source.match_reader(at(0), ReaderProxyConfig { vendor: VendorId::FAST_DDS, ..near(1) });
    talk(&mut source, &mut target, |_| true);
    let (mut time, mut long) = (10_000, 0);
    for round in 0..200 {
        time += 10_000;
        source.timer(at(time));
        if round < 40 {
            source.write(at(time), 10_240);
        }
        let sent = talk_since(time, &mut source, &mut target, |packet| {
            let is_long = packet.bytes.len() > 1_472;
            long += u32::from(is_long);
            !is_long || long.is_multiple_of(5)
        });
        assert!(sent.iter().all(|packet| fragments(packet).is_empty()), "round {round}");
    }
    assert_eq!(target.sink.payloads.len(), 40);
}

#[test]
fn readers_of_unknown_vendors_get_usual_datagrams() {
    let mut source = source(0);
    source.match_reader(at(0), near(1));
    source.match_reader(at(0), ReaderProxyConfig { vendor: VendorId::RUST_DDS, ..near(2) });
    source.out.clear();
    source.write(at(1_000), 100_000);
    assert!(drain(&mut source.out).iter().all(|packet| packet.bytes.len() <= 1_472));
}

#[test]
fn the_narrowest_way_counts() {
    for (others, most) in [(8, 1_472), (9, 8_972)] {
        let mut source = source(0);
        source.match_reader(at(0), near(1));
        source.match_reader(at(0), near(others));
        source.out.clear();
        source.write(at(1_000), 100_000);
        let packets = drain(&mut source.out);
        let longest = packets.iter().map(|packet| packet.bytes.len()).max().unwrap();
        assert!((most - 1_404..=most).contains(&longest), "{longest} octets");
    }
}
