//! Development tasks: `cargo xtask deps` checks the arrows between layers and between modules, `cargo xtask deps --modules engine`
//! prints those of one crate, `cargo xtask tidy`
//! checks file and function lengths, purity, the clause lines of protocol files, who asks for a vendor, the code blocks of README and
//! docs, and the conformance table, which
//! `cargo xtask conformance` writes. `cargo xtask conformance --results LOG...` looks up in the output of `cargo test`
//! whether the tests of the table have passed. `cargo xtask evidence` says which proofs are missing or too old.
//! `cargo xtask unit` runs all tests.
#![forbid(unsafe_code)]

mod blocks;
mod conformance;
mod deps;
mod evidence;
mod functions;
mod imports;
mod tidy;
mod unit;
mod vendors;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "usage: cargo xtask deps [--modules CRATE] | tidy | conformance [--results LOG...] | evidence [...] \
     | unit LOG [--at-once N]";

fn run(task: Option<&str>, options: &[String]) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    match task {
        Some("deps") => match options {
            [] => deps::check(root),
            [option, name] if option == "--modules" => deps::print_modules(root, name),
            _ => bail!(USAGE),
        },
        Some("tidy") => tidy::check(root),
        Some("conformance") => match options {
            [] => conformance::write(root),
            [option, logs @ ..] if option == "--results" => conformance::check_results(root, logs),
            _ => bail!(USAGE),
        },
        Some("evidence") => evidence::run(root, options),
        Some("unit") => unit::run(root, options),
        _ => bail!(USAGE),
    }
}

fn main() -> ExitCode {
    let options: Vec<String> = std::env::args().skip(2).collect();
    match run(std::env::args().nth(1).as_deref(), &options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
