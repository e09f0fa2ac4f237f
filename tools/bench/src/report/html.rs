//! Results as one HTML page that needs nothing else.

use std::fmt::Write;

use super::chart::escape;
use super::figures::{Figure, groups, over_the_rate, parts, pictures};
use super::table::{
    IMPLEMENTATION_COLUMNS, Table, Verdict, implementation_rows, method, notes, table, with_spread,
};
use crate::compare::what;
use crate::results::Results;
use crate::scenario::{Kind, Link, Measure, Placement, Scheduling, SetUp};

const STYLE: &str = include_str!("style.css");

/// One page of one or several runs.
#[must_use]
pub fn html(runs: &[Results]) -> String {
    let mut page = format!(
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>\
         <meta name='viewport' content='width=device-width,initial-scale=1'>\
         <title>Benchmark of DDS implementations</title><style>{STYLE}</style></head><body>\
         <header><h1>Benchmark of DDS implementations</h1>"
    );
    for run in runs {
        let (id, about) = (escape(&run.scenario.id), escape(&run.scenario.about));
        let date = date(run.began);
        let _ = write!(page, "<p><b>{id}</b> · {date} · {}<br>{about}</p>", escape(&run.tool));
    }
    page.push_str("</header>");
    for (number, run) in runs.iter().enumerate() {
        section(&mut page, run, number);
    }
    page.push_str("</body></html>\n");
    page
}

