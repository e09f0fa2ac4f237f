//! The command line tool, which knows none of the types.

use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

use anyhow::{Context, Result, ensure};

use crate::eventually;

/// A running command of `dunlin`; ended when dropped.
#[derive(Debug)]
pub struct Tool {
    child: Child,
    output: Option<JoinHandle<std::io::Result<String>>>,
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
        // All the time, so that it never waits for a reader.
        let output = std::thread::spawn(|| std::io::read_to_string::<ChildStdout>(output));
        Ok(Self { child, output: Some(output) })
    }

    /// Waits for the end, and returns what was printed.
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
        let output = self.output.take().context("no standard output")?;
        let text = output.join().map_err(|_| anyhow::anyhow!("nobody reads what the tool prints"))??;
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
