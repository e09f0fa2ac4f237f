//! Source timestamps that no message can carry (DDS 1.4 §2.2.2.4.2.12 write_w_timestamp: BAD_PARAMETER; RTPS 2.5 §9.3.2.1).

use dunlin::qos::*;
use dunlin::{ReturnCode, WallTime, WriteError};

use crate::support::*;

/// The first nanosecond of the second of which seconds since 1970 do not fit 32 bits.
const TOO_LATE: WallTime = WallTime((1 << 32) * 1_000_000_000);

#[test]
fn timestamps_outside_the_wire_range_are_refused_by_every_operation() {
    let (mut sim, a, _b, w, r) = pair();
    let plain = a
        .run(|| {
            let topic = w.participant.create_topic::<Measurement>("Plain", &TopicQos::default()).unwrap();
            w.publisher.create_datawriter(&topic, &DataWriterQos::default())
        })
        .unwrap();
    a.run(|| w.writer.register_instance(&reading(1, 0))).unwrap();
    let handle = w.writer.lookup_instance(&reading(1, 0));
    for bad in [WallTime(-1), WallTime(i64::MIN), TOO_LATE, WallTime(i64::MAX)] {
        let refused = Err(WriteError::BadTimestamp);
        a.run(|| {
            assert_eq!(w.writer.write_w_timestamp(&reading(1, 1), bad), refused);
            assert_eq!(w.writer.write_instance_w_timestamp(&reading(1, 1), handle, bad), refused);
            assert_eq!(w.writer.dispose_w_timestamp(&reading(1, 1), bad), refused);
            assert_eq!(w.writer.unregister_instance_w_timestamp(&reading(1, 1), bad), refused);
            let registered = w.writer.register_instance_w_timestamp(&reading(2, 1), bad);
            assert_eq!(registered, Err(WriteError::BadTimestamp));
            assert_eq!(plain.write_w_timestamp(&Measurement { n: 1 }, bad), refused);
            let registered = plain.register_instance_w_timestamp(&Measurement { n: 1 }, bad);
            assert_eq!(registered, Err(WriteError::BadTimestamp));
        });
    }
    assert_eq!(WriteError::BadTimestamp.return_code(), ReturnCode::BadParameter);
    // The first and the last that fit arrive as they are.
    let times = [WallTime(0), WallTime(TOO_LATE.0 - 1_000)];
    for at in times {
        a.run(|| w.writer.write_w_timestamp(&reading(1, 1), at)).unwrap();
    }
    sim.run_until(|| r.reader.read(9).unwrap().len() == 2, secs(9)).unwrap();
    let seen: Vec<_> = r.reader.read(9).unwrap().iter().map(|s| s.info.source_timestamp).collect();
    assert_eq!(seen, times);
}
