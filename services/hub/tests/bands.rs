//! What leaves a daemon for other hosts: no faster than it may, and what is urgent first. In the simulator, whose time is exact.

mod common;

use common::host::Host;
use common::{Block, millis, secs};
use dunlin::config::{Rate, Switch};
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::sim::{Node, PathConfig, Result, Sim};
use dunlin::{BandStats, Config, DataReader, DataWriter, DomainParticipant, Duration};

/// Octets of the headers of UDP and IP.
const HEADERS: u64 = 28;

fn writer(node: &Node, topic: &str, qos: &DataWriterQos) -> Result<DataWriter<Block>> {
    node.run(|| {
        let participant = DomainParticipant::new(0)?;
        let topic = participant.create_topic::<Block>(topic, &TopicQos::default())?;
        Ok(participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, qos)?)
    })
}

fn reader(node: &Node, topic: &str, qos: &DataReaderQos) -> Result<DataReader<Block>> {
    node.run(|| {
        let participant = DomainParticipant::new(0)?;
        let topic = participant.create_topic::<Block>(topic, &TopicQos::default())?;
        Ok(participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, qos)?)
    })
}

fn block(n: u32, octets: usize) -> Block {
    Block { n, octets: vec![7; octets] }
}

fn taken(node: &Node, reader: &DataReader<Block>) -> Vec<u32> {
    let samples = node.run(|| reader.take(usize::MAX)).unwrap();
    samples.iter().filter_map(|sample| sample.data.as_ref()).map(|block| block.n).collect()
}

fn matched(writers: &[&DataWriter<Block>]) -> bool {
    writers.iter().all(|writer| writer.publication_matched_status().current_count > 0)
}

/// What a band counts.
fn band(host: &Host, index: usize) -> BandStats {
    host.status().bands[index].unwrap()
}

/// What left with the headers of UDP and IP.
fn on_the_wire(stats: BandStats) -> u64 {
    stats.octets + HEADERS * stats.passed
}

/// A writer has much more to send than may leave. In each second as much leaves as may, within 5 %, by each of the limits; and
/// everything that is reliable arrives.
#[test]
fn daemon_sends_at_its_rate_limits() {
    type Limit = fn(&mut Config);
    let limits: [(&str, Limit); 3] = [
        ("the line", |config| config.daemon.network_rate = Switch::Value(Rate(8_000_000))),
        ("a destination", |config| config.daemon.destination_rate = Switch::Value(Rate(8_000_000))),
        ("a band", |config| config.set("daemon.bands", "0 rate=8Mbit/s, 40").unwrap()),
    ];
    for (name, limit) in limits {
        Sim::builder().delay(millis(1), millis(2)).seeds(0..3, |sim| {
            let (one, other) = (Host::with(sim, "one", 1, limit)?, Host::new(sim, "other", 1)?);
            let qos = DataWriterQos::default().reliable().keep_all();
            let writer = writer(&one.programs[0], "Bulk", &qos)?;
            let reader = reader(&other.programs[0], "Bulk", &DataReaderQos::default().reliable().keep_all())?;
            sim.run_until(|| matched(&[&writer]), secs(10))?;
            // 8 MB at 1 MB/s.
            for n in 0..80 {
                one.programs[0].run(|| writer.write(&block(n, 100_000)))?;
            }
            sim.run_for(millis(500))?;
            for second in 0..6 {
                let before = on_the_wire(band(&one, 0));
                sim.run_for(secs(1))?;
                let left = on_the_wire(band(&one, 0)) - before;
                assert!((950_000..=1_050_000).contains(&left), "{name}: {left} octets in second {second}");
            }
            let mut all = Vec::new();
            for _ in 0..20 {
                all.extend(taken(&other.programs[0], &reader));
                sim.run_for(secs(1))?;
            }
            assert_eq!(all, (0..80).collect::<Vec<_>>(), "{name}");
            assert!(
                band(&one, 0).delayed > 1_000 && band(&one, 0).waiting == 0,
                "{name}: {:?}",
                band(&one, 0)
            );
            Ok(())
        });
    }
}

