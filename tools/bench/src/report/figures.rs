//! The pictures of a run.

use super::chart::{Bar, Frame, Look, Series, bars, curves};
use crate::compare::what;
use crate::results::{Measured, Results, judged_by};
use crate::scenario::{Kind, Measure, SetUp};

/// Where a cell is on an axis.
type Place = fn(&Measured) -> usize;

/// What is shown of a cell that was measured at a rate.
type Value<'a> = &'a dyn Fn(&Measured, f64) -> Option<f64>;

/// A picture with what it shows.
pub struct Figure {
    /// What it shows.
    pub caption: String,
    /// SVG, as it is in a page.
    svg: String,
}

impl Figure {
    /// Nothing where there is nothing to draw.
    fn of(caption: &str, svg: String) -> Option<Self> {
        (!svg.is_empty()).then(|| Self { caption: caption.to_string(), svg })
    }

    pub(crate) fn inline(&self) -> &str {
        &self.svg
    }

    /// The picture as a file of its own, on white.
    #[must_use]
    pub fn file(&self) -> String {
        const ROOT: &str = "<svg xmlns='http://www.w3.org/2000/svg' font-family='sans-serif' font-size='12' \
                            style='background:#fff' ";
        self.svg.replacen("<svg ", ROOT, 1) + "\n"
    }
}

/// All pictures of a run, in the order of its page, each with the part of the page that it belongs to.
#[must_use]
pub fn figures(run: &Results) -> Vec<(String, Figure)> {
    let of_part = |(measure, set_up, cells): (&Measure, SetUp, Vec<&Measured>)| {
        let part = super::html::heading(measure, set_up);
        pictures(run, measure, &cells).into_iter().map(move |figure| (part.clone(), figure))
    };
    let over_the_rate = over_the_rate(run).into_iter().map(|figure| ("Over the rate".to_string(), figure));
    over_the_rate.chain(parts(run).into_iter().flat_map(of_part)).collect()
}

/// Measures by where they took place, with their cells.
pub(crate) fn parts(run: &Results) -> Vec<(&Measure, SetUp, Vec<&Measured>)> {
    let mut parts = Vec::new();
    for (index, measure) in run.scenario.measures.iter().enumerate() {
        for set_up in &measure.set_ups {
            let name = set_up.to_string();
            let is_in = |cell: &&Measured| cell.measure == index && cell.set_up == name;
            parts.push((measure, *set_up, run.cells.iter().filter(is_in).collect()));
        }
    }
    parts
}

/// Cells that differ in the implementation only, each group in the order of the scenario.
pub(crate) fn groups<'a>(cells: &[&'a Measured]) -> Vec<Vec<&'a Measured>> {
    let mut groups: Vec<Vec<&Measured>> = Vec::new();
    for cell in cells {
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| first.is_like(cell))) {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    groups
}

/// The looks of an implementation, the same in all pictures.
fn look<'a>(run: &'a Results, name: &str) -> Option<Look<'a>> {
    let all = &run.scenario.implementations;
    let number = all.iter().position(|one| one.name == name)?;
    Some(Look { name: &all.get(number)?.name, number })
}

/// Curves where there are several payloads, readers or numbers of topics, else bars; and distributions.
pub(crate) fn pictures(run: &Results, measure: &Measure, cells: &[&Measured]) -> Vec<Figure> {
    let axes: [(&str, usize, Place); 3] = [
        ("payload, bytes", measure.payloads.len(), |cell| cell.payload),
        ("readers", measure.readers.len(), |cell| cell.readers),
        ("topics", measure.topics.len(), |cell| cell.topics),
    ];
    let long: Vec<_> = axes.iter().filter(|(_, length, _)| *length > 1).collect();
    let mut figures = match long.as_slice() {
        [(name, length, of)] if *length > 2 => over(run, measure.kind, cells, (name, *of)),
        _ => bar_pictures(run, measure.kind, cells),
    };
    if matches!(measure.kind, Kind::Latency | Kind::OneWay) {
        figures.extend(distributions(run, cells));
    }
    figures
}

