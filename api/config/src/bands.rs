//! Bands of TRANSPORT_PRIORITY in a daemon: `40 rate=10Mbit/s burst=64KiB queue=1MiB dscp=46`.

use dunlin_engine::{Band as Settled, Limit, MAX_BANDS};

use crate::units;
use crate::value::{Auto, Rate, Raw, Size, Value, quoted};

/// The least rate that a limit may have.
pub(crate) const LEAST_RATE: Rate = Rate(64_000);
/// The least burst that a limit may have: a datagram.
pub(crate) const LEAST_BURST: Size = Size(1_500);
/// The least burst of a limit that names none.
const USUAL_BURST: u64 = 3_000;
/// The part of a second's octets that may leave at once unless a burst is named: 5 ms.
const SHARE_OF_SECOND: u64 = 200;
/// TRANSPORT_PRIORITY and code points (RFC 2474) are less than this.
const PRIORITIES: u32 = 64;

/// Data of writers from one TRANSPORT_PRIORITY up to the next band.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Band {
    /// The lowest priority in it.
    pub from: u32,
    /// Most that leaves of it.
    pub rate: Option<Rate>,
    /// Octets that may leave at once after a pause.
    pub burst: Option<Size>,
    /// Octets that may wait.
    pub queue: Option<Size>,
    /// The differentiated services code point of its datagrams.
    pub dscp: Option<u32>,
}

/// The bands of a daemon.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bands(pub Vec<Band>);

/// A limit, with the burst that is named or fits the rate.
pub(crate) fn limit(rate: Rate, burst: Auto<Size>) -> Limit {
    let rate = rate.0 / 8;
    let usual = (rate / SHARE_OF_SECOND).max(USUAL_BURST);
    Limit { rate, burst: burst.value().map_or(usual, |burst| burst.0) }
}

impl Band {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let mut band = Self { from: words.next()?.parse().ok()?, ..Self::default() };
        for word in words {
            let (name, value) = word.split_once('=')?;
            let is_new = match name {
                "rate" => band.rate.replace(Rate(units::parse_rate(value)?)).is_none(),
                "burst" => band.burst.replace(Size(units::parse_size(value)?)).is_none(),
                "queue" => band.queue.replace(Size(units::parse_size(value)?)).is_none(),
                "dscp" => band.dscp.replace(value.parse().ok()?).is_none(),
                _ => false,
            };
            if !is_new {
                return None;
            }
        }
        Some(band)
    }

    fn print(&self) -> String {
        let mut text = self.from.to_string();
        let named = [
            ("rate", self.rate.map(|rate| units::print_rate(rate.0))),
            ("burst", self.burst.map(|burst| units::print_size(burst.0))),
            ("queue", self.queue.map(|queue| units::print_size(queue.0))),
            ("dscp", self.dscp.map(|dscp| dscp.to_string())),
        ];
        for (name, value) in named.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            text += &format!(" {name}={value}");
        }
        text
    }

    /// With the burst of the daemon where it names none.
    pub(crate) fn settled(&self, burst: Auto<Size>) -> Settled {
        let usual = Settled::default();
        Settled {
            from: i32::try_from(self.from).unwrap_or(i32::MAX),
            limit: self.rate.map(|rate| limit(rate, self.burst.map_or(burst, Auto::Value))),
            queue: self.queue.map_or(usual.queue, Size::to_usize),
            dscp: self.dscp.and_then(|dscp| u8::try_from(dscp).ok()),
        }
    }

    fn problem(&self) -> Option<&'static str> {
        [
            (self.from < PRIORITIES, "begins with a priority from 0 to 63"),
            (self.rate.is_none_or(|rate| rate >= LEAST_RATE), "has a rate of at least 64kbit/s"),
            (
                self.burst.is_none_or(|burst| burst >= LEAST_BURST),
                "has a burst of at least 1500B: a datagram",
            ),
            (self.burst.is_none() || self.rate.is_some(), "has no burst without a rate"),
            (
                self.queue.is_none_or(|queue| (Size(65_536)..=Size(1 << 30)).contains(&queue)),
                "has a queue from 64KiB to 1GiB",
            ),
            (self.dscp.is_none_or(|dscp| dscp < PRIORITIES), "has a dscp from 0 to 63"),
        ]
        .into_iter()
        .find_map(|(fits, rule)| (!fits).then_some(rule))
    }
}

