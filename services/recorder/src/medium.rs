//! Where recordings are written to.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Something that takes a recording.
pub trait Medium: Write + Send {
    /// What makes everything safe that was written so far, on another thread; nothing if the medium knows no such thing.
    fn syncer(&self) -> Option<Box<dyn FnMut() -> io::Result<()> + Send>>;
}

impl Medium for File {
    fn syncer(&self) -> Option<Box<dyn FnMut() -> io::Result<()> + Send>> {
        let regular = self.metadata().is_ok_and(|it| it.is_file());
        let file = self.try_clone().ok().filter(|_| regular)?;
        Some(Box::new(move || file.sync_data()))
    }
}

/// Opens what a recording with a name is written to.
pub type Open = Box<dyn FnMut(&Path) -> io::Result<Box<dyn Medium>> + Send>;

/// Opens new files; what is there is not written over. Pipes and devices are taken as they are.
#[must_use]
pub fn open_files() -> Open {
    Box::new(|path| {
        let special = path.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir());
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(!special).open(path)?;
        Ok(Box::new(file))
    })
}

/// The n-th file of a recording, from 0: `run.mcap`, `run-0001.mcap`.
#[must_use]
pub fn numbered(base: &Path, n: u32) -> PathBuf {
    if n == 0 {
        return base.to_owned();
    }
    let part = |part: Option<&std::ffi::OsStr>| part.map(|it| it.to_string_lossy().into_owned());
    let stem = part(base.file_stem()).unwrap_or_default();
    let ending = part(base.extension()).map_or_else(String::new, |ending| format!(".{ending}"));
    base.with_file_name(format!("{stem}-{n:04}{ending}"))
}

/// Makes what was written safe without holding up who writes.
pub(crate) struct Syncer {
    wishes: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Syncer {
    pub(crate) fn new(medium: &dyn Medium, failed: Arc<dyn Fn(io::Error) + Send + Sync>) -> Self {
        let Some(mut sync) = medium.syncer() else { return Self { wishes: None, thread: None } };
        let (wishes, asked) = sync_channel::<()>(1);
        let run = move || {
            for () in asked {
                if let Err(error) = sync() {
                    failed(error);
                }
            }
        };
        let thread = std::thread::Builder::new().name("record-sync".into()).spawn(run).ok();
        Self { wishes: Some(wishes), thread }
    }

    /// Asks for it. While it is being done, one further wish is remembered.
    pub(crate) fn sync(&self) {
        if let Some(wishes) = &self.wishes {
            let _ = wishes.try_send(());
        }
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        // What was asked for is done before.
        if let Some(wishes) = self.wishes.take() {
            let _ = wishes.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_numbered() {
        assert_eq!(numbered(Path::new("a/run.mcap"), 0), Path::new("a/run.mcap"));
        assert_eq!(numbered(Path::new("a/run.mcap"), 12), Path::new("a/run-0012.mcap"));
        assert_eq!(numbered(Path::new("run"), 1), Path::new("run-0001"));
    }
}
