//! What is done with recordings that are there.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use dunlin_program::{sanitize, sanitize_json, sanitize_lines, stdout, tell};
use dunlin_recorder::Names;
use dunlin_recorder::event::{Event, EventKind};
use dunlin_recorder::file::{Compression, Ending, Recording, RecordingError, Rewritten, Selection, rewrite};
use dunlin_recorder::text::{size, time};

/// What a recording says of one topic.
#[derive(Default, serde::Serialize)]
struct Topic {
    types: Vec<String>,
    writers: u64,
    messages: u64,
}

/// What a recording says of itself.
#[derive(serde::Serialize)]
struct Info {
    file: String,
    octets: u64,
    start: Option<u64>,
    end: Option<u64>,
    chunks: usize,
    damaged_chunks: u64,
    whole: bool,
    why_not: Option<String>,
    topics: BTreeMap<String, Topic>,
    disposed: u64,
    unregistered: u64,
    lost: u64,
    dropped: u64,
}

pub(crate) fn info(file: &Path, json: bool) -> Result<ExitCode> {
    let name = file.display().to_string();
    let mut recording = Recording::open(file).with_context(|| name.clone())?;
    let info = look(name.clone(), &mut recording).with_context(|| name)?;
    let text = if json { sanitize_json(&serde_json::to_string_pretty(&info)?) + "\n" } else { text(&info)? };
    answer(&text)
}

/// What was asked for goes to standard output, or there is an error.
fn answer(text: &str) -> Result<ExitCode> {
    let mut out = stdout();
    out.write_all(sanitize_lines(text).as_bytes()).and_then(|()| out.flush())?;
    Ok(ExitCode::SUCCESS)
}

fn look(file: String, recording: &mut Recording) -> Result<Info, RecordingError> {
    let span = recording.span();
    let why_not = match recording.ending() {
        Ending::Whole => None,
        Ending::Cut { offset, why } => Some(format!("byte {offset}: {why}")),
    };
    let mut topics = BTreeMap::<String, Topic>::new();
    for channel in recording.contents().channels.values().filter(|channel| !channel.is_events()) {
        let topic = topics.entry(channel.topic.clone()).or_default();
        topic.writers += 1;
        topic.messages += channel.messages;
        let schema = recording.contents().schemas.get(&channel.schema).map(|it| it.name.clone());
        let ty = schema.or_else(|| channel.source.as_ref().map(|it| it.type_name.clone()));
        topic.types.extend(ty.filter(|ty| !topic.types.contains(ty)));
    }
    let mut info = Info {
        file,
        octets: recording.octets(),
        start: span.map(|(start, _)| start),
        end: span.map(|(_, end)| end),
        chunks: recording.contents().chunks.len(),
        damaged_chunks: recording.damaged_chunks(),
        whole: why_not.is_none(),
        why_not,
        topics,
        disposed: 0,
        unregistered: 0,
        lost: 0,
        dropped: 0,
    };
    count_events(&mut info, recording)?;
    Ok(info)
}

fn count_events(info: &mut Info, recording: &mut Recording) -> Result<(), RecordingError> {
    recording.for_each(0, |contents, message| {
        if contents.channels.get(&message.channel).is_some_and(|channel| channel.is_events())
            && let Ok(event) = Event::from_octets(message.data)
        {
            match event.kind {
                EventKind::Dispose => info.disposed += 1,
                EventKind::Unregister => info.unregistered += 1,
                EventKind::Lost => info.lost = info.lost.saturating_add(event.count),
                EventKind::Dropped => info.dropped = info.dropped.saturating_add(event.count),
                _ => {}
            }
        }
        true
    })
}

fn text(info: &Info) -> Result<String> {
    let mut out = String::new();
    writeln!(out, "{}: {} in {} chunks", info.file, size(info.octets), info.chunks)?;
    if let (Some(start), Some(end)) = (info.start, info.end) {
        let long = Duration::from_nanos(end.saturating_sub(start)).as_secs_f64();
        writeln!(out, "from {} to {} UTC, {long:.3} s", time(start), time(end))?;
    }
    let width = info.topics.keys().map(|topic| topic.chars().count()).max().unwrap_or(0).max(5);
    writeln!(out, "{:width$}  {:>10}  {:>7}  type", "topic", "samples", "writers")?;
    for (name, topic) in &info.topics {
        let types = sanitize(&topic.types.join(", "));
        writeln!(out, "{:width$}  {:>10}  {:>7}  {types}", sanitize(name), topic.messages, topic.writers)?;
    }
    writeln!(out, "instances: {} disposed, {} unregistered", info.disposed, info.unregistered)?;
    writeln!(out, "missing: {} lost before they arrived, {} not written", info.lost, info.dropped)?;
    if info.damaged_chunks > 0 {
        writeln!(out, "{} chunks are damaged", info.damaged_chunks)?;
    }
    match &info.why_not {
        Some(why) => writeln!(out, "it is not whole ({why}); `dunlin record repair` makes it whole"),
        None => writeln!(out, "it is whole"),
    }?;
    Ok(out)
}

pub(crate) fn repair(file: &Path, output: &Path) -> Result<ExitCode> {
    let done = make(file, output, &Selection::default())?;
    let mut text = format!("{}: {} messages\n", output.display(), done.messages);
    if let Ending::Cut { offset, why } = &done.ending {
        writeln!(text, "{} was readable up to byte {offset}: {why}", file.display())?;
    }
    answer(&text)
}

pub(crate) fn cut(
    file: &Path,
    output: &Path,
    (from, to): (Option<Duration>, Option<Duration>),
    (allow, deny): (Vec<String>, Vec<String>),
) -> Result<ExitCode> {
    let span = Recording::open(file).with_context(|| file.display().to_string())?.span();
    let (start, _) = span.with_context(|| format!("{} is empty", file.display()))?;
    let at = |offset: Duration| start.saturating_add(u64::try_from(offset.as_nanos()).unwrap_or(u64::MAX));
    let topics = Names { allow, deny };
    let selection = Selection { topics, from: from.map_or(0, at), to: to.map_or(u64::MAX, at) };
    let done = make(file, output, &selection)?;
    answer(&format!("{}: {} messages\n", output.display(), done.messages))
}

/// Writes a new recording; what is there is not written over.
fn make(file: &Path, output: &Path, selection: &Selection) -> Result<Rewritten> {
    let input = File::open(file).with_context(|| file.display().to_string())?;
    let made = OpenOptions::new().write(true).create_new(true).open(output);
    let made = made.with_context(|| output.display().to_string())?;
    let synced = made.try_clone()?;
    let written = rewrite(&mut BufReader::new(input), made, Compression::default(), selection);
    let done = written.map_err(anyhow::Error::from).and_then(|done| Ok((done, synced.sync_all()?)));
    let done = match done {
        Ok((done, ())) => done,
        Err(error) => {
            let _ = std::fs::remove_file(output);
            return Err(error.context(file.display().to_string()));
        }
    };
    if done.damaged > 0 {
        tell!("dunlin record: {} chunks are damaged and left out", done.damaged);
    }
    Ok(done)
}
