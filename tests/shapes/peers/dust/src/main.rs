//! dust_dds with the options and lines of shape_main: see docs/shapes.md.

mod options;
mod policies;
mod tell;

use dust_dds::configuration::DustDdsConfigurationBuilder;
use dust_dds::domain::domain_participant::DomainParticipant;
use dust_dds::domain::domain_participant_factory::DomainParticipantFactory;
use dust_dds::infrastructure::listener::NO_LISTENER;
use dust_dds::infrastructure::qos::{PublisherQos, QosKind, SubscriberQos};
use dust_dds::infrastructure::sample_info::{
    ANY_INSTANCE_STATE, ANY_SAMPLE_STATE, ANY_VIEW_STATE, InstanceStateKind,
};
use dust_dds::infrastructure::status::NO_STATUS;
use dust_dds::infrastructure::time::Duration;
use dust_dds::infrastructure::type_support::DdsType;
use dust_dds::publication::data_writer::DataWriter;
use dust_dds::subscription::data_reader::DataReader;
use dust_dds::topic_definition::topic::Topic;
use options::Options;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;
use tell::{READER_STATUSES, Tell, WRITER_STATUSES};

static ENDED: AtomicBool = AtomicBool::new(false);

/// Its sequence is one of `uint8`: dust_dds has no `octet`, and keeps the two apart.
#[derive(DdsType, Clone, Debug)]
#[dust_dds(extensibility = "appendable")]
struct ShapeType {
    #[dust_dds(key)]
    color: String,
    x: i32,
    y: i32,
    shapesize: i32,
    additional_payload_size: Vec<u8>,
}

fn rest(milliseconds: i32) {
    let end = Instant::now() + std::time::Duration::from_millis(milliseconds as u64);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || ENDED.load(Relaxed) {
            return;
        }
        std::thread::sleep(left.min(std::time::Duration::from_millis(20)));
    }
}

fn say(line: String) {
    println!("{line}");
}

fn line_of(topic: &str, s: &ShapeType) -> String {
    let more = s.additional_payload_size.last().map(|octet| format!(" {{{octet}}}")).unwrap_or_default();
    format!("{topic:<10} {:<10} {:03} {:03} [{}]{more}", s.color, s.x, s.y, s.shapesize)
}

fn unsupported(error: impl Debug) -> String {
    format!("{error:?}: not supported")
}

fn write_all(writer: &DataWriter<ShapeType>, o: &Options, topic: &str) {
    let first = o.text("-c", "BLUE");
    let name = |n: i32| if n == 0 { first.clone() } else { format!("{first}{n}") };
    let colors: Vec<String> = (0..o.number("--num-instances", 1)).map(name).collect();
    let payload = vec![255; o.number("--additional-payload-size", 0) as usize];
    let (mut size, modulo) = (o.number("-z", 20), o.number("--size-modulo", 0));
    let (mut x, mut y, mut dx, mut dy, mut n) = (50, 60, 3, 4, 0);
    let iterations = o.number("--num-iterations", 0);
    while !ENDED.load(Relaxed) && (iterations == 0 || n < iterations) {
        dx = if (0..=240).contains(&(x + dx)) { dx } else { -dx };
        dy = if (0..=270).contains(&(y + dy)) { dy } else { -dy };
        (x, y, n) = (x + dx, y + dy, n + 1);
        if o.number("-z", 20) == 0 {
            size = if modulo > 0 { size % modulo } else { size } + 1;
        }
        for color in &colors {
            let additional_payload_size = payload.clone();
            let shape = ShapeType { color: color.clone(), x, y, shapesize: size, additional_payload_size };
            let line = line_of(topic, &shape);
            if writer.write(shape, None).is_ok() && o.has("-w") {
                say(line);
            }
        }
        rest(o.number("--write-period", 33));
    }
    end_all(writer, colors, &o.text("--final-instance-state", ""));
}

fn end_all(writer: &DataWriter<ShapeType>, colors: Vec<String>, how: &str) {
    for color in colors {
        let shape = ShapeType { color, x: 0, y: 0, shapesize: 0, additional_payload_size: vec![] };
        let _ = match how {
            "d" => writer.dispose(shape, None),
            "u" => writer.unregister_instance(shape, None),
            _ => Ok(()),
        };
    }
    let wait = if ENDED.load(Relaxed) { 300_000_000 } else { 900_000_000 };
    let _ = writer.wait_for_acknowledgments(Duration::new(0, wait));
}

