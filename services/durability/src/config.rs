//! What a service is to keep.

use std::path::Path;

use dunlin::{Config, Duration};
use dunlin_settings::pattern::Names;
pub use dunlin_settings::{ConfigError, Problem, read_text};
use dunlin_settings::{Report, Table};

use crate::backend::{self, Backend, ColdBackend};
use crate::history::Quota;

/// Highest domain: RTPS 2.5 §9.6.2 has ports for no other.
const MAX_DOMAIN: u32 = 232;

/// The configuration of a [`Service`](crate::Service).
#[derive(Clone, Debug)]
pub struct ServiceConfig {
    /// Names the service in its marks. Services of one domain need different names; one that starts anew keeps its name.
    pub name: String,
    /// The domain.
    pub domain: u32,
    /// How it takes part; as the process is configured if there is none.
    pub config: Option<Config>,
    /// Where PERSISTENT data is kept. Without it, PERSISTENT data is refused.
    pub persistent: Option<Backend>,
    /// Where its oldest values move.
    pub cold: Option<ColdBackend>,
    /// Which topics.
    pub topics: Names,
    /// Which types, by name.
    pub types: Names,
    /// Which partitions; a writer without one is in the partition "".
    pub partitions: Names,
    /// Topics that are kept.
    pub most_topics: usize,
    /// What is kept of each.
    pub quota: Quota,
    /// Between two lines about what it does; none if it is zero.
    pub report: Duration,
}

impl ServiceConfig {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, and all that is wrong with it.
    pub fn from_file(path: &Path) -> Result<Self, ConfigError> {
        dunlin_settings::read_file(path, Self::from_toml)
    }

    /// From the text of a file, which messages call `name`. Files that it names are looked for in `folder`; without one they may
    /// not be named.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn from_toml(name: &str, text: &str, folder: Option<&Path>) -> Result<Self, ConfigError> {
        Table::read(name, text, |table, report| read(table, folder, report))
    }
}

fn read(mut table: Table<'_>, folder: Option<&Path>, report: &mut Report<'_>) -> Option<ServiceConfig> {
    let (at, name) = table.required("name", report);
    if name.is_empty() || name.len() > 64 || name.contains('/') {
        report.add(at, "name = …: the name of a service has 1 to 64 bytes without /");
    }
    let domain = table.number("domain", (0, MAX_DOMAIN), report);
    if domain.is_none() {
        report.add(table.at, "it needs domain = a number");
    }
    let config = participant(&mut table, folder, report);
    let persistent = backend::read(&mut table, folder, report);
    let cold = backend::read_cold(&mut table, folder, persistent.is_some(), report);
    let mut keep = table.table("keep", report);
    let mut names = |allow, deny, report: &mut Report<'_>| {
        keep.as_mut().map_or_else(Names::default, |keep| keep.names((allow, deny), report))
    };
    let topics = names("topics", "deny_topics", report);
    let types = names("types", "deny_types", report);
    let partitions = names("partitions", "deny_partitions", report);
    if let Some(keep) = keep {
        keep.end(report);
    }
    let (most_topics, quota) = limits(table.table("limits", report), report);
    let period = table.duration("report", report).unwrap_or(Duration::from_secs(60));
    table.end(report);
    Some(ServiceConfig {
        name,
        domain: domain.unwrap_or(0),
        config,
        persistent,
        cold,
        topics,
        types,
        partitions,
        most_topics,
        quota,
        report: period,
    })
}

/// The file with the participant's configuration, and the domain tag.
fn participant(table: &mut Table<'_>, folder: Option<&Path>, report: &mut Report<'_>) -> Option<Config> {
    let file = table.text("config", report);
    let mut config = file.and_then(|(at, file)| {
        let found = folder.ok_or_else(|| "no file can be named here".to_owned());
        let text = found.and_then(|folder| read_text(&folder.join(&file)));
        let parsed = text.and_then(|text| Config::from_toml(&file, &text).map_err(|error| error.to_string()));
        parsed.map_err(|error| report.add(at, format!("config = \"{file}\": {error}"))).ok()
    });
    if let Some((at, tag)) = table.text("tag", report)
        && let Err(error) = config.get_or_insert_default().set("domain.tag", &tag)
    {
        report.add(at, error.to_string());
    }
    config
}

