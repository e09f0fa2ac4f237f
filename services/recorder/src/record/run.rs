//! Recording.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};
use dunlin::{Config, DynamicType};
use dunlin_idl::{Disk, Options as IdlOptions, compile};
use dunlin_program::{Stop, sanitize, say, tell};
use dunlin_recorder::text::{size, stamp};
use dunlin_recorder::{Counts, Names, Options, Recorder, StorageOptions, WhenFull};

use crate::{INCOMPLETE, Record};

/// Between two progress lines.
const PERIOD: Duration = Duration::from_millis(500);

pub(crate) fn record(arguments: &Record) -> Result<ExitCode> {
    let options = options(arguments)?;
    let (file, domain) = (options.storage.file.clone(), options.domain);
    let stop = Stop::default();
    stop.on_signals().context("cannot listen to signals")?;
    let recorder = Arc::new(Recorder::start(options)?);
    #[cfg(feature = "web")]
    let page = arguments.web.map(|port| crate::web::Page::serve(&recorder, port)).transpose()?;
    #[cfg(feature = "web")]
    if let Some(page) = &page {
        tell!("open {} to see it", page.url());
    }
    tell!("recording domain {domain} to {}; Ctrl-C ends", file.display());
    watch(&recorder, &stop, arguments.duration, &|counts| {
        #[cfg(feature = "web")]
        page.iter().for_each(|page| page.note(counts));
        #[cfg(not(feature = "web"))]
        let _ = counts;
    });
    let counts = recorder.finish();
    summary(&counts, &file);
    let code = if counts.is_complete() || arguments.allow_loss { 0 } else { INCOMPLETE };
    Ok(ExitCode::from(code))
}

/// Shows the progress until it is time to end.
fn watch(recorder: &Recorder, stop: &Stop, duration: Option<Duration>, note: &dyn Fn(&Counts)) {
    let (began, shows) = (Instant::now(), std::io::stderr().is_terminal());
    let end = duration.map(|duration| began + duration);
    let mut before = 0;
    while !stop.is_set() {
        let next = Instant::now() + PERIOD;
        let until = end.map_or(next, |end| end.min(next));
        if stop.wait_until(until) || end.is_some_and(|end| Instant::now() >= end) {
            break;
        }
        let counts = recorder.counts();
        note(&counts);
        if shows {
            progress(&counts, recorder.fill(), began.elapsed(), &mut before);
        }
    }
    if shows {
        let _ = writeln!(std::io::stderr());
    }
}

fn progress(counts: &Counts, (waiting, room): (usize, usize), elapsed: Duration, before: &mut u64) {
    let rate = counts.recorded.saturating_sub(*before) as f64 / PERIOD.as_secs_f64();
    *before = counts.recorded;
    let line = format!(
        "\r{:>6.0} s  {} topics  {} samples  {rate:.0}/s  {}  waiting {:.0} %  missing {}\x1b[K",
        elapsed.as_secs_f64(),
        counts.topics.len(),
        counts.recorded,
        size(counts.octets),
        100.0 * waiting as f64 / room.max(1) as f64,
        counts.dropped + counts.lost,
    );
    let _ = std::io::stderr().write_all(line.as_bytes());
}

fn summary(counts: &Counts, file: &Path) {
    for (topic, it) in &counts.topics {
        let missing = match (it.lost, it.dropped) {
            (0, 0) => String::new(),
            (lost, dropped) => format!(", {lost} lost before they arrived, {dropped} not written"),
        };
        say!(
            "{}: {} samples of {} writers, {}{missing}",
            sanitize(topic),
            it.recorded,
            it.writers,
            size(it.octets)
        );
    }
    for problem in &counts.problems {
        tell!("dunlin record: {problem}");
    }
    let missing = counts.lost + counts.dropped;
    let told = match missing {
        0 if counts.problems.is_empty() => "nothing is missing".to_owned(),
        0 => "there were problems".to_owned(),
        _ => format!("{missing} are MISSING"),
    };
    say!("{}: {} samples, {}; {told}", file.display(), counts.recorded, size(counts.octets));
}

fn options(arguments: &Record) -> Result<Options> {
    let mut config = Config::load()?;
    config.set_all(&arguments.set)?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let named = || PathBuf::from(format!("recording-{}.mcap", stamp(now.as_nanos() as u64)));
    let mut storage = StorageOptions::in_file(arguments.output.clone().unwrap_or_else(named));
    storage.compression = arguments.compression.into();
    storage.split_octets = arguments.split_size;
    storage.split_time = arguments.split_time;
    storage.keep_files = arguments.keep_files;
    storage.keep_octets = arguments.keep_size;
    storage.keep_time = arguments.keep_time;
    let keeps =
        arguments.keep_files.is_some() || arguments.keep_size.is_some() || arguments.keep_time.is_some();
    if keeps && arguments.split_size.is_none() && arguments.split_time.is_none() {
        bail!(
            "what is kept is counted in files: say with --split-size or --split-time when a new one begins"
        );
    }
    let mut options = Options::new(arguments.domain.unwrap_or(config.domain.id), storage);
    options.config = Some(config);
    options.topics = Names { allow: arguments.topics.clone(), deny: arguments.exclude.clone() };
    options.partitions = Names { allow: arguments.partition.clone(), deny: Vec::new() };
    options.types = types(&arguments.idl)?;
    options.buffer = usize::try_from(arguments.buffer).unwrap_or(usize::MAX);
    options.when_full = if arguments.wait { WhenFull::Wait } else { WhenFull::Drop };
    options.max_instances = arguments.max_instances;
    Ok(options)
}

/// The types of IDL files, by their names.
fn types(files: &[PathBuf]) -> Result<BTreeMap<String, DynamicType>> {
    let mut types = BTreeMap::new();
    for file in files {
        let name = file.display().to_string();
        let compiled = compile(&name, &IdlOptions::default(), &Disk);
        let model = compiled.model.with_context(|| format!("{name} has errors: see `dunlin idl {name}`"))?;
        let (graph, indices) = dunlin_idl::xtypes::type_graph(&model);
        let graph = Arc::new(graph);
        for index in indices {
            // Not everything in a file can be the type of a topic.
            if let Ok(ty) = DynamicType::new(Arc::clone(&graph), index) {
                types.insert(ty.name().to_owned(), ty);
            }
        }
    }
    Ok(types)
}
