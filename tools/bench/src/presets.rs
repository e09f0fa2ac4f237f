//! Scenarios that come with the tool.

/// Name and text of each.
pub(crate) const PRESETS: &[(&str, &str)] = &[
    ("short", include_str!("presets/short.toml")),
    ("latency-2019", include_str!("presets/latency-2019.toml")),
    ("dbe-2008", include_str!("presets/dbe-2008.toml")),
    ("video-2017", include_str!("presets/video-2017.toml")),
    ("throughput", include_str!("presets/throughput.toml")),
    ("one-to-many", include_str!("presets/one-to-many.toml")),
    ("discovery", include_str!("presets/discovery.toml")),
    ("mixed-qos", include_str!("presets/mixed-qos.toml")),
    ("loss", include_str!("presets/loss.toml")),
];

#[cfg(test)]
mod tests {
    use crate::adapters::Adapters;
    use crate::scenario::Scenario;

    #[test]
    fn every_preset_can_be_read_and_names_adapters_that_exist() {
        let known = Adapters::default().list();
        for (name, text) in super::PRESETS {
            let scenario = Scenario::parse(text).unwrap_or_else(|error| panic!("{name}: {error:#}"));
            assert_eq!(scenario.id, *name);
            for contender in &scenario.implementations {
                assert!(
                    known.iter().any(|(adapter, ..)| *adapter == contender.adapter),
                    "{}",
                    contender.adapter
                );
            }
        }
    }
}
