//! The recorder of cameras, and its service.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use dunlin::Config;
use dunlin_program::{Stop, say, tell};
use dunlin_recorder::text::{size, stamp};
use dunlin_recorder::{Counts as Recorded, Names, Options, Recorder, StorageOptions};

use crate::cli::Record;
use crate::serve::{Counts, Files, Quota, Server};

/// What the names of its recordings begin with.
const OWN: &str = "cameras-";
/// Between two looks at what goes on.
const LOOK: Duration = Duration::from_millis(200);

/// The files of a recorder, and those that were in its folder before.
struct InFolder {
    recorder: Arc<Recorder>,
    before: Vec<PathBuf>,
}

impl Files for InFolder {
    fn files(&self) -> (Vec<PathBuf>, Option<PathBuf>) {
        // In this order: a file that is finished meanwhile is in both rather than in none.
        let present = self.recorder.present_file();
        let finished = self.recorder.files().into_iter().map(|kept| kept.file);
        let present = present.filter(|file| file.exists());
        let mut all: Vec<PathBuf> = self.before.iter().filter(|file| file.exists()).cloned().collect();
        all.extend(finished.filter(|file| Some(file) != present.as_ref()));
        (all, present)
    }
}

/// Orders names as time does: `cameras-DATE-TIME`, then `cameras-DATE-TIME-0001`, and 10000 behind 9999.
fn order(file: &Path) -> Vec<(usize, String)> {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    stem.split('-').map(|part| (part.len(), part.to_owned())).collect()
}

/// Whether an earlier run has made a recording: another one is served, and never removed.
fn is_own(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(OWN))
}

/// Recordings that are in a folder, oldest first: their names begin with the time.
fn recordings(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = folder.read_dir().with_context(|| folder.display().to_string())?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|it| it == "mcap") && file.is_file());
    files.sort_by_key(|file| order(file));
    Ok(files)
}

/// Records and serves until it is told to stop. Whether everything was recorded.
///
/// # Errors
/// When recording or serving cannot begin.
pub fn run(arguments: &Record, stop: &Stop) -> Result<bool> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let before = recordings(folder)?;
    let recorder = Arc::new(Recorder::start(options(arguments, &before)?)?);
    let files = InFolder { recorder: Arc::clone(&recorder), before };
    let quota = Quota { sessions: arguments.sessions, octets: arguments.quota, ..Quota::default() };
    let server = Server::start(recorder.participant(), &arguments.topic, quota, files)?;
    say!("recording cameras of domain {} in {}", arguments.domain, folder.display());
    while !stop.wait(LOOK) {}
    let served = server.counts();
    drop(server);
    let counts = recorder.finish();
    summary(&counts, served);
    Ok(counts.is_complete())
}

fn options(arguments: &Record, before: &[PathBuf]) -> Result<Options> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let name = format!("{OWN}{}.mcap", stamp(u64::try_from(now.as_nanos()).unwrap_or(0)));
    let mut storage = StorageOptions::in_file(arguments.folder.join(name));
    storage.split_time = Some(arguments.split_time);
    storage.keep_octets = arguments.keep_size;
    storage.keep_time = arguments.keep_time;
    storage.earlier = before.iter().filter(|file| is_own(file)).cloned().collect();
    let mut options = Options::new(arguments.domain, storage);
    options.config = Some(Config::load()?);
    options.topics = Names { allow: vec![arguments.topic.clone()], deny: Vec::new() };
    Ok(options)
}

fn summary(counts: &Recorded, served: Counts) {
    for problem in &counts.problems {
        tell!("{problem}");
    }
    let Counts { requests, busy, pictures, octets, held_up } = served;
    say!(
        "answered {requests} requests, {busy} of them busy; sent {pictures} earlier pictures, {}; {held_up} waited for the quota",
        size(octets)
    );
    let missing = counts.lost + counts.dropped;
    let told = match missing {
        0 if counts.problems.is_empty() => "nothing is missing".to_owned(),
        0 => "there were problems".to_owned(),
        _ => format!("{missing} are MISSING"),
    };
    say!("recorded {} pictures, {}; {told}", counts.recorded, size(counts.octets));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_are_in_the_order_of_time() {
        let names = [
            "a-20261126-101500",
            "a-20261126-101500-0001",
            "a-20261126-101500-9999",
            "a-20261126-101500-10000",
            "a-20261127-000000",
        ];
        let mut files: Vec<PathBuf> =
            names.iter().rev().map(|name| PathBuf::from(format!("{name}.mcap"))).collect();
        files.sort_by_key(|file| order(file));
        let sorted: Vec<_> = files.iter().map(|file| file.file_stem().unwrap().to_str().unwrap()).collect();
        assert_eq!(sorted, names);
    }
}
