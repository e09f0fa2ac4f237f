//! What most commands have in common: which domain they join, with which configuration, and how they wait.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Args;
use dunlin::config::Interest;
use dunlin::{Condition, Config, DataReader, DomainParticipant, StateMasks, TopicType, WaitError, WaitSet};

/// Longest time to wait: discovery of a sound domain takes less than a second.
const LONGEST_WAIT: f64 = 3600.0;

/// Which domain is joined, and how.
#[derive(Args)]
pub struct Join {
    /// The domain instead of the one of the configuration
    #[arg(short, long)]
    domain: Option<u32>,
    /// Set a key of the configuration: network.interfaces=eth0
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Join {
    /// What overrides the configuration.
    pub fn set(&self) -> &[String] {
        &self.set
    }

    /// The domain that is joined.
    pub fn domain(&self, config: &Config) -> u32 {
        self.domain.unwrap_or(config.domain.id)
    }

    /// Joins it under a name, to see everybody who is there.
    pub fn participant(&self, mut config: Config, name: &str) -> Result<DomainParticipant> {
        config.discovery.interest = Interest::Everything;
        Ok(DomainParticipant::builder(self.domain(&config)).config(config).name(name).build()?)
    }
}

/// A domain of which everything is told that is known after a while.
#[derive(Args)]
pub struct Survey {
    #[command(flatten)]
    pub join: Join,
    /// Listen for so many seconds before the answer
    #[arg(short, long, default_value_t = 2.0, value_name = "SECONDS")]
    pub wait: f64,
}

/// How long discovery is to work.
pub fn wait_of(seconds: f64) -> Result<Duration> {
    ensure!((0.0..=LONGEST_WAIT).contains(&seconds), "--wait takes 0 to {LONGEST_WAIT} seconds");
    Ok(Duration::from_secs_f64(seconds))
}

/// Lets discovery work for so long.
pub fn listen(seconds: f64) -> Result<()> {
    let deadline = Instant::now() + wait_of(seconds)?;
    while let Some(left) = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        std::thread::park_timeout(left);
    }
    Ok(())
}

/// Samples that a reader has and that nobody has looked at yet.
pub struct Arrivals {
    set: WaitSet,
    arrived: Condition,
}

impl Arrivals {
    /// Those of a reader.
    pub fn of<T: TopicType>(reader: &DataReader<T>) -> Result<Self> {
        let arrived = reader.create_readcondition(StateMasks::NOT_READ)?.condition().clone();
        let set = WaitSet::new();
        set.attach_condition(&arrived);
        Ok(Self { set, arrived })
    }

    /// Waits until there are some, at most for `time`.
    pub fn wait(&self, time: Duration) -> Result<()> {
        if self.arrived.trigger_value() {
            return Ok(());
        }
        let nanos = i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        match self.set.wait(dunlin::Duration::from_nanos(nanos)) {
            Ok(_) | Err(WaitError::Timeout) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_bounded() {
        assert!(listen(-1.0).is_err() && listen(f64::INFINITY).is_err() && listen(0.0).is_ok());
    }
}
