//! What can be done with a file, or the back end of a configuration, while no service has it open.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result, bail, ensure};
use dunlin::{DynamicData, DynamicType, SharedBytes, WallTime};
use dunlin_durability::ServiceConfig;
use dunlin_durability::backend::Backend;
use dunlin_durability::change::{Head, Kind, Position};
use dunlin_durability::history::Quota;
use dunlin_durability::keeper::Keeper;
use dunlin_durability::store::{FileStore, NoteKey, NoteKind, Step, Store, open_backend};
use dunlin_durability::topic::Topic;

/// First line of an export.
const TITLE: &str = "dunlin-store 1";
/// Longest line of an export: the octets of one value in hexadecimal digits.
const MAX_LINE: u64 = 1 << 30;
/// Steps of an import that are committed together, and their octets.
const TOGETHER: (usize, usize) = (10_000, 16 << 20);

/// The back end that a configuration names (`.toml`), or a file that is there.
fn open(file: &Path) -> Result<Box<dyn Store>> {
    match configured(file)? {
        Some(config) => {
            let backend = config.persistent.as_ref();
            let backend = backend.with_context(|| format!("{} names no place for data", file.display()))?;
            Ok(open_backend(backend, config.cold.as_ref())?)
        }
        None => Ok(Box::new(FileStore::open_existing(file).with_context(|| file.display().to_string())?)),
    }
}

/// The configuration, if it is one that is named.
fn configured(file: &Path) -> Result<Option<ServiceConfig>> {
    if file.extension().is_none_or(|extension| extension != "toml") {
        return Ok(None);
    }
    Ok(Some(ServiceConfig::from_file(file)?))
}

fn topics(store: &mut dyn Store) -> Result<BTreeMap<u32, Topic>> {
    let mut topics = BTreeMap::new();
    for (group, description) in store.groups()? {
        let topic = Topic::decode(&description);
        topics.insert(
            group,
            topic.with_context(|| format!("it is damaged: group {group} has no sound description"))?,
        );
    }
    Ok(topics)
}

pub(crate) fn list(file: &Path) -> Result<()> {
    let mut store = open(file)?;
    let topics = topics(&mut store)?;
    let mut sums = BTreeMap::<u32, (u64, u64, WallTime)>::new();
    store.scan(&mut |_, head| {
        let (count, octets, newest) = sums.entry(head.group).or_default();
        (*count, *octets) = (*count + 1, *octets + u64::from(head.octets));
        *newest = (*newest).max(head.source_timestamp);
        Ok(())
    })?;
    let mut out = BufWriter::new(dunlin_program::stdout());
    writeln!(out, "{:>10} {:>12}  {:<24} {:<24} partitions", "changes", "bytes", "topic", "type")?;
    for (group, topic) in topics {
        let (count, octets, _) = sums.get(&group).copied().unwrap_or_default();
        let key = topic.key;
        let (name, ty) = (key.topic.escape_debug().to_string(), key.type_name.escape_debug().to_string());
        writeln!(out, "{count:>10} {octets:>12}  {name:<24} {ty:<24} {:?}", key.partitions)?;
    }
    Ok(out.flush()?)
}

pub(crate) fn show(file: &Path, topic: &str, most: usize) -> Result<()> {
    let mut store = open(file)?;
    let groups: BTreeMap<u32, Option<DynamicType>> = topics(&mut store)?
        .into_iter()
        .filter(|(_, it)| it.key.topic == topic)
        .map(|(group, it)| (group, it.dynamic_type()))
        .collect();
    ensure!(!groups.is_empty(), "there is no topic {topic:?} in it");
    let mut found = Vec::new();
    store.scan(&mut |position, head| {
        if groups.contains_key(&head.group) && found.len() < most {
            found.push((position, head));
        }
        Ok(())
    })?;
    let mut out = BufWriter::new(dunlin_program::stdout());
    for (position, head) in found {
        let Some(payload) = store.read(position)? else { continue };
        let ty = groups.get(&head.group).and_then(Option::as_ref);
        let what = if head.kind == Kind::Dispose { "disposed " } else { "" };
        let origin = head.origin;
        writeln!(
            out,
            "{} {}#{} {what}{}",
            head.source_timestamp.0,
            origin.writer,
            origin.sequence_number.0,
            value(ty, &head, &payload)
        )?;
    }
    Ok(out.flush()?)
}

/// A value for people: by its type where that is known.
fn value(ty: Option<&DynamicType>, head: &Head, payload: &[u8]) -> String {
    let limits = dunlin::cdr::Limits::default();
    let options = dunlin::cdr::DecodeOptions::for_vendor(head.vendor);
    let decoded = ty.and_then(|ty| {
        let decode = if head.kind == Kind::Data {
            DynamicData::from_payload_with
        } else {
            DynamicData::from_key_payload
        };
        decode(ty, payload, &limits, options).ok()
    });
    match decoded {
        Some(value) => dunlin_json::to_json(&value).to_string(),
        None => hex(payload),
    }
}

