//! Readers that answer a question some time later, and forget it if anything else comes meanwhile: [`Behaviour::DelaysAnswers`].

use alloc::vec::Vec;

use dunlin_core::{Behaviour, Duration, SequenceNumber, SequenceNumberSet, VendorId};
use dunlin_wire::AckNack;

use super::support::*;
use crate::{ReaderProxyConfig, WriterConfig};

/// A reader as that of Fast DDS: it has one timer for all HEARTBEATs, and answers as the last of them says.
struct Delaying {
    delay: u64,
    got: i64,
    answer_at: Option<u64>,
    /// The last HEARTBEAT asked for nothing.
    is_final: bool,
    answers: i32,
    slowest_answer: (u64, u64),
}

impl Delaying {
    fn new(delay: u64) -> Self {
        Self { delay, got: 0, answer_at: None, is_final: false, answers: 0, slowest_answer: (0, 0) }
    }

    fn hear(&mut self, now: u64, seen: &Seen) {
        match seen {
            Seen::Data { sn, .. } => self.got = self.got.max(*sn),
            Seen::Hb { ask, .. } => {
                self.is_final = !ask;
                if *ask {
                    self.answer_at = Some(now + self.delay);
                }
            }
            _ => {}
        }
    }

    /// Answers if it is time.
    fn work(&mut self, now: u64, source: &mut Source) {
        if self.answer_at.is_none_or(|due| due > now) {
            return;
        }
        self.answer_at = None;
        if self.is_final {
            return;
        }
        self.answers += 1;
        let acknack = AckNack {
            reader_id: reader_guid(0).entity_id,
            writer_id: WRITER.entity_id,
            reader_sn_state: SequenceNumberSet::empty(SequenceNumber(self.got + 1)),
            count: self.answers,
            final_flag: true,
        };
        let (last, slowest) = self.slowest_answer;
        self.slowest_answer = (now, slowest.max(now - last));
        let Source { writer, history, out } = source;
        writer.on_acknack(at(now), reader_guid(0).prefix, &acknack, history, out);
    }
}

/// A sample of 100 octets every so often for three seconds; other readers that answer at once may be there.
fn dense(period: u64, delay: u64) -> (Source, Delaying) {
    let inactive_after = Duration::from_secs(1);
    let mut source = Source::new(WriterConfig { inactive_after, ..WriterConfig::default() });
    let vendor = VendorId::FAST_DDS;
    assert!(vendor.does(Behaviour::DelaysAnswers));
    source.match_reader(at(0), ReaderProxyConfig { vendor, ..reader_proxy(0) });
    let mut reader = Delaying::new(delay);
    for now in (0..3_000_000).step_by(100) {
        if now % period == 0 {
            source.write(at(now), 100);
        }
        if source.writer.next_deadline().is_some_and(|due| due <= at(now).mono) {
            source.timer(at(now));
        }
        sent(&mut source.out).into_iter().flatten().for_each(|seen| reader.hear(now, &seen));
        reader.work(now, &mut source);
        assert_eq!(source.writer.is_inactive(reader_guid(0)), Some(false), "{period} us apart, at {now} us");
    }
    (source, reader)
}

#[test]
fn dense_samples_do_not_delay_acknacks_for_ever() {
    for period in [200, 1_000, 5_000, 6_000, 12_000] {
        let (source, reader) = dense(period, 5_000);
        assert!(reader.slowest_answer.1 <= 30_000, "{period} us apart: {:?}", reader.slowest_answer);
        let written = 3_000_000_u64.div_ceil(period);
        assert_eq!(reader.got as u64, written, "all of them left at once");
        assert_eq!(source.writer.stats().repairs_sent, 0);
    }
}

#[test]
fn a_longer_delay_is_found_out() {
    for delay in [20_000, 60_000, 100_000] {
        let (_, reader) = dense(1_000, delay);
        assert!(reader.answers >= 3, "{} answers after {delay} us each", reader.answers);
    }
}

#[test]
fn a_full_history_sends_no_more_heartbeats() {
    let (mut source, _) = dense(1_000, 5_000);
    drain(&mut source.out);
    let Source { writer, history, out } = &mut source;
    for now in 3_000..3_012 {
        writer.request_acknowledgments(at(now * 1_000), history, out);
    }
    let asked: Vec<_> = sent(out).into_iter().flatten().filter(|s| matches!(s, Seen::Hb { .. })).collect();
    assert!(asked.len() <= 2, "{asked:?}");
}
