//! `dunlin pub TOPIC VALUE`: writes to a topic.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use dunlin::cdr::Representation;
use dunlin::qos::{
    DataRepresentationId, DataWriterQos, DurabilityKind, OwnershipKind, PublisherQos, TopicQos,
};
use dunlin::{
    Against, Cause, Config, DataWriter, DomainParticipant, DynamicData, DynamicType, Pair,
    SubscriptionBuiltinTopicData,
};
use dunlin_program::Stop;
use dunlin_program::{sanitize, tell};
use serde::Deserialize;

use super::{LONGEST_STEP, PATIENCE, Target, TypeOf, on_interrupt, partitions};
use crate::output::counted;

/// How long readers are looked for that the writer could suit, by those who need not know them.
const SURVEY: Duration = Duration::from_secs(1);

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
    /// Stay so long after everything was acknowledged: some vendors' readers lose what their application has not taken yet
    /// when its writer leaves
    #[arg(long, value_name = "SECONDS", default_value_t = 0.1)]
    linger: f64,
}

/// A value in JSON or YAML. JSON goes first: YAML does not take all of it, such as two escapes for one character.
fn read(text: &str) -> Result<serde_json::Value> {
    match serde_json::from_str(text) {
        Ok(value) => Ok(value),
        Err(_) => serde_norway::from_str(text).map_err(|error| wrong(text, error)),
    }
}

/// What is wrong with a value: with JSON, if it looks like that.
fn wrong(text: &str, error: serde_norway::Error) -> anyhow::Error {
    let json = text.trim_start();
    let looks_like_json =
        json.strip_prefix(['{', '[']).is_some_and(|rest| rest.trim_start().starts_with(['"', '{', '[']));
    match serde_json::from_str::<serde_json::Value>(text) {
        Err(error) if looks_like_json => anyhow::Error::from(error).context("this is not JSON"),
        _ => anyhow::Error::from(error).context("this is neither JSON nor YAML"),
    }
}

/// All lines of standard input; none if the program is to end before that has an end.
fn lines_of_stdin(stop: &Stop) -> Result<Vec<String>> {
    let (sender, receiver) = mpsc::channel();
    // A read does not end with a signal, so that it is a thread's own.
    std::thread::spawn(move || {
        let lines = std::io::stdin().lock().lines().collect::<Result<Vec<_>, _>>();
        // Who wanted them may have gone.
        _ = sender.send(lines);
    });
    loop {
        match receiver.recv_timeout(LONGEST_STEP) {
            Ok(lines) => return Ok(lines?),
            Err(RecvTimeoutError::Timeout) if !stop.is_set() => {}
            Err(_) => return Ok(Vec::new()),
        }
    }
}

/// Values of the command line or of standard input, and where each stands there.
fn given(arguments: &Arguments, stop: &Stop) -> Result<Vec<(Option<String>, serde_json::Value)>> {
    if arguments.value != "-" {
        return Ok(vec![(None, read(&arguments.value)?)]);
    }
    let lines = lines_of_stdin(stop)?;
    if lines.iter().filter(|line| !line.trim().is_empty()).all(|line| line.trim_start().starts_with('{')) {
        let lines = lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let lines = lines.map(|(at, line)| (format!("line {}", at + 1), line));
        return lines.map(|(place, line)| Ok((Some(place.clone()), read(line).context(place)?))).collect();
    }
    let mut values = Vec::new();
    for (at, document) in serde_norway::Deserializer::from_str(&lines.join("\n")).enumerate() {
        let place = format!("value {}", at + 1);
        let value = serde_json::Value::deserialize(document).with_context(|| place.clone())?;
        values.push((Some(place), value));
    }
    Ok(values)
}

/// The values in the type of the topic.
fn made(ty: &DynamicType, given: &[(Option<String>, serde_json::Value)]) -> Result<Vec<DynamicData>> {
    let made = |(place, value): &(Option<String>, serde_json::Value)| {
        let made = dunlin_json::from_json(ty, value).map_err(anyhow::Error::from);
        match place {
            Some(place) => made.with_context(|| place.clone()),
            None => made,
        }
    };
    given.iter().map(made).collect()
}

