//! What is printed: nothing that a stranger named may do more than be read, and nobody has to read it.

use std::fmt::{self, Write as _};
use std::io::{self, Write};

use dunlin_core::is_harmful;

/// A name from the network without characters that could harm a terminal. Everything that comes from the network is printed through this.
#[must_use]
pub fn sanitize(name: &str) -> String {
    name.chars().map(|c| if is_harmful(c) { '\u{fffd}' } else { c }).collect()
}

/// The same for several lines, which stay lines.
#[must_use]
pub fn sanitize_lines(text: &str) -> String {
    text.split('\n').map(sanitize).collect::<Vec<_>>().join("\n")
}

/// JSON with its harmful characters as escapes: they can stand in strings alone, and mean the same there.
#[must_use]
pub fn sanitize_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_harmful(c) && c != '\n' {
            // Writing to a string does not fail; none of them is beyond the plane that four digits name.
            _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Prints a harmless line on standard output, if that takes it.
pub fn say(text: fmt::Arguments<'_>) {
    line(&mut io::stdout().lock(), text);
}

/// Prints a harmless line on standard error, if that takes it.
pub fn tell(text: fmt::Arguments<'_>) {
    line(&mut io::stderr().lock(), text);
}

fn line(out: &mut impl Write, text: fmt::Arguments<'_>) {
    // Whole, so that lines of several processes do not mix. A full disk or a closed pipe is no reason to end.
    _ = out.write_all((sanitize_lines(&text.to_string()) + "\n").as_bytes());
}

/// A line on standard output, see [`say`](crate::say()).
#[macro_export]
macro_rules! say {
    ($($text:tt)+) => { $crate::say(format_args!($($text)+)) };
}

/// A line on standard error, see [`tell`](crate::tell()).
#[macro_export]
macro_rules! tell {
    ($($text:tt)+) => { $crate::tell(format_args!($($text)+)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_control_characters_are_replaced() {
        assert_eq!(sanitize("A\u{1b}[2J\n\u{9b}B"), "A\u{fffd}[2J\u{fffd}\u{fffd}B");
        assert_eq!(sanitize("A\u{202e}B\u{2028}\u{2069}é"), "A\u{fffd}B\u{fffd}\u{fffd}é");
        assert_eq!(sanitize_lines("struct A\u{1b}[2J {\n}\n"), "struct A\u{fffd}[2J {\n}\n");
    }

    #[test]
    fn json_means_the_same_without_harmful_characters() {
        let json = "{\"a\": \"\u{9b}1m\u{202e}é\"}\n";
        assert_eq!(sanitize_json(json), "{\"a\": \"\\u009b1m\\u202eé\"}\n");
    }

    #[test]
    fn a_full_output_does_not_end_the_program() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        line(&mut Full, format_args!("nobody"));
        let mut out = Vec::new();
        line(&mut out, format_args!("a{}b", '\u{9b}'));
        assert_eq!(out, "a\u{fffd}b\n".as_bytes());
    }
}
