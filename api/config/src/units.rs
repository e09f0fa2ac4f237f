//! Numbers with units: `100ms`, `2MiB`, `50Mbit/s`, `1.5%`. All arithmetic is on integers, so what is
//! printed reads back as the same value.

use dunlin_core::Duration;

/// A decimal number as digits and a scale: `1.5` is 15 / 10.
struct Decimal {
    digits: u128,
    scale: u128,
}

/// Longest number accepted: enough for any `u64` with as many decimals.
const MAX_DIGITS: usize = 24;

/// Splits `1.5 GiB` into the number and the unit behind it.
fn split(text: &str) -> Option<(Decimal, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: String = number.chars().filter(|c| *c != '_').collect();
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let well_formed = !whole.is_empty() && !fraction.contains('.') && !number.ends_with('.');
    if !well_formed || whole.len() + fraction.len() > MAX_DIGITS {
        return None;
    }
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    Some((Decimal { digits, scale: 10_u128.pow(fraction.len() as u32) }, unit.trim()))
}

impl Decimal {
    /// The number times `unit`, if that is a whole number of u64.
    fn times(&self, unit: u64) -> Option<u64> {
        let product = self.digits.checked_mul(u128::from(unit))?;
        (product % self.scale == 0).then_some(())?;
        u64::try_from(product / self.scale).ok()
    }
}

/// Looks a unit up and applies it.
fn with_units(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, unit) = split(text)?;
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    number.times(*factor)
}

/// The largest unit that divides `value` exactly; the list goes from large to small.
fn print_with(value: u64, units: &[(&str, u64)]) -> String {
    let fits = |(_, factor): &&(&str, u64)| value != 0 && value.is_multiple_of(*factor);
    let (name, factor) = units.iter().find(fits).or(units.last()).copied().unwrap_or(("", 1));
    format!("{}{name}", value / factor)
}

const TIME: &[(&str, u64)] = &[
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
];

const SIZE: &[(&str, u64)] = &[
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

const RATE: &[(&str, u64)] =
    &[("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)];

/// A duration as it stands in a file: `100ms`; `0` needs no unit; `infinite` has none.
#[must_use]
pub fn parse_duration(text: &str) -> Option<Duration> {
    match text.trim() {
        "infinite" => Some(Duration::INFINITE),
        "0" => Some(Duration::ZERO),
        text => with_units(text, TIME)
            .and_then(|nanos| i64::try_from(nanos).ok())
            .map(Duration::from_nanos)
            .filter(|duration| !duration.is_infinite()),
    }
}

/// A duration as it would stand in a file.
#[must_use]
pub fn print_duration(duration: Duration) -> String {
    match u64::try_from(duration.as_nanos()) {
        _ if duration.is_infinite() => "infinite".into(),
        Ok(nanos) if nanos > 0 => print_with(nanos, TIME),
        _ => "0s".into(),
    }
}

/// A size as it stands in a file, in octets: `64KiB`, `2MB`.
#[must_use]
pub fn parse_size(text: &str) -> Option<u64> {
    with_units(text, SIZE)
}

pub(crate) fn print_size(octets: u64) -> String {
    print_with(octets, SIZE)
}

pub(crate) fn parse_rate(text: &str) -> Option<u64> {
    with_units(text, RATE)
}

pub(crate) fn print_rate(bits_per_second: u64) -> String {
    print_with(bits_per_second, RATE)
}

/// `2.5%` as parts per million.
pub(crate) fn parse_share(text: &str) -> Option<u32> {
    with_units(text, &[("%", 10_000)]).and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= 1_000_000)
}

pub(crate) fn print_share(parts_per_million: u32) -> String {
    let (whole, rest) = (parts_per_million / 10_000, parts_per_million % 10_000);
    let fraction = format!(".{rest:04}");
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    format!("{whole}{fraction}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read() {
        assert_eq!(parse_duration("100ms"), Some(Duration::from_millis(100)));
        assert_eq!(parse_duration(" 1.5 s "), Some(Duration::from_millis(1500)));
        assert_eq!(parse_duration("2h"), Some(Duration::from_secs(7200)));
        assert_eq!(parse_duration("infinite"), Some(Duration::INFINITE));
        assert_eq!(parse_size("2MiB"), Some(2 << 20));
        assert_eq!(parse_size("1_500 kB"), Some(1_500_000));
        assert_eq!(parse_rate("50Mbit/s"), Some(50_000_000));
        assert_eq!(parse_share("2.5%"), Some(25_000));
        assert_eq!(parse_share("100%"), Some(1_000_000));
    }

    #[test]
    fn wrong_units_are_refused() {
        for text in ["", "10", "ms", "-1s", "1.2.3s", "1.s", ".5s", "1 fortnight", "1.5ns", "99999999999h"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
        assert_eq!(parse_duration(&format!("{}s", "9".repeat(10_000))), None);
        assert_eq!(parse_duration("9223372036854775807ns"), None, "that number is the infinite duration");
        assert_eq!(parse_size("1.5B"), None);
        assert_eq!(parse_size("16EiB"), None);
        assert_eq!(parse_share("101%"), None);
        assert_eq!(parse_rate("50Mbit"), None);
    }

    #[test]
    fn printed_units_parse_to_the_same_values() {
        let mut rng = dunlin_core::Rng::new(7);
        for _ in 0..2_000 {
            let shift = rng.below(63);
            let n = rng.next_u64() >> 1 >> shift;
            let duration = Duration::from_nanos(n as i64);
            assert_eq!(parse_duration(&print_duration(duration)), Some(duration));
            assert_eq!(parse_size(&print_size(n)), Some(n));
            assert_eq!(parse_rate(&print_rate(n)), Some(n));
            let share = rng.below(1_000_001) as u32;
            assert_eq!(parse_share(&print_share(share)), Some(share));
        }
        assert_eq!(print_size(2 << 20), "2MiB");
        assert_eq!(print_share(25_000), "2.5%");
        assert_eq!(print_duration(Duration::from_millis(90_000)), "90s");
    }
}
