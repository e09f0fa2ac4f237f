//! Logs on standard error, as `logging` of the configuration says.

use dunlin_config::Config;
use dunlin_driver::log::print_without_subscriber;
use std::sync::Arc;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::Targets;

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

/// Sets up a subscriber of `tracing` that prints logs on standard error, with time and colours, those of the program and of
/// other libraries too.
///
/// Programs that set up no subscriber need not call it: then the library prints its own messages on standard error, one plain
/// line each, from the first participant on (`logging.standard_error`), and leaves `tracing` alone.
///
/// # Errors
/// [`LoggingError`].
pub fn init_logging(config: &Config) -> Result<(), LoggingError> {
    let filter = EnvFilter::try_new(&config.logging.filter)?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    subscriber.try_init().map_err(|_| LoggingError::AlreadySet)
}

/// Has messages printed, as the configuration says, as long as the program has no subscriber.
///
/// # Errors
/// [`LoggingError::Filter`].
pub(crate) fn print_plainly(config: &Config) -> Result<(), LoggingError> {
    let filter = targets(&config.logging.filter)?;
    let wanted: Arc<dyn Fn(_, &str) -> bool + Send + Sync> =
        Arc::new(move |level, target| filter.would_enable(target, &level));
    print_without_subscriber(config.logging.standard_error.then_some(wanted));
    Ok(())
}

/// What a filter says of messages outside of spans: the library has none.
fn targets(filter: &str) -> Result<Targets, LoggingError> {
    EnvFilter::try_new(filter)?;
    let of_spans = |part: &&str| part.contains(['[', ']', '{', '}']);
    let parts: Vec<_> = filter.split(',').filter(|part| !part.is_empty() && !of_spans(part)).collect();
    Ok(match (filter, &parts[..]) {
        // As the other reads it.
        ("", _) => "error".parse()?,
        (_, []) => "off".parse()?,
        _ => parts.join(",").parse()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dunlin_driver::log::Level;

    #[test]
    fn a_filter_that_is_not_understood_is_named_and_a_second_set_up_refused() {
        let mut config = Config::default();
        config.logging.filter = "dunlin=loud".into();
        assert!(init_logging(&config).unwrap_err().to_string().contains("logging.filter"));
        assert!(print_plainly(&config).unwrap_err().to_string().contains("logging.filter"));
        config.logging.filter = "warn".into();
        assert!(init_logging(&config).is_ok());
        assert!(matches!(init_logging(&config), Err(LoggingError::AlreadySet)));
    }

    #[test]
    fn filters_are_those_of_tracing() {
        let enabled =
            |filter: &str, level: Level, target: &str| targets(filter).unwrap().would_enable(target, &level);
        assert!(enabled("warn", Level::WARN, "dunlin::why") && !enabled("warn", Level::INFO, "dunlin::why"));
        assert!(!enabled("warn,dunlin::why=off", Level::ERROR, "dunlin::why"));
        assert!(enabled("warn,dunlin::why=off", Level::WARN, "dunlin_driver::group"));
        assert!(enabled("dunlin_driver=info", Level::INFO, "dunlin_driver::memory"));
        assert!(!enabled("dunlin_driver=info", Level::WARN, "dunlin::why"));
        assert!(enabled("warn,app[span{a=1}]=trace", Level::WARN, "dunlin::why"));
        assert!(!enabled("[span]=trace", Level::ERROR, "dunlin::why"));
        assert!(!enabled("", Level::WARN, "dunlin::why") && enabled("", Level::ERROR, "dunlin::why"));
        assert!(!enabled("off", Level::ERROR, "dunlin::why"));
    }
}
