//! The near side of the benchmark's control protocol (`docs/benchmarks.md`).
//!
//! An adapter is a small program that makes one implementation do what the benchmark wants: lines of words come in on the
//! standard input, one line of answer goes out for each. What is measured and how is the same for all implementations
//! and stands here; an adapter only opens endpoints, hands over what arrives and writes what it is given.
#![forbid(unsafe_code)]

mod can;
mod clock;
mod line;
mod roles;
mod serve;
mod spread;

use std::sync::Arc;

use anyhow::Result;
pub use can::Can;
pub use line::Line;
pub use roles::Role;
pub use serve::serve;

/// What writes one payload.
pub type Write<'a> = &'a dyn Fn(&[u8]) -> Result<()>;

/// What to do with each payload that arrives, with a way to answer.
pub type OnPayload = Arc<dyn Fn(&[u8], Write<'_>) + Send + Sync>;

/// What kind of endpoints the benchmark wants.
#[derive(Clone, Debug)]
pub struct Open {
    /// The domain.
    pub domain: u32,
    /// Topics to write; the first is the one that [`Session::write`] means.
    pub writes: Vec<String>,
    /// Topics to read.
    pub reads: Vec<String>,
    /// Octets of each payload that is written, so that what has to be reserved can be.
    pub payload: usize,
    /// Octets of each payload that arrives.
    pub arriving: usize,
    /// RELIABILITY: reliable, or best effort.
    pub reliable: bool,
    /// HISTORY: keep the last so many, or all.
    pub keep_last: Option<i32>,
    /// The network interface.
    pub interface: String,
    /// The address of this host on it.
    pub address: String,
    /// The address of the other host, for implementations that do not search.
    pub peer: String,
    /// What only this implementation understands: transport, waiting strategy, tuning.
    pub options: Vec<(String, String)>,
}

impl Open {
    /// The value of an option of the implementation.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Refuses options that nobody looks at.
///
/// # Errors
/// An option is not among the known ones.
pub fn only(options: &[(String, String)], known: &[&str]) -> Result<()> {
    match options.iter().find(|(key, _)| !known.contains(&key.as_str())) {
        Some((key, _)) if known.is_empty() => anyhow::bail!("the option {key} is unknown; there are none"),
        Some((key, _)) => anyhow::bail!("the option {key} is unknown; there are: {}", known.join(", ")),
        None => Ok(()),
    }
}

/// How adapters of implementations from the cargo registry are built (`tools/bench/peers/rust/Cargo.toml`).
pub const FROM_REGISTRY: &str = "cargo registry, release, thin LTO, linked statically";

/// The version of a package in the text of a Cargo.lock: that which was built. Nothing of a package that is not there.
#[must_use]
pub fn locked_version(lock: &str, package: &str) -> String {
    let mut entries = lock.split("[[package]]").map(|entry| {
        let value = |key: &str| {
            let line = entry.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""))?;
            line.strip_suffix('"')
        };
        (value("name"), value("version"))
    });
    let found = entries.find_map(|(name, version)| version.filter(|_| name == Some(package)));
    found.unwrap_or_default().to_owned()
}

/// Who an implementation is and what it can do.
#[derive(Clone, Debug)]
pub struct About {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What the benchmark may ask of it.
    pub can: &'static [Can],
    /// How a side waits for data with these options: `blocks`, `spins`, or when it does which. A side that spins takes a
    /// processor and answers sooner, so no figure can be read without this.
    pub waits: String,
    /// How what is measured was built: compiler settings, static or shared, from where.
    pub built: String,
}

/// An implementation as the benchmark sees it.
pub trait Implementation {
    /// Name, version and abilities; refuses options that it does not know.
    ///
    /// # Errors
    /// An option is unknown or has a value that cannot be.
    fn about(&self, options: &[(String, String)]) -> Result<About>;

    /// Creates endpoints. `on_payload` is called for all that arrives, on whatever thread the implementation prefers.
    ///
    /// # Errors
    /// What the implementation says, or what it cannot do.
    fn open(&self, open: &Open, on_payload: OnPayload) -> Result<Box<dyn Session>>;
}

/// Endpoints that are open.
pub trait Session: Send + Sync {
    /// How many remote endpoints the least matched endpoint has found.
    fn matched(&self) -> usize;

    /// Writes one payload on the first topic; waits where the implementation waits.
    ///
    /// # Errors
    /// What the implementation says.
    fn write(&self, payload: &[u8]) -> Result<()>;

    /// [`write`](Self::write) of a payload whose owner fills it again: an implementation whose sample is a vector takes that for
    /// as long as the call lasts, instead of a copy of it.
    ///
    /// # Errors
    /// What the implementation says.
    fn write_own(&self, payload: &mut Vec<u8>) -> Result<()> {
        self.write(payload)
    }

    /// Sends what is held back.
    ///
    /// # Errors
    /// What the implementation says.
    fn flush(&self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_that_were_built() {
        let lock = include_str!("../../bench/peers/rust/Cargo.lock");
        for package in ["dust_dds", "iceoryx2", "rustdds", "zenoh"] {
            let version = locked_version(lock, package);
            assert!(version.split('.').count() == 3, "{package}: {version}");
            assert_eq!(lock.matches(&format!("name = \"{package}\"\nversion = \"{version}\"")).count(), 1);
        }
        assert_eq!(locked_version(lock, "nobody"), "");
    }
}
