//! What the commands print, and how: what cannot be told on standard error is not told.

use std::fmt;
use std::io::{self, Write};

use dunlin_program::sanitize_json;
pub use dunlin_program::{is_closed, stdout};
use serde::Serialize;

/// How many characters a line of standard output has room for, if it is a terminal.
pub fn width() -> Option<usize> {
    use std::io::IsTerminal;
    let size = io::stdout().is_terminal().then(ratatui::crossterm::terminal::size)?;
    size.ok().map(|(width, _)| usize::from(width)).filter(|width| *width > 0)
}

/// Writes what the program itself has laid out, perhaps with colours, to standard error.
pub fn show(text: fmt::Arguments<'_>) {
    // Whole, so that lines of several threads do not mix. Who closed standard error does not want to read it.
    let _ = io::stderr().lock().write_all(text.to_string().as_bytes());
}

/// An error with its causes, each told once: some repeat what caused them.
pub fn sentence(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// `1 reader`, `2 readers`.
pub fn counted(count: impl TryInto<u64>, what: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A value as JSON, one line, which a terminal can show.
pub fn json(value: &impl Serialize) -> serde_json::Result<String> {
    Ok(sanitize_json(&serde_json::to_string(value)?) + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_that_is_in_the_error_is_not_repeated() {
        let error =
            anyhow::Error::msg("no such file").context("cannot open x: no such file").context("import");
        assert_eq!(sentence(&error), "import: cannot open x: no such file");
        let error = anyhow::Error::msg("no such file").context("x");
        assert_eq!(sentence(&error), "x: no such file");
    }

    #[test]
    fn counted_noun_is_singular_for_one() {
        assert_eq!(
            (counted(1_usize, "reader"), counted(0_u64, "reader")),
            ("1 reader".into(), "0 readers".into())
        );
    }
}
