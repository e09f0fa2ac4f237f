//! Standard output as programs use it whose answer goes there: a pipe that nobody reads any more is an end like any other, and a
//! disk that is full is an error.

use std::fmt::Display;
use std::io::{self, IsTerminal, Stdout, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use clap::Parser;

use crate::tell;

/// Nobody reads standard output any more.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Standard output. Errors say that it was that which failed.
pub struct Output(Stdout);

/// Standard output.
#[must_use]
pub fn stdout() -> Output {
    Output(io::stdout())
}

/// Whether a write failed because nobody reads standard output any more.
#[must_use]
pub fn is_closed() -> bool {
    CLOSED.load(Relaxed)
}

fn named(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::Interrupted {
        return error;
    }
    CLOSED.fetch_or(error.kind() == io::ErrorKind::BrokenPipe, Relaxed);
    io::Error::new(error.kind(), format!("standard output: {error}"))
}

impl Write for Output {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.write(octets).map_err(named)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(named)
    }
}

/// How a program ends: an error is told, unless it is that `| head` has enough.
pub fn end<E: Display>(program: &str, result: Result<ExitCode, E>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(_) if is_closed() => ExitCode::SUCCESS,
        Err(error) => {
            tell!("{program}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The arguments of a program, or how it ends without them. Help goes where the answer would.
///
/// # Errors
/// When help or the version was asked for. Wrong arguments end the process.
pub fn arguments<A: Parser>(program: &str) -> Result<A, ExitCode> {
    let help = match A::try_parse() {
        Ok(arguments) => return Ok(arguments),
        Err(wrong) if wrong.use_stderr() => wrong.exit(),
        Err(help) => help.render(),
    };
    let text = if io::stdout().is_terminal() { help.ansi().to_string() } else { help.to_string() };
    let written = stdout().write_all(text.as_bytes()).and_then(|()| stdout().flush());
    Err(end(program, written.map(|()| ExitCode::SUCCESS)))
}
