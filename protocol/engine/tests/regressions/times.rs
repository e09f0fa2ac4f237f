//! Times and durations: CVE-2025-63829 (Fast DDS: a Time_t makes it loop for ever). Whatever is announced, a second of
//! virtual time takes few timers.

use dunlin_core::{Duration, EntityId, RtpsTime, SequenceNumber, WallTime};
use dunlin_wire::{DataSpec, ParameterListBuilder, PayloadSpec, pid};

use crate::target::Target;

/// Timers of both participants in a second: announcements, heartbeats, answers.
const MOST_TIMERS: usize = 400;

const TIMES: [(u32, u32); 9] = [
    (0, 0),
    (0, 1),
    (0x7fff_ffff, 0xffff_ffff),
    (0x7fff_ffff, 0x7fff_ffff),
    (0x8000_0000, 0),
    (0xffff_ffff, 0xffff_ffff),
    (0xffff_ffff, 0),
    (0, 0xffff_ffff),
    (0xffff_ffff, 0xffff_fffe),
];

fn octets((seconds, fraction): (u32, u32)) -> [u8; 8] {
    let mut octets = [0; 8];
    octets[..4].copy_from_slice(&seconds.to_le_bytes());
    octets[4..].copy_from_slice(&fraction.to_le_bytes());
    octets
}

impl Target {
    #[track_caller]
    fn is_calm(&mut self) {
        let before = self.stats().timers_run;
        self.net.run(Duration::from_secs(1));
        let timers = self.stats().timers_run - before;
        assert!(timers <= MOST_TIMERS, "{timers} timers in a second");
    }
}

#[test]
fn timestamps_of_any_value_are_taken() {
    let mut target = Target::new();
    let (writer_id, first) = (target.peer_writer.guid().entity_id, target.next_sn().0);
    for (n, (seconds, fraction)) in TIMES.into_iter().enumerate() {
        let mut bytes = target.forge(|message| {
            message.info_ts(Some(WallTime(0)));
            message.data(&DataSpec {
                reader_id: EntityId::UNKNOWN,
                writer_id,
                writer_sn: SequenceNumber(first + n as i64),
                inline_qos: &[],
                payload: PayloadSpec::Data(vec![0, 1, 0, 0, 1, 0, 0, 0].into()),
            });
        });
        // Behind the headers of message and INFO_TS.
        bytes[24..32].copy_from_slice(&octets((seconds, fraction)));
        assert_eq!(RtpsTime { seconds, fraction } == RtpsTime::INVALID, n == 5);
        target.attack(&bytes).is_small();
    }
    assert_eq!(target.reader.len(), TIMES.len());
    target.is_calm();
    let writer = std::sync::Arc::clone(&target.peer_writer);
    for _ in TIMES {
        target.net.write(1, &writer, 3, b"has the number of a forged one").expect("no limits");
    }
    target.still_talks();
}

/// Of a writer that matches: DEADLINE, LIVELINESS, LIFESPAN, LATENCY_BUDGET, blocking times.
#[test]
fn durations_of_any_value_are_announced_without_a_busy_timer() {
    let mut target = Target::new();
    for (n, time) in TIMES.into_iter().enumerate() {
        for (m, policy) in
            [pid::DEADLINE, pid::LIFESPAN, pid::LATENCY_BUDGET, pid::LIVELINESS, pid::RELIABILITY]
                .into_iter()
                .enumerate()
        {
            let mut list = ParameterListBuilder::payload(dunlin_wire::Endianness::Little);
            let id = EntityId::user_writer((100 + n * 10 + m) as u32, true);
            list.put_guid(pid::ENDPOINT_GUID, dunlin_core::Guid::new(target.peer(), id));
            list.put_string(pid::TOPIC_NAME, "In");
            list.put_string(pid::TYPE_NAME, "Keyed");
            list.put_bytes(pid::RELIABILITY, &[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            match policy {
                pid::LIVELINESS | pid::RELIABILITY => {
                    list.put_bytes(policy, &[&[2, 0, 0, 0][..], &octets(time)].concat())
                }
                _ => list.put_bytes(policy, &octets(time)),
            };
            let answer = target.announce(true, list);
            assert!(answer.octets <= 2_000, "{answer:?}");
        }
        target.is_calm();
    }
    let writers = target.reader.matched_writers().len();
    assert!(writers > 10, "only {writers} of the writers matched: this tests nothing");
    target.still_talks();
}
