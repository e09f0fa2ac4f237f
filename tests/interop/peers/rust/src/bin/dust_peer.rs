//! dust_dds as a peer.

use dust_dds::domain::domain_participant_factory::DomainParticipantFactory;
use dust_dds::infrastructure::listener::NO_LISTENER;
use dust_dds::infrastructure::qos::{DataReaderQos, DataWriterQos, QosKind};
use dust_dds::infrastructure::qos_policy::{
    DurabilityQosPolicy, DurabilityQosPolicyKind, HistoryQosPolicy, HistoryQosPolicyKind, ReliabilityQosPolicy,
    ReliabilityQosPolicyKind, WriterDataLifecycleQosPolicy,
};
use dust_dds::infrastructure::sample_info::{
    ANY_INSTANCE_STATE, ANY_SAMPLE_STATE, ANY_VIEW_STATE, InstanceStateKind,
};
use dust_dds::infrastructure::status::NO_STATUS;
use dust_dds::infrastructure::time::{Duration, DurationKind};
use dust_dds::infrastructure::type_support::DdsType;
use dust_dds::publication::data_writer::DataWriter;
use dust_dds::subscription::data_reader::DataReader;
use rust_peers::{ShapeWriter, arguments, serve};
use std::collections::BTreeMap;

#[derive(DdsType, Clone, Debug)]
#[dust_dds(extensibility = "final")]
struct ShapeType {
    #[dust_dds(key)]
    color: String,
    x: i32,
    y: i32,
    shapesize: i32,
}

fn shape(color: &str, [x, y, shapesize]: [i32; 3]) -> ShapeType {
    ShapeType { color: color.to_owned(), x, y, shapesize }
}

struct Writer(DataWriter<ShapeType>);

impl ShapeWriter for Writer {
    fn write(&mut self, color: &str, numbers: [i32; 3]) -> Result<(), String> {
        self.0.write(shape(color, numbers), None).map_err(|e| format!("{e:?}"))
    }

    fn dispose(&mut self, color: &str) -> Result<(), String> {
        self.0.dispose(shape(color, [0; 3]), None).map_err(|e| format!("{e:?}"))
    }

    fn unregister(&mut self, color: &str) -> Result<(), String> {
        self.0.unregister_instance(shape(color, [0; 3]), None).map_err(|e| format!("{e:?}"))
    }

    fn matched(&mut self) -> usize {
        self.0.get_matched_subscriptions().map_or(0, |matched| matched.len())
    }
}

fn print_samples(reader: DataReader<ShapeType>) {
    let mut colors = BTreeMap::new();
    loop {
        let taken = reader.take(64, ANY_SAMPLE_STATE, ANY_VIEW_STATE, ANY_INSTANCE_STATE);
        for sample in taken.unwrap_or_default() {
            let handle = format!("{:?}", sample.sample_info.instance_handle);
            if let Some(s) = sample.data {
                println!("sample {} {} {} {}", s.color, s.x, s.y, s.shapesize);
                colors.insert(handle.clone(), s.color);
            }
            let color = colors.get(&handle).map_or("?", String::as_str);
            match sample.sample_info.instance_state {
                InstanceStateKind::NotAliveDisposed => println!("disposed {color}"),
                InstanceStateKind::NotAliveNoWriters => println!("no-writers {color}"),
                InstanceStateKind::Alive => {}
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

fn main() {
    let (direction, domain) = arguments();
    let reliability = ReliabilityQosPolicy {
        kind: ReliabilityQosPolicyKind::Reliable,
        max_blocking_time: DurationKind::Finite(Duration::new(10, 0)),
    };
    let durability = DurabilityQosPolicy { kind: DurabilityQosPolicyKind::TransientLocal };
    let history = HistoryQosPolicy { kind: HistoryQosPolicyKind::KeepAll };
    let factory = DomainParticipantFactory::get_instance();
    let participant =
        factory.create_participant(domain.into(), QosKind::Default, NO_LISTENER, NO_STATUS).expect("participant");
    let topic = participant
        .create_topic::<ShapeType>("Square", "ShapeType", QosKind::Default, NO_LISTENER, NO_STATUS)
        .expect("topic");
    if direction == "sub" {
        let qos = DataReaderQos { reliability, durability, history, ..Default::default() };
        let subscriber = participant.create_subscriber(QosKind::Default, NO_LISTENER, NO_STATUS).expect("subscriber");
        let reader = subscriber
            .create_datareader::<ShapeType>(&topic, QosKind::Specific(qos), NO_LISTENER, NO_STATUS)
            .expect("reader");
        std::thread::spawn(move || print_samples(reader));
        serve(None);
    } else {
        let writer_data_lifecycle = WriterDataLifecycleQosPolicy { autodispose_unregistered_instances: false };
        let qos = DataWriterQos { reliability, durability, history, writer_data_lifecycle, ..Default::default() };
        let publisher = participant.create_publisher(QosKind::Default, NO_LISTENER, NO_STATUS).expect("publisher");
        let writer = publisher
            .create_datawriter::<ShapeType>(&topic, QosKind::Specific(qos), NO_LISTENER, NO_STATUS)
            .expect("writer");
        serve(Some(&mut Writer(writer)));
    }
    // Without this nobody is told that the participant is gone.
    participant.delete_contained_entities().expect("delete entities");
    factory.delete_participant(&participant).expect("delete participant");
    std::thread::sleep(std::time::Duration::from_millis(200));
}
