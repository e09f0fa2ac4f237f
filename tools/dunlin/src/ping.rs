//! `dunlin ping`: the round trip between two of these tools, over DDS with its discovery and reliability.

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use clap::Args;
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{Config, DataReader, DataWriter, DdsType, DomainParticipant};
use serde_json::json;

use crate::join::{Arrivals, Join, listen};

const ASKED: &str = "dunlin/ping";
const ANSWERED: &str = "dunlin/pong";
/// Octets of the largest sample.
const MAX_SIZE: u32 = 16 << 20;

/// A question, or its answer.
#[derive(DdsType, Clone, Debug, Default)]
#[dds(name = "dunlin::Ping")]
struct Ping {
    /// Who asks.
    asker: [u8; 16],
    number: u32,
    payload: Vec<u8>,
}

/// What is asked for.
#[derive(Args)]
pub struct Arguments {
    /// Answer others, until Ctrl-C
    #[arg(long)]
    answer: bool,
    #[command(flatten)]
    pub join: Join,
    /// Ask so often
    #[arg(short, long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// Seconds between two questions
    #[arg(short, long, default_value_t = 1.0, value_name = "SECONDS")]
    interval: f64,
    /// Octets of payload
    #[arg(short, long, default_value_t = 56, value_parser = clap::value_parser!(u32).range(..=i64::from(MAX_SIZE)))]
    size: u32,
    /// Wait so many seconds for somebody who answers, and for each answer
    #[arg(short, long, default_value_t = 5.0, value_name = "SECONDS")]
    wait: f64,
    /// Print JSON, one object in one line for each question, and a last one of all of them
    #[arg(long)]
    json: bool,
}

struct Ends {
    participant: DomainParticipant,
    writer: DataWriter<Ping>,
    reader: DataReader<Ping>,
    arrivals: Arrivals,
}

impl Ends {
    fn new(join: &Join, config: Config, answers: bool) -> Result<Self> {
        let participant = join.participant(config, "dunlin ping")?;
        let (writes, reads) = if answers { (ANSWERED, ASKED) } else { (ASKED, ANSWERED) };
        let topic = participant.create_topic::<Ping>(writes, &TopicQos::default())?;
        let publisher = participant.create_publisher(&PublisherQos::default())?;
        let writer =
            publisher.create_datawriter(&topic, &DataWriterQos::default().reliable().keep_last(8))?;
        let topic = participant.create_topic::<Ping>(reads, &TopicQos::default())?;
        let subscriber = participant.create_subscriber(&SubscriberQos::default())?;
        let reader =
            subscriber.create_datareader(&topic, &DataReaderQos::default().reliable().keep_last(64))?;
        let arrivals = Arrivals::of(&reader)?;
        Ok(Self { participant, writer, reader, arrivals })
    }
}

/// Asks and tells the times of the round trips, or answers.
pub fn run(arguments: &Arguments, config: Config, out: &mut impl Write) -> Result<ExitCode> {
    for seconds in [arguments.interval, arguments.wait] {
        ensure!((0.0..=3600.0).contains(&seconds), "seconds are 0 to 3600");
    }
    let ends = Ends::new(&arguments.join, config, arguments.answer)?;
    if arguments.answer { answer(&ends, arguments.json, out) } else { ask(&ends, arguments, out) }
}

fn answer(ends: &Ends, as_json: bool, out: &mut impl Write) -> Result<ExitCode> {
    let domain = ends.participant.domain_id();
    if as_json {
        writeln!(out, "{}", json!({ "answering_in": domain }))?;
    } else {
        writeln!(out, "answering in domain {domain}; Ctrl-C ends")?;
    }
    out.flush()?;
    loop {
        ends.arrivals.wait(Duration::from_secs(3600))?;
        for question in ends.reader.take(64)?.into_iter().filter_map(|sample| sample.data) {
            ends.writer.write(&question)?;
        }
    }
}

fn ask(ends: &Ends, arguments: &Arguments, out: &mut impl Write) -> Result<ExitCode> {
    let patience = Duration::from_secs_f64(arguments.wait);
    let since = Instant::now();
    while ends.writer.matched_subscriptions().is_empty() || ends.reader.matched_publications().is_empty() {
        if since.elapsed() > patience {
            bail!(
                "nobody answers in domain {}: run `dunlin ping --answer` there",
                ends.participant.domain_id()
            );
        }
        listen(0.02)?;
    }
    let asker = ends.participant.guid().to_bytes();
    let mut question = Ping { asker, number: 0, payload: vec![0x55; arguments.size as usize] };
    let mut times = Vec::new();
    for number in 1..=arguments.count {
        question.number = number;
        let asked = Instant::now();
        ends.writer.write(&question)?;
        let time = answer_to(ends, asker, number, asked, patience)?;
        times.extend(time);
        tell(arguments, number, time, out)?;
        out.flush()?;
        if number < arguments.count {
            listen((arguments.interval - asked.elapsed().as_secs_f64()).max(0.0))?;
        }
    }
    times.sort_unstable();
    tell_all(arguments, &times, out)?;
    let all = u32::try_from(times.len()).is_ok_and(|answered| answered == arguments.count);
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A line about one question.
fn tell(arguments: &Arguments, number: u32, time: Option<Duration>, out: &mut impl Write) -> Result<()> {
    let octets = arguments.size;
    match time.map(micros) {
        Some(time) if arguments.json => {
            writeln!(out, "{}", json!({ "number": number, "octets": octets, "round_trip_us": time }))?;
        }
        None if arguments.json => {
            writeln!(out, "{}", json!({ "number": number, "octets": octets, "round_trip_us": null }))?;
        }
        Some(time) => writeln!(out, "{octets} bytes: number {number}, {time:.1} us")?,
        None => writeln!(out, "{octets} bytes: number {number}, no answer")?,
    }
    Ok(())
}

/// The last line, of times in order.
fn tell_all(arguments: &Arguments, times: &[Duration], out: &mut impl Write) -> Result<()> {
    let (asked, answered) = (arguments.count, times.len());
    let told = times.first().zip(times.last()).map(|(least, most)| {
        let median = times[times.len() / 2];
        [*least, median, *most].map(micros)
    });
    if arguments.json {
        let times =
            told.map(|[least, median, most]| json!({ "least": least, "median": median, "most": most }));
        writeln!(out, "{}", json!({ "asked": asked, "answered": answered, "round_trip_us": times }))?;
        return Ok(());
    }
    write!(out, "{answered} of {asked} answered")?;
    if let Some([least, median, most]) = told {
        write!(out, ": least {least:.1} us, median {median:.1} us, most {most:.1} us")?;
    }
    Ok(writeln!(out)?)
}

/// The time until the answer came; answers to others and late ones are passed over.
fn answer_to(
    ends: &Ends,
    asker: [u8; 16],
    number: u32,
    asked: Instant,
    patience: Duration,
) -> Result<Option<Duration>> {
    loop {
        let left = patience.saturating_sub(asked.elapsed());
        ends.arrivals.wait(left)?;
        let took = asked.elapsed();
        let answers = ends.reader.take(64)?.into_iter().filter_map(|sample| sample.data);
        let ours = |answer: &Ping| answer.asker == asker && answer.number == number;
        if answers.into_iter().any(|answer| ours(&answer)) {
            return Ok(Some(took));
        }
        if left.is_zero() {
            return Ok(None);
        }
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