fn limits(table: Option<Table<'_>>, report: &mut Report<'_>) -> (usize, Quota) {
    let default = Quota::default();
    let Some(mut table) = table else { return (1000, default) };
    let most = table.number("topics", (1, 1_000_000), report).unwrap_or(1000);
    let mut number = |key, default: usize| {
        table.number(key, (1, 1_000_000_000), report).map_or(default, |number| number as usize)
    };
    let samples = number("samples", default.samples);
    let instances = number("instances", default.instances);
    let writers = number("writers", default.writers);
    let mebibytes = number("mebibytes", 1024);
    let tombstones = table.duration("tombstones", report).unwrap_or(default.tombstones);
    table.end(report);
    (most as usize, Quota { samples, octets: (mebibytes as u64) << 20, instances, writers, tombstones })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_errors_name_their_line() {
        let text = "name = \"a/b\"\ndomian = 0\n[keep]\ntopics = [\"a**\"]\n[limits]\nsamples = 0\n";
        let error = ServiceConfig::from_toml("s.toml", text, None).unwrap_err().to_string();
        for wanted in [
            "s.toml:1: name",
            "s.toml:2: there is no key domian",
            "s.toml:4: topics",
            "s.toml:6: limits.samples",
        ] {
            assert!(error.contains(wanted), "{wanted} in {error}");
        }
        let least = ServiceConfig::from_toml("s.toml", "name = \"a\"\ndomain = 3", None).unwrap();
        assert_eq!((least.domain, least.persistent, least.quota), (3, None, Quota::default()));
        assert!(ServiceConfig::from_toml("s.toml", "name = \"a\"\ndomain = 3\nfile = \"x\"", None).is_err());
    }

    fn problems(rest: &str) -> String {
        let text = format!("name = \"a\"\ndomain = 3\n{rest}");
        let read = ServiceConfig::from_toml("s.toml", &text, Some(Path::new("/none")));
        read.map_or_else(|error| error.to_string(), |config| format!("{:?}", config.persistent))
    }

    #[test]
    fn back_ends_are_read_strictly() {
        let known = "[postgres]\naddress = \"host=localhost user=a\"\n";
        let without = "build it with: cargo build --release -p dunlin-durability --features";
        for (rest, wanted) in [
            ("file = \"\"", "s.toml:3: file = \"\": expected the name of a file"),
            ("[postgres]", "needs address"),
            (&format!("{known}adress = 1"), "s.toml:5: there is no key postgres.adress"),
            (&format!("{known}schema = \"a-b\""), "schema = \"a-b\": expected up to 48 of a-z"),
            (&format!("{known}timeout = \"1h\""), "timeout = …: expected 10 ms to 10 minutes"),
            (&format!("{known}password_file = \"no\""), "password_file = \"no\": cannot open it"),
            (&format!("{known}ca_file = \"no\""), "ca_file = \"no\": cannot open it"),
            (&format!("file = \"x\"\n{known}"), "PERSISTENT data has one place"),
            ("[nats]\naddress = \"host:4222\"", "s.toml:4: nats.address: expected nats://host:4222"),
            ("[nats]\naddress = \"nats://h\"\nreplicas = 6", "s.toml:5: nats.replicas"),
            ("[nats]\naddress = \"nats://h\"\nuser = \"u\"", "s.toml:5: nats.user: it needs password_file"),
            ("[nats]\naddress = \"nats://h\"", if cfg!(feature = "nats") { "Some(Nats(" } else { without }),
            ("[cold]\nbucket = \"b\"\nfolder = \"x\"", "s.toml:5: there is no key cold.folder"),
            ("[cold]\nbucket = \"b\"\nendpoint = \"host\"", "s.toml:5: cold.endpoint: expected http"),
            ("[cold]\nbucket = \"b\"", "cold: it needs a place for data, such as file"),
            (
                "file = \"x\"\n[cold]\nbucket = \"b\"",
                if cfg!(feature = "s3") { "Some(File(" } else { without },
            ),
            (known, if cfg!(feature = "postgres") { "Some(Postgres(" } else { without }),
        ] {
            assert!(problems(rest).contains(wanted), "{wanted:?} in {}", problems(rest));
        }
        assert_eq!(problems("file = \"x\""), "Some(File(\"/none/x\"))");
        let secret = "[postgres]\naddress = \"host=h user=u password=secret\"";
        assert!(!problems(secret).contains("secret"));
    }
}
