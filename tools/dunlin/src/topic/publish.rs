//! `dunlin pub TOPIC VALUE`: writes to a topic.

use super::{Stop, Target, TypeOf};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use dunlin::qos::{
    DataRepresentationId, DataWriterQos, DurabilityKind, OwnershipKind, PublisherQos, TopicQos,
};
use dunlin::{Config, DataWriter, DomainParticipant, DynamicData, DynamicType, SubscriptionBuiltinTopicData};
use serde::Deserialize;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is asked for.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub target: Target,
    #[command(flatten)]
    ty: TypeOf,
    /// The value as JSON or YAML, or - for values from standard input: JSON, one in a line, or YAML between lines of ---
    value: String,
    /// Write so often in a second
    #[arg(short, long, value_name = "HZ", default_value_t = 1.0)]
    rate: f64,
    /// Write each value so many times; 0 until Ctrl-C
    #[arg(short, long, default_value_t = 1)]
    count: u64,
}

/// Values of the command line or of standard input.
fn values(arguments: &Arguments, ty: &DynamicType) -> Result<Vec<DynamicData>> {
    let made = |text: &str| -> Result<DynamicData> {
        let json: serde_json::Value =
            serde_norway::from_str(text).context("this is neither JSON nor YAML")?;
        Ok(dunlin_json::from_json(ty, &json)?)
    };
    if arguments.value != "-" {
        return Ok(vec![made(&arguments.value)?]);
    }
    let lines = std::io::stdin().lock().lines().collect::<Result<Vec<_>, _>>()?;
    if lines.iter().filter(|line| !line.trim().is_empty()).all(|line| line.trim_start().starts_with('{')) {
        let lines = lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty());
        return lines.map(|(at, line)| made(line).with_context(|| format!("line {}", at + 1))).collect();
    }
    let mut values = Vec::new();
    for (at, document) in serde_norway::Deserializer::from_str(&lines.join("\n")).enumerate() {
        let place = || format!("value {}", at + 1);
        let json = serde_json::Value::deserialize(document).with_context(place)?;
        values.push(dunlin_json::from_json(ty, &json).with_context(place)?);
    }
    Ok(values)
}

/// A writer that matches the readers that there are.
fn writer(
    participant: &DomainParticipant,
    name: &str,
    ty: &DynamicType,
    readers: &[Arc<SubscriptionBuiltinTopicData>],
) -> Result<DataWriter<DynamicData>> {
    let mut publisher_qos = PublisherQos::default();
    for partition in readers.iter().flat_map(|reader| &reader.subscriber_qos.partition.names) {
        if !publisher_qos.partition.names.contains(partition) {
            publisher_qos.partition.names.push(partition.clone());
        }
    }
    let mut qos = DataWriterQos::default().reliable().keep_all();
    if readers.iter().any(|reader| reader.qos.durability.kind != DurabilityKind::Volatile) {
        qos = qos.transient_local();
    }
    if readers.iter().any(|reader| reader.qos.ownership.kind == OwnershipKind::Exclusive) {
        qos.ownership.kind = OwnershipKind::Exclusive;
    }
    // What the reader prefers, if it does not accept what the type has by default.
    let accepts_both = |reader: &&Arc<SubscriptionBuiltinTopicData>| {
        let ids = &reader.qos.representation.ids;
        ids.contains(&DataRepresentationId::Xcdr1) && ids.contains(&DataRepresentationId::Xcdr2)
    };
    if let Some(picky) = readers.iter().find(|reader| !accepts_both(reader)) {
        qos.representation.ids = picky.qos.representation.ids.first().copied().into_iter().collect();
    }
    let topic = participant.create_dynamic_topic(name, ty, &TopicQos::default())?;
    let publisher = participant.create_publisher(&publisher_qos)?;
    Ok(publisher.create_datawriter(&topic, &qos)?)
}

/// Writes values until each was written often enough, or Ctrl-C.
pub fn run(arguments: &Arguments, config: Config, out: &mut impl Write) -> Result<ExitCode> {
    ensure!(arguments.rate > 0.0 && arguments.rate <= 1e6, "--rate takes more than 0 and at most 1000000");
    let stop = Stop::on_interrupt()?;
    let target = &arguments.target;
    let participant = target.join(config, "dunlin pub")?;
    let readers = target.readers(&participant, &stop);
    let announced = readers.first().map(|reader| reader.type_name.to_string());
    let ty = arguments.ty.find(announced.as_deref())?;
    let values = values(arguments, &ty)?;
    ensure!(!values.is_empty(), "standard input holds no value");
    let name = readers.first().map_or_else(|| target.wire_name(), |reader| reader.topic_name.to_string());
    let writer = writer(&participant, &name, &ty, &readers)?;
    let deadline = Instant::now() + Duration::from_secs_f64(target.wait);
    while writer.matched_subscriptions().is_empty() && target.wait > 0.0 && !stop.is_set() {
        if Instant::now() >= deadline {
            bail!(
                "no reader of '{}' in domain {} matches within {} s: `dunlin why {name}` says why, --wait 0 writes all the same",
                target.topic,
                participant.domain_id(),
                target.wait
            );
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
    let written = write(arguments, &writer, &values, &stop)?;
    let patience = dunlin::Duration::from_secs(if stop.is_set() { 0 } else { 5 });
    let acknowledged = writer.wait_for_acknowledgments(patience).is_ok();
    let readers = writer.matched_subscriptions().len();
    writeln!(out, "{written} samples of {} written to {readers} readers", target.type_name(ty.name()))?;
    if !acknowledged && !stop.is_set() {
        bail!("not every reader has acknowledged them after 5 s");
    }
    Ok(ExitCode::SUCCESS)
}

fn write(
    arguments: &Arguments,
    writer: &DataWriter<DynamicData>,
    values: &[DynamicData],
    stop: &Stop,
) -> Result<u64> {
    let step = Duration::from_secs_f64(1.0 / arguments.rate);
    let (mut written, mut next) = (0, Instant::now());
    for _ in 0..if arguments.count == 0 { u64::MAX } else { arguments.count } {
        for value in values {
            while let Some(left) = next.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
            {
                if stop.is_set() {
                    return Ok(written);
                }
                std::thread::park_timeout(left);
            }
            writer.write(value)?;
            written += 1;
            next += step;
        }
        if stop.is_set() {
            break;
        }
    }
    Ok(written)
}
