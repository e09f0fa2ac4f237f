//! What publications and subscriptions of a board are like.

use anyhow::{Result, ensure};
use dunlin::Duration;
use dunlin::qos::{
    DataReaderQos, DataRepresentationId, DataWriterQos, DurabilityKind, PublisherQos, SubscriberQos,
};
use serde::{Deserialize, Serialize};

/// The longest name or expression that is taken from a page.
const MAX_TEXT: usize = 256;
/// The deepest history, and the longest trail.
const MAX_HISTORY: u32 = 100;

/// Names of the topics: the shapes that every vendor's demonstration has.
pub const TOPICS: [&str; 3] = ["Square", "Circle", "Triangle"];

/// QoS that can be chosen. Absent policies have their defaults.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// RELIABILITY.
    pub reliable: bool,
    /// DURABILITY TRANSIENT_LOCAL.
    pub transient_local: bool,
    /// HISTORY depth; 0 keeps all.
    pub history: u32,
    /// OWNERSHIP EXCLUSIVE.
    pub exclusive: bool,
    /// OWNERSHIP_STRENGTH of a publication.
    pub strength: i32,
    /// PARTITION names, separated by commas.
    pub partition: String,
    /// LIFESPAN of a publication in milliseconds; 0 is without end.
    pub lifespan: u32,
    /// DEADLINE in milliseconds; 0 is none.
    pub deadline: u32,
    /// TIME_BASED_FILTER of a subscription in milliseconds.
    pub time_filter: u32,
    /// Content filter of a subscription, such as `x < 120`.
    pub filter: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            reliable: true,
            transient_local: false,
            history: 6,
            exclusive: false,
            strength: 0,
            partition: String::new(),
            lifespan: 0,
            deadline: 0,
            time_filter: 0,
            filter: String::new(),
        }
    }
}

impl Settings {
    /// Refuses what is too long.
    ///
    /// # Errors
    /// Which value that is.
    pub fn check(&self) -> Result<()> {
        ensure!(self.history <= MAX_HISTORY, "the history is {MAX_HISTORY} deep at most");
        ensure!(self.filter.len() <= MAX_TEXT, "the filter has more than {MAX_TEXT} bytes");
        ensure!(self.partition.len() <= MAX_TEXT, "the partitions have more than {MAX_TEXT} bytes");
        Ok(())
    }

    /// Samples that a trail shows.
    #[must_use]
    pub fn trail(&self) -> usize {
        if self.history == 0 { MAX_HISTORY as usize } else { self.history as usize }
    }

    fn partitions(&self) -> Vec<String> {
        let names = self.partition.split(',').map(str::trim).filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    }

    fn durability(&self) -> DurabilityKind {
        if self.transient_local { DurabilityKind::TransientLocal } else { DurabilityKind::Volatile }
    }

    /// For the publisher.
    #[must_use]
    pub fn publisher(&self) -> PublisherQos {
        PublisherQos::default().partition(self.partitions())
    }

    /// For the subscriber.
    #[must_use]
    pub fn subscriber(&self) -> SubscriberQos {
        SubscriberQos::default().partition(self.partitions())
    }

    /// For the writer. XCDR1, as other vendors' demonstrations have it.
    #[must_use]
    pub fn writer(&self) -> DataWriterQos {
        let mut qos = DataWriterQos::default()
            .durability(self.durability())
            .representation(&[DataRepresentationId::Xcdr1]);
        qos = if self.reliable { qos.reliable() } else { qos.best_effort() };
        qos = if self.history == 0 { qos.keep_all() } else { qos.keep_last(self.history.cast_signed()) };
        if self.exclusive {
            qos = qos.exclusive().ownership_strength(self.strength);
        }
        if self.lifespan > 0 {
            qos = qos.lifespan(Duration::from_millis(self.lifespan.into()));
        }
        if self.deadline > 0 {
            qos = qos.deadline(Duration::from_millis(self.deadline.into()));
        }
        qos
    }

    /// For the reader.
    #[must_use]
    pub fn reader(&self) -> DataReaderQos {
        let mut qos = DataReaderQos::default()
            .durability(self.durability())
            .representation(&[DataRepresentationId::Xcdr1, DataRepresentationId::Xcdr2])
            .time_based_filter(Duration::from_millis(self.time_filter.into()));
        qos = if self.reliable { qos.reliable() } else { qos.best_effort() };
        qos = if self.history == 0 { qos.keep_all() } else { qos.keep_last(self.history.cast_signed()) };
        if self.exclusive {
            qos = qos.exclusive();
        }
        if self.deadline > 0 {
            qos = qos.deadline(Duration::from_millis(self.deadline.into()));
        }
        qos
    }

    /// In a few words; what is as usual is left out.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut words = vec![if self.reliable { "reliable" } else { "best effort" }.to_owned()];
        words.push(if self.history == 0 { "keep all".into() } else { format!("last {}", self.history) });
        let mut also = |given: bool, text: String| {
            if given {
                words.push(text);
            }
        };
        also(self.transient_local, "transient local".into());
        also(self.exclusive, "exclusive".into());
        also(self.exclusive && self.strength != 0, format!("strength {}", self.strength));
        also(!self.partition.is_empty(), format!("partition {}", self.partition));
        also(self.lifespan > 0, format!("lifespan {} ms", self.lifespan));
        also(self.deadline > 0, format!("deadline {} ms", self.deadline));
        also(self.time_filter > 0, format!("every {} ms", self.time_filter));
        also(!self.filter.is_empty(), self.filter.clone());
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_qos() {
        let settings = Settings {
            reliable: false,
            exclusive: true,
            strength: 7,
            history: 0,
            partition: "a, b*".into(),
            ..Settings::default()
        };
        assert_eq!(settings.publisher().partition.names, ["a", "b*"]);
        assert_eq!(settings.writer().ownership_strength.value, 7);
        assert_eq!(settings.summary(), "best effort, keep all, exclusive, strength 7, partition a, b*");
        assert!(settings.writer().validate().is_ok() && settings.reader().validate().is_ok());
        assert!(Settings { history: 1000, ..Settings::default() }.check().is_err());
    }
}
