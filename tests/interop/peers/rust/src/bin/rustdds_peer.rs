//! RustDDS as a peer.

use rust_peers::{ShapeWriter, arguments, serve};
use rustdds::policy::{DataRepresentation, Durability, History, Reliability, XCDR_DATA_REPRESENTATION};
use rustdds::with_key::{DataReader, DataWriter, Sample};
use rustdds::dds::statusevents::{DataWriterStatus, StatusEvented};
use rustdds::{DomainParticipantBuilder, Duration, Keyed, QosPolicies, QosPolicyBuilder, TopicKind};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Clone, Debug)]
struct ShapeType {
    color: String,
    x: i32,
    y: i32,
    shapesize: i32,
}

impl Keyed for ShapeType {
    type K = String;
    fn key(&self) -> String {
        self.color.clone()
    }
}

struct Writer {
    writer: DataWriter<ShapeType>,
    matched: usize,
}

impl ShapeWriter for Writer {
    fn write(&mut self, color: &str, [x, y, shapesize]: [i32; 3]) -> Result<(), String> {
        let sample = ShapeType { color: color.to_owned(), x, y, shapesize };
        self.writer.write(sample, None).map_err(|e| format!("{e:?}"))
    }

    fn dispose(&mut self, color: &str) -> Result<(), String> {
        self.writer.dispose(&color.to_owned(), None).map_err(|e| format!("{e:?}"))
    }

    fn unregister(&mut self, _color: &str) -> Result<(), String> {
        Err("RustDDS has no unregister".into())
    }

    fn matched(&mut self) -> usize {
        while let Some(event) = self.writer.try_recv_status() {
            if let DataWriterStatus::PublicationMatched { current, .. } = event {
                self.matched = current.count().max(0) as usize;
            }
        }
        self.matched
    }
}

fn print_samples(mut reader: DataReader<ShapeType>) {
    loop {
        while let Ok(Some(sample)) = reader.take_next_sample() {
            match sample.into_value() {
                Sample::Value(s) => println!("sample {} {} {} {}", s.color, s.x, s.y, s.shapesize),
                Sample::Dispose(color) => println!("disposed {color}"),
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
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
    let (direction, domain) = arguments();
    let participant = DomainParticipantBuilder::new(domain)
        .with_only_networks(vec![std::net::IpAddr::from(std::net::Ipv4Addr::LOCALHOST)])
        .build()
        .expect("participant");
    let topic = participant
        .create_topic("Square".into(), "ShapeType".into(), &qos(), TopicKind::WithKey)
        .expect("topic");
    if direction == "sub" {
        let subscriber = participant.create_subscriber(&qos()).expect("subscriber");
        let reader = subscriber.create_datareader_cdr(&topic, Some(qos())).expect("reader");
        std::thread::spawn(move || print_samples(reader));
        serve(None);
    } else {
        let publisher = participant.create_publisher(&qos()).expect("publisher");
        let writer = publisher.create_datawriter_cdr(&topic, Some(qos())).expect("writer");
        serve(Some(&mut Writer { writer, matched: 0 }));
    }
}