/// A writer that matches the readers that there are.
fn writer(
    participant: &DomainParticipant,
    name: &str,
    ty: &DynamicType,
    readers: &[Arc<SubscriptionBuiltinTopicData>],
) -> Result<DataWriter<DynamicData>> {
    let partition = partitions(readers.iter().map(|reader| &reader.subscriber_qos.partition));
    let publisher_qos = PublisherQos { partition, ..PublisherQos::default() };
    // That the program ends does not end what it wrote of.
    let mut qos = DataWriterQos::default().reliable().keep_all().autodispose_unregistered_instances(false);
    if readers.iter().any(|reader| reader.qos.durability.kind != DurabilityKind::Volatile) {
        qos = qos.transient_local();
    }
    if readers.iter().any(|reader| reader.qos.ownership.kind == OwnershipKind::Exclusive) {
        qos.ownership.kind = OwnershipKind::Exclusive;
    }
    // Another representation than that of the type only if all readers then understand the writer.
    let accepted = |id| readers.iter().all(|reader| reader.qos.representation.accepts(id));
    let (usual, other) = match ty.default_representation() {
        Representation::Xcdr1 => (DataRepresentationId::Xcdr1, DataRepresentationId::Xcdr2),
        Representation::Xcdr2 => (DataRepresentationId::Xcdr2, DataRepresentationId::Xcdr1),
    };
    qos.representation.ids = vec![if !accepted(usual) && accepted(other) { other } else { usual }];
    let topic = participant.create_dynamic_topic(name, ty, &TopicQos::default())?;
    let publisher = participant.create_publisher(&publisher_qos)?;
    Ok(publisher.create_datawriter(&topic, &qos)?)
}

/// A writer, and what it is to write.
struct Joined {
    ty: DynamicType,
    values: Vec<DynamicData>,
    writer: DataWriter<DynamicData>,
}

/// Joins the topic as its readers need, as far as there are some.
fn join(
    arguments: &Arguments,
    participant: &DomainParticipant,
    given: &[(Option<String>, serde_json::Value)],
    readers: &[Arc<SubscriptionBuiltinTopicData>],
) -> Result<Joined> {
    if !arguments.ty.is_given() {
        ensure_one_type(arguments.target.topic.given(), readers.iter().map(|reader| &*reader.type_name))?;
    }
    let ty = arguments.ty.find(participant, &readers.iter().map(Into::into).collect::<Vec<_>>())?;
    let values = made(&ty, given)?;
    ensure!(!values.is_empty(), "standard input holds no value");
    let topic = &arguments.target.topic;
    let name = readers.first().map_or_else(|| topic.wire_name(), |reader| reader.topic_name.to_string());
    let writer = writer(participant, &name, &ty, readers)?;
    Ok(Joined { ty, values, writer })
}

/// A writer has one type. Where readers name several, which of them are to get the value is for the user to say.
fn ensure_one_type<'a>(topic: &str, names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut types: BTreeMap<&str, usize> = BTreeMap::new();
    names.for_each(|name| *types.entry(name).or_default() += 1);
    if types.len() > 1 {
        let told: Vec<_> =
            types.iter().map(|(name, count)| format!("{name} ({})", counted(*count, "reader"))).collect();
        bail!(
            "readers of '{topic}' have different types: {}; say with --idl FILE --type NAME which of them are to get the value",
            told.join(", ")
        );
    }
    Ok(())
}

/// Tells which of the readers that were there do not get what is written, and why.
fn tell_unmatched(participant: &DomainParticipant, writer: &DataWriter<DynamicData>) {
    let explanation = participant.explain(writer, Against::Topic);
    // Of what is still being asked for its type nothing can be said.
    let is_apart = |pair: &&Pair| !pair.matched && !pair.causes.contains(&Cause::TypeUnsettled);
    let apart = explanation.pairs.iter().filter(is_apart).count();
    if apart > 0 {
        let (all, are) = (explanation.pairs.len(), if apart == 1 { "is" } else { "are" });
        let why = super::reasons(&explanation);
        tell!("dunlin: {apart} of {} {are} left out{why}", counted(all, "reader"));
    }
}

