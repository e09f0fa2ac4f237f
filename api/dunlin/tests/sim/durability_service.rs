//! DURABILITY_SERVICE at the writer (DDS 1.4 §2.2.3.5): what late joiners get, apart from HISTORY.

use dunlin::qos::{DataReaderQos, DataWriterQos, DurabilityService, HistoryKind, PolicyId, TopicQos};
use dunlin::sim::{Result, Sim};
use dunlin::{DataReader, DataWriter, ReturnCode};

use crate::support::*;

fn service(depth: i32) -> DurabilityService {
    DurabilityService { history_depth: depth, ..DurabilityService::default() }
}

fn numbers(reader: &DataReader<Reading>) -> Vec<u32> {
    let taken = reader.take(1000).expect("no condition");
    taken.into_iter().filter_map(|sample| sample.data).map(|reading| reading.n).collect()
}

/// Writes so many, reads them on another node, and says what one that comes then gets.
fn late(sim: &mut Sim, qos: &DataWriterQos, count: u32) -> Result<(DataWriter<Reading>, Vec<u32>)> {
    let (a, b, c) = (sim.node("a"), sim.node("b"), sim.node("c"));
    let writer = a.run(|| writer(qos))?;
    let early = b.run(|| reader(&DataReaderQos::default().reliable().keep_all()))?;
    sim.run_until(|| matched(&writer, &early), secs(30))?;
    for n in 0..count {
        a.run(|| writer.write(&reading(n)))?;
        sim.run_for(millis(20))?;
    }
    let mut seen = Vec::new();
    sim.run_until(
        || {
            seen.extend(numbers(&early));
            seen.len() == count as usize
        },
        secs(30),
    )?;
    assert!(seen.into_iter().eq(0..count), "who was there gets everything");
    sim.run_for(secs(5))?;
    let late = c.run(|| reader(&reader_qos()))?;
    sim.run_until(|| writer.matched_subscriptions().len() == 2, secs(30))?;
    sim.run_for(secs(5))?;
    Ok((writer, numbers(&late)))
}

#[test]
fn late_joiners_get_what_the_service_keeps_under_loss() {
    bad_network().seeds(0..4, |sim| {
        let qos = writer_qos().durability_service(service(3));
        assert_eq!(late(sim, &qos, 30)?.1, [27, 28, 29], "less than HISTORY");
        Ok(())
    });
    bad_network().seeds(4..8, |sim| {
        let qos = DataWriterQos::default().reliable().keep_last(30).transient_local();
        let limited = DurabilityService {
            history_kind: HistoryKind::KeepAll,
            max_samples: 12,
            ..DurabilityService::default()
        };
        assert!(late(sim, &qos.durability_service(limited), 40)?.1.into_iter().eq(28..40), "its limit");
        Ok(())
    });
}

#[test]
fn without_a_service_late_joiners_get_the_history() {
    let mut sim = Sim::new(3);
    assert!(late(&mut sim, &writer_qos(), 10).unwrap().1.into_iter().eq(0..10));
}

#[test]
fn a_full_store_blocks_nobody() {
    let mut sim = Sim::new(5);
    let small = DurabilityService { max_samples: 4, history_kind: HistoryKind::KeepAll, ..service(1) };
    let qos = writer_qos().resource_limits(8, -1, -1).durability_service(small);
    assert_eq!(late(&mut sim, &qos, 50).unwrap().1, [46, 47, 48, 49]);
    // As opposed to HISTORY, which keeps what it was told to.
    let mut sim = Sim::new(5);
    let a = sim.node("a");
    let full = a.run(|| writer(&writer_qos().resource_limits(8, -1, -1))).unwrap();
    let refused = (0..9).map(|n| a.run(|| full.write(&reading(n)))).find_map(std::result::Result::err);
    assert_eq!(refused.unwrap().return_code(), ReturnCode::OutOfResources);
}

#[test]
fn durability_service_qos_is_announced_copied_immutable_and_checked() {
    let mut sim = Sim::new(7);
    let qos =
        writer_qos().with_topic_qos(&TopicQos::default().transient_local().durability_service(service(7)));
    let qos = qos.reliable().keep_all();
    let (a, b) = (sim.node("a"), sim.node("b"));
    let writer = a.run(|| writer(&qos)).unwrap();
    let reader = b.run(|| reader(&reader_qos())).unwrap();
    sim.run_until(|| matched(&writer, &reader), secs(30)).unwrap();
    let data = reader.matched_publication_data(writer.instance_handle()).unwrap();
    assert_eq!(data.qos.durability_service, service(7), "no reason not to match");
    let refused = a.run(|| writer.set_qos(&writer.qos().durability_service(service(8)))).unwrap_err();
    assert_eq!(refused.return_code(), ReturnCode::ImmutablePolicy);
    assert!(refused.to_string().contains(PolicyId::DurabilityService.name()), "{refused}");
    let wrong = DurabilityService { max_samples_per_instance: 2, ..service(3) };
    let refused = a.run(|| crate::support::writer(&writer_qos().durability_service(wrong))).unwrap_err();
    assert!(refused.to_string().contains("DURABILITY_SERVICE"), "{refused}");
}
