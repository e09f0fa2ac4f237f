//! What back ends on servers have in common: each call has an end, and a server that is away is not asked all the time.

use std::future::Future;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

use super::StoreError;

/// Between the first attempts to reach a server that is away.
const FIRST: Duration = Duration::from_millis(100);
/// Between attempts at most.
const MOST: Duration = Duration::from_secs(10);

/// Runs what the client of a server does.
pub(crate) struct Remote {
    runtime: Runtime,
    timeout: Duration,
    away: Option<Away>,
}

/// A server that could not be reached.
struct Away {
    why: String,
    wait: Duration,
    next: Instant,
}

pub(crate) fn failed(text: impl Into<String>) -> StoreError {
    StoreError::Backend(text.into().into())
}

impl Remote {
    /// With so long for each answer.
    pub(crate) fn new(timeout: Duration) -> Result<Self, StoreError> {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).thread_name("dunlin-store").enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::Backend(Box::new(error)))?;
        Ok(Self { runtime, timeout, away: None })
    }

    /// Waits for an answer.
    pub(crate) fn run<T>(&self, work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let timeout = self.timeout;
        let late = || failed(format!("no answer within {timeout:?}"));
        self.runtime
            .block_on(async { tokio::time::timeout(timeout, work).await.unwrap_or_else(|_| Err(late())) })
    }

    /// The error of the last attempt while it is too early for another one.
    pub(crate) fn may_connect(&self) -> Result<(), StoreError> {
        match &self.away {
            Some(away) if Instant::now() < away.next => Err(failed(away.why.clone())),
            _ => Ok(()),
        }
    }

    /// Notes whether the server could be reached.
    pub(crate) fn connected<T>(&mut self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        match &result {
            Ok(_) => self.away = None,
            Err(error) => {
                let wait = self.away.as_ref().map_or(FIRST, |away| (away.wait * 2).min(MOST));
                self.away = Some(Away { why: error.to_string(), wait, next: Instant::now() + wait });
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreachable_store_is_retried_with_growing_pauses() {
        let mut remote = Remote::new(Duration::from_millis(1)).unwrap();
        let never = remote.run(std::future::pending::<Result<(), StoreError>>());
        assert!(never.unwrap_err().to_string().contains("within 1ms"));
        for doubled in [1, 2, 4, 8, 16, 32, 64, 100, 100] {
            assert!(remote.connected::<()>(Err(failed("gone"))).is_err());
            let away = remote.away.as_ref().unwrap();
            assert_eq!(away.wait, (FIRST * doubled).min(MOST));
            assert_eq!(remote.may_connect().unwrap_err().to_string(), "gone");
        }
        assert!(remote.connected(Ok(())).is_ok() && remote.may_connect().is_ok());
    }
}
