use dunlin_core::Duration;
use dunlin_qos::{DurabilityKind, HistoryKind, ReliabilityKind, TypeConsistencyEnforcement};

use crate::Config;

const FILE: &str = r#"
[domain]
id = 3

[profile.common]
[profile.common.writer]
reliability.kind = "reliable"
reliability.max_blocking_time = "1s"
history.kind = "keep_last"
history.depth = 4

[profile.sensor]
base = "common"
publisher.partition.names = ["north", "south"]
participant.user_data.value = "abc"
participant.property."site.note" = "x"

[[profile.sensor.writer]]
durability.kind = "transient_local"

[[profile.sensor.writer]]
topic = "Camera*"
history.depth = 1
representation.ids = ["xcdr2"]

[profile.sensor.reader]
deadline.period = "infinite"
resource_limits.max_samples = "unlimited"
reader_data_lifecycle.autopurge_disposed_samples_delay = "5s"
"#;

fn problem(text: &str) -> String {
    Config::from_toml("f.toml", text).unwrap_err().to_string()
}

#[test]
fn a_profile_adds_to_its_base_and_filters_by_topic() {
    let config = Config::from_toml("f.toml", FILE).unwrap();
    let profiles = &config.profiles;
    assert!(profiles.names().eq(["common", "sensor"]) && config.domain.id == 3);
    let qos = profiles.writer_qos("sensor", "Lidar").unwrap();
    assert_eq!((qos.history.kind, qos.history.depth), (HistoryKind::KeepLast, 4));
    assert_eq!(qos.durability.kind, DurabilityKind::TransientLocal);
    assert_eq!(qos.reliability.max_blocking_time, Duration::from_secs(1));
    assert_eq!(qos.representation.ids, []);
    let qos = profiles.writer_qos("sensor", "Camera7").unwrap();
    assert_eq!((qos.history.depth, qos.representation.ids.len()), (1, 1));
    assert_eq!(profiles.writer_qos("common", "Camera7").unwrap().history.depth, 4);
    assert_eq!(profiles.publisher_qos("sensor").unwrap().partition.names, ["north", "south"]);
    assert_eq!(profiles.participant_qos("sensor").unwrap().user_data.0, b"abc");
    let reader = profiles.reader_qos("sensor", "Any").unwrap();
    assert_eq!(reader.reader_data_lifecycle.autopurge_disposed_samples_delay, Duration::from_secs(5));
    assert_eq!(reader.reliability.kind, ReliabilityKind::BestEffort, "the default of DDS");
}

#[test]
fn type_consistency_is_set_field_by_field() {
    let text = "[profile.a.reader.type_consistency]\nkind = \"disallow_type_coercion\"\nignore_member_names = true\n\
                ignore_string_bounds = false\nignore_sequence_bounds = false\nprevent_type_widening = true\n\
                force_type_validation = true\n";
    let config = Config::from_toml("f.toml", text).unwrap();
    let expected = TypeConsistencyEnforcement {
        ignore_member_names: true,
        force_type_validation: true,
        ..TypeConsistencyEnforcement::DISALLOW
    };
    assert_eq!(config.profiles.reader_qos("a", "T").unwrap().type_consistency, expected);
    let again = Config::from_toml("g.toml", &config.effective().to_string()).unwrap();
    assert_eq!(again.profiles.reader_qos("a", "T").unwrap().type_consistency, expected);
    assert!(problem("[profile.a.writer]\ntype_consistency.kind = 1").contains("policy of a writer"));
    assert!(problem("[profile.a.reader]\ntype_consistency.kind = \"allow\"").contains("allow_type_coercion"));
}

#[test]
fn printed_profiles_parse_to_the_same_values() {
    let config = Config::from_toml("f.toml", FILE).unwrap();
    let again = Config::from_toml("g.toml", &config.effective().to_string()).unwrap();
    assert_eq!(again.profiles.to_string(), config.profiles.to_string());
    assert_eq!(again.profiles.writer_qos("sensor", "Camera"), config.profiles.writer_qos("sensor", "Camera"));
    assert!(config.profiles.to_string().contains("property.\"site.note\" = \"x\""));
}

#[test]
fn mistakes_are_named_with_their_line() {
    for (text, parts) in [
        (
            "[profile.a.writer]\nreliabilty.kind = \"reliable\"",
            &["f.toml:2", "policy of a writer", "reliability"][..],
        ),
        ("[profile.a.writer]\nreliability.kindd = 1", &["f.toml:2", "reliability.kind"]),
        ("[profile.a.writer]\nreliability.kind = \"reliabel\"", &["\"best_effort\" or \"reliable\""]),
        ("[profile.a.reader]\nhistory.depth = \"many\"", &["whole number"]),
        ("[profile.a.reader]\ndeadline.period = 5", &["expected a duration"]),
        ("[profile.a.reader]\nlifespan.duration = \"1s\"", &["policy of a reader"]),
        ("[profile.a.publisher]\ntopic = \"x\"", &["policy of a publisher"]),
        ("[profile.a]\nwritter.history.depth = 1", &["did you mean writer"]),
        ("[profile.a]\nbase = \"commn\"\n[profile.common]", &["no QoS profile 'commn'", "'common'"]),
        ("[profile.a]\nbase = \"b\"\n[profile.b]\nbase = \"a\"", &["circle"]),
        ("[profile.a.writer]\nhistory.depth = 0", &["profile 'a'", "HISTORY"]),
        ("[profile.a.writer]\ntopic = \"T?\"\ntransport_priority.value = 99", &["TRANSPORT_PRIORITY"]),
        ("[profile.a]\nwriter = 3", &["[profile.a.writer]"]),
        ("profile.a = 1", &["[profile.a]"]),
        ("[profiles.a]", &["did you mean [profile]"]),
    ] {
        let found = problem(text);
        assert!(parts.iter().all(|part| found.contains(part)), "{text}\n{found}");
    }
    let config = Config::from_toml("f.toml", FILE).unwrap();
    let unknown = config.profiles.reader_qos("senser", "T").unwrap_err();
    assert_eq!(unknown.meant.as_deref(), Some("sensor"));
}

#[test]
fn a_consistent_whole_may_have_parts_that_are_not() {
    let text = "[profile.a.reader]\nhistory.depth = 8\nresource_limits.max_samples_per_instance = 10\n\
                [profile.b]\nbase = \"a\"\n[profile.b.reader]\nresource_limits.max_samples = 10\n";
    Config::from_toml("f.toml", text).unwrap();
}
