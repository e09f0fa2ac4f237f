//! For tests of programs over the loopback interface: a [`Place`] is one test's folder and domain tag, [`Running`] is a process that
//! is killed at the end of the test, and [`eventually`] waits for a condition.

#![forbid(unsafe_code)]

mod running;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dunlin::{Config, DomainParticipant};
pub use running::Running;

/// How long anything may take.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until it is done.
///
/// # Panics
/// After [`PATIENCE`], with `what` should have happened.
pub fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// What a program printed.
#[must_use]
pub fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

/// One test: its folder, and its domain tag, which keeps others out of its domains.
#[derive(Debug)]
pub struct Place {
    folder: tempfile::TempDir,
    tag: String,
}

impl Place {
    /// `test` is the name of the test, which no other one of the same process has.
    ///
    /// # Panics
    /// If there can be no folder.
    #[must_use]
    pub fn new(test: &str) -> Self {
        let tag = format!("{test}-{}", std::process::id());
        Self { folder: tempfile::tempdir().expect("a folder"), tag }
    }

    /// The domain tag.
    #[must_use]
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The path of a file in the folder.
    ///
    /// # Panics
    /// If the folder's path is not Unicode.
    #[must_use]
    pub fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("Unicode").to_owned()
    }

    /// Writes a file in the folder.
    ///
    /// # Panics
    /// If that fails.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let file = self.folder.path().join(name);
        std::fs::write(&file, text).expect("a file");
        file
    }

    /// The configuration of this test's participants.
    ///
    /// # Panics
    /// Never: the settings are right.
    #[must_use]
    pub fn config(&self) -> Config {
        let mut config = Config::default();
        config.set("network.interfaces", "lo").expect("a setting");
        config.set("domain.tag", &self.tag).expect("a setting");
        config
    }

    /// A participant of this test.
    ///
    /// # Panics
    /// If there can be none.
    #[must_use]
    pub fn participant(&self, domain: u32) -> DomainParticipant {
        DomainParticipant::builder(domain).config(self.config()).build().expect("a participant")
    }

    /// A command whose program takes part in this test's domains; it reads nothing.
    #[must_use]
    pub fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        self.keep_apart(command.args(words).stdin(Stdio::null()));
        command
    }

    /// Has the program of a command take part in this test's domains.
    pub fn keep_apart(&self, command: &mut Command) {
        command.env("DUNLIN_NETWORK_INTERFACES", "lo").env("DUNLIN_DOMAIN_TAG", &self.tag);
    }
}

/// A program that answers on standard output ends quietly, as if it had been read, where nobody reads that any more, and says once
/// that a disk is full.
///
/// # Panics
/// If it does otherwise.
pub fn minds_where_its_answer_goes(mut command: impl FnMut() -> Command) {
    let mut told = |output: Stdio| {
        let output = command().stdout(output).stderr(Stdio::piped()).output().expect("it runs");
        (output.status.code(), text(&output.stderr))
    };
    let (usual, _) = told(Stdio::null());
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let (status, error) = told(writer.into());
    assert_eq!(status, usual, "{error}");
    assert!(!error.contains("panicked") && !error.contains("pipe"), "{error}");
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a full disk");
    let (status, error) = told(full.into());
    assert_eq!(status, Some(1), "{error}");
    assert_eq!(error.matches("standard output: No space left on device").count(), 1, "{error}");
    assert!(!error.contains("panicked"), "{error}");
}