/// How long samples of 64 octets take, 100 in a second, while samples of 4 MiB fill a line of 100 Mbit/s: the longest of all but
/// one in a hundred.
fn urgent_beside_bulk(sim: &mut Sim, change: impl Fn(&mut Config)) -> Result<(Duration, Host)> {
    let (one, other) = (Host::with(sim, "one", 2, change)?, Host::new(sim, "other", 2)?);
    // The wire between the hosts, with a queue of 100 ms.
    let line = PathConfig { rate: Some(12_500_000), queue: 1_250_000, ..PathConfig::default() };
    sim.set_path(&one.daemon, &other.daemon, line);
    let bulk_qos = DataWriterQos::default().reliable().keep_all();
    let bulk = writer(&one.programs[0], "Bulk", &bulk_qos)?;
    let urgent =
        writer(&one.programs[1], "Urgent", &DataWriterQos::default().best_effort().transport_priority(46))?;
    let got = reader(&other.programs[0], "Bulk", &DataReaderQos::default().reliable().keep_all())?;
    let heard = reader(&other.programs[1], "Urgent", &DataReaderQos::default().best_effort())?;
    sim.run_until(|| matched(&[&bulk, &urgent]), secs(10))?;
    for n in 0..6 {
        one.programs[0].run(|| bulk.write(&block(n, 4 << 20)))?;
    }
    sim.run_for(millis(100))?;
    let mut took = Vec::new();
    for n in 0..150 {
        let begin = sim.elapsed();
        one.programs[1].run(|| urgent.write(&block(n, 64)))?;
        let mut arrived = Duration::from_secs(1);
        for _ in 0..40 {
            sim.run_for(Duration::from_micros(250))?;
            if taken(&other.programs[1], &heard).contains(&n) {
                arrived = Duration::from_nanos(sim.elapsed().as_nanos() - begin.as_nanos());
                break;
            }
        }
        took.push(arrived);
        let rest = millis(10).as_nanos() - (sim.elapsed().as_nanos() - begin.as_nanos());
        sim.run_for(Duration::from_nanos(rest.max(1)))?;
    }
    assert!(taken(&other.programs[0], &got).len() < 6, "the line was not full all the time");
    sim.run_for(secs(10))?;
    took.sort();
    Ok((took[took.len() - 2], one))
}

#[test]
fn an_urgent_sample_passes_one_of_4_mib_that_is_under_way() {
    Sim::builder().seeds(0..3, |sim| {
        let (slow, _) = urgent_beside_bulk(sim, |_| ())?;
        assert!(slow > millis(5), "without bands it waits for the others: {slow:?}");
        Ok(())
    });
    Sim::builder().seeds(0..3, |sim| {
        let (fast, one) = urgent_beside_bulk(sim, |config| {
            config.daemon.network_rate = Switch::Value(Rate(95_000_000));
            config.set("daemon.bands", "0 dscp=8, 40").unwrap();
        })?;
        assert!(fast <= millis(5), "{fast:?}");
        let (low, high) = (band(&one, 0), band(&one, 1));
        assert_eq!((low.from, high.from, high.dropped), (0, 40, 0));
        assert!(low.delayed > 10_000 && low.octets > 6 << 22 && high.passed >= 150, "{low:?} {high:?}");
        assert!(high.longest_wait < 1_000_000, "{high:?}");
        Ok(())
    });
}

/// What finds no room in its band is counted, and reliable writers repair it; the other band has room.
#[test]
fn full_band_loses_no_reliable_data_and_leaves_other_bands_alone() {
    Sim::builder().delay(millis(1), millis(2)).seeds(0..3, |sim| {
        let (one, other) = (
            Host::with(sim, "one", 3, |config| {
                config.daemon.network_rate = Switch::Value(Rate(16_000_000));
                config.set("daemon.bands", "0 queue=64KiB, 40 queue=64KiB").unwrap();
            })?,
            Host::new(sim, "other", 3)?,
        );
        let reliable = DataWriterQos::default().reliable().keep_all();
        let writers = [
            writer(&one.programs[0], "A", &reliable)?,
            writer(&one.programs[1], "B", &reliable)?,
            writer(&one.programs[2], "C", &reliable.clone().transport_priority(40))?,
        ];
        let all = DataReaderQos::default().reliable().keep_all();
        let readers = [
            reader(&other.programs[0], "A", &all)?,
            reader(&other.programs[1], "B", &all)?,
            reader(&other.programs[2], "C", &all)?,
        ];
        sim.run_until(|| matched(&writers.each_ref()), secs(10))?;
        for n in 0..400 {
            for (node, writer) in one.programs.iter().zip(&writers).take(2) {
                node.run(|| writer.write(&block(n, 5_000)))?;
            }
            if n % 10 == 0 {
                one.programs[2].run(|| writers[2].write(&block(n, 100)))?;
                sim.run_for(millis(10))?;
                assert_eq!(taken(&other.programs[2], &readers[2]), [n], "the urgent one waits");
            }
        }
        sim.run_for(secs(60))?;
        for (node, reader) in other.programs.iter().zip(&readers).take(2) {
            assert_eq!(taken(node, reader), (0..400).collect::<Vec<_>>());
        }
        let (low, high) = (band(&one, 0), band(&one, 1));
        assert!(low.dropped > 0 && high.dropped == 0, "{low:?} {high:?}");
        assert!(low.waiting_octets <= 65_536 && low.waiting == 0, "{low:?}");
        Ok(())
    });
}