fn over(run: &Results, kind: Kind, cells: &[&Measured], axis: (&str, Place)) -> Vec<Figure> {
    let (x, of) = axis;
    let wanted: &[(&str, &str, &str)] = match kind {
        Kind::Latency | Kind::OneWay => &[
            ("mean", "Mean", "µs"),
            ("stddev", "Jitter (standard deviation)", "µs"),
            ("p50", "Median", "µs"),
            ("p99", "99th percentile", "µs"),
        ],
        Kind::Throughput => &[
            ("samples_per_s", "Samples per second, the slowest reader", "samples/s"),
            ("gbit_per_s", "Data rate, the slowest reader", "Gbit/s"),
            ("cpu_us_per_sample_written", "Processor time of the writer", "µs per sample"),
            ("cpu_us", "Processor time of both hosts", "µs per sample"),
        ],
        Kind::Discovery => {
            &[("matched_ms", "Time to match", "ms"), ("cpu_ms", "Processor time of both sides", "ms")]
        }
        Kind::Footprint => &[("rss_mb", "Memory", "MB"), ("idle_cpu_percent", "Processor at rest", "%")],
        Kind::Applications => &[
            ("cpu_us", "Processor time of both hosts", "µs per sample"),
            ("frames", "Datagrams", "per sample"),
            ("p50", "Median from write to take", "µs"),
        ],
        Kind::Fleet => &[
            ("pss_mb", "Memory of a process", "MB"),
            ("matched_ms", "Time until all have matched", "ms"),
            ("cpu_ms", "Processor time of a process until then", "ms"),
            ("idle_cpu_percent", "Processor of a process at rest", "%"),
        ],
    };
    let mut places: Vec<usize> = cells.iter().map(|cell| of(cell)).collect();
    places.sort_unstable();
    places.dedup();
    let marks: Vec<(f64, String)> = places.iter().map(|place| (*place as f64, short(*place))).collect();
    let draw = |&(figure, title, y): &(&str, &str, &str)| {
        let points = |name: &str| {
            let mine = cells.iter().filter(|cell| cell.implementation == name);
            let mut points: Vec<(f64, f64)> =
                mine.filter_map(|cell| Some((of(cell) as f64, cell.figure(figure)?.0))).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            points
        };
        let frame = Frame { title, x, y, marks: &marks, dots: true };
        Figure::of(title, curves(&frame, &series(run, points)))
    };
    wanted.iter().filter_map(draw).collect()
}

/// Where one way was measured at several rates, alike but for them: how much of a processor the reader takes, and how long
/// samples are on their way.
pub(crate) fn over_the_rate(run: &Results) -> Vec<Figure> {
    let one_way = || run.scenario.measures.iter().filter(|measure| measure.kind == Kind::OneWay);
    let Some(first) = one_way().next() else { return Vec::new() };
    let is_alike = |measure: &Measure| *first == Measure { rate: first.rate, ..measure.clone() };
    let mut rates: Vec<u64> = one_way().map(|measure| measure.rate).collect();
    rates.sort_unstable();
    rates.dedup();
    if rates.len() < 3 || first.payloads.len() > 1 || first.set_ups.len() > 1 || !one_way().all(is_alike) {
        return Vec::new();
    }
    let marks: Vec<(f64, String)> = rates.iter().map(|rate| (*rate as f64, rate.to_string())).collect();
    let share = |cell: &Measured, rate: f64| Some(cell.figure("cpu_us_per_sample_read")?.0 * rate / 1e4);
    let median = |cell: &Measured, _: f64| Some(cell.figure("p50")?.0);
    let wanted: [(&str, &str, Value<'_>); 2] = [
        ("What the reading process takes of a processor", "%", &share),
        ("Median from write to take", "µs", &median),
    ];
    let draw = |(title, y, value): (&str, &str, Value<'_>)| {
        let points = |name: &str| {
            let point = |cell: &Measured| {
                let measure = run.measure(cell).filter(|measure| measure.kind == Kind::OneWay)?;
                Some((measure.rate as f64, value(cell, measure.rate as f64)?))
            };
            let mine = run.cells.iter().filter(|cell| cell.implementation == name);
            let mut points: Vec<(f64, f64)> = mine.filter_map(point).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            points
        };
        let frame = Frame { title, x: "samples per second", y, marks: &marks, dots: true };
        Figure::of(title, curves(&frame, &series(run, points)))
    };
    wanted.into_iter().filter_map(draw).collect()
}

/// What has points, of all implementations.
fn series<'a>(run: &'a Results, points: impl Fn(&str) -> Vec<(f64, f64)>) -> Vec<Series<'a>> {
    let all = run.scenario.implementations.iter().filter_map(|one| look(run, &one.name));
    all.map(|look| Series { look, points: points(look.name) })
        .filter(|series| !series.points.is_empty())
        .collect()
}