impl Bands {
    /// What is wrong with them.
    pub(crate) fn problem(&self) -> Option<String> {
        if self.0.len() > MAX_BANDS {
            return Some(format!("{} bands, and {MAX_BANDS} are the most", self.0.len()));
        }
        let rises = self.0.iter().zip(self.0.iter().skip(1)).all(|(one, next)| one.from < next.from);
        if !rises {
            return Some("bands stand in the order of their priorities, each of which has one".into());
        }
        let wrong = self.0.iter().find_map(|band| Some((band, band.problem()?)));
        wrong.map(|(band, rule)| format!("{:?}: a band {rule}", band.print()))
    }
}

impl Value for Bands {
    const EXPECTS: &'static str =
        "a list of bands, such as [\"0 rate=20Mbit/s dscp=8\", \"40 queue=256KiB\"]";
    fn read(raw: &Raw) -> Option<Self> {
        let bands = Vec::<String>::read(raw)?;
        bands.iter().map(|text| Band::parse(text)).collect::<Option<_>>().map(Self)
    }
    fn print(&self) -> String {
        let items: Vec<String> = self.0.iter().map(|band| quoted(&band.print())).collect();
        format!("[{}]", items.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use crate::Config;

    fn refused(bands: &str) -> String {
        let text = format!("[daemon]\nbands = [{bands}]");
        Config::from_toml("a.toml", &text).unwrap_err().to_string()
    }

    #[test]
    fn bands_are_read_printed_and_settled() {
        let mut config = Config::default();
        let text = "0 rate=20Mbit/s burst=64KiB queue=2MiB dscp=8, 40";
        config.set("daemon.bands", text).unwrap();
        let printed = "[\"0 rate=20Mbit/s burst=64KiB queue=2MiB dscp=8\", \"40\"]";
        assert_eq!(config.get("daemon.bands").as_deref(), Some(printed));
        let settled: Vec<_> =
            config.daemon.bands.0.iter().map(|it| it.settled(config.daemon.burst)).collect();
        let limit = dunlin_engine::Limit { rate: 2_500_000, burst: 65_536 };
        assert_eq!((settled[0].limit, settled[0].queue, settled[0].dscp), (Some(limit), 2 << 20, Some(8)));
        assert_eq!((settled[1].from, settled[1].limit, settled[1].dscp), (40, None, None));
        assert_eq!(super::limit(crate::Rate(8_000_000), crate::Auto::Auto).burst, 5_000);
    }

    #[test]
    fn bands_that_make_no_sense_are_refused_with_a_sentence() {
        for (bands, why) in [
            ("\"40\", \"0\"", "in the order of their priorities"),
            ("\"0\", \"0\"", "in the order of their priorities"),
            ("\"64\"", "a band begins with a priority from 0 to 63"),
            ("\"0 rate=1kbit/s\"", "a rate of at least 64kbit/s"),
            ("\"0 rate=1Mbit/s burst=1kB\"", "a burst of at least 1500B"),
            ("\"0 burst=3kB\"", "no burst without a rate"),
            ("\"0 queue=1kB\"", "a queue from 64KiB to 1GiB"),
            ("\"0 dscp=64\"", "a dscp from 0 to 63"),
            ("\"0 rate=1Mbit/s rate=2Mbit/s\"", "expected a list of bands"),
            ("\"0 speed=1Mbit/s\"", "expected a list of bands"),
            ("\"0\",\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\"", "9 bands, and 8 are the most"),
        ] {
            let said = refused(bands);
            assert!(said.contains("daemon.bands") && said.contains(why), "{bands}: {said}");
        }
        let text = "[daemon]\nnetwork_rate = \"1kbit/s\"\nburst = \"10B\"";
        let said = Config::from_toml("a.toml", text).unwrap_err().to_string();
        assert!(said.contains("daemon.network_rate") && said.contains("daemon.burst"), "{said}");
    }
}