/// Waits until a reader has matched. One that was discovered after the writer was made may need another one, which replaces it.
fn until_matched(
    arguments: &Arguments,
    participant: &DomainParticipant,
    given: &[(Option<String>, serde_json::Value)],
    made_for_nobody: bool,
    mut joined: Joined,
    stop: &Stop,
) -> Result<Joined> {
    let target = &arguments.target;
    if target.wait().is_zero() {
        return Ok(joined);
    }
    let mut patience = PATIENCE;
    if made_for_nobody {
        let readers = target.readers(participant, target.wait(), stop);
        if readers.is_empty() {
            patience = Duration::ZERO;
        } else if joined.writer.matched_subscriptions().is_empty() {
            drop(joined);
            joined = join(arguments, participant, given, &readers)?;
        }
    }
    let matched = || !joined.writer.matched_subscriptions().is_empty();
    let explain = || participant.explain(&joined.writer, Against::Topic);
    target.until_matched("reader", patience, stop, matched, explain)?;
    Ok(joined)
}

/// Writes values until each was written often enough, or Ctrl-C.
pub fn run(arguments: &Arguments, config: Config, out: &mut impl Write) -> Result<ExitCode> {
    ensure!((1e-6..=1e6).contains(&arguments.rate), "--rate takes 0.000001 to 1000000");
    ensure!((0.0..=3600.0).contains(&arguments.linger), "--linger takes 0 to 3600 seconds");
    let stop = on_interrupt()?;
    let target = &arguments.target;
    let participant = target.participant(config, "dunlin pub")?;
    // Who knows the type need not wait for a reader, which may itself wait for a writer: `dunlin echo` does.
    let knows_type = arguments.ty.is_given();
    let most = if knows_type { target.wait().min(SURVEY) } else { target.wait() };
    let readers = target.readers(&participant, most, &stop);
    if readers.is_empty() && !knows_type && !stop.is_set() {
        bail!(
            "nobody reads '{}' in domain {}{}, so nobody tells its type: give it with --idl and --type, or --wait longer",
            target.topic.given(),
            participant.domain_id(),
            target.topic.meant(&participant)
        );
    }
    let given = given(arguments, &stop)?;
    if stop.is_set() {
        return Ok(ExitCode::SUCCESS);
    }
    let joined = join(arguments, &participant, &given, &readers)?;
    let Joined { ty, values, writer, .. } =
        until_matched(arguments, &participant, &given, readers.is_empty(), joined, &stop)?;
    tell_unmatched(&participant, &writer);
    let written = write(arguments, &writer, &values, &stop)?;
    let patience = dunlin::Duration::from_secs(if stop.is_set() { 0 } else { 5 });
    let acknowledged = writer.wait_for_acknowledgments(patience).is_ok();
    let readers = writer.matched_subscriptions().len();
    writeln!(
        out,
        "{} of {} written to {}",
        counted(written, "sample"),
        sanitize(&target.topic.type_name(ty.name())),
        counted(readers, "reader")
    )?;
    if !acknowledged && !stop.is_set() {
        bail!("not every reader has acknowledged them after 5 s");
    }
    out.flush()?;
    _ = stop.wait(Duration::from_secs_f64(arguments.linger));
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
            if stop.wait_until(next) {
                return Ok(written);
            }
            writer.write(value)?;
            written += 1;
            next += step;
        }
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_read_as_json_and_the_rest_as_yaml() {
        // As programs write it that escape all but ASCII.
        let json = read("{\"color\": \"\\ud83d\\ude00\", \"path\": \"a\\/b\"}").unwrap();
        assert_eq!(json, serde_json::json!({ "color": "😀", "path": "a/b" }));
        assert_eq!(read("{color: RED, x: 1}").unwrap(), serde_json::json!({ "color": "RED", "x": 1 }));
        assert!(read("{\"a\": 1").unwrap_err().to_string().contains("JSON"));
    }

    #[test]
    fn readers_of_two_types_are_named_and_nothing_is_written() {
        assert!(ensure_one_type("T", ["A", "A"].into_iter()).is_ok());
        let refused = ensure_one_type("T", ["A", "B", "A"].into_iter()).unwrap_err().to_string();
        assert!(refused.contains("A (2 readers), B (1 reader)") && refused.contains("--type"), "{refused}");
    }
}
