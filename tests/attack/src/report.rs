//! The table of verdicts, 80 columns wide, and the same as JSON.

use serde_json::{Value, json};

use crate::bound::{memory, processor};
use crate::field::Seen;
use crate::pair::RATE;
use crate::run::Outcome;

/// The head of the table.
pub fn head(against: bool) -> String {
    let line = format!(
        "{:<27} {:>6} {:>5} {:>5} {:>5} {:>5} {:>5}  verdict",
        "attack", "out/in", "lost", "told", "pause", "proc", "MiB"
    );
    if against { format!("{line}  Cyclone") } else { line }
}

/// One line of the table: octets to others for each of the attacker, samples lost and told, the longest pause and processor
/// time in milliseconds, memory; the last three beyond those in peace.
pub fn line(outcome: &Outcome, against: Option<&Outcome>) -> String {
    let name = outcome.attack.name;
    let verdict = verdict(outcome);
    let line = match &outcome.seen {
        None => {
            format!("{name:<27} {:>6} {:>5} {:>5} {:>5} {:>5} {:>5}  {verdict}", "-", "-", "-", "-", "-", "-")
        }
        Some(seen) => format!(
            "{name:<27} {:>6.1} {:>5} {:>5} {:>5} {:>5} {:>5.0}  {verdict}",
            ratio(outcome),
            seen.lost,
            seen.told().min(99_999),
            seen.reader.pause_ms,
            processor(seen).saturating_sub(processor(&outcome.peace)).as_millis(),
            memory(&outcome.peace, seen) as f64 / f64::from(1 << 20),
        ),
    };
    against.map_or(line.clone(), |other| format!("{line:<73} {}", self::verdict(other)))
}

/// How fast the pair was in peace and in a flood, one line each. It decides nothing: machines differ.
pub fn pace(outcome: &Outcome) -> String {
    let line = |name: &str, seen: &Seen| {
        let written = outcome.attack.seconds * RATE * 1_000 / seen.writer.written_ms.max(1);
        let ([p50, p99, max], counters) = (seen.reader.delay_us, seen.reader.counters);
        format!(
            "{name}: {} lost, {written} written/s, delays p50 {p50} us, p99 {p99} us, max {max} us, {} datagrams received\n",
            seen.lost, counters.datagrams
        )
    };
    let seen = outcome.seen.as_ref().map(|seen| line("in a flood", seen));
    line("in peace", &outcome.peace) + &seen.unwrap_or_default()
}

fn verdict(outcome: &Outcome) -> &'static str {
    if outcome.holds() { "holds" } else { "BROKEN" }
}

/// Octets that went to others, for each octet of the attacker.
fn ratio(outcome: &Outcome) -> f64 {
    let Some(seen) = &outcome.seen else { return 0.0 };
    let more = seen.network.zip(outcome.peace.network).map_or(0, |(now, before)| now.saturating_sub(before));
    more.max(seen.octets_out) as f64 / (seen.octets_in.max(1)) as f64
}

/// Everything that was measured of one attack.
pub fn json(outcome: &Outcome, make: &str) -> Value {
    let seen = outcome.seen.unwrap_or_default();
    json!({
        "attack": outcome.attack.name,
        "way": outcome.attack.way,
        "pair": make,
        "holds": outcome.holds(),
        "broken": outcome.broken,
        "bound": outcome.attack.bound,
        "octets_in": seen.octets_in,
        "octets_to_a_bystander": seen.octets_out,
        "octets_on_the_network": seen.network,
        "octets_on_the_network_in_peace": outcome.peace.network,
        "lost": seen.lost,
        "reader": seen.reader,
        "writer": seen.writer,
    })
}
