//! Logs on standard error, as `logging.filter` of the configuration says.

use dunlin_config::Config;
use tracing_subscriber::EnvFilter;

/// Why logs could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoggingError {
    /// The filter is not understood.
    #[error("logging.filter: {0}")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// The program has set up `tracing` already.
    #[error("the program has set up tracing already")]
    AlreadySet,
}

/// Prints the library's logs on standard error. For programs that do not set up `tracing` themselves; the
/// library never does it on its own.
///
/// # Errors
/// [`LoggingError`].
pub fn init_logging(config: &Config) -> Result<(), LoggingError> {
    let filter = EnvFilter::try_new(&config.logging.filter)?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    subscriber.try_init().map_err(|_| LoggingError::AlreadySet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_is_not_understood_is_named_and_a_second_set_up_refused() {
        let mut config = Config::default();
        config.logging.filter = "dunlin=loud".into();
        assert!(init_logging(&config).unwrap_err().to_string().contains("logging.filter"));
        config.logging.filter = "warn".into();
        assert!(init_logging(&config).is_ok());
        assert!(matches!(init_logging(&config), Err(LoggingError::AlreadySet)));
    }
}
