//! Which part may depend on which: crates on those of lower layers, and within the crates of [`modules::CRATES`] modules on
//! each other, without circles.
//!
//! A module and those below it are one node among their siblings: `writer::push` that uses `reader::Room` is an arrow from
//! `writer` to `reader`. What a module uses of its own parents and children is no arrow. Tests are left out. Methods that a
//! type is given in another module's `impl` block are not seen where they are called; paths and `use` are.

mod allow;
mod clients;
mod crates;
mod graph;
mod mentions;
mod modules;
mod report;

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Checks the crates, then the modules.
pub fn check(root: &Path) -> Result<()> {
    let crates = crates::check(root)?;
    let allowed = allow::read(root)?;
    let (mut findings, mut summary) = (allow::unknown_crates(&allowed), Vec::new());
    for listed in modules::CRATES {
        let arrows = modules::arrows(root, listed.folder)?;
        let entries = allowed.get(listed.name).map(Vec::as_slice).unwrap_or_default();
        findings.extend(allow::findings(listed.name, &arrows, entries));
        summary.push(report::summary(listed.name, &arrows, entries));
    }
    findings.extend(clients::findings(root)?);
    if !findings.is_empty() {
        bail!("deps: {} findings in the modules:\n  {}", findings.len(), findings.join("\n  "));
    }
    tell(&format!("deps: {crates}\ndeps: modules: {}\n", summary.join("; ")))
}

/// Prints the arrows between the modules of one crate, and its circles.
pub fn print_modules(root: &Path, name: &str) -> Result<()> {
    let listed = modules::CRATES.iter().find(|listed| listed.name == name).with_context(|| {
        let names: Vec<_> = modules::CRATES.iter().map(|listed| listed.name).collect();
        format!("{name} is none of the crates whose modules are looked at: {}", names.join(", "))
    })?;
    let arrows = modules::arrows(root, listed.folder)?;
    let allowed = allow::read(root)?;
    let entries = allowed.get(name).map(Vec::as_slice).unwrap_or_default();
    tell(&report::modules(&arrows, entries))
}

/// Prints; a reader that has seen enough (`| head -1`) is no error.
fn tell(text: &str) -> Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
