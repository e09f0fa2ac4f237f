use dunlin_core::Duration;

use super::*;
use crate::value::{Auto, Multicast, Size, Switch};
use crate::{Rate, reference};

fn environment(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

/// Loads with these variables in a directory with this `dunlin.toml`.
fn load(file: Option<&str>, pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let directory = tempfile::tempdir().unwrap();
    if let Some(text) = file {
        std::fs::write(directory.path().join("dunlin.toml"), text).unwrap();
    }
    Config::load_from(environment(pairs), directory.path())
}

fn text_error(text: &str) -> String {
    Config::from_toml("f.toml", text).unwrap_err().to_string()
}

#[test]
fn config_layer_overrides_lower_layers() {
    let file = "[network]\nipv6 = true\nmulticast = \"spdp\"\n[discovery]\nlease_duration = \"7s\"\n";
    let variables =
        [("DUNLIN_NETWORK_MULTICAST", "off"), ("DUNLIN_NETWORK_RECEIVE_BUFFER", "8MiB"), ("PATH", "/bin")];
    let mut config = load(Some(file), &variables).unwrap();
    config.set("network.receive_buffer", "9MiB").unwrap();
    config.network.send_buffer = Auto::Value(Size(1 << 20));

    assert!(config.network.ipv6);
    assert_eq!(config.discovery.lease_duration, Duration::from_secs(7));
    assert_eq!(config.network.multicast, Multicast::Off);
    assert_eq!(config.network.receive_buffer, Auto::Value(Size(9 << 20)));

    let origin = |key: &str| config.origin(key).to_string();
    assert_eq!(origin("network.ipv4"), "default");
    assert_eq!(origin("network.ipv6"), "dunlin.toml:2");
    assert_eq!(origin("discovery.lease_duration"), "dunlin.toml:5");
    assert_eq!(origin("network.multicast"), "environment variable DUNLIN_NETWORK_MULTICAST");
    assert_eq!(origin("network.receive_buffer"), "set in code");
    assert_eq!(origin("network.send_buffer"), "set in code");
}

/// Code, our variable, that of ROS 2, the file, the default.
#[test]
fn the_domain_of_ros_2_goes_before_the_file_and_behind_our_variable() {
    let file = Some("[domain]\nid = 3\n");
    let ros = ("ROS_DOMAIN_ID", "42");
    let domain = |file: Option<&str>, pairs: &[(&str, &str)]| {
        let config = load(file, pairs).unwrap();
        (config.domain.id, config.origin("domain.id").to_string())
    };
    assert_eq!(domain(None, &[]), (0, "default".into()));
    assert_eq!(domain(file, &[]), (3, "dunlin.toml:2".into()));
    assert_eq!(domain(file, &[ros]), (42, "environment variable ROS_DOMAIN_ID".into()));
    let both = [("DUNLIN_DOMAIN_ID", "7"), ros];
    assert_eq!(domain(file, &both), (7, "environment variable DUNLIN_DOMAIN_ID".into()));
    assert_eq!(domain(file, &[("ROS_DOMAIN_ID", "")]).0, 3, "as if it were not set");
    let error = load(file, &[("ROS_DOMAIN_ID", "all")]).unwrap_err().to_string();
    assert!(error.contains("environment variable ROS_DOMAIN_ID: domain.id = "), "{error}");
}

#[test]
fn config_file_values_of_all_kinds_are_read() {
    let config = Config::from_toml(
        "f.toml",
        "[network]\ninterfaces = [\"eth0\", \"wlan*\"]\nparticipant_index = 3\nmulticast_ttl = 0x10\n\
         [ports]\nbase = 7_000\n[reliability]\npacing_rate = \"50Mbit/s\"\nrepair_budget = \"1.5MiB\"\n\
         [fault]\nloss = \"2.5%\"\n[discovery]\npeers = []\n",
    )
    .unwrap();
    assert_eq!(config.network.interfaces, ["eth0", "wlan*"]);
    assert_eq!((config.network.multicast_ttl, config.ports.base), (16, 7_000));
    assert_eq!(config.reliability.pacing_rate, Switch::Value(Rate(50_000_000)));
    assert_eq!(config.reliability.repair_budget, Size(3 << 19));
    assert_eq!(config.fault.loss.0, 25_000);
}

#[test]
fn unknown_names_are_refused_with_the_nearest_known_one() {
    assert_eq!(
        text_error("[network]\n\ninterfacs = []"),
        "f.toml:3: unknown key network.interfacs; did you mean network.interfaces?"
    );
    assert_eq!(
        text_error("[netwrok]\nipv6 = true"),
        "f.toml:1: unknown section [netwrok]; did you mean [network]?"
    );
    assert_eq!(
        text_error("[network]\nlease_duration = \"3s\""),
        "f.toml:2: unknown key network.lease_duration; did you mean discovery.lease_duration?"
    );
    assert_eq!(text_error("[network]\ncolour = 1"), "f.toml:2: unknown key network.colour");
    let error = load(None, &[("DUNLIN_NETWORK_INTERFACE", "lo")]).unwrap_err().to_string();
    assert_eq!(
        error,
        "environment variable DUNLIN_NETWORK_INTERFACE: no key has this variable; \
         did you mean DUNLIN_NETWORK_INTERFACES?"
    );
    let error = load(None, &[("DUNLIN_FAULTS_LOSS", "1%")]).unwrap_err().to_string();
    assert!(error.ends_with("no key has this variable; did you mean DUNLIN_FAULT_LOSS?"), "{error}");
    for (given, meant) in [
        ("DUNLIN_SHARED_MEMORY_ENABLD", "DUNLIN_SHARED_MEMORY_ENABLED"),
        ("DUNLIN_SHARED_MEMROY_RING_SIZE", "DUNLIN_SHARED_MEMORY_RING_SIZE"),
    ] {
        let error = load(None, &[(given, "false")]).unwrap_err().to_string();
        assert!(error.ends_with(&format!("no key has this variable; did you mean {meant}?")), "{error}");
    }
    load(None, &[("DUNLIN_BENCH_ROUNDS", "3")]).expect("a variable of another program");
    let error = Config::default().set("network.ipv5", "true").unwrap_err().to_string();
    assert_eq!(error, "set in code: unknown key network.ipv5; did you mean network.ipv4?");
}

#[test]
fn keys_are_set_from_the_command_line() {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let mut config = Config::default();
    config.set_all(&texts(&["network.ipv6=true", "fault.loss=0.5%"])).unwrap();
    assert!(config.network.ipv6);
    let error = |given: &str| Config::default().set_all(&texts(&[given])).unwrap_err().to_string();
    assert_eq!(error("network.ipv6"), "set in code: 'network.ipv6' is not KEY=VALUE");
    assert!(error("network.ipv5=true").contains("unknown key network.ipv5"));
}

#[test]
fn values_that_do_not_fit_are_refused_with_what_was_expected() {
    assert_eq!(
        text_error("[discovery]\nlease_duration = 10"),
        "f.toml:2: discovery.lease_duration = 10: expected a duration of at least \"100ms\", or \"infinite\""
    );
    assert_eq!(
        text_error("[network]\nipv6 = \"yes\""),
        "f.toml:2: network.ipv6 = \"yes\": expected true or false"
    );
    assert_eq!(
        text_error("[ports]\nbase = 99999999999999999999"),
        "f.toml:2: ports.base = 99999999999999999999: expected a whole number from 0 to 65535"
    );
    assert_eq!(text_error("network = 1"), "f.toml:1: network = 1: network is a section, write [network]");
    assert!(text_error("[network.ipv6]\nx = 1").contains("network.ipv6 = a table: expected true or false"));
    let error = load(None, &[("DUNLIN_FAULT_LOSS", "200%")]).unwrap_err().to_string();
    assert_eq!(
        error,
        "environment variable DUNLIN_FAULT_LOSS: fault.loss = \"200%\": expected a share from \"0%\" to \"100%\""
    );
}

#[test]
fn configuration_errors_are_reported_together_up_to_a_bound() {
    let error = Config::from_toml("f", "[network]\na1 = 1\nipv6 = 3\n[fault]\nseed = -1").unwrap_err();
    assert_eq!(error.problems().len(), 3);
    let many: String = (0..1_000).map(|n| format!("key{n} = 1\n")).collect();
    let error = Config::from_toml("f", &format!("[network]\n{many}")).unwrap_err();
    assert_eq!(error.problems().len(), 20);
}

#[test]
fn values_that_make_no_sense_together_are_refused_with_their_origin() {
    assert_eq!(
        text_error("[discovery]\nlease_duration = \"2s\""),
        "default: discovery.announcement_period = \"3s\": must be shorter than discovery.lease_duration"
    );
    assert_eq!(
        text_error("[network]\nipv4 = false"),
        "default: network.ipv6 = false: one of ipv4 and ipv6 must be true"
    );
    assert!(text_error("[network]\nmulticast_group_v4 = \"10.0.0.1\"").contains("not a multicast address"));
    assert!(text_error("[domain]\nid = 233").starts_with("f.toml:2: domain.id = 233: must be from 0 to 232"));
    assert!(text_error("[network]\nmax_message_size = \"1MiB\"").contains("from 1KiB to 65507B"));
    assert!(text_error("[reliability]\nheartbeat_period = \"0\"").contains("longer than zero"));
    assert!(text_error("[fault]\ndelay = \"2min\"").contains("at most one minute"));
}

#[test]
fn broken_and_hostile_files_are_refused_in_words() {
    assert!(text_error("[network\n").starts_with("f.toml:1: not valid TOML: "));
    assert!(text_error("a = 1\n\n[x]\nb = = 2").starts_with("f.toml:4: not valid TOML: "));
    assert!(text_error("[network]\nipv6 = true\nipv6 = true").contains("f.toml:3: not valid TOML"));
    let deep = format!("[network]\nipv6 = {}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(text_error(&deep).contains("not valid TOML"));
    let tables = format!("[{}]", vec!["a"; 100_000].join("."));
    assert!(!text_error(&tables).is_empty());
    let long = format!("[network]\n{} = \"{}\"", "k".repeat(100_000), "v".repeat(100_000));
    assert!(text_error(&long).len() < 300, "{}", text_error(&long).len());
    let list = format!("[network]\ninterfaces = [{}]", "\"eth0\",".repeat(10_000));
    assert!(text_error(&list).ends_with("expected a list of at most 256 texts"));
    assert!(
        load(Some(&"# comment\n".repeat(200_000)), &[])
            .unwrap_err()
            .to_string()
            .contains("longer than 1 MiB")
    );
}

#[test]
fn the_file_is_the_one_named_or_the_one_in_the_directory() {
    assert_eq!(load(None, &[]).unwrap().get("domain.id").as_deref(), Some("0"));
    let error = load(None, &[("DUNLIN_CONFIG", "missing.toml")]).unwrap_err().to_string();
    assert!(error.starts_with("environment variable DUNLIN_CONFIG: cannot read missing.toml: "), "{error}");

    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("dunlin.toml"), "[domain]\nid = 1").unwrap();
    std::fs::write(directory.path().join("other.toml"), "[domain]\nid = 2").unwrap();
    std::fs::write(directory.path().join("bad.toml"), [0xff, 0xfe]).unwrap();
    let load = |pairs: &[(&str, &str)]| Config::load_from(environment(pairs), directory.path());
    assert_eq!(load(&[]).unwrap().domain.id, 1);
    assert_eq!(load(&[("DUNLIN_CONFIG", "other.toml")]).unwrap().domain.id, 2);
    assert_eq!(load(&[("DUNLIN_CONFIG", "")]).unwrap().domain.id, 0);
    assert!(load(&[("DUNLIN_CONFIG", "bad.toml")]).unwrap_err().to_string().contains("not UTF-8"));
}

#[test]
fn a_printed_configuration_parses_to_the_same_values() {
    let mut config = Config::default();
    for (key, value) in
        [("network.interfaces", "a\"b,c"), ("fault.loss", "0.5%"), ("network.send_buffer", "3MiB")]
    {
        config.set(key, value).unwrap();
    }
    let printed = config.effective().to_string();
    assert!(
        printed.contains("send_buffer = \"3MiB\"                            # set in code\n"),
        "{printed}"
    );
    let again = Config::from_toml("printed", &printed).unwrap();
    let values = |config: &Config| -> Vec<String> {
        config
            .effective()
            .entries()
            .map(|(section, key, value, _)| format!("{section}.{key}={value}"))
            .collect()
    };
    assert_eq!(values(&again), values(&config));
}

#[test]
fn the_reference_names_every_key_and_is_an_empty_configuration() {
    let text = reference();
    for key in KEYS {
        assert!(text.contains(&format!("\n# {} = ", key.name)), "{}", key.path());
        assert!(text.contains(&key.variable()), "{}", key.path());
        assert!(!key.doc.is_empty(), "{}", key.path());
    }
    let config = Config::from_toml("reference", &text).unwrap();
    assert!(config.effective().entries().all(|(_, _, _, origin)| *origin == Origin::Default));
    let filled: String = text
        .lines()
        .map(|l| {
            let is_value = l.starts_with("# ") && l.contains(" = ");
            if is_value { format!("{}\n", &l[2..]) } else { format!("{l}\n") }
        })
        .collect();
    Config::from_toml("filled", &filled).expect("the defaults are values");
}

/// Whether a configuration with this value alone has nothing against the key.
fn fits(key: &str, value: &str) -> bool {
    let mut config = Config::default();
    let given = format!("{key} = ");
    let refused = |error: ConfigError| error.to_string().contains(&given);
    !config.set(key, value).and_then(|()| config.check()).is_err_and(refused)
}

#[test]
fn every_value_that_a_printed_type_names_is_accepted() {
    let mut seen = 0;
    for (key, expects) in KEYS.iter().map(|key| (key.path(), key.expects())) {
        let numbers = expects.split_once("number from ").and_then(|(_, range)| range.split_once(" to "));
        let quoted = expects.split('"').skip(1).step_by(2);
        let range = ["from \"", "at least \""].iter().any(|begin| expects.contains(begin));
        let named = numbers.into_iter().flat_map(|(least, most)| [least, most]);
        for value in named.chain(quoted.filter(|_| range)) {
            assert!(fits(&key, value), "{key} = {value}: {expects}");
            seen += 1;
        }
    }
    assert!(seen > 80, "{seen}");
}

#[test]
fn values_beside_a_printed_range_are_refused() {
    for key in KEYS {
        let (path, expects) = (key.path(), key.expects());
        let Some((_, range)) = expects.split_once("number from ") else { continue };
        let [least, most] = [0, 1].map(|at| range.split(" to ").nth(at).unwrap().parse::<i64>().unwrap());
        assert!(!fits(&path, &(least - 1).to_string()), "{path}: {expects}");
        assert!(!fits(&path, &(most + 1).to_string()), "{path}: {expects}");
    }
    for (key, values) in [
        ("discovery.announcement_period", &["0s", "infinite"][..]),
        ("discovery.lease_duration", &["99ms"]),
        ("daemon.application_rate", &["7kbit/s"]),
        ("daemon.bundle_delay", &["101ms", "infinite"]),
        ("daemon.network_rate", &["63kbit/s"]),
        ("daemon.destination_rate", &["63kbit/s"]),
        ("daemon.burst", &["1499B"]),
        ("network.multicast_group_v4", &["10.0.0.1"]),
        ("network.multicast_group_v6", &["fe80::1"]),
        ("network.broadcast", &["10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5"]),
        ("network.max_message_size", &["1023B", "65508B"]),
        ("network.interface_poll", &["99ms"]),
        ("shared_memory.directory", &["shm"]),
        ("shared_memory.ring_size", &["128KiB", "512MiB", "300KiB"]),
        ("receive.spin", &["1001us", "infinite"]),
        ("reliability.heartbeat_period", &["0s"]),
        ("reliability.fragment_size", &["63B", "65001B"]),
        ("reliability.pacing_rate", &["7kbit/s"]),
        ("reliability.pacing_burst", &["0B"]),
        ("reliability.send_window_patience", &["0s"]),
        ("statistics.period", &["99ms", "61min", "infinite"]),
        ("fault.delay", &["61s", "infinite"]),
        ("fault.jitter", &["61s", "infinite"]),
    ] {
        values.iter().for_each(|value| assert!(!fits(key, value), "{key} = {value}"));
    }
}