fn bar_pictures(run: &Results, kind: Kind, cells: &[&Measured]) -> Vec<Figure> {
    let (figure, unit, less) = judged_by(kind);
    let draw = |group: Vec<&Measured>| {
        let title = what(run, group.first()?);
        let bar = |cell: &&Measured| -> Option<Bar<'_>> {
            Some((look(run, &cell.implementation)?, cell.figure(figure)?))
        };
        let bars_of: Vec<Bar<'_>> = group.iter().filter_map(bar).collect();
        Figure::of(&title, bars(&title, unit, less, &bars_of))
    };
    groups(cells).into_iter().filter_map(draw).collect()
}

/// Percentiles from the median to where single samples are, the further the finer.
fn distributions(run: &Results, cells: &[&Measured]) -> Vec<Figure> {
    let marks: Vec<(f64, String)> = [
        (2.0, "50 %"),
        (10.0, "90 %"),
        (100.0, "99 %"),
        (1_000.0, "99.9 %"),
        (1e4, "99.99 %"),
        (1e5, "99.999 %"),
    ]
    .map(|(at, text)| (at, text.to_string()))
    .into();
    let draw = |group: Vec<&Measured>| {
        let title = format!("Distribution: {}", what(run, group.first()?));
        let points = |name: &str| {
            let cell = group.iter().find(|cell| cell.implementation == name);
            cell.map_or(Vec::new(), |cell| tail(&cell.distribution()))
        };
        let x = "part of the samples that is faster";
        let frame = Frame { title: &title, x, y: "µs", marks: &marks, dots: false };
        Figure::of(&title, curves(&frame, &series(run, points)))
    };
    groups(cells).into_iter().filter_map(draw).collect()
}

/// For each bin: one in how many samples is as slow, and its microseconds. Enough points for a line.
fn tail(bins: &[(u64, u64)]) -> Vec<(f64, f64)> {
    let total = bins.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
    let mut faster = 0_u64;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (nanos, count) in bins {
        faster = faster.saturating_add(*count);
        let slower = total - faster.min(total);
        if faster >= total.div_ceil(2) && slower > 0 {
            let point = (total as f64 / slower as f64, *nanos as f64 / 1_000.0);
            if points.last().is_none_or(|last| point.0 > last.0 * 1.01) {
                points.push(point);
            }
        }
    }
    points
}

fn short(size: usize) -> String {
    match size {
        0..1_024 => size.to_string(),
        size if size % 1_048_576 == 0 => format!("{} Mi", size / 1_048_576),
        size if size % 1_024 == 0 => format!("{} Ki", size / 1_024),
        _ => super::table::whole(size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Repetition;
    use crate::scenario::Scenario;

    fn rates(others: &str) -> Results {
        let one = |rate| format!("{{kind='one-way',payloads=[64],rate={rate}}}");
        let text = format!(
            "id='x'\nabout='x'\nimplementations=[{{name='a',adapter='udp'}}]\nmeasures=[{}{others}]",
            [100, 1_000, 10_000].map(one).join(",")
        );
        let scenario = Scenario::parse(&text).unwrap();
        let mut run = crate::compare::tests::two(&[], &[]);
        run.cells =
            scenario.cells().iter().map(|cell| Measured::new(cell, &scenario.implementations[0])).collect();
        for cell in &mut run.cells {
            let figures = [("cpu_us_per_sample_read".to_string(), 10.0), ("p50".to_string(), 5.0)].into();
            cell.repetitions = vec![Repetition { figures, bins: Vec::new(), failure: None }];
        }
        run.scenario = scenario;
        run
    }

    #[test]
    fn received_samples_are_charted_over_the_rate() {
        let figures = over_the_rate(&rates(""));
        assert_eq!(figures.len(), 2);
        let svg = figures[0].file();
        // 10 µs for each of 100, 1,000 and 10,000 samples a second.
        for tip in ["a: 0.10 at 100", "a: 1.00 at 1\u{202f}000", "a: 10.0 at 10\u{202f}000"] {
            assert!(svg.contains(tip), "{tip}: {svg}");
        }
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"), "it stands alone: {svg}");
        assert!(
            over_the_rate(&rates(",{kind='one-way',payloads=[512],rate=5}")).is_empty(),
            "another payload"
        );
    }

    #[test]
    fn the_tail_begins_at_the_median() {
        let points = tail(&[(1_000, 50), (2_000, 40), (3_000, 9), (4_000, 1)]);
        assert_eq!(points, [(2.0, 1.0), (10.0, 2.0), (100.0, 3.0)]);
        assert!(tail(&[(1, u64::MAX), (2, u64::MAX)]).len() <= 1, "counts of strangers do not overflow");
    }
}
