//! Programs of other implementations that answer lines about octets.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use dunlin_cdr::Char16;
use dunlin_dynamic::{UnionValue, Value};

/// Where the programs are.
pub fn peers() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::var_os("INTEROP_PEERS").map_or_else(|| root.join(".cache/peers"), PathBuf::from)
}

/// A program that runs.
pub struct LinePeer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl LinePeer {
    /// Starts it; `made_by` is what builds it.
    pub fn start(command: &mut Command, made_by: &str) -> Self {
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.unwrap_or_else(|error| panic!("{error}: the peer is made by {made_by}"));
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, output: BufReader::new(output) }
    }

    /// The next line.
    pub fn line(&mut self, question: &str) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the peer ended at {}", &question[..question.len().min(2000)]);
        line.trim_end().to_owned()
    }

    pub fn ask(&mut self, question: &str) -> String {
        writeln!(self.input, "{question}").unwrap();
        self.line(question)
    }

    pub fn end(self) {
        let Self { mut child, input, .. } = self;
        drop(input);
        assert!(child.wait().unwrap().success());
    }
}

pub fn hex(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |mut text, octet| {
        write!(text, "{octet:02x}").unwrap();
        text
    })
}

pub fn octets(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// A payload without its header and what fills the last word.
pub fn body(payload: &[u8]) -> &[u8] {
    &payload[4..payload.len() - usize::from(payload[3] & 3)]
}

/// A value that the others take: half a character is none. `literal` is what becomes of literals.
pub fn tame(value: Value, literal: fn(i32) -> i32) -> Value {
    match value {
        Value::Char16(Char16(0xd800..=0xdfff)) => Value::Char16(Char16(0x20ac)),
        Value::Enumeration(value) => Value::Enumeration(literal(value)),
        Value::List(items) => Value::List(items.into_iter().map(|item| tame(item, literal)).collect()),
        Value::Structure(members) => {
            let tamed = |member: Option<Value>| member.map(|member| tame(member, literal));
            Value::Structure(members.into_iter().map(tamed).collect())
        }
        Value::Union(it) => {
            let member = it.member.map(|member| tame(member, literal));
            Value::Union(Box::new(UnionValue { discriminator: it.discriminator, member }))
        }
        other => other,
    }
}
