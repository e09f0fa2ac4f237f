//! `dunlin echo TOPIC`: prints what is written to a topic.

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use dunlin::cdr::{DecodeOptions, Limits};
use dunlin::qos::TopicQos;
use dunlin::{
    Against, Config, ContentFilterStats, DataReader, DynamicData, DynamicType, DynamicView, InstanceState,
    ReaderStats, SampleInfo,
};
use dunlin_program::Stop;
use dunlin_program::tell;

use super::format::{Format, OctetsFormat, Printer};
use super::series::Series;
use super::{LONGEST_STEP, PATIENCE, Target, TypeOf, on_interrupt, subscribe};
use crate::join::Arrivals;
use crate::output::counted;

/// What is asked for.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub target: Target,
    #[command(flatten)]
    ty: TypeOf,
    /// How samples are printed
    #[arg(short, long, value_enum, default_value = "yaml")]
    format: Format,
    /// How octets are printed
    #[arg(long, value_enum, default_value = "numbers")]
    octets: OctetsFormat,
    /// Print these parts alone: x,position.lat,points[0]
    #[arg(long, value_delimiter = ',', value_name = "PATHS")]
    fields: Vec<String>,
    /// Print only samples that satisfy a condition: "x > 5 AND color LIKE 'B%'"
    #[arg(long, value_name = "CONDITION")]
    filter: Option<String>,
    /// End after so many samples
    #[arg(short, long, value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print times, writer and state of the instance too
    #[arg(long)]
    info: bool,
    /// Tell rate, sizes and what was not printed at the end, on standard error
    #[arg(long)]
    stats: bool,
}

/// What came, and what of it was not printed.
#[derive(Default)]
struct Seen {
    sizes: Series,
    /// Samples that do not fit the type.
    unfit: u64,
    /// Ends of instances of which no sample came, so that nobody knows the key.
    nameless: u64,
}

impl Seen {
    /// What was not printed, and why, if there is something.
    fn skipped(&self, reader: &ReaderStats, filter: &ContentFilterStats) -> Option<String> {
        let rejected = u64::try_from(filter.rejected).unwrap_or(u64::MAX).saturating_add(filter.at_writer);
        let unreadable = u64::try_from(filter.unreadable).unwrap_or(u64::MAX);
        let told = [
            (self.unfit, "do not fit the type"),
            (unreadable, "could not be filtered"),
            (rejected, "rejected by the filter"),
            (reader.lost, "lost"),
            (self.nameless, "ends of instances without a known key"),
        ];
        let told: Vec<_> =
            told.into_iter().filter(|it| it.0 > 0).map(|(count, what)| format!("{count} {what}")).collect();
        (!told.is_empty()).then(|| told.join(", "))
    }
}

/// Tells rate and sizes.
#[allow(clippy::cast_precision_loss, reason = "for people")]
fn tell_all(sizes: &Series, time: Duration) {
    let (seconds, Series { count, sum, mean, least, most, .. }) = (time.as_secs_f64().max(1e-9), sizes);
    let (rate, octets) = (*count as f64 / seconds, sum / seconds);
    tell!("{} in {seconds:.1} s: {rate:.1} samples/s, {octets:.0} bytes/s", counted(*count, "sample"));
    if *count > 0 {
        tell!("bytes of a sample: least {least:.0}, mean {mean:.1}, most {most:.0}");
    }
}

