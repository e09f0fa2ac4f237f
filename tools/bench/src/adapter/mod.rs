//! Adapters that are part of the tool: Dunlin, and the floor that no DDS over UDP can be below.

mod dunlin;
mod hub;
mod lent;
mod udp;

use anyhow::{Result, bail};

/// How these adapters are built. `tools/bench/build.sh` says it, because it links them in a way of its own.
pub(crate) const BUILT: &str = match option_env!("DUNLIN_BENCH_BUILT") {
    Some(built) => built,
    None if cfg!(debug_assertions) => "cargo, development build",
    None => "cargo, optimised",
};

/// The commit that this was built from, if the build said so.
pub(crate) fn commit() -> Option<&'static str> {
    option_env!("DUNLIN_COMMIT").filter(|commit| !commit.is_empty())
}

/// The version of Dunlin that is measured, with its commit.
pub(crate) fn version() -> String {
    let commit = commit().map_or_else(String::new, |commit| format!(" {commit}"));
    format!("{}{commit}", env!("CARGO_PKG_VERSION"))
}

/// Names of the adapters that need nothing else.
pub(crate) const BUILT_IN: &[&str] = &["dunlin", "udp"];

/// Roles of what an architecture has besides participants; no adapters, but served in the same way.
pub(crate) const SERVER: &str = "server";
pub(crate) const DAEMON: &str = "daemon";

/// Serves the control protocol of `dunlin` or `udp` on the standard input and output.
///
/// # Errors
/// There is no such adapter, or standard input or output fails.
pub fn serve(name: &str) -> Result<()> {
    match name {
        "dunlin" => dunlin_bench_adapter::serve(&dunlin::Dunlin),
        "udp" => dunlin_bench_adapter::serve(&udp::Udp),
        SERVER | DAEMON => hub::serve(name),
        _ => bail!("{name} is not built in; there are: {}", BUILT_IN.join(", ")),
    }
}
