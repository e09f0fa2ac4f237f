//! The configuration: whatever is accepted can be printed, and read again as the same; what is imported is one.

use std::ffi::OsString;
use std::path::Path;

use dunlin_config::{Config, Import};

/// A directory without files.
const NOWHERE: &str = "/nonexistent";
/// Would name a file.
const FILE_VARIABLE: &str = "DUNLIN_CONFIG";

/// Reads a configuration. The first octet says what the rest is: a file, keys set by code, an environment, the latter two
/// as lines of `name=value`, or XML of another implementation to import.
pub fn configuration(data: &[u8]) {
    let Some((form, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    match form % 4 {
        0 => match Config::from_toml("fuzz.toml", text) {
            Ok(config) => prints_as_read(&config),
            Err(error) => assert!(!error.problems().is_empty() && !error.to_string().is_empty()),
        },
        1 => set_by_code(text),
        3 => {
            if let Ok(import) = Import::from_xml(text) {
                let config = Config::from_toml("imported.toml", &import.toml);
                assert!(config.is_ok(), "{}\n{}", import.toml, config.unwrap_err());
                assert!(import.left_out.len() <= 2_000);
            }
        }
        _ => {
            let environment = pairs(text)
                .filter(|(name, _)| *name != FILE_VARIABLE && !name.contains('\0'))
                .map(|(name, value)| (OsString::from(name), OsString::from(value)));
            if let Ok(config) = Config::load_from(environment, Path::new(NOWHERE)) {
                prints_as_read(&config);
            }
        }
    }
}

fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.split_once('='))
}

fn set_by_code(text: &str) {
    let mut config = Config::default();
    for (key, value) in pairs(text) {
        let before = config.get(key);
        match config.set(key, value) {
            Ok(()) => assert!(config.get(key).is_some()),
            Err(_) => assert_eq!(config.get(key), before),
        }
    }
    // Whether the values fit together is another question.
    if let Ok(again) = Config::from_toml("printed.toml", &config.effective().to_string()) {
        assert_eq!(values(&again), values(&config));
    }
}

fn prints_as_read(config: &Config) {
    let printed = config.effective().to_string();
    let again = match Config::from_toml("printed.toml", &printed) {
        Ok(again) => again,
        Err(error) => panic!("{error}\n{printed}"),
    };
    assert_eq!(values(&again), values(config));
}

fn values(config: &Config) -> Vec<(&'static str, &'static str, String)> {
    let effective = config.effective();
    effective.entries().map(|(section, key, value, _)| (section, key, value.to_owned())).collect()
}

/// What other implementations are configured with.
const XML: [&str; 3] = [
    r#"<dds><qos_library name="L"><qos_profile name="Radar" base_name="Base"><datawriter_qos topic_filter="Track*">
        <reliability><kind>RELIABLE_RELIABILITY_QOS</kind><max_blocking_time><sec>1</sec><nanosec>5</nanosec></max_blocking_time></reliability>
        <history><kind>KEEP_LAST_HISTORY_QOS</kind><depth>7</depth></history></datawriter_qos>
        <datareader_qos><deadline><period><sec>DURATION_INFINITE_SEC</sec></period></deadline></datareader_qos></qos_profile></qos_library></dds>"#,
    r#"<dds xmlns="http://www.eprosima.com"><profiles><transport_descriptors/><data_writer profile_name="w"><qos>
        <reliability><kind>RELIABLE</kind></reliability><partition><names><name>a*</name></names></partition></qos></data_writer></profiles></dds>"#,
    r#"<CycloneDDS><Domain Id="any"><General><Interfaces><NetworkInterface name="eth0"/></Interfaces>
        <AllowMulticast>spdp</AllowMulticast></General><Internal><MaxSampleSize>1MiB</MaxSampleSize></Internal></Domain></CycloneDDS>"#,
];

/// Inputs that are accepted.
pub(crate) fn seeds() -> Vec<(String, Vec<u8>)> {
    let with = |form: u8, text: &str| [&[form], text.as_bytes()].concat();
    let printed = Config::default().effective().to_string();
    let bare: String = printed
        .lines()
        .map(|line| line.split('#').next().unwrap_or(line))
        .fold(String::new(), |text, line| text + line.trim_end() + "\n");
    let mut seeds = vec![("defaults".to_owned(), with(0, &printed)), ("bare".to_owned(), with(0, &bare))];
    let forms = [
        "[network]\ninterfaces = [\"eth0\", \"127.0.0.1\"]\nreceive_buffer = \"8MiB\"\nmulticast = \"spdp\"\n",
        "[discovery]\npeers = [\"192.0.2.7\", \"192.0.2.8:7410\", \"fd00::1\"]\n[domain]\nid = 7\n",
        "[reliability]\npacing_rate = \"50Mbit/s\"\nheartbeat_period = \"1ms\"\nfragment_size = 1400\n",
        "[fault]\nloss = \"2.5%\"\nseed = 18446744073709551615\njitter = \"infinite\"\n",
        "quotas.max_octets = 1\n[quotas]\n\"max_type\" = '1KiB' # twice\n",
    ];
    seeds.extend(forms.iter().enumerate().map(|(n, text)| (format!("file-{n}"), with(0, text))));
    seeds
        .push(("code".into(), with(1, "network.multicast=off\nquotas.max_type=1KiB\ndiscovery.peers=a,b\n")));
    let imported = XML.iter().enumerate().map(|(n, xml)| (format!("xml-{n}"), with(3, xml)));
    seeds.extend(imported);
    seeds.push(("environment".into(), with(2, "DUNLIN_NETWORK_IPV6=true\nDUNLIN_QUOTAS_MAX_OCTETS=1GiB\n")));
    seeds
}
