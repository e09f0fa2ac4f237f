//! `dunlin shapes`.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use dunlin::{Config, DomainParticipant};
use dunlin_program::Stop;

use crate::board::{Board, Settings, TOPICS};
use crate::{terminal, web};

/// Between two moves.
pub(crate) const PERIOD: Duration = Duration::from_millis(40);

/// Seconds after which the program can be told to end: ten years.
const LONGEST: u64 = 315_360_000;

/// What is published and subscribed to at the beginning, and where it is shown.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Publish a shape: Square:BLUE, Circle:RED:40 (topic, colour, size)
    #[arg(short, long, value_name = "TOPIC:COLOR")]
    publish: Vec<String>,
    /// Subscribe to a topic: Square
    #[arg(short, long, value_name = "TOPIC")]
    subscribe: Vec<String>,
    /// The domain instead of the one of the configuration
    #[arg(short, long)]
    domain: Option<u32>,
    /// Show the shapes on a page for a browser on this host; 0 takes any port
    #[arg(long, value_name = "PORT")]
    web: Option<u16>,
    /// RELIABILITY BEST_EFFORT
    #[arg(long)]
    best_effort: bool,
    /// HISTORY depth; 0 keeps all
    #[arg(long, value_name = "DEPTH", default_value_t = 6)]
    history: u32,
    /// DURABILITY TRANSIENT_LOCAL
    #[arg(long)]
    transient_local: bool,
    /// OWNERSHIP EXCLUSIVE, with this strength
    #[arg(long, value_name = "STRENGTH")]
    exclusive: Option<i32>,
    /// PARTITION names, separated by commas
    #[arg(long, value_name = "NAMES", default_value = "")]
    partition: String,
    /// DEADLINE in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0)]
    deadline: u32,
    /// LIFESPAN of what is published, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0)]
    lifespan: u32,
    /// TIME_BASED_FILTER of what is subscribed to, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0)]
    time_filter: u32,
    /// Content filter of what is subscribed to: "x < 120"
    #[arg(long, value_name = "EXPRESSION", default_value = "")]
    filter: String,
    /// End after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=LONGEST))]
    seconds: Option<u64>,
    /// Set a key of the configuration: network.interfaces=eth0
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Arguments {
    /// What overrides the configuration.
    #[must_use]
    pub fn set(&self) -> &[String] {
        &self.set
    }

    fn settings(&self) -> Settings {
        Settings {
            reliable: !self.best_effort,
            transient_local: self.transient_local,
            history: self.history,
            exclusive: self.exclusive.is_some(),
            strength: self.exclusive.unwrap_or(0),
            partition: self.partition.clone(),
            lifespan: self.lifespan,
            deadline: self.deadline,
            time_filter: self.time_filter,
            filter: self.filter.clone(),
        }
    }

    /// Without a wish, a blue square among all that others publish; on a page nothing but what others publish.
    fn fill(&self, board: &Board) -> Result<()> {
        let nothing = self.publish.is_empty() && self.subscribe.is_empty();
        let square = ["Square:BLUE".to_owned()];
        let all = TOPICS.map(str::to_owned);
        let publish = if nothing && self.web.is_none() { &square[..] } else { &self.publish };
        for shape in publish {
            let (topic, color, size) = parse_shape(shape)?;
            board
                .publish(topic, color, size, self.settings())
                .with_context(|| format!("--publish {shape}"))?;
        }
        for topic in if nothing { &all[..] } else { &self.subscribe } {
            board.subscribe(topic, self.settings()).with_context(|| format!("--subscribe {topic}"))?;
        }
        Ok(())
    }
}

/// Topic, colour and size.
fn parse_shape(text: &str) -> Result<(&str, &str, i32)> {
    let words: Vec<&str> = text.split(':').collect();
    match words[..] {
        [topic, color] => Ok((topic, color, 30)),
        [topic, color, size] => {
            Ok((topic, color, size.parse().with_context(|| format!("the size in '{text}'"))?))
        }
        _ => anyhow::bail!("'{text}' is not TOPIC:COLOR, such as Square:BLUE"),
    }
}

/// Shows shapes until Ctrl-C.
///
/// # Errors
/// When the domain cannot be joined, the port not be had, or there is neither a terminal nor a page to show them on.
pub fn run(arguments: &Arguments, mut config: Config, out: &mut dyn Write) -> Result<()> {
    let domain = arguments.domain.unwrap_or(config.domain.id);
    ensure!(
        arguments.web.is_some() || std::io::stdout().is_terminal(),
        "standard output is no terminal: shapes can be shown on a page with --web 8080"
    );
    // Lines of a log would stand in the middle of the shapes.
    config.logging.standard_error &= arguments.web.is_some();
    let participant = DomainParticipant::builder(domain).config(config).name("dunlin shapes").build()?;
    let board = Arc::new(Board::new(participant));
    arguments.fill(&board)?;
    let stop = Stop::default();
    stop.on_signals()?;
    if let Some(seconds) = arguments.seconds {
        let stop = stop.clone();
        std::thread::spawn(move || {
            _ = stop.wait(Duration::from_secs(seconds));
            stop.set();
        });
    }
    match arguments.web {
        Some(port) => web::run(&board, port, &stop, out),
        None => terminal::run(&board, &stop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_written_with_colons() {
        assert_eq!(parse_shape("Square:BLUE").unwrap(), ("Square", "BLUE", 30));
        assert_eq!(parse_shape("Circle:RED:40").unwrap(), ("Circle", "RED", 40));
        assert!(parse_shape("Square").is_err() && parse_shape("Square:RED:big").is_err());
    }
}
