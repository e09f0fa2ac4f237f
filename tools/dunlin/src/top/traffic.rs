//! Numbers of samples, each with where it comes from.

use dunlin::statistics::EntityStatistics;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::watch::Flow;
use crate::statistics::Told;

/// Who counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The participant itself, which told its counters.
    Counters,
    /// The subscription of this tool.
    Subscription,
    /// Of what was added up, some the one and some the other.
    Both,
}

impl Source {
    const fn name(self) -> &'static str {
        match self {
            Self::Counters => "counters",
            Self::Subscription => "subscription",
            Self::Both => "both",
        }
    }
}

/// A number and who counted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Known<T> {
    pub value: T,
    pub source: Source,
}

/// A number, if it is known.
pub type Number<T> = Option<Known<T>>;

fn counted<T>(value: Option<T>) -> Number<T> {
    value.map(|value| Known { value, source: Source::Counters })
}

/// One that the subscription counted.
pub fn seen<T>(value: T) -> Number<T> {
    Some(Known { value, source: Source::Subscription })
}

/// What can be added up without end: participants tell any numbers they like.
pub trait Saturating {
    fn plus(self, other: Self) -> Self;
}

impl Saturating for u64 {
    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

impl Saturating for f64 {
    fn plus(self, other: Self) -> Self {
        self + other
    }
}

/// The sum of what is known, if anything is.
pub fn total<T: Saturating>(numbers: impl Iterator<Item = Number<T>>) -> Number<T> {
    numbers.flatten().reduce(|sum, one| Known {
        value: sum.value.plus(one.value),
        source: if sum.source == one.source { sum.source } else { Source::Both },
    })
}

/// What is known of the samples of a topic, an endpoint or a participant.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Traffic {
    /// In the last interval, or in the last period of the counters.
    pub samples_per_second: Number<f64>,
    /// The same. The subscription counts serialized samples, the counters of a writer datagrams.
    pub octets_per_second: Number<f64>,
    /// Samples that a reader lost, or that the subscription did; unknown of writers that own instances, as what others own is
    /// not seen.
    pub lost: Number<u64>,
    /// Sent again by a writer, received again by a reader; of topics repeated or late where only the subscription counts.
    pub again: Number<u64>,
    /// Samples of a writer that some reader has yet to acknowledge.
    pub unacknowledged: Number<u64>,
    /// Readers of a writer that do not answer.
    pub inactive: Number<u64>,
}

impl Serialize for Traffic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut sources = serde_json::Map::new();
        let rates =
            [("samples_per_second", self.samples_per_second), ("octets_per_second", self.octets_per_second)];
        for (name, rate) in rates {
            if let Some(Known { value, source }) = rate {
                map.serialize_entry(name, &value)?;
                sources.insert(name.to_owned(), source.name().into());
            }
        }
        let counts = [
            ("lost", self.lost),
            ("again", self.again),
            ("unacknowledged", self.unacknowledged),
            ("inactive", self.inactive),
        ];
        for (name, count) in counts {
            if let Some(Known { value, source }) = count {
                map.serialize_entry(name, &value)?;
                sources.insert(name.to_owned(), source.name().into());
            }
        }
        map.serialize_entry("sources", &sources)?;
        map.end()
    }
}

impl Traffic {
    /// What was seen of a writer, between two moments. No rate is known of a topic that was not subscribed to before: its
    /// samples came in a part of the time.
    #[allow(clippy::cast_precision_loss, reason = "for people")]
    pub fn of_flow(before: Option<Flow>, now: Flow, seconds: f64, exclusive: bool) -> Self {
        // A subscription that began again counts from nothing.
        let rate = |before: Option<u64>, now: u64| {
            before.and_then(|before| seen(now.saturating_sub(before) as f64 / seconds.max(1e-9)))
        };
        Self {
            samples_per_second: rate(before.map(|flow| flow.samples), now.samples),
            octets_per_second: rate(before.map(|flow| flow.octets), now.octets),
            lost: if exclusive { None } else { seen(now.lost) },
            ..Self::default()
        }
    }

    /// What a writer tells.
    pub fn of_writer(told: &Told) -> Option<Self> {
        let it = told.now.writer.as_ref()?;
        let counter = |counter: fn(&dunlin::statistics::WriterCounters) -> u64| {
            counted(told.rate(|now: &EntityStatistics| now.writer.as_ref().map(counter)))
        };
        Some(Self {
            samples_per_second: counter(|it| it.written),
            octets_per_second: counter(|it| it.sent_octets),
            lost: None,
            again: counted(Some(again(it))),
            unacknowledged: counted(Some(it.unacknowledged)),
            inactive: counted(Some(it.inactive.into())),
        })
    }

    /// What a reader tells.
    pub fn of_reader(told: &Told) -> Option<Self> {
        let it = told.now.reader?;
        let received = |now: &EntityStatistics| now.reader.map(|it| it.received);
        Some(Self {
            samples_per_second: counted(told.rate(received)),
            lost: counted(Some(it.lost)),
            again: counted(Some(it.duplicates)),
            ..Self::default()
        })
    }

    /// What is known of it here, and of the rest there.
    pub fn or(self, other: Self) -> Self {
        Self {
            samples_per_second: self.samples_per_second.or(other.samples_per_second),
            octets_per_second: self.octets_per_second.or(other.octets_per_second),
            lost: self.lost.or(other.lost),
            again: self.again.or(other.again),
            unacknowledged: self.unacknowledged.or(other.unacknowledged),
            inactive: self.inactive.or(other.inactive),
        }
    }

    /// The sum of writers.
    pub fn sum(all: &[Self]) -> Self {
        let total_of = |number: fn(&Self) -> Number<u64>| total(all.iter().map(number));
        Self {
            samples_per_second: total(all.iter().map(|it| it.samples_per_second)),
            octets_per_second: total(all.iter().map(|it| it.octets_per_second)),
            lost: total_of(|it| it.lost),
            again: total_of(|it| it.again),
            unacknowledged: total_of(|it| it.unacknowledged),
            inactive: total_of(|it| it.inactive),
        }
    }
}

/// Whole samples and fragments that were sent again.
fn again(it: &dunlin::statistics::WriterCounters) -> u64 {
    it.repairs.saturating_add(it.repair_fragments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_what_others_tell_end_at_the_greatest_number() {
        let told = [counted(Some(u64::MAX)), counted(Some(1)), None];
        assert_eq!(total(told.into_iter()), counted(Some(u64::MAX)));
    }
}
