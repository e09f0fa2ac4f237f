//! A peer process.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use anyhow::{Context, Result, bail};
use dunlin::qos::DataRepresentationId;

use crate::eventually;

/// Whose DDS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are the products'")]
pub enum Vendor {
    Cyclone,
    /// Cyclone DDS's C library: `peers/cyclone/native.cpp`.
    CycloneC,
    FastDds,
    /// Fast DDS 3 in XCDR1: `make interop-fastdds3`.
    FastDds3,
    /// Fast DDS 3 in XCDR2.
    FastDds3Xcdr2,
    /// Fast DDS 3 with types of fastddsgen: a program of `peers/fastdds3`.
    FastDds3Generated(&'static str),
    RustDds,
    /// RustDDS with a nested type: `rustdds_reports`.
    RustDdsReports,
    DustDds,
}

impl Vendor {
    /// The representation in which this peer and Dunlin exchange.
    #[must_use]
    pub fn representation(self) -> DataRepresentationId {
        if self == Self::FastDds3Xcdr2 { DataRepresentationId::Xcdr2 } else { DataRepresentationId::Xcdr1 }
    }

    /// The peers' folder: `INTEROP_PEERS`, made by `tests/interop/build-peers.sh`.
    fn command(self) -> Result<Command> {
        let peers =
            std::env::var_os("INTEROP_PEERS").context("INTEROP_PEERS is not set: run `make interop`")?;
        let peers = PathBuf::from(peers);
        let mut command = match self {
            Self::Cyclone => {
                let mut python = Command::new(peers.join("cyclone/bin/python"));
                python.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/cyclone/peer.py"));
                python
            }
            Self::CycloneC => Command::new(peers.join("cyclone-native/native")),
            Self::FastDds => Command::new(peers.join("fastdds/fastdds_peer")),
            Self::FastDds3 | Self::FastDds3Xcdr2 => Command::new(peers.join("fastdds3/peer")),
            Self::FastDds3Generated(program) => Command::new(peers.join("fastdds3").join(program)),
            Self::RustDds => Command::new(peers.join("rust/debug/rustdds_peer")),
            Self::RustDdsReports => Command::new(peers.join("rust/debug/rustdds_reports")),
            Self::DustDds => Command::new(peers.join("rust/debug/dust_peer")),
        };
        command.env(
            "CYCLONEDDS_URI",
            "<General><Interfaces><NetworkInterface name=\"lo\" multicast=\"true\"/></Interfaces></General>",
        );
        Ok(command)
    }
}

/// A running peer; ended when dropped.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    commands: Option<ChildStdin>,
    lines: Receiver<String>,
    seen: Vec<String>,
    name: String,
}

impl Peer {
    /// Starts a peer and waits until it is ready.
    ///
    /// # Errors
    /// When it does not start or does not become ready.
    pub fn start(vendor: Vendor, role: &str, domain: u32) -> Result<Self> {
        Self::start_with(vendor, role, domain, &[])
    }

    /// The same with variables in its environment.
    ///
    /// # Errors
    /// When it does not start or does not become ready.
    pub fn start_with(vendor: Vendor, role: &str, domain: u32, variables: &[(&str, &str)]) -> Result<Self> {
        let name = format!("{vendor:?} {role}");
        let mut child = vendor
            .command()?
            .args([role, &domain.to_string()])
            .args((vendor == Vendor::FastDds3Xcdr2).then_some("xcdr2"))
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{name}: build the peers with `make interop`"))?;
        let output = child.stdout.take().context("no standard output")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let commands = child.stdin.take();
        let mut peer = Self { child, commands, lines, seen: Vec::new(), name };
        peer.wait_for("ready")?;
        Ok(peer)
    }

    /// Gives a command and waits for `ok`.
    ///
    /// # Errors
    /// When the peer answers with an error or not at all.
    pub fn tell(&mut self, command: &str) -> Result<()> {
        self.send(command)?;
        match self.next_line(|line| line == "ok" || line.starts_with("error"))? {
            answer if answer == "ok" => Ok(()),
            answer => bail!("{}: {command}: {answer}", self.name),
        }
    }

    /// Gives a command without waiting: its `ok` is a line as any other.
    ///
    /// # Errors
    /// When the peer has ended.
    pub fn send(&mut self, command: &str) -> Result<()> {
        let commands = self.commands.as_mut().context("the peer was told to quit")?;
        writeln!(commands, "{command}").and_then(|()| commands.flush())?;
        Ok(())
    }

    /// Waits for a line; order does not matter, each line counts once.
    ///
    /// # Errors
    /// When it does not come.
    pub fn wait_for(&mut self, line: &str) -> Result<()> {
        self.next_line(|seen| seen == line).map(drop).with_context(|| format!("waiting for '{line}'"))
    }

    /// Waits for a line that begins with `prefix` and returns it.
    ///
    /// # Errors
    /// When it does not come.
    pub fn wait_for_prefix(&mut self, prefix: &str) -> Result<String> {
        self.next_line(|seen| seen.starts_with(prefix)).with_context(|| format!("waiting for '{prefix}…'"))
    }

    /// Lines seen so far that nobody waited for.
    #[must_use]
    pub fn leftover(&mut self) -> &[String] {
        self.seen.extend(self.lines.try_iter());
        &self.seen
    }

    fn next_line(&mut self, wanted: impl Fn(&str) -> bool) -> Result<String> {
        let Self { lines, seen, name, .. } = self;
        let found = eventually("a line of the peer", || {
            seen.extend(lines.try_iter());
            Ok(seen.iter().position(|line| wanted(line)).map(|at| seen.remove(at)))
        });
        found.with_context(|| format!("{name}; it printed {seen:?}"))
    }

    /// Ends the peer in the orderly way and waits for it.
    ///
    /// # Errors
    /// When it does not end.
    pub fn quit(mut self) -> Result<()> {
        if let Some(mut commands) = self.commands.take() {
            writeln!(commands, "quit")?;
        }
        let child = &mut self.child;
        eventually("the end of the peer", || Ok(child.try_wait()?)).map(drop)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
