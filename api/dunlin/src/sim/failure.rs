//! Why a simulation failed, and how to see it again.

use std::any::Any;
use std::fmt;

use dunlin_core::Duration;

/// What goes wrong in a program of a node or in a scenario.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// What programs of nodes and scenarios return: any error ends the simulation.
pub type Result<T = ()> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// What was waited for did not happen within this virtual time.
    TimedOut(Duration),
    /// The program of a node returned an error.
    Failed {
        /// The node.
        node: String,
        /// What the error says.
        error: String,
    },
    /// The program of a node, or a listener there, panicked.
    Panicked {
        /// The node.
        node: String,
        /// What the panic says.
        message: String,
    },
    /// The capture file could not be written.
    Capture(String),
    /// The task that was waited for ended when its node crashed.
    Crashed,
    /// A node goes on and on while time stands still.
    TimeStandsStill {
        /// The node.
        node: String,
    },
    /// A thread of a node took a minute of real time without waiting for anything of the simulation.
    Stuck {
        /// The node.
        node: String,
    },
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut(limit) => write!(f, "what was waited for did not happen within {limit}"),
            Self::Failed { node, error } => write!(f, "node '{node}' failed: {error}"),
            Self::Panicked { node, message } => write!(f, "node '{node}' panicked: {message}"),
            Self::Capture(error) => write!(f, "the capture file cannot be written: {error}"),
            Self::Crashed => f.write_str("the task ended with its node, which crashed"),
            Self::TimeStandsStill { node } => write!(
                f,
                "node '{node}' goes on and on while time stands still: let its loop await something that takes time, \
                 as Context::sleep does"
            ),
            Self::Stuck { node } => write!(
                f,
                "a thread of node '{node}' has run for a minute of real time without waiting for anything of the \
                 simulation: is it in an endless loop, or does it wait for a lock or a clock of the real machine?"
            ),
        }
    }
}

/// Why a simulation ended. Its text, also that of `unwrap`, names the seed, and how to repeat the run.
#[derive(Clone, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong.
    pub cause: Cause,
    /// The seed of the simulation.
    pub seed: u64,
    /// Virtual time since it began.
    pub elapsed: Duration,
    /// The command that repeats the run.
    pub repeat: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cause, seed, elapsed, repeat } = self;
        write!(f, "seed {seed}, after {elapsed} of virtual time: {cause}\nrepeat it: {repeat}")
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Failure {}

pub(crate) fn panic_text(cause: &(dyn Any + Send)) -> String {
    let owned = cause.downcast_ref::<String>().cloned();
    let text = owned.or_else(|| cause.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "for a reason that is no text".into())
}

/// The line that runs the present test again, with one seed if it has many.
pub(crate) fn command(seed: Option<u64>) -> String {
    let thread = std::thread::current();
    // The test runner names the thread after the test, unless it has one thread only.
    let test = thread.name().filter(|name| *name != "main").unwrap_or("<name of this test>");
    match seed {
        Some(seed) => format!("SEED={seed} cargo test {test}"),
        None => format!("cargo test {test}"),
    }
}