pub(crate) fn prune(file: &Path, topic: Option<&str>) -> Result<()> {
    let mut store = open(file)?;
    if let Some(topic) = topic {
        ensure!(
            topics(&mut store)?.values().any(|it| it.key.topic == topic),
            "there is no topic {topic:?} in it"
        );
    }
    let contract = |description: &[u8]| Topic::decode(description).map(|it| it.contract);
    let mut keeper = Keeper::open(store, Quota::default(), contract)?;
    if let Some(topic) = topic {
        let is_it = |description: &[u8]| Topic::decode(description).is_some_and(|it| it.key.topic == topic);
        let groups: Vec<u32> = keeper.groups().filter(|(_, it)| is_it(it)).map(|(group, _)| group).collect();
        groups.into_iter().for_each(|group| keeper.drop_group(group));
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_nanos();
    keeper.prune(WallTime(i64::try_from(now)?));
    keeper.commit()?;
    drop(keeper);
    let small = match configured(file)?.map(|config| config.persistent) {
        Some(Some(Backend::File(file))) => Some(file),
        Some(_) => None,
        None => Some(file.to_owned()),
    };
    if let Some(file) = small {
        FileStore::open_existing(&file)?.compact()?;
    }
    Ok(())
}

fn hex(octets: &[u8]) -> String {
    use std::fmt::Write;
    octets.iter().fold(String::with_capacity(octets.len() * 2), |mut text, octet| {
        _ = write!(text, "{octet:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |octet: u8| char::from(octet).to_digit(16).map(|digit| digit as u8);
    let pair = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?);
    text.as_bytes().chunks(2).map(pair).collect()
}

/// Lines: `topic GROUP DESCRIPTION`, `change POSITION HEAD OCTETS`, `note GROUP KIND OF OCTETS`, all octets in hexadecimal digits.
pub(crate) fn export(file: &Path, to: Option<&Path>) -> Result<()> {
    let mut store = open(file)?;
    let out: Box<dyn Write> = match to {
        Some(to) => Box::new(File::create_new(to).with_context(|| to.display().to_string())?),
        None => Box::new(dunlin_program::stdout()),
    };
    let mut out = BufWriter::new(out);
    writeln!(out, "{TITLE}")?;
    for (group, description) in store.groups()? {
        writeln!(out, "topic {group} {}", hex(&description))?;
    }
    let mut heads = Vec::new();
    store.scan(&mut |position, head| {
        heads.push((position, head));
        Ok(())
    })?;
    for (position, head) in heads {
        let payload = store.read(position)?.context("it is damaged: a change has no bytes")?;
        writeln!(out, "change {position} {} {}", hex(&head.encode()), hex(&payload))?;
    }
    let mut notes = Vec::new();
    store.notes(&mut |key, note| {
        notes.push((key, note.to_vec()));
        Ok(())
    })?;
    for (key, note) in notes {
        let kind = match key.kind {
            NoteKind::Numbers => "numbers",
            NoteKind::Tombstone => "tombstone",
            NoteKind::Served => "served",
            NoteKind::Ending => "ending",
            // A copy is not the owner of the segments.
            NoteKind::Name => continue,
            NoteKind::Segment => {
                bail!("older values are in a cold tier: name the configuration instead of the file")
            }
        };
        writeln!(out, "note {} {kind} {} {}", key.group, hex(&key.of), hex(&note))?;
    }
    Ok(out.flush()?)
}

pub(crate) fn import(from: &Path, file: &Path) -> Result<()> {
    let config = configured(file)?;
    ensure!(config.is_some() || !file.exists(), "{} exists already", file.display());
    let mut input = BufReader::new(File::open(from).with_context(|| from.display().to_string())?);
    let mut store = match config {
        Some(_) => open(file)?,
        None => Box::new(FileStore::open(file).with_context(|| file.display().to_string())?),
    };
    ensure!(store.groups()?.is_empty(), "{} names a place where there is data already", file.display());
    let (mut steps, mut octets, mut number) = (Vec::new(), 0, 0u64);
    let mut line = String::new();
    loop {
        line.clear();
        number += 1;
        let read = (&mut input).take(MAX_LINE).read_line(&mut line)?;
        if read == 0 {
            break;
        }
        octets += read;
        let words = line.trim_end();
        if number == 1 {
            ensure!(words == TITLE, "{}: this is no export of a store", from.display());
            continue;
        }
        steps.push(step(words).with_context(|| format!("{}:{number}: this cannot be read", from.display()))?);
        if steps.len() >= TOGETHER.0 || octets >= TOGETHER.1 {
            store.commit(&steps)?;
            steps.clear();
            octets = 0;
        }
    }
    store.commit(&steps)?;
    Ok(())
}

fn step(line: &str) -> Option<Step> {
    let mut words = line.split(' ');
    let step = match words.next()? {
        "topic" => {
            let group = words.next()?.parse().ok()?;
            let description = unhex(words.next()?)?;
            Topic::decode(&description)?;
            Step::Describe(group, description)
        }
        "change" => {
            let position: Position = words.next()?.parse().ok()?;
            let head = Head::decode(&unhex(words.next()?)?)?;
            let payload = unhex(words.next()?)?;
            (payload.len() == head.octets as usize).then_some(())?;
            Step::Append(position, head, SharedBytes::copy_from(&payload))
        }
        "note" => {
            let group = words.next()?.parse().ok()?;
            let kind = match words.next()? {
                "numbers" => NoteKind::Numbers,
                "tombstone" => NoteKind::Tombstone,
                "served" => NoteKind::Served,
                "ending" => NoteKind::Ending,
                _ => return None,
            };
            let of = unhex(words.next()?)?.try_into().ok()?;
            Step::Note(NoteKey { group, kind, of }, unhex(words.next()?)?)
        }
        _ => return None,
    };
    words.next().is_none().then_some(step)
}
