//! Processes that share memory: the others are this program again, with a role.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use dunlin::{Config, DomainParticipant};

const ROLE: &str = "DUNLIN_TEST_ROLE";

/// What this process is to do, in which domain and with which folder; nothing in the first one.
pub fn role() -> Option<(String, u32, PathBuf)> {
    let role = std::env::var(ROLE).ok()?;
    let mut words = role.splitn(3, ' ');
    let (role, domain, directory) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
    Some((role.into(), domain.parse().unwrap(), directory.into()))
}

/// A participant that keeps its files in this folder, and soon notices that another one is gone.
pub fn participant_with(domain: u32, directory: &Path, ring_size: &str) -> DomainParticipant {
    let mut config = Config::default();
    config.set("network.interfaces", "lo").unwrap();
    config.set("discovery.lease_duration", "2s").unwrap();
    config.set("discovery.announcement_period", "500ms").unwrap();
    config.set("network.interface_poll", "200ms").unwrap();
    config.set("shared_memory.directory", directory.to_str().unwrap()).unwrap();
    config.set("shared_memory.ring_size", ring_size).unwrap();
    DomainParticipant::builder(domain).config(config).build().unwrap()
}

/// The program again, killed when this is dropped.
pub struct Other(Child, BufReader<ChildStdout>);

impl Other {
    pub fn start(role: &str, domain: u32, directory: &Path) -> Self {
        Self::start_test("child_process", role, domain, directory)
    }

    /// With this test of the program, which looks at its role.
    pub fn start_test(test: &str, role: &str, domain: u32, directory: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads", "1"])
            .env(ROLE, format!("{role} {domain} {}", directory.display()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self(child, out)
    }

    /// Reads its output up to a word, and gives the line with it.
    pub fn says(&mut self, word: &str) -> String {
        let mut line = String::new();
        while !line.contains(word) {
            line.clear();
            assert!(self.1.read_line(&mut line).unwrap() > 0, "it ended without saying {word}");
        }
        line
    }

    /// Sends it a signal of this name.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.0.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Waits for its end; its test has passed.
    pub fn ended_well(mut self) {
        assert!(self.0.wait().unwrap().success(), "the other process failed");
    }

    /// Waits for its end, however it ends.
    pub fn ended(mut self) {
        self.0.wait().unwrap();
    }

    pub fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.kill();
    }
}
