//! What tests leave out because the machine lacks something, and what they had to try again. Such a test passes, but says so: in
//! the file that `DUNLIN_NOTES` names, which `scripts/notes.sh` shows at the end of `make unit` and `make test`, and on
//! standard error, past the test harness, which shows nothing of tests that pass.
#![forbid(unsafe_code)]

use std::fs::OpenOptions;
use std::io::Write;
use std::panic::Location;
use std::path::{Path, PathBuf};

/// The test that calls this cannot show here what it is there for: why, and what would let it. The run fails for it unless
/// it was told ALLOW_SKIPS=1.
#[track_caller]
pub fn skipped(why: &str, remedy: &str) {
    note("SKIPPED", &format!("{why}; {remedy}"), Location::caller());
}

/// Something failed and is tried again.
#[track_caller]
pub fn retried(what: &str) {
    note("RETRIED", what, Location::caller());
}

fn note(kind: &str, text: &str, place: &Location<'_>) {
    let thread = std::thread::current();
    let test =
        thread.name().filter(|name| *name != "main").map_or_else(String::new, |name| format!(" {name}"));
    let line = format!("{kind} {}:{}{test}: {}\n", place.file(), place.line(), text.replace('\n', " "));
    let file = std::env::var_os("DUNLIN_NOTES").map(PathBuf::from);
    if let Err(error) = file.map_or(Ok(()), |file| append(&file, &line)) {
        panic!("a note cannot be written: {error}: {line}");
    }
    // Nobody may be there to read it.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// In one call: other processes write there too.
fn append(file: &Path, line: &str) -> std::io::Result<()> {
    OpenOptions::new().create(true).append(true).open(file)?.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const ASKED: &str = "DUNLIN_NOTES_ASKED";

    #[test]
    fn notes_are_seen_though_the_test_passes() {
        if std::env::var_os(ASKED).is_some() {
            skipped("there is no\nocean", "dig one");
            retried("the bridge");
            return;
        }
        let file = std::env::temp_dir().join(format!("dunlin-notes-{}", std::process::id()));
        let _ = std::fs::remove_file(&file);
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.args(["--exact", "tests::notes_are_seen_though_the_test_passes", "--test-threads=2"]);
        let output = program.env(ASKED, "yes").env("DUNLIN_NOTES", &file).output().unwrap();
        assert!(output.status.success());
        let (noted, told) =
            (std::fs::read_to_string(&file).unwrap(), String::from_utf8_lossy(&output.stderr));
        std::fs::remove_file(&file).unwrap();
        for (line, (begin, end)) in noted.lines().zip([
            ("SKIPPED tests/notes/src/lib.rs:", "there is no ocean; dig one"),
            ("RETRIED tests/notes/src/lib.rs:", "the bridge"),
        ]) {
            assert!(
                line.starts_with(begin) && line.ends_with(end) && told.contains(line),
                "{line} of {told}"
            );
        }
        assert_eq!(noted.lines().count(), 2);
    }
}
