//! What was counted before.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::count::Count;

/// The content of `record.toml`.
#[derive(Serialize, Deserialize)]
pub(crate) struct Record {
    /// Another compiler makes other instructions of the same source.
    pub(crate) compiler: String,
    pub(crate) counts: BTreeMap<String, Count>,
}

/// How far above the record a count may be.
pub(crate) struct Tolerance {
    pub(crate) instructions: f64,
    pub(crate) system_calls: f64,
}

impl Record {
    fn path() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("record.toml")
    }

    pub(crate) fn load() -> Result<Self> {
        let path = Self::path();
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        toml::from_str(&text).with_context(|| path.display().to_string())
    }

    pub(crate) fn save(&self) -> Result<()> {
        let path = Self::path();
        std::fs::write(&path, toml::to_string(self)?)?;
        println!("written: {}", path.display());
        Ok(())
    }

    /// Some slack for what a run happens to have (a heartbeat or announcement more), and more of it when the compiler is
    /// another one.
    pub(crate) fn tolerance(&self) -> Result<Tolerance> {
        let compiler = compiler()?;
        let same = compiler == self.compiler;
        if !same {
            println!("the record was made with {}, this is {compiler}: more is allowed", self.compiler);
        }
        Ok(Tolerance { instructions: if same { 1.15 } else { 1.35 }, system_calls: 0.3 })
    }
}

impl Count {
    /// What is above the record, if anything.
    pub(crate) fn exceeded(&self, name: &str, now: &Self, tolerance: &Tolerance) -> Vec<String> {
        let mut above = Vec::new();
        if now.instructions as f64 > self.instructions as f64 * tolerance.instructions {
            above.push(format!("{name}: {} instructions, recorded {}", now.instructions, self.instructions));
        }
        let allowed = self.system_calls * (tolerance.instructions) + tolerance.system_calls;
        if now.system_calls > allowed {
            above.push(format!("{name}: {} system calls, recorded {}", now.system_calls, self.system_calls));
        }
        above
    }
}

/// The version of the compiler.
pub(crate) fn compiler() -> Result<String> {
    let output =
        Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into())).arg("-V").output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
