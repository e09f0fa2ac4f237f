//! Scenarios that come with the tool.

/// Name and text of each.
pub(crate) const PRESETS: &[(&str, &str)] = &[
    ("short", include_str!("presets/short.toml")),
    ("latency-2019", include_str!("presets/latency-2019.toml")),
    ("dbe-2008", include_str!("presets/dbe-2008.toml")),
    ("architectures-2008", include_str!("presets/architectures-2008.toml")),
    ("video-2017", include_str!("presets/video-2017.toml")),
    ("throughput", include_str!("presets/throughput.toml")),
    ("one-to-many", include_str!("presets/one-to-many.toml")),
    ("discovery", include_str!("presets/discovery.toml")),
    ("fleet", include_str!("presets/fleet.toml")),
    ("mixed-qos", include_str!("presets/mixed-qos.toml")),
    ("loss", include_str!("presets/loss.toml")),
    ("waiting", include_str!("presets/waiting.toml")),
    ("rates", include_str!("presets/rates.toml")),
    ("shared-memory", include_str!("presets/shared-memory.toml")),
];

#[cfg(test)]
mod tests {
    use crate::adapters::Adapters;
    use crate::scenario::{Scenario, SetUp};

    #[test]
    fn every_preset_can_be_read_and_names_adapters_that_exist() {
        let known = Adapters::default().list();
        for (name, text) in super::PRESETS {
            let scenario = Scenario::parse(text).unwrap_or_else(|error| panic!("{name}: {error:#}"));
            assert_eq!(scenario.id, *name);
            assert!(!scenario.about.is_empty() && !scenario.cells().is_empty(), "{name}");
            // The time that a page tells is that for which was written.
            assert!(!scenario.measures.iter().any(crate::scenario::Measure::is_cut_short), "{name}");
            for contender in &scenario.implementations {
                let is_known = known.iter().any(|(adapter, ..)| *adapter == contender.adapter);
                assert!(is_known, "{name}: {}", contender.adapter);
            }
        }
    }

    #[test]
    fn the_studies_are_measured_as_they_were() {
        let preset = |id: &str| {
            let (_, text) = super::PRESETS.iter().find(|(name, _)| *name == id).unwrap();
            Scenario::parse(text).unwrap().measures
        };
        let powers = |from: u32, to: u32| (from..=to).map(|n| 1_usize << n).collect::<Vec<_>>();
        let dbe = &preset("dbe-2008")[0];
        assert_eq!((&dbe.payloads, dbe.answer, dbe.count), (&powers(2, 14), Some(4), Some(10_000)));
        assert_eq!(dbe.set_ups, [SetUp::InterProcess, SetUp::TwoHosts]);
        let again = preset("architectures-2008");
        assert_eq!(
            (&again[0].payloads, again[0].answer, again[0].count),
            (&powers(2, 14), Some(4), Some(10_000))
        );
        assert_eq!((&again[4].payloads, &again[4].readers), (&powers(2, 14), &vec![1, 4, 8, 16, 32]));
        let latency = &preset("latency-2019")[0];
        assert_eq!((&latency.payloads, latency.reliable, latency.keep_last), (&powers(4, 14), true, 1));
        assert_eq!(latency.set_ups, [SetUp::InterProcess, SetUp::IntraProcess, SetUp::TwoHosts]);
        let video = preset("video-2017");
        let sizes = [17_590, 39_670, 65_380, 92_850, 307_200, 581_980, 921_600];
        assert_eq!(video[0].payloads, sizes);
        assert!(
            video.iter().all(|one| one.link.mbit == 100 && one.payloads.iter().all(|it| sizes.contains(it)))
        );
    }
}
