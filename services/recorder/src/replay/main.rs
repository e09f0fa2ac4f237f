//! `dunlin replay`: the player as a program.
#![forbid(unsafe_code)]

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Parser;
use dunlin::Config;
use dunlin_program::{Stop, end, stdout, tell};
use dunlin_recorder::text::parse_duration;
use dunlin_recorder::{Control, Identity, Names, Played, Player, PlayerOptions, SourceTime};

#[derive(Parser)]
#[command(
    name = "dunlin replay",
    bin_name = "dunlin replay",
    version,
    about = "Write what was recorded, as it was written",
    after_help = "Examples:\n  dunlin replay run.mcap\n  dunlin replay run.mcap --rate 2 --from 30s --topic 'Square*'\n  \
                  dunlin replay run.mcap --remap Square=Box --domain 1 --loop 0\n\n\
                  With --control, lines on standard input steer it: pause, go, step [N], rate X, seek TIME, quit.\n\
                  Exit status: 0 all played, 1 an error, 2 wrong arguments, 3 something could not be played"
)]
struct Arguments {
    /// The recording
    file: PathBuf,
    /// Topics, with the wildcards * and ?, by the names that they were recorded under
    #[arg(long, value_name = "PATTERN")]
    topic: Vec<String>,
    /// Topics that are left out
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Write a topic under another name
    #[arg(long, value_name = "OLD=NEW", value_parser = pair)]
    remap: Vec<(String, String)>,
    /// Write to another partition
    #[arg(long, value_name = "OLD=NEW", value_parser = pair)]
    remap_partition: Vec<(String, String)>,
    /// The domain instead of the one of the configuration
    #[arg(short, long)]
    domain: Option<u32>,
    /// Set a key of the configuration: network.interfaces=eth0
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// How many times as fast as it was, 0.001 to 10000; 0 is as fast as possible
    #[arg(long, default_value_t = 1.0, value_parser = rate)]
    rate: f64,
    /// From so long after the beginning
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "0")]
    from: Duration,
    /// Until so long after the beginning
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    to: Option<Duration>,
    /// Play so many times; 0 is until it is stopped
    #[arg(long = "loop", value_name = "N", default_value_t = 1)]
    rounds: u32,
    /// Samples keep the identity that they had first, so that readers can tell that they have had them
    #[arg(long)]
    original: bool,
    /// Samples are as old as they look: the source timestamp is the present time
    #[arg(long)]
    now: bool,
    /// Wait until each writer has so many readers
    #[arg(long, value_name = "N", default_value_t = 0)]
    readers: usize,
    /// For so long; without --readers the time that discovery gets
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "1s")]
    wait: Duration,
    /// Read commands from standard input
    #[arg(long)]
    control: bool,
    /// Begin paused, and play one sample for each line on standard input
    #[arg(long, conflicts_with = "control")]
    step: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').ok_or_else(|| "it is written as OLD=NEW".to_owned())?;
    Ok((parts.0.to_owned(), parts.1.to_owned()))
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: Option<f64> = text.parse().ok();
    let known = rate.filter(|rate| *rate == 0.0 || (0.001..=10_000.0).contains(rate));
    known.ok_or_else(|| "a rate is a number from 0.001 to 10000, or 0".to_owned())
}

fn options(arguments: &Arguments) -> Result<PlayerOptions> {
    let mut config = Config::load()?;
    config.set_all(&arguments.set)?;
    let mut options = PlayerOptions::new(arguments.domain.unwrap_or(config.domain.id));
    options.config = Some(config);
    options.topics = Names { allow: arguments.topic.clone(), deny: arguments.exclude.clone() };
    options.remap.clone_from(&arguments.remap);
    options.remap_partition.clone_from(&arguments.remap_partition);
    options.rate = arguments.rate;
    (options.from, options.to) = (arguments.from, arguments.to);
    options.rounds = arguments.rounds;
    options.identity = if arguments.original { Identity::Original } else { Identity::New };
    options.source_time = if arguments.now { SourceTime::Now } else { SourceTime::Recorded };
    (options.readers, options.wait) = (arguments.readers, arguments.wait);
    Ok(options)
}

/// Obeys a line.
fn obey(control: &Control, line: &str) -> Result<()> {
    let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    match word {
        "pause" => control.pause(true),
        "go" => control.pause(false),
        "step" if rest.is_empty() => control.step(1),
        "step" => control.step(rest.trim().parse().context("step takes a number")?),
        "rate" => control.rate(rate(rest.trim()).map_err(anyhow::Error::msg)?),
        "seek" => control.seek(parse_duration(rest.trim()).map_err(anyhow::Error::msg)?),
        "quit" => control.stop(),
        _ => bail!("commands are pause, go, step [N], rate X, seek TIME, quit"),
    }
    Ok(())
}

fn steer(control: Control, steps: bool) {
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if steps {
                control.step(1);
            } else if let Err(error) = obey(&control, &line) {
                tell!("dunlin replay: {error:#}");
            }
        }
    });
}

fn replay(arguments: &Arguments) -> Result<Played> {
    let mut player = Player::new(&arguments.file, options(arguments)?)?;
    let (control, stop) = (player.control(), Stop::default());
    stop.on_signals().context("cannot listen to signals")?;
    if arguments.step {
        control.step(0);
    }
    if arguments.step || arguments.control {
        steer(control.clone(), arguments.step);
    }
    std::thread::spawn(move || {
        while !stop.wait(Duration::from_secs(3600)) {}
        control.stop();
    });
    tell!("playing {} s of {}; Ctrl-C ends", player.duration().as_secs_f64(), arguments.file.display());
    Ok(player.play()?)
}

/// Says what was played; its status.
fn report(played: &Played) -> Result<ExitCode> {
    played.problems.iter().for_each(|problem| tell!("{NAME}: {problem}"));
    let mut out = stdout();
    writeln!(
        out,
        "{} samples, {} ends of instances; late by {:?} in the median, {:?} for 99 %, at most {:?}",
        played.samples, played.ends, played.late_median, played.late_99, played.late_max
    )?;
    out.flush()?;
    Ok(ExitCode::from(if played.refused + played.unplayed > 0 { 3 } else { 0 }))
}

const NAME: &str = "dunlin replay";

fn main() -> ExitCode {
    match dunlin_program::arguments(NAME) {
        Ok(arguments) => end(NAME, replay(&arguments).and_then(|played| report(&played))),
        Err(code) => code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_names_are_checked() {
        assert!(rate("0").is_ok() && rate("2.5").is_ok());
        assert!(rate("-1").is_err() && rate("NaN").is_err() && rate("1e9").is_err());
        assert_eq!(pair("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert!(pair("a").is_err());
    }
}
