//! Where messages go: to the subscriber of `tracing` that the program set up, or else, line by line, to standard error.
//!
//! The library never sets up a subscriber: the program can have but one, and it is the program's.

use std::fmt;
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
pub use tracing::Level;

use crate::lock::lock;
use crate::machine;

/// Whether a message of this level and target is wanted.
type Wanted = dyn Fn(Level, &str) -> bool + Send + Sync;

/// What is printed without a subscriber; nothing until somebody says so.
static WANTED: Mutex<Option<Arc<Wanted>>> = Mutex::new(None);

/// Which messages are printed on standard error while the program has set up no subscriber of `tracing`; `None`: none of
/// them. It holds for the process, as standard error does.
pub fn print_without_subscriber(wanted: Option<Arc<Wanted>>) {
    *lock(&WANTED) = wanted;
}

/// Whether the program has a subscriber, be it of one thread, so that nothing is printed past it.
#[doc(hidden)]
#[must_use]
pub fn has_subscriber() -> bool {
    tracing::dispatcher::has_been_set()
}

/// Prints a message, if it is wanted and of the real machine: a simulation may run thousands of others.
#[doc(hidden)]
pub fn print(level: Level, target: &str, message: fmt::Arguments<'_>) {
    if machine::entered().is_some() {
        return;
    }
    let wanted = lock(&WANTED).clone();
    if wanted.is_some_and(|wanted| wanted(level, target)) {
        let mut out = std::io::stderr().lock();
        if takes_a_line(&out) {
            // Whole, so that lines of several threads do not mix. Who closed standard error does not want to read it.
            let _ = out.write_all(line(level, target, message).as_bytes());
        }
    }
}

/// The most octets of a line: what a pipe that has room at all takes at once.
const MOST_OCTETS: usize = 4096;

/// Whether a line can be written at once: where nobody reads it is dropped, as the threads that write here receive data.
fn takes_a_line(out: &impl AsFd) -> bool {
    let mut asked = [PollFd::new(out, PollFlags::OUT)];
    poll(&mut asked, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
        && asked.iter().all(|out| out.revents().contains(PollFlags::OUT))
}

/// One line, whatever the message contains: names that others chose must not begin another, or command a terminal.
fn line(level: Level, target: &str, message: fmt::Arguments<'_>) -> String {
    let mut line = format!("{level} {target}: ");
    for letter in message.to_string().chars() {
        if line.len() + 16 > MOST_OCTETS {
            break;
        }
        if dunlin_core::is_harmful(letter) { line.extend(letter.escape_default()) } else { line.push(letter) }
    }
    line.push('\n');
    line
}

/// A message: `log!(WARN, "text with {values}")`, or with a target other than the module, `log!(target: "…", WARN, "…")`.
#[macro_export]
macro_rules! log {
    (target: $target:expr, $level:ident, $($message:tt)+) => {
        if $crate::log::has_subscriber() {
            $crate::log::tracing::event!(target: $target, $crate::log::Level::$level, $($message)+);
        } else {
            $crate::log::print($crate::log::Level::$level, $target, ::std::format_args!($($message)+));
        }
    };
    ($level:ident, $($message:tt)+) => {
        $crate::log!(target: ::std::module_path!(), $level, $($message)+)
    };
}

#[doc(hidden)]
pub use tracing;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_without_commands_for_the_terminal() {
        let hostile = "a\nERROR all is lost\u{1b}[2J\u{9b}1m é\u{202e}";
        let line = line(Level::WARN, "dunlin::why", format_args!("topic '{hostile}'"));
        assert_eq!(line, "WARN dunlin::why: topic 'a\\nERROR all is lost\\u{1b}[2J\\u{9b}1m é\\u{202e}'\n");
    }

    #[test]
    fn a_line_waits_for_no_reader() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let long = "x".repeat(10_000);
        let line = line(Level::WARN, "dunlin::why", format_args!("{long}"));
        assert!(line.len() <= MOST_OCTETS && line.ends_with("x\n"));
        let mut written = 0;
        while takes_a_line(&writer) {
            writer.write_all(line.as_bytes()).unwrap();
            written += 1;
        }
        assert!((1..1_000).contains(&written), "{written}");
        drop(reader);
    }
}
