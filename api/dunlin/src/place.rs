//! Where the present thread runs, if that is not the real machine: a node of the simulator, which brings what participants are
//! made with.

use std::cell::RefCell;
use std::sync::Arc;

use dunlin_config::Config;
use dunlin_driver::JoinError;

/// A place where programs run.
pub(crate) trait Place: Send + Sync {
    /// What applies when the application gives no configuration.
    fn config(&self) -> Config;

    /// The configuration with addresses for the names of hosts.
    ///
    /// # Errors
    /// For a name that no host has, and for settings that make no sense here.
    fn resolve(&self, config: Config) -> Result<Config, JoinError>;
}

thread_local! {
    static PRESENT: RefCell<Option<Arc<dyn Place>>> = const { RefCell::new(None) };
}

/// Where the present thread runs; `None` on the real machine.
pub(crate) fn present() -> Option<Arc<dyn Place>> {
    PRESENT.with(|present| present.borrow().clone())
}

/// From now on the present thread runs there; where it ran before.
#[cfg(feature = "sim")]
pub(crate) fn replace(place: Option<Arc<dyn Place>>) -> Option<Arc<dyn Place>> {
    PRESENT.with(|present| present.replace(place))
}
