//! How each type of the schema is read from a file or the environment, and printed.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use dunlin_core::defaults::MAX_PARTICIPANT_INDEX;
use dunlin_core::{Duration, is_harmful};

use crate::units;

/// A value as it stands in its source.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Raw {
    /// Without a type: from the environment or the command line. A list is separated by commas.
    Plain(String),
    Text(String),
    Integer(i64),
    Bool(bool),
    List(Vec<Raw>),
    /// Of a type that no key has.
    Other(String),
}

/// Longest value shown in an error.
const MAX_SHOWN: usize = 80;

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Raw::Plain(text) | Raw::Text(text) => format!("{text:?}"),
            Raw::Integer(n) => n.to_string(),
            Raw::Bool(b) => b.to_string(),
            Raw::List(items) => {
                let shown: Vec<String> = items.iter().take(8).map(ToString::to_string).collect();
                format!("[{}]", shown.join(", "))
            }
            Raw::Other(text) => text.clone(),
        };
        match text.char_indices().nth(MAX_SHOWN) {
            Some((end, _)) => write!(f, "{}…", text.get(..end).unwrap_or_default()),
            None => f.write_str(&text),
        }
    }
}

impl Raw {
    /// As it would stand in a TOML file.
    pub(crate) fn print(&self) -> String {
        match self {
            Raw::Plain(text) | Raw::Text(text) => quoted(text),
            Raw::Integer(n) => n.to_string(),
            Raw::Bool(b) => b.to_string(),
            Raw::List(items) => format!("[{}]", items.iter().map(Raw::print).collect::<Vec<_>>().join(", ")),
            Raw::Other(text) => text.clone(),
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Raw::Plain(text) | Raw::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A type that a key can have.
pub(crate) trait Value: Clone + PartialEq {
    /// A word that may stand for a value.
    const WORD: Option<&'static str> = None;
    /// The values of the type; completes "expected …".
    const EXPECTS: &'static str;
    fn read(raw: &Raw) -> Option<Self>;
    /// As it would stand in a TOML file.
    fn print(&self) -> String;
}

pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            // None of them is beyond the plane that four digits name.
            c if is_harmful(c) => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

impl Value for bool {
    const EXPECTS: &'static str = "true or false";
    fn read(raw: &Raw) -> Option<Self> {
        match raw {
            Raw::Bool(b) => Some(*b),
            Raw::Plain(text) => text.trim().parse().ok(),
            _ => None,
        }
    }
    fn print(&self) -> String {
        self.to_string()
    }
}

macro_rules! integer {
    ($($type:ty: $expects:literal),*) => {$(
        impl Value for $type {
            const EXPECTS: &'static str = $expects;
            fn read(raw: &Raw) -> Option<Self> {
                match raw {
                    Raw::Integer(n) => Self::try_from(*n).ok(),
                    Raw::Plain(text) => text.trim().parse().ok(),
                    _ => None,
                }
            }
            fn print(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

integer! {
    u8: "a whole number from 0 to 255",
    u16: "a whole number from 0 to 65535",
    u32: "a whole number from 0 to 4294967295",
    u64: "a whole number that is not negative"
}

impl Value for String {
    const EXPECTS: &'static str = "a text";
    fn read(raw: &Raw) -> Option<Self> {
        raw.text().map(Into::into)
    }
    fn print(&self) -> String {
        quoted(self)
    }
}

/// Longest list accepted.
const MAX_LIST: usize = 256;

impl Value for Vec<String> {
    const EXPECTS: &'static str = "a list of at most 256 texts";
    fn read(raw: &Raw) -> Option<Self> {
        let items: Self = match raw {
            Raw::List(items) => items.iter().take(MAX_LIST + 1).map(String::read).collect::<Option<_>>()?,
            Raw::Plain(text) => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                items.take(MAX_LIST + 1).map(Into::into).collect()
            }
            _ => return None,
        };
        (items.len() <= MAX_LIST).then_some(items)
    }
    fn print(&self) -> String {
        let items: Vec<String> = self.iter().map(|item| quoted(item)).collect();
        format!("[{}]", items.join(", "))
    }
}

macro_rules! from_text {
    ($($type:ty: $expects:literal, $parse:expr, $print:expr;)*) => {$(
        impl Value for $type {
            const EXPECTS: &'static str = $expects;
            fn read(raw: &Raw) -> Option<Self> {
                raw.text().and_then($parse)
            }
            fn print(&self) -> String {
                quoted(&$print(self))
            }
        }
    )*};
}

from_text! {
    Duration: "a duration with a unit, such as \"100ms\" or \"10s\", or \"infinite\"",
        units::parse_duration, |d: &Duration| units::print_duration(*d);
    Size: "a size with a unit, such as \"64KiB\" or \"2MiB\"",
        |text| units::parse_size(text).map(Size), |s: &Size| units::print_size(s.0);
    Rate: "a rate with a unit, such as \"50Mbit/s\"",
        |text| units::parse_rate(text).map(Rate), |r: &Rate| units::print_rate(r.0);
    Share: "a share from \"0%\" to \"100%\"",
        |text| units::parse_share(text).map(Share), |s: &Share| units::print_share(s.0);
    Ipv4Addr: "an IPv4 address", |text| text.trim().parse().ok(), ToString::to_string;
    Ipv6Addr: "an IPv6 address", |text| text.trim().parse().ok(), ToString::to_string;
}

/// A number of octets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Size(pub u64);

impl Size {
    /// In the machine's own size type; larger values become the largest of it.
    #[must_use]
    pub fn to_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// A rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Rate(pub u64);

/// A share of one, in parts per million.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Share(pub u32);

/// A value, or a word that stands for the lack of one.
macro_rules! word_or {
    ($(#[$doc:meta])* $name:ident, $variant:ident, $word:literal, $variant_doc:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub enum $name<T> {
            #[doc = $variant_doc]
            #[default]
            $variant,
            /// This value.
            Value(T),
        }

        impl<T: Copy> $name<T> {
            /// The value, if one was set.
            #[must_use]
            pub fn value(self) -> Option<T> {
                match self {
                    Self::$variant => None,
                    Self::Value(value) => Some(value),
                }
            }
        }

        impl<T: Value> Value for $name<T> {
            const WORD: Option<&'static str> = Some($word);
            const EXPECTS: &'static str = T::EXPECTS;
            fn read(raw: &Raw) -> Option<Self> {
                match raw.text() {
                    Some(text) if text.trim() == $word => Some(Self::$variant),
                    _ => T::read(raw).map(Self::Value),
                }
            }
            fn print(&self) -> String {
                match self {
                    Self::$variant => concat!('"', $word, '"').into(),
                    Self::Value(value) => value.print(),
                }
            }
        }
    };
}

word_or! {
    /// A value, or `"auto"`.
    Auto, Auto, "auto", "Dunlin chooses."
}
word_or! {
    /// A value, or `"off"`.
    Switch, Off, "off", "Not used."
}

/// An enumeration of words.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $expects:literal { $($(#[$vdoc:meta])* $variant:ident = $word:literal),* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub enum $name { $($(#[$vdoc])* $variant),* }

        impl Value for $name {
            const EXPECTS: &'static str = $expects;
            fn read(raw: &Raw) -> Option<Self> {
                match raw.text()?.trim() {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }
            fn print(&self) -> String {
                match self { $(Self::$variant => quoted($word)),* }
            }
        }
    };
}

words! {
    /// What multicast is used for.
    Multicast, "\"on\", \"off\" or \"spdp\"" {
        /// For discovery, and for user data where it pays.
        #[default]
        On = "on",
        /// For nothing: only `peers` and the local host are found.
        Off = "off",
        /// Only to find other participants.
        Spdp = "spdp"
    }
}

words! {
    /// How participants find each other, and which way data takes.
    Architecture, "\"decentralised\", \"centralised\" or \"federated\"" {
        /// They find each other; data goes from writer to reader.
        #[default]
        Decentralised = "decentralised",
        /// Servers tell them of each other; data goes from writer to reader.
        Centralised = "centralised",
        /// A daemon of the host tells them of each other, and all data goes through it.
        Federated = "federated"
    }
}

words! {
    /// What a participant does without the daemon of its host.
    Absent, "\"wait\" or \"decentralised\"" {
        /// It waits for it.
        #[default]
        Wait = "wait",
        /// It does without it, as with the architecture "decentralised".
        Decentralised = "decentralised"
    }
}

words! {
    /// Which writers send past the daemon of their host.
    DirectWrite, "\"never\", \"asked\" or \"always\"" {
        /// None; a writer that shall is refused.
        #[default]
        Never = "never",
        /// Those with the property "dunlin.direct_write".
        Asked = "asked",
        /// All but those whose property says "false".
        Always = "always"
    }
}

words! {
    /// What a participant wants to know of others.
    Interest, "\"topics\" or \"everything\"" {
        /// Those with a topic in common.
        #[default]
        Topics = "topics",
        /// All.
        Everything = "everything"
    }
}

words! {
    /// What a thread that receives user data does while nothing arrives.
    Waiting, "\"adaptive\", \"blocking\" or \"polling\"" {
        /// Looks again and again for a moment where the next datagram is about to come, and sleeps otherwise.
        #[default]
        Adaptive = "adaptive",
        /// Sleeps.
        Blocking = "blocking",
        /// Looks again and again, and takes a core for it.
        Polling = "polling"
    }
}

words! {
    /// Who may use the files that stand for shared memory.
    Access, "\"user\", \"group\" or \"everyone\"" {
        /// Processes of the same user.
        #[default]
        User = "user",
        /// Those of the same group as well.
        Group = "group",
        /// Everybody who can reach the folder.
        Everyone = "everyone"
    }
}

words! {
    /// What becomes of DURABILITY transient and persistent where there is no durability service.
    WithoutService, "\"refuse\" or \"local\"" {
        /// Such endpoints are refused.
        #[default]
        Refuse = "refuse",
        /// Writers keep their own samples for late joiners, as with TRANSIENT_LOCAL.
        Local = "local"
    }
}

/// Which pair of well-known unicast ports is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ParticipantIndex {
    /// The lowest that is free; beyond the well-known range any free port.
    #[default]
    Auto,
    /// None: any free port.
    Ephemeral,
    /// This one, or an error if it is taken.
    Fixed(u32),
}

impl Value for ParticipantIndex {
    const EXPECTS: &'static str = "\"auto\", \"ephemeral\" or a number from 0 to 119";
    fn read(raw: &Raw) -> Option<Self> {
        match raw.text().map(str::trim) {
            Some("auto") => Some(Self::Auto),
            Some("ephemeral") => Some(Self::Ephemeral),
            _ => u32::read(raw).filter(|n| *n <= MAX_PARTICIPANT_INDEX).map(Self::Fixed),
        }
    }
    fn print(&self) -> String {
        match self {
            Self::Auto => quoted("auto"),
            Self::Ephemeral => quoted("ephemeral"),
            Self::Fixed(n) => n.to_string(),
        }
    }
}

/// The port that others connect to over TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TcpPort {
    /// The lowest well-known one that is free.
    #[default]
    Auto,
    /// None.
    Off,
    /// This one, or an error if it is taken.
    Fixed(u16),
}

impl Value for TcpPort {
    const EXPECTS: &'static str = "\"auto\", \"off\" or a number from 1 to 65535";
    fn read(raw: &Raw) -> Option<Self> {
        match raw.text().map(str::trim) {
            Some("auto") => Some(Self::Auto),
            Some("off") => Some(Self::Off),
            _ => u16::read(raw).filter(|port| *port != 0).map(Self::Fixed),
        }
    }
    fn print(&self) -> String {
        match self {
            Self::Auto => quoted("auto"),
            Self::Off => quoted("off"),
            Self::Fixed(port) => port.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Raw {
        Raw::Plain(text.into())
    }

    fn text(text: &str) -> Raw {
        Raw::Text(text.into())
    }

    #[test]
    fn plain_text_takes_the_type_of_its_key() {
        assert_eq!(bool::read(&plain("true")), Some(true));
        assert_eq!(u16::read(&plain(" 7400 ")), Some(7400));
        assert_eq!(Vec::<String>::read(&plain("eth0, lo,")), Some(vec!["eth0".into(), "lo".into()]));
        assert_eq!(Auto::<Size>::read(&plain("auto")), Some(Auto::Auto));
        assert_eq!(Switch::<Rate>::read(&plain("1Gbit/s")), Some(Switch::Value(Rate(1_000_000_000))));
        assert_eq!(ParticipantIndex::read(&plain("7")), Some(ParticipantIndex::Fixed(7)));
    }

    #[test]
    fn typed_values_must_have_the_type() {
        assert_eq!(bool::read(&text("true")), None);
        assert_eq!(u16::read(&text("7400")), None);
        assert_eq!(u8::read(&Raw::Integer(256)), None);
        assert_eq!(u64::read(&Raw::Integer(-1)), None);
        assert_eq!(String::read(&Raw::Integer(1)), None);
        assert_eq!(Vec::<String>::read(&text("eth0")), None);
        assert_eq!(Vec::<String>::read(&Raw::List(vec![Raw::Integer(1)])), None);
        assert_eq!(Vec::<String>::read(&Raw::List(vec![text("x"); 257])), None);
        assert_eq!(Multicast::read(&text("sometimes")), None);
        assert_eq!(ParticipantIndex::read(&Raw::Integer(120)), None);
        assert!(ParticipantIndex::EXPECTS.ends_with(&format!("0 to {MAX_PARTICIPANT_INDEX}")));
        assert_eq!(
            [Raw::Integer(0), Raw::Integer(65_536), text("on")].map(|raw| TcpPort::read(&raw)),
            [None; 3]
        );
        assert_eq!(TcpPort::read(&plain("7400")).map(|port| port.print()), Some("7400".into()));
    }

    #[test]
    fn texts_are_quoted_and_long_ones_cut() {
        assert_eq!("a\"b\\c\n".to_string().print(), "\"a\\\"b\\\\c\\u000A\"");
        assert_eq!("a\u{202e}b\u{9b}".to_string().print(), "\"a\\u202Eb\\u009B\"");
        let long = text(&"ä".repeat(1_000)).to_string();
        assert!(long.chars().count() <= MAX_SHOWN + 1 && long.ends_with('…'));
    }
}
