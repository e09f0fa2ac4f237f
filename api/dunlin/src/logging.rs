//! Logs on standard error, as `logging` of the configuration says.

use std::sync::Arc;

use dunlin_config::Config;
use dunlin_driver::log::print_without_subscriber;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Why logs could not be set up.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum LoggingError {
    /// The filter is not understood.
    #[error("logging.filter: {0}")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// The filter names a span or its values.
    #[error(
        "logging.filter: '{0}' is of spans, of which the library has none; name targets, as in 'warn,dunlin::why=off'"
    )]
    Span(String),
    /// The program has set up `tracing` already.
    #[error("the program has set up tracing already")]
    AlreadySet,
}

crate::sentence::debug_is_sentence!(LoggingError);

/// Sets up a subscriber of `tracing` that prints logs on standard error, with time and colours, those of the program and of
/// other libraries too.
///
/// Programs that set up no subscriber need not call it: then the library prints its own messages on standard error, one plain
/// line each, from the first participant on (`logging.standard_error`), and leaves `tracing` alone.
///
/// # Errors
/// [`LoggingError`].
pub fn init_logging(config: &Config) -> Result<(), LoggingError> {
    let filter = targets(&config.logging.filter)?;
    let everything = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE);
    let subscriber = everything.with_writer(std::io::stderr).finish().with(filter);
    subscriber.try_init().map_err(|_| LoggingError::AlreadySet)
}

/// Has messages printed, as the configuration says, as long as the program has no subscriber.
///
/// # Errors
/// [`LoggingError::Filter`], [`LoggingError::Span`].
pub(crate) fn print_plainly(config: &Config) -> Result<(), LoggingError> {
    let filter = targets(&config.logging.filter)?;
    let wanted: Arc<dyn Fn(_, &str) -> bool + Send + Sync> =
        Arc::new(move |level, target| filter.would_enable(target, &level));
    print_without_subscriber(config.logging.standard_error.then_some(wanted));
    Ok(())
}

/// Levels, for all targets or those that begin like this: `warn,dunlin::why=off`. Filters of spans are refused: the library has
/// none, and what matches their values, regular expressions, would be a quarter of a megabyte of each program.
fn targets(filter: &str) -> Result<Targets, LoggingError> {
    let parts: Vec<_> = filter.split(',').filter(|part| !part.is_empty()).collect();
    if let Some(part) = parts.iter().find(|part| part.contains(['[', ']', '{', '}'])) {
        return Err(LoggingError::Span((*part).to_owned()));
    }
    let parts = if parts.is_empty() { "error".to_owned() } else { parts.join(",") };
    Ok(parts.parse()?)
}

#[cfg(test)]
mod tests {
    use dunlin_driver::log::Level;

    use super::*;

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
        assert!(targets("warn,app[span{a=1}]=trace").is_err() && targets("[span]=trace").is_err());
        assert!(!enabled("", Level::WARN, "dunlin::why") && enabled("", Level::ERROR, "dunlin::why"));
        assert!(!enabled("off", Level::ERROR, "dunlin::why"));
    }
}
