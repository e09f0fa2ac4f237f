//! The command line tool, which knows none of the types.

use crate::eventually;
use anyhow::{Context, Result, ensure};
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A running command of `dunlin`; ended when dropped.
#[derive(Debug)]
pub struct Tool {
    child: Child,
    output: ChildStdout,
}

/// `DUNLIN_TOOL`, or what was built beside the tests.
fn program() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("DUNLIN_TOOL") {
        return Ok(path.into());
    }
    let test = std::env::current_exe()?;
    let folder = test.ancestors().nth(2).context("no folder of programs")?;
    Ok(folder.join("dunlin"))
}

impl Tool {
    /// Starts a command in a domain, on the loopback interface.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(domain: u32, words: &[&str]) -> Result<Self> {
        let mut child = Command::new(program()?)
            .args(words)
            .args(["--domain", &domain.to_string()])
            .env("DUNLIN_NETWORK_INTERFACES", "lo")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("the tool is not there: run `make interop`, or cargo build -p dunlin-cli")?;
        let output = child.stdout.take().context("no standard output")?;
        Ok(Self { child, output })
    }

    /// Waits for the end, and returns what was printed: no more than a pipe holds.
    ///
    /// # Errors
    /// When it does not end, or fails.
    pub fn text(self) -> Result<String> {
        let (well, text) = self.answer()?;
        ensure!(well, "the tool failed");
        Ok(text)
    }

    /// The same of a command that may fail, and whether it succeeded.
    ///
    /// # Errors
    /// When it does not end.
    pub fn answer(mut self) -> Result<(bool, String)> {
        let child = &mut self.child;
        let status = eventually("the end of the tool", || Ok(child.try_wait()?))?;
        let mut text = String::new();
        self.output.read_to_string(&mut text)?;
        Ok((status.success(), text))
    }

    /// Starts a command in a domain and returns what it printed when it has ended.
    ///
    /// # Errors
    /// When it does not start or end, or fails.
    pub fn run(domain: u32, words: &[&str]) -> Result<String> {
        Self::start(domain, words)?.text()
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