fn publish(o: &Options, participant: &DomainParticipant, topic: &Topic, name: &str) -> Result<(), String> {
    let qos = PublisherQos {
        presentation: policies::presentation(o),
        partition: policies::partition(o),
        ..Default::default()
    };
    let publisher =
        participant.create_publisher(QosKind::Specific(qos), NO_LISTENER, NO_STATUS).map_err(unsupported)?;
    let tell = Tell::new(name);
    let qos = QosKind::Specific(policies::of_writer(o));
    let writer = publisher
        .create_datawriter::<ShapeType>(topic, qos, Some(tell.clone()), &WRITER_STATUSES)
        .map_err(unsupported)?;
    tell.created(format!("Create writer for topic: {name} color: {}", o.text("-c", "BLUE")));
    write_all(&writer, o, name);
    Ok(())
}

fn read_all(reader: &DataReader<ShapeType>, o: &Options, topic: &str) {
    let mut colors = BTreeMap::new();
    let mut round = 0;
    while !ENDED.load(Relaxed) {
        round += 1;
        if o.has("--ordered") {
            say(format!("Reading with ordered access, iteration {round}"));
        }
        let taken = reader.take(i32::MAX, ANY_SAMPLE_STATE, ANY_VIEW_STATE, ANY_INSTANCE_STATE);
        for sample in taken.unwrap_or_default() {
            let handle = format!("{:?}", sample.sample_info.instance_handle);
            if let Some(shape) = sample.data {
                say(line_of(topic, &shape));
                colors.insert(handle.clone(), shape.color);
            }
            let state = match sample.sample_info.instance_state {
                InstanceStateKind::NotAliveDisposed => "DISPOSED",
                InstanceStateKind::NotAliveNoWriters => "NO_WRITERS",
                InstanceStateKind::Alive => continue,
            };
            let color = colors.get(&handle).map_or("", String::as_str);
            say(format!("{topic:<10} {color:<10} NOT_ALIVE_{state}_INSTANCE_STATE"));
        }
        rest(o.number("--read-period", 100));
    }
}

fn subscribe(o: &Options, participant: &DomainParticipant, topic: &Topic, name: &str) -> Result<(), String> {
    let qos = SubscriberQos {
        presentation: policies::presentation(o),
        partition: policies::partition(o),
        ..Default::default()
    };
    let subscriber =
        participant.create_subscriber(QosKind::Specific(qos), NO_LISTENER, NO_STATUS).map_err(unsupported)?;
    let tell = Tell::new(name);
    let qos = QosKind::Specific(policies::of_reader(o));
    let filter = match (o.text("--cft", ""), o.text("-c", "")) {
        (expression, _) if !expression.is_empty() => Some((expression, vec![])),
        (_, color) if !color.is_empty() => Some(("color = %0".into(), vec![color])),
        _ => None,
    };
    let reader = if let Some((expression, parameters)) = filter {
        let filtered = participant
            .create_contentfilteredtopic(&format!("{name}_filtered"), topic, expression, parameters)
            .map_err(unsupported)?;
        subscriber.create_datareader::<ShapeType>(&filtered, qos, Some(tell.clone()), &READER_STATUSES)
    } else {
        subscriber.create_datareader::<ShapeType>(topic, qos, Some(tell.clone()), &READER_STATUSES)
    };
    let reader = reader.map_err(unsupported)?;
    tell.created(format!("Create reader for topic: {name}"));
    read_all(&reader, o, name);
    Ok(())
}

fn run(o: &Options, participant: &DomainParticipant, name: &str) -> Result<(), String> {
    let topic = participant
        .create_topic::<ShapeType>(name, "ShapeType", QosKind::Default, NO_LISTENER, NO_STATUS)
        .map_err(|error| format!("topic: {error:?}"))?;
    say(format!("Create topic: {name}"));
    if o.has("-P") { publish(o, participant, &topic, name) } else { subscribe(o, participant, &topic, name) }
}

fn main() {
    ctrlc::set_handler(|| ENDED.store(true, Relaxed)).expect("signals");
    let o = Options::of_process();
    let name = o.text("-t", "Square");
    if o.has("--num-topics") || o.has("--coherent-sample-count") || o.text("--access-scope", "i") == "g" {
        say(format!("Create topic: {name}\ncoherent sets and group access: not supported"));
        return;
    }
    let factory = DomainParticipantFactory::get_instance();
    // Its strings have no bounds, so it would announce a key that holds more than other vendors' readers take.
    let configuration = DustDdsConfigurationBuilder::new().enable_type_information(false).build();
    *factory.get_mut_configuration() = configuration.expect("a good configuration");
    let participant = factory
        .create_participant(o.number("-d", 0), QosKind::Default, NO_LISTENER, NO_STATUS)
        .expect("participant");
    if let Err(error) = run(&o, &participant, &name) {
        say(error);
    }
    // Without this nobody is told that the participant is gone.
    let _ = participant.delete_contained_entities();
    let _ = factory.delete_participant(&participant);
    std::thread::sleep(std::time::Duration::from_millis(200));
    say("Done.".into());
}
