//! RustDDS with a nested type: `rustdds_reports report-pub|report-sub DOMAIN`. It is `survey::Report` of `plain_report.idl`, whose
//! values are those of the other peers without what RustDDS's serializer has no octets for: unions and optional members.

use rustdds::dds::statusevents::{DataWriterStatus, StatusEvented};
use rustdds::policy::{DataRepresentation, Durability, History, Reliability, XCDR_DATA_REPRESENTATION};
use rustdds::with_key::{DataReader, DataWriter, Sample};
use rustdds::{DomainParticipantBuilder, Duration, Keyed, QosPolicies, QosPolicyBuilder, TopicKind};
use serde::{Deserialize, Serialize};
use std::io::BufRead;

#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
struct Position {
    lat: f64,
    lon: f64,
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug)]
enum Quality {
    Unknown,
    Good,
    Bad,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
struct Report {
    station: u32,
    place: Position,
    track: Vec<Position>,
    levels: Vec<i16>,
    corners: [u8; 3],
    quality: Quality,
    notes: Vec<String>,
}

impl Keyed for Report {
    type K = u32;
    fn key(&self) -> u32 {
        self.station
    }
}

fn report(number: u8) -> Report {
    let value = f64::from(number);
    Report {
        station: number.into(),
        place: Position { lat: 50.25, lon: -value },
        track: (0..number).map(|at| Position { lat: value, lon: f64::from(at) + 0.5 }).collect(),
        levels: vec![-i16::from(number), 0, number.into()],
        corners: [number, number.wrapping_add(1), 255],
        quality: Quality::Good,
        notes: vec![format!("note {number} äöü"), String::new()],
    }
}

fn json(it: &Report) -> String {
    let position = |it: &Position| format!("{{\"lat\": {:?}, \"lon\": {:?}}}", it.lat, it.lon);
    let track: Vec<String> = it.track.iter().map(position).collect();
    let quality = match it.quality {
        Quality::Unknown => "UNKNOWN",
        Quality::Good => "GOOD",
        Quality::Bad => "BAD",
    };
    format!(
        "{{\"station\": {}, \"place\": {}, \"track\": [{}], \"levels\": {:?}, \"corners\": {:?}, \"quality\": \"{quality}\", \"notes\": {:?}}}",
        it.station,
        position(&it.place),
        track.join(", "),
        it.levels,
        it.corners,
        it.notes,
    )
}

fn print_samples(mut reader: DataReader<Report>) {
    loop {
        while let Ok(Some(sample)) = reader.take_next_sample() {
            if let Sample::Value(it) = sample.into_value() {
                println!("report {}", json(&it));
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

fn wait_matched(writer: &DataWriter<Report>) -> Result<(), String> {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while std::time::Instant::now() < deadline {
        while let Some(event) = writer.try_recv_status() {
            if matches!(event, DataWriterStatus::PublicationMatched { current, .. } if current.count() > 0) {
                return Ok(());
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    Err("not matched".into())
}

fn qos() -> QosPolicies {
    QosPolicyBuilder::new()
        .reliability(Reliability::Reliable { max_blocking_time: Duration::from_secs(10) })
        .durability(Durability::TransientLocal)
        .history(History::KeepAll)
        .build()
        .with_data_representation(DataRepresentation { value: vec![XCDR_DATA_REPRESENTATION] })
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let participant = DomainParticipantBuilder::new(words[2].parse().expect("domain"))
        .with_only_networks(vec![std::net::IpAddr::from(std::net::Ipv4Addr::LOCALHOST)])
        .build()
        .expect("participant");
    let topic = participant
        .create_topic("Reports".into(), "survey::Report".into(), &qos(), TopicKind::WithKey)
        .expect("topic");
    let publisher = participant.create_publisher(&qos()).expect("publisher");
    let subscriber = participant.create_subscriber(&qos()).expect("subscriber");
    let mut writer = None;
    if words[1] == "report-pub" {
        writer = Some(publisher.create_datawriter_cdr::<Report>(&topic, Some(qos())).expect("writer"));
    } else {
        let reader = subscriber.create_datareader_cdr(&topic, Some(qos())).expect("reader");
        std::thread::spawn(move || print_samples(reader));
    }
    println!("ready");
    for line in std::io::stdin().lock().lines().map_while(Result::ok).take_while(|line| line != "quit") {
        let answer = match (line.split_once(' '), &writer) {
            (Some(("wait-matched", _)), Some(writer)) => wait_matched(writer),
            (Some(("report", number)), Some(writer)) => {
                let number = number.parse().expect("a number");
                writer.write(report(number), None).map_err(|error| format!("{error:?}"))
            }
            _ => Err("unknown command".into()),
        };
        println!("{}", answer.map_or_else(|error| format!("error {error}"), |()| "ok".into()));
    }
}
