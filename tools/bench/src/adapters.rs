//! Which adapters there are, and how they are started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::adapter::BUILT_IN;
use crate::hosts::Remote;

/// Adapters of other implementations, built by `make bench-peers`: name and what it is.
pub(crate) const PEERS: &[(&str, &str)] = &[
    ("cyclone", "Eclipse Cyclone DDS, C, from the wheel of its Python package"),
    ("fastdds", "eProsima Fast DDS, C++, from Debian's packages"),
    ("fastdds3", "the same, version 3, from Debian 13's packages: `make bench-peers PEERS=fastdds3`"),
    ("rustdds", "RustDDS, from the cargo registry"),
    ("dust", "dust_dds, from the cargo registry"),
    ("zenoh", "zenoh, no DDS, from the cargo registry"),
    ("iceoryx2", "iceoryx2, no DDS, shared memory, from the cargo registry"),
    ("shm", "plain shared memory, the floor on one host"),
];

/// The program with the adapters that need nothing else, beside this one.
const BESIDE: &str = "dunlin-adapter";

/// Finds the programs of adapters.
#[derive(Clone, Debug, Default)]
pub struct Adapters {
    /// Where `make bench-peers` puts them.
    folder: PathBuf,
    /// Programs that the user names.
    chosen: BTreeMap<String, PathBuf>,
    /// Arguments with which this program serves an adapter of its own.
    itself: Vec<OsString>,
}

impl Adapters {
    /// Adapters in a folder, with `name=program` for those that are elsewhere. `itself` are the arguments before the
    /// name with which this program serves an adapter of its own.
    ///
    /// # Errors
    /// A text is not `name=program`.
    pub fn new(folder: PathBuf, chosen: &[String], itself: &[&str]) -> Result<Self> {
        let split = |text: &String| {
            let (name, program) =
                text.split_once('=').with_context(|| format!("'{text}' is not NAME=PROGRAM"))?;
            Ok((name.to_string(), PathBuf::from(program)))
        };
        let itself = itself.iter().map(OsString::from).collect();
        Ok(Self { folder, chosen: chosen.iter().map(split).collect::<Result<_>>()?, itself })
    }

    /// Program and arguments of an adapter.
    ///
    /// # Errors
    /// There is none of this name, or it is not built.
    pub fn command(&self, name: &str) -> Result<Vec<OsString>> {
        if let Some(program) = self.chosen.get(name) {
            return Ok(vec![program.into()]);
        }
        if BUILT_IN.contains(&name) {
            return self.own(name);
        }
        let program = self.folder.join(name);
        if program.is_file() {
            return Ok(vec![program.into()]);
        }
        if PEERS.iter().any(|(peer, _)| *peer == name) {
            bail!("{} is not there: `make bench-peers` builds it", program.display());
        }
        bail!(
            "there is no adapter {name}; `dunlin bench list` shows those there are, --adapter {name}=PROGRAM adds one"
        )
    }

    /// Program and arguments of what is part of this program: an adapter, or a `server` or `daemon` of an architecture.
    pub(crate) fn own(&self, name: &str) -> Result<Vec<OsString>> {
        let program = std::env::current_exe().context("the path of this program")?;
        // Built together with this program, and as small as those of the others: all of the command line would count.
        let beside = program.with_file_name(BESIDE);
        if beside.is_file() {
            return Ok(vec![beside.into(), name.into()]);
        }
        let mut words = vec![program.into()];
        words.extend(self.itself.iter().cloned());
        words.push(name.into());
        Ok(words)
    }

    /// Program and arguments of an adapter on another machine.
    pub(crate) fn remote_command(name: &str, remote: &Remote) -> Vec<OsString> {
        if BUILT_IN.contains(&name) {
            return vec![remote.dunlin.clone().into(), "bench".into(), "adapter".into(), name.into()];
        }
        vec![format!("{}/{name}", remote.peers).into()]
    }

    /// Every adapter with what it is and whether it can be used.
    #[must_use]
    pub fn list(&self) -> Vec<(String, String, bool)> {
        let built_in = [("dunlin", "Dunlin, built in"), ("udp", "plain UDP sockets, the floor, built in")];
        let known = built_in.iter().chain(PEERS);
        let mut rows: Vec<_> = known
            .map(|(name, what)| ((*name).to_string(), (*what).to_string(), self.command(name).is_ok()))
            .collect();
        for (name, program) in &self.chosen {
            rows.retain(|(other, ..)| other != name);
            rows.push((name.clone(), program.display().to_string(), program.is_file()));
        }
        rows
    }
}
