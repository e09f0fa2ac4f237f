//! The folder for shared memory.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use dunlin::Config;
use rustix::fs::statvfs;

use super::report::Report;

/// Less than this is soon full of large samples.
const ENOUGH: u64 = 64 << 20;

/// Looks whether files can be made in shared memory, and how much room there is.
pub fn shared_memory(config: &Config, report: &mut Report) {
    let own = Path::new(&config.shared_memory.directory);
    if !config.shared_memory.enabled {
        report.ok("shared memory is switched off (shared_memory.enabled)");
        return;
    }
    // It is made by the first who needs it.
    let there = if own.exists() { Some(own) } else { own.parent() };
    folder(there.unwrap_or(own), report);
}

fn folder(path: &Path, report: &mut Report) {
    let shown = path.display();
    if let Err(error) = try_file(path) {
        report.problem(
            format!("{shown}: no file can be made there: {error}"),
            format!("mount a tmpfs on {shown} that users may write to; in a container add --ipc=host or --shm-size"),
        );
        return;
    }
    match statvfs(path) {
        Ok(room) => judge(&shown.to_string(), room.f_bavail.saturating_mul(room.f_frsize), report),
        Err(error) => report.note(format!("{shown}: its room is not known: {error}"), "look at `df`"),
    }
}

fn judge(shown: &str, free: u64, report: &mut Report) {
    let what = format!("{shown}: {} MiB are free", free >> 20);
    if free < ENOUGH {
        report.note(what, "remove what is left over there, or enlarge it: mount -o remount,size=1G /dev/shm");
    } else {
        report.ok(what);
    }
}

fn try_file(folder: &Path) -> io::Result<()> {
    let path = folder.join(format!("dunlin-doctor-{}", std::process::id()));
    let written = File::create_new(&path).and_then(|mut file| file.write_all(&[0; 4096]));
    let removed = fs::remove_file(&path);
    written.and(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_used_and_one_that_is_full() {
        let mut report = Report::default();
        folder(Path::new("/dev/null"), &mut report);
        judge("/dev/shm", 1 << 20, &mut report);
        judge("/dev/shm", 1 << 30, &mut report);
        assert!(report.to_string().ends_with("1 ok, 1 note, 1 problem\n"), "{report}");
        assert!(try_file(&std::env::temp_dir()).is_ok());
    }
}
