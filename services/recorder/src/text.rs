//! Times, durations and sizes as people write them.

use std::time::Duration;

/// From the largest down.
const SIZES: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];

/// `256MiB`, `1.5GB`; a number alone is octets.
///
/// # Errors
/// What is expected.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let octets = text.parse().ok().or_else(|| dunlin::config::parse_size(text));
    octets.filter(|octets| *octets > 0).ok_or_else(|| "a size is written like 256MiB or 2GB".to_owned())
}

/// `90s`, `10min`, `1h`; a number alone is seconds.
///
/// # Errors
/// What is expected.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || "a time is written like 90s, 1.5s, 10min or 500ms".to_owned();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).map_err(|_| wrong());
    }
    let parsed = dunlin::config::parse_duration(text).filter(|it| !it.is_infinite());
    parsed.and_then(dunlin::Duration::to_std).ok_or_else(wrong)
}

/// `1.5 MB`.
#[must_use]
pub fn size(octets: u64) -> String {
    let unit = SIZES.iter().find(|(_, unit)| octets >= *unit);
    unit.map_or_else(
        || format!("{octets} B"),
        |(name, unit)| format!("{:.1} {name}", octets as f64 / *unit as f64),
    )
}

/// Date and time of nanoseconds since 1970, UTC: `2026-11-26 18:19:01.250`.
#[must_use]
pub fn time(nanos: u64) -> String {
    let seconds = nanos / 1_000_000_000;
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let millis = nanos / 1_000_000 % 1000;
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{millis:03}")
}

/// The same for names of files: `20261126-181901`.
#[must_use]
pub fn stamp(nanos: u64) -> String {
    let text = time(nanos);
    let digits = text.split('.').next().unwrap_or_default().replace(['-', ':'], "");
    digits.replace(' ', "-")
}

/// Year, month and day of a day since 1970-01-01, in the Gregorian calendar.
fn date(days: u64) -> (u64, u64, u64) {
    // Years begin in March, so that the day that is not always there is the last one.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes() {
        assert_eq!(time(0), "1970-01-01 00:00:00.000");
        assert_eq!(time(951_782_400_250_000_000), "2000-02-29 00:00:00.250");
        assert_eq!(time(1_767_225_599_999_999_999), "2025-12-31 23:59:59.999");
        assert_eq!(stamp(951_782_400_250_000_000), "20000229-000000");
        assert_eq!(parse_size("256MiB"), Ok(256 << 20));
        assert_eq!(parse_size("1.5GB"), Ok(1_500_000_000));
        assert_eq!(parse_size("4096"), Ok(4096));
        assert_eq!(size(1_500_000), "1.5 MB");
        assert!(parse_size("x").is_err() && parse_size("-1").is_err() && parse_size("0").is_err());
        assert_eq!(parse_duration("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("2min"), Ok(Duration::from_secs(120)));
        assert!(parse_duration("soon").is_err() && parse_duration("-1").is_err());
    }
}
