//! `dunlin route`: the router as a program.
#![forbid(unsafe_code)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use dunlin::{Duration, GuardCondition, WaitError, WaitSet};
use dunlin_program::tell;
use dunlin_router::import::Import;
use dunlin_router::{Router, RouterConfig};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

#[derive(Parser)]
#[command(
    name = "dunlin route",
    bin_name = "dunlin route",
    version,
    about = "Pass data on between domains, partitions and topics",
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    after_help = "Examples:\n  dunlin route gate.toml\n  dunlin route --check gate.toml"
)]
struct Arguments {
    /// The configuration
    file: Option<PathBuf>,
    /// Say what is wrong with the configuration, and end
    #[arg(long, requires = "file")]
    check: bool,
    /// Look at the configuration every second, and take it when it has changed; SIGHUP asks for a look as well
    #[arg(long, requires = "file")]
    watch: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Make a configuration of that of RTI Routing Service or DDS Router; what could not be carried over is told apart
    Import {
        /// The XML or YAML
        file: PathBuf,
    },
}

/// Between looks at a file that is watched.
const LOOK: Duration = Duration::from_secs(1);

fn route(file: &Path, watch: bool) -> Result<()> {
    let config = RouterConfig::from_file(file)?;
    let mut router = Router::new(config).context("cannot start")?;
    let stop = GuardCondition::new();
    let reload = on_signals(&stop, router.wake())?;
    let set = WaitSet::new();
    set.attach_condition(router.wake().condition());
    // The pump takes the trigger of the other one back.
    set.attach_condition(stop.condition());
    let mut seen = modified(file);
    while !stop.condition().trigger_value() {
        let mut next = router.pump().next;
        if watch {
            next = next.min(LOOK);
            let now = modified(file);
            let changed = now != seen;
            seen = now;
            reload.fetch_or(changed, Ordering::SeqCst);
        }
        if reload.swap(false, Ordering::SeqCst) {
            reconfigure(&mut router, file);
        } else if next > Duration::ZERO && !matches!(set.wait(next), Ok(_) | Err(WaitError::Timeout)) {
            anyhow::bail!("this thread cannot wait");
        }
    }
    Ok(())
}

fn import(file: &Path) -> Result<()> {
    let text = dunlin_router::config::read_text(file).map_err(anyhow::Error::msg)?;
    let import = Import::from_text(&text).with_context(|| file.display().to_string())?;
    let mut out = dunlin_program::stdout();
    out.write_all(import.toml.as_bytes()).and_then(|()| out.flush())?;
    tell!("{}: from {}", file.display(), import.dialect);
    for left_out in &import.left_out {
        tell!("  not carried over: {left_out}");
    }
    Ok(())
}

/// When a file was changed last.
fn modified(file: &Path) -> Option<SystemTime> {
    file.metadata().and_then(|it| it.modified()).ok()
}

/// Stops on a request to terminate. A hangup asks for another look at the configuration, which wakes the loop.
fn on_signals(stop: &GuardCondition, wake: &GuardCondition) -> Result<Arc<AtomicBool>> {
    let (reload, stop, wake) = (Arc::new(AtomicBool::new(false)), stop.clone(), wake.clone());
    let asked = Arc::clone(&reload);
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::Builder::new().name("dunlin-signals".into()).spawn(move || {
        for signal in signals.forever() {
            asked.store(signal == SIGHUP, Ordering::SeqCst);
            if signal != SIGHUP {
                stop.set_trigger_value(true);
            }
            wake.set_trigger_value(true);
        }
    })?;
    Ok(reload)
}

fn reconfigure(router: &mut Router, file: &Path) {
    let changed = RouterConfig::from_file(file).map_err(anyhow::Error::from);
    match changed.and_then(|config| router.reconfigure(config).map_err(Into::into)) {
        Ok(()) => tell!("dunlin route: {} is in force", file.display()),
        Err(error) => tell!("dunlin route: nothing has changed: {error:#}"),
    }
}

const NAME: &str = "dunlin route";

fn main() -> ExitCode {
    match dunlin_program::arguments(NAME) {
        Ok(arguments) => dunlin_program::end(NAME, execute(arguments).map(|()| ExitCode::SUCCESS)),
        Err(code) => code,
    }
}

fn execute(arguments: Arguments) -> Result<()> {
    match (&arguments.file, arguments.command) {
        (Some(file), None) if arguments.check => RouterConfig::from_file(file).map(drop).map_err(Into::into),
        (Some(file), None) => route(file, arguments.watch),
        (_, Some(Command::Import { file })) => import(&file),
        (None, None) => Ok(()),
    }
}