/// A day as people write it, from seconds since 1970 (the calendar of H. Hinnant's `civil_from_days`).
fn date(seconds: u64) -> String {
    let days = (seconds / 86_400).min(100_000_000) + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (date, month_of_year) =
        (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + u64::from(month_of_year <= 2);
    let minutes = seconds / 60;
    format!("{year}-{month_of_year:02}-{date:02} {:02}:{:02} UTC", minutes / 60 % 24, minutes % 60)
}

fn section(page: &mut String, run: &Results, number: usize) {
    let parts = parts(run);
    let _ = write!(page, "<nav><a href='#v{number}'>Verdicts</a> ");
    for (at, (measure, set_up, _)) in parts.iter().enumerate() {
        let _ = write!(page, "<a href='#p{number}-{at}'>{}</a> ", escape(&heading(measure, *set_up)));
    }
    let _ = write!(page, "</nav><p>{}</p>", escape(&method(run)));
    for note in notes(run) {
        let _ = write!(page, "<p class='note'>{}</p>", escape(&note));
    }
    implementations(page, run);
    page.push_str("<div class='cards'>");
    card(page, "Machine", run.machine.iter());
    page.push_str("</div>");
    verdicts(page, run, number);
    show(page, &over_the_rate(run));
    for (at, (measure, set_up, cells)) in parts.iter().enumerate() {
        let _ = write!(
            page,
            "<h2 id='p{number}-{at}'>{}</h2><p class='soft'>{}</p>",
            escape(&heading(measure, *set_up)),
            escape(&conditions(measure))
        );
        show(page, &pictures(run, measure, cells));
        for group in groups(cells) {
            if let Some(table) = table(run, &group) {
                rows(page, &table);
            }
        }
    }
}

fn show(page: &mut String, figures: &[Figure]) {
    page.push_str("<div class='figures'>");
    for figure in figures {
        let _ = write!(
            page,
            "<figure><figcaption>{}</figcaption>{}</figure>",
            escape(&figure.caption),
            figure.inline()
        );
    }
    page.push_str("</div>");
}

pub(crate) fn heading(measure: &Measure, set_up: SetUp) -> String {
    let kind = match measure.kind {
        Kind::Latency => "Round trip",
        Kind::OneWay => "One way",
        Kind::Throughput => "Throughput",
        Kind::Discovery => "Discovery",
        Kind::Footprint => return "At rest".to_string(),
        Kind::Fleet if set_up == SetUp::InterProcess => return "A fleet on one host".to_string(),
        Kind::Fleet => "A fleet",
        Kind::Applications => "Applications",
    };
    let Link { mbit, loss, .. } = measure.link;
    let mut text = format!("{kind}, {set_up}");
    if mbit > 0 {
        let _ = write!(text, ", {mbit} Mbit/s");
    }
    if loss > 0.0 {
        let _ = write!(text, ", {loss} % of frames lost");
    }
    if measure.rate > 0 {
        let _ = write!(
            text,
            ", {} per second{}",
            measure.rate,
            if measure.by_chance { " at random" } else { "" }
        );
    }
    text
}

pub(crate) fn conditions(measure: &Measure) -> String {
    let mut words = vec![if measure.reliable { "Reliable" } else { "Best effort" }.to_string()];
    words.push(match measure.keep_last {
        0 => "KEEP_ALL".to_string(),
        depth => format!("KEEP_LAST {depth}"),
    });
    words.push("volatile".into());
    words.push(match measure.placement {
        Placement::TwoCores => "each side on a processor of its own".into(),
        Placement::OneCore => "both sides on one processor".into(),
        Placement::Free => "processors as the kernel likes".into(),
    });
    if measure.scheduling == Scheduling::RealTime {
        words.push("scheduled before normal processes".into());
    }
    match measure.kind {
        Kind::Latency => words.push(format!("{} round trips after {}", measure.trips(), measure.warm_up)),
        Kind::Applications => {
            words.push(format!("as many writers as readers, each pair a topic, {} s", measure.seconds))
        }
        Kind::OneWay | Kind::Throughput | Kind::Footprint => words.push(format!("{} s", measure.seconds)),
        Kind::Fleet => words.push(format!("as many writers as readers, {} s at rest", measure.seconds)),
        Kind::Discovery => words.push("from the opening of the second process to the last match".into()),
    }
    if measure.is_cut_short() {
        words.push(format!("at most {} samples", super::number(measure.most_samples() as f64)));
    }
    words.extend(measure.answer.map(|answer| format!("{answer} B come back")));
    words.join(", ") + "."
}

/// Every implementation of the scenario, also those that were not measured.
fn implementations(page: &mut String, run: &Results) {
    page.push_str("<h2>Implementations</h2><div class='scroll'><table class='words'><thead><tr><th></th>");
    for column in IMPLEMENTATION_COLUMNS {
        let _ = write!(page, "<th>{column}</th>");
    }
    page.push_str("</tr></thead><tbody>");
    for (name, values) in implementation_rows(run) {
        let _ = write!(page, "<tr><td>{}</td>", escape(&name));
        for value in values {
            let _ = write!(page, "<td>{}</td>", escape(&value));
        }
        page.push_str("</tr>");
    }
    page.push_str("</tbody></table></div>");
}

fn card<'a>(page: &mut String, title: &str, pairs: impl Iterator<Item = (&'a String, &'a String)>) {
    let _ = write!(page, "<div class='card'><h3>{title}</h3><dl>");
    for (name, value) in pairs {
        let _ = write!(page, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
    }
    page.push_str("</dl></div>");
}

/// All ratios in one table: the first implementation against each other one.
fn verdicts(page: &mut String, run: &Results, number: usize) {
    let Some((first, others)) = run.scenario.implementations.split_first() else { return };
    if others.is_empty() {
        return;
    }
    let _ = write!(
        page,
        "<h2 id='v{number}'>{name} against the others</h2><p class='soft'>Each field is {name} divided by the other one: mean \
         latency, samples per second, time to match, memory. Green: {name} is better and the 95 % interval shows it; red: \
         worse; grey: no verdict.</p><div class='scroll'><table><thead><tr><th></th>",
        name = escape(&first.name)
    );
    for other in others {
        let _ = write!(page, "<th>{}</th>", escape(&other.name));
    }
    page.push_str("</tr></thead><tbody>");
    for group in run.groups() {
        let Some(ours) = group.iter().find(|cell| cell.implementation == first.name) else { continue };
        let Some(measure) = run.measure(ours) else { continue };
        let _ = write!(page, "<tr><td>{}</td>", escape(&what(run, ours)));
        for other in others {
            let theirs = group.iter().find(|cell| cell.implementation == other.name);
            let (verdict, ratio) =
                theirs.map_or((Verdict::Nothing, None), |theirs| Verdict::of(ours, theirs, measure.kind));
            let (title, text) =
                (with_spread(ratio), ratio.map(|ratio| crate::statistics::Ratio { interval: None, ..ratio }));
            let _ = write!(
                page,
                "<td class='{}' title='{}'>{}</td>",
                verdict.class(),
                escape(&title),
                verdict.mark().to_string() + &with_spread(text)
            );
        }
        page.push_str("</tr>");
    }
    page.push_str("</tbody></table></div>");
}

fn rows(page: &mut String, table: &Table) {
    let _ = write!(page, "<h4>{}</h4><div class='scroll'><table><thead><tr><th></th>", escape(&table.title));
    for column in &table.columns {
        let _ = write!(page, "<th>{}</th>", escape(column));
    }
    page.push_str("</tr></thead><tbody>");
    for (at, row) in table.rows.iter().enumerate() {
        let class = if at == 0 { " class='base'" } else { "" };
        let _ = write!(page, "<tr{class}><td>{}</td>", escape(&row.name));
        for (column, value) in row.values.iter().enumerate() {
            let is_ratio = column + 1 == row.values.len();
            let class = if is_ratio { format!(" class='{}'", row.verdict.class()) } else { String::new() };
            let _ = write!(page, "<td{class}>{}</td>", escape(value));
        }
        page.push_str("</tr>");
    }
    page.push_str("</tbody></table></div>");
    for failure in &table.failures {
        let _ = write!(page, "<p class='note'>{}</p>", escape(failure));
    }
    if !table.left_out.is_empty() {
        let _ = write!(page, "<p class='left-out'>{}</p>", escape(&table.left_out.join("; ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::two;

    #[test]
    fn a_page_stands_alone_and_says_what_failed() {
        let mut results = two(&[10.0, 11.0, 10.0], &[20.0, 20.0, 20.0]);
        results.cells[1].repetitions[0].failure = Some("<script>".into());
        let page = html(&[results]);
        assert!(
            page.contains("two &lt;sides&gt;")
                && page.contains("b &amp; c")
                && page.contains("&lt;script&gt;")
        );
        assert!(!page.contains("<script") && !page.contains("http"), "nothing is loaded, nothing is run");
        assert!(page.contains("<svg") && page.contains("Distribution"), "{page}");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(1_709_251_140), "2024-02-29 23:59 UTC");
        assert!(date(u64::MAX).ends_with("UTC"));
    }
}