/// Prints samples until there were enough, or Ctrl-C.
pub fn run(arguments: &Arguments, config: Config, out: &mut impl Write) -> Result<ExitCode> {
    let stop = on_interrupt()?;
    let participant = arguments.target.participant(config, "dunlin echo")?;
    let writers = arguments.target.writers(&participant, &stop)?;
    let Some(first) = writers.first() else { return Ok(ExitCode::SUCCESS) };
    let ty = arguments.ty.find(&participant, &writers.iter().map(Into::into).collect::<Vec<_>>())?;
    let mut printer = Printer::new(&ty, arguments.format, &arguments.fields, arguments.info)?;
    printer = printer.with_octets(arguments.octets.into());
    let topic = participant.create_dynamic_topic(&first.topic_name, &ty, &TopicQos::default())?;
    let (subscriber, qos) = subscribe(&participant, &writers)?;
    let reader = match &arguments.filter {
        None => subscriber.create_datareader(&topic, &qos)?,
        Some(filter) => {
            let name = format!("{} filtered", topic.name());
            let filtered = participant.create_contentfilteredtopic(&name, &topic, filter, &[""; 0])?;
            subscriber.create_datareader(&filtered, &qos)?
        }
    };
    let matched = || !reader.matched_publications().is_empty();
    let explain = || participant.explain(&reader, Against::Topic);
    arguments.target.until_matched("writer", PATIENCE, &stop, matched, explain)?;
    let (since, mut seen) = (Instant::now(), Seen::default());
    let printed = print(arguments, &reader, &ty, &mut printer, &mut seen, &stop, out);
    if arguments.stats {
        tell_all(&seen.sizes, since.elapsed());
        if let Some(skipped) = seen.skipped(&reader.stats(), &reader.content_filter_stats()) {
            tell!("not printed: {skipped}");
        }
    }
    printed.map(|()| ExitCode::SUCCESS)
}

/// Whether this is the last sample of an instance that ended before it was taken: no other tells of the end then
/// (DDS 1.4 §2.2.2.5.1.1 valid_data).
fn ended_meanwhile(info: &SampleInfo, ty: &DynamicType) -> bool {
    let is_last = info.valid_data && info.sample_rank == 0;
    ty.is_keyed() && is_last && info.instance_state != InstanceState::Alive
}

#[allow(clippy::cast_precision_loss, reason = "bytes of a sample")]
fn print(
    arguments: &Arguments,
    reader: &DataReader<DynamicData>,
    ty: &DynamicType,
    printer: &mut Printer,
    seen: &mut Seen,
    stop: &Stop,
    out: &mut impl Write,
) -> Result<()> {
    let arrivals = Arrivals::of(reader)?;
    let mut left = arguments.count.unwrap_or(u64::MAX);
    while left > 0 && !stop.is_set() {
        arrivals.wait(LONGEST_STEP)?;
        let most = usize::try_from(left.min(256)).unwrap_or(256);
        for raw in reader.take_payloads(most)? {
            let options = DecodeOptions::for_vendor(raw.vendor);
            let view = match (&raw.payload, &raw.key) {
                (Some(payload), _) => {
                    seen.sizes.add(payload.len() as f64);
                    left -= 1;
                    DynamicView::with_options(ty, payload, &Limits::default(), options)
                }
                (None, Some(key)) => DynamicView::of_key(ty, key, &Limits::default(), options),
                (None, None) => {
                    seen.nameless += 1;
                    continue;
                }
            };
            match view.and_then(|view| view.check().map(|()| view)) {
                Ok(view) => {
                    printer.print(&view, &raw.info, out)?;
                    if ended_meanwhile(&raw.info, ty) {
                        printer.print(&view, &SampleInfo { valid_data: false, ..raw.info }, out)?;
                    }
                }
                Err(error) => {
                    seen.unfit += 1;
                    tell!("dunlin: a sample does not fit the type {}: {error}", ty.name());
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echo_counts_skipped_samples_by_reason() {
        let (nothing, filter) = (ReaderStats::default(), ContentFilterStats::default());
        assert_eq!(Seen::default().skipped(&nothing, &filter), None);
        let seen = Seen { unfit: 2, nameless: 1, ..Seen::default() };
        let mut filter = filter;
        (filter.rejected, filter.at_writer) = (3, 4);
        let told = seen.skipped(&ReaderStats { lost: 5, ..nothing }, &filter);
        let expected = "2 do not fit the type, 7 rejected by the filter, 5 lost, 1 ends of instances without a known key";
        assert_eq!(told.as_deref(), Some(expected));
    }
}
