//! Development tasks: `cargo xtask deps` checks the arrows between layers, `cargo xtask tidy`
//! checks file and function lengths, purity, the clause lines of protocol files and the conformance table, which
//! `cargo xtask conformance` writes.
#![forbid(unsafe_code)]

mod conformance;
mod deps;
mod functions;
mod tidy;

use anyhow::{Result, bail};
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask deps | tidy | conformance";

fn run(task: Option<&str>) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    match task {
        Some("deps") => deps::check(root),
        Some("tidy") => tidy::check(root),
        Some("conformance") => conformance::write(root),
        _ => bail!(USAGE),
    }
}

fn main() -> ExitCode {
    match run(std::env::args().nth(1).as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
