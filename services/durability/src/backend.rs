//! Which back end keeps PERSISTENT data, as a configuration says it. What is known here needs no back end to be compiled.

use std::path::{Path, PathBuf};

use dunlin::Duration;
use dunlin_settings::{Report, Table, read_text};

/// Longest name that a back end gets.
const MAX_NAME: usize = 48;
/// How long a back end may take for an answer, if nothing else is said.
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);
/// The longest that can be said.
const MAX_TIMEOUT: Duration = Duration::from_secs(600);

/// Where PERSISTENT data is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Backend {
    /// In a file of this machine.
    File(PathBuf),
    /// In tables of PostgreSQL. With the feature `postgres`.
    Postgres(PostgresBackend),
    /// In a stream of NATS JetStream. With the feature `nats`.
    Nats(NatsBackend),
}

/// `[postgres]`.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresBackend {
    /// `host=… user=… dbname=…`, or `postgresql://user@host/dbname`.
    pub address: String,
    /// The password, if the server asks for one.
    pub password: Option<String>,
    /// Certificates of authorities, in PEM: with them TLS alone will do.
    pub authorities: Option<String>,
    /// The schema of the tables. Services that use one database need different ones.
    pub schema: String,
    /// How long the server may take for an answer.
    pub timeout: std::time::Duration,
}

impl std::fmt::Debug for PostgresBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the password, and the address may have one as well.
        f.debug_struct("PostgresBackend").field("schema", &self.schema).finish_non_exhaustive()
    }
}

#[cfg(feature = "postgres")]
impl PostgresBackend {
    /// The address as the client takes it.
    pub(crate) fn settings(&self) -> Result<tokio_postgres::Config, String> {
        use tokio_postgres::config::SslMode;
        if self.address.contains("sslmode=verify") {
            return Err("sslmode=verify-…: with ca_file the certificate and its name are always verified; leave sslmode out".into());
        }
        let parsed = self.address.parse::<tokio_postgres::Config>();
        let mut settings = parsed.map_err(|error| format!("it is no address of PostgreSQL: {error}"))?;
        if settings.get_hosts().is_empty() && settings.get_hostaddrs().is_empty() {
            return Err("it needs host=…".into());
        }
        let says_mode = self.address.contains("sslmode");
        match (settings.get_ssl_mode(), &self.authorities) {
            (SslMode::Require, None) => {
                return Err("sslmode=require: it needs ca_file = \"…\" with the authority of the server's certificate".into());
            }
            (SslMode::Disable, Some(_)) => {
                return Err("sslmode=disable and ca_file exclude each other".into());
            }
            (SslMode::Prefer, _) if says_mode => {
                return Err("sslmode=prefer: say whether there is TLS, with require or disable".into());
            }
            (_, Some(_)) => settings.ssl_mode(SslMode::Require),
            (_, None) => settings.ssl_mode(SslMode::Disable),
        };
        if let Some(password) = &self.password {
            settings.password(password);
        }
        Ok(settings)
    }

    /// How the server is to show who it is; without authorities it need not.
    pub(crate) fn tls(&self) -> Result<Option<crate::store::Tls>, String> {
        let tls = self.authorities.as_deref().map(crate::store::Tls::new).transpose();
        tls.map_err(|why| format!("ca_file: {why}"))
    }
}

/// `[nats]`.
#[derive(Clone, PartialEq, Eq)]
pub struct NatsBackend {
    /// `nats://host:4222`, or `tls://host:4222`; several with commas.
    pub address: String,
    /// Who the service is for the server.
    pub user: Option<String>,
    /// Its password; without a user, a token.
    pub password: Option<String>,
    /// The stream. Services that use one server need different ones.
    pub stream: String,
    /// How many servers keep a new stream.
    pub replicas: usize,
    /// How long the server may take for an answer.
    pub timeout: std::time::Duration,
}

impl std::fmt::Debug for NatsBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NatsBackend").field("stream", &self.stream).finish_non_exhaustive()
    }
}

/// `[cold]`: an object store that speaks S3. With the feature `s3`.
#[derive(Clone, PartialEq, Eq)]
pub struct ColdBackend {
    /// The bucket.
    pub bucket: String,
    /// `https://host:port`; without it, that of Amazon in the region.
    pub endpoint: Option<String>,
    /// The region.
    pub region: String,
    /// What the names of the segments begin with. Services that use one bucket need different ones.
    pub prefix: String,
    /// The key and its secret.
    pub access: Option<(String, String)>,
    /// What moves.
    pub tier: Tier,
    /// How long it may take for an answer.
    pub timeout: std::time::Duration,
}

/// What moves into a cold tier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tier {
    /// Octets of values that stay.
    pub keep: u64,
    /// Octets of values in a segment.
    pub segment: u64,
}

impl std::fmt::Debug for ColdBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { bucket, prefix, .. } = self;
        f.debug_struct("ColdBackend").field("bucket", bucket).field("prefix", prefix).finish_non_exhaustive()
    }
}

/// Reads whether there is a cold tier.
pub(crate) fn read_cold(
    table: &mut Table<'_>,
    folder: Option<&Path>,
    has_place: bool,
    report: &mut Report<'_>,
) -> Option<ColdBackend> {
    let mut table = table.table("cold", report)?;
    let begin = table.at;
    if !has_place {
        report.add(begin, "cold: it needs a place for data, such as file = \"…\"");
    }
    let (at, bucket) = table.required("bucket", report);
    if bucket.contains('/') {
        report.add(at, "cold.bucket: a bucket has no / in its name");
    }
    let endpoint = table.text("endpoint", report);
    let known = |endpoint: &str| endpoint.starts_with("https://") || endpoint.starts_with("http://");
    if let Some((at, _)) = endpoint.as_ref().filter(|(_, endpoint)| !known(endpoint)) {
        report.add(*at, "cold.endpoint: expected https://host:port or http://host:port");
    }
    let region = table.text("region", report).map_or_else(|| "us-east-1".into(), |it| it.1);
    let key = table.text("access_key", report);
    let secret = secret(&mut table, folder, report);
    if let Some((at, _)) = key.as_ref().filter(|_| secret.is_none()) {
        report.add(*at, "cold.access_key: it needs password_file = \"…\" with the secret as well");
    }
    let prefix = name(&mut table, "prefix", report);
    let mut mebibytes =
        |key, most, default| u64::from(table.number(key, (1, most), report).unwrap_or(default)) << 20;
    let tier = Tier {
        keep: mebibytes("keep_mebibytes", 1_000_000, 1024),
        segment: mebibytes("segment_mebibytes", 256, 8),
    };
    let timeout = timeout(&mut table, report);
    table.end(report);
    compiled(cfg!(feature = "s3"), "s3", begin, report);
    let (endpoint, access) = (endpoint.map(|it| it.1), key.map(|it| it.1).zip(secret));
    Some(ColdBackend { bucket, endpoint, region, prefix, access, tier, timeout })
}

/// Reads which back end a configuration names. `None` if it names none, or several.
pub(crate) fn read(table: &mut Table<'_>, folder: Option<&Path>, report: &mut Report<'_>) -> Option<Backend> {
    let at = table.at;
    let mut found = Vec::new();
    found.extend(file(table, folder, report).map(Backend::File));
    if let Some(section) = table.table("postgres", report) {
        found.push(Backend::Postgres(postgres(section, folder, report)));
    }
    if let Some(section) = table.table("nats", report) {
        found.push(Backend::Nats(nats(section, folder, report)));
    }
    if found.len() > 1 {
        report.add(at, "PERSISTENT data has one place: file = \"…\", [postgres] or [nats]");
        return None;
    }
    found.pop()
}

/// The path of a file that a configuration names.
fn path(file: &str, folder: Option<&Path>) -> Result<PathBuf, &'static str> {
    match folder {
        Some(_) if file.is_empty() => Err("expected the name of a file"),
        Some(folder) => Ok(folder.join(file)),
        None => Err("no file can be named here"),
    }
}

fn file(table: &mut Table<'_>, folder: Option<&Path>, report: &mut Report<'_>) -> Option<PathBuf> {
    let (at, file) = table.text("file", report)?;
    path(&file, folder).map_err(|why| report.add(at, format!("file = {file:?}: {why}"))).ok()
}

fn postgres(mut table: Table<'_>, folder: Option<&Path>, report: &mut Report<'_>) -> PostgresBackend {
    let begin = table.at;
    let (at, address) = table.required("address", report);
    let password = secret(&mut table, folder, report);
    let authorities = named_file(&mut table, "ca_file", folder, report);
    let schema = name(&mut table, "schema", report);
    let timeout = timeout(&mut table, report);
    table.end(report);
    let backend = PostgresBackend { address, password, authorities, schema, timeout };
    #[cfg(feature = "postgres")]
    if let Err(why) = backend.settings().and_then(|_| backend.tls())
        && !backend.address.is_empty()
    {
        report.add(at, format!("postgres.address: {why}"));
    }
    let _ = at;
    compiled(cfg!(feature = "postgres"), "postgres", begin, report);
    backend
}

fn nats(mut table: Table<'_>, folder: Option<&Path>, report: &mut Report<'_>) -> NatsBackend {
    let begin = table.at;
    let (at, address) = table.required("address", report);
    let known = |one: &str| one.starts_with("nats://") || one.starts_with("tls://");
    if !address.is_empty() && !address.split(',').all(known) {
        report.add(at, "nats.address: expected nats://host:4222 or tls://host:4222, several with commas");
    }
    let user = table.text("user", report);
    let password = secret(&mut table, folder, report);
    if let Some((at, _)) = user.as_ref().filter(|_| password.is_none()) {
        report.add(*at, "nats.user: it needs password_file = \"…\" as well");
    }
    let stream = name(&mut table, "stream", report);
    let replicas = table.number("replicas", (1, 5), report).unwrap_or(1) as usize;
    let timeout = timeout(&mut table, report);
    table.end(report);
    compiled(cfg!(feature = "nats"), "nats", begin, report);
    NatsBackend { address, user: user.map(|it| it.1), password, stream, replicas, timeout }
}

/// Refuses what this program was built without.
fn compiled(is_there: bool, feature: &str, at: usize, report: &mut Report<'_>) {
    if !is_there {
        let build = format!("cargo build --release -p dunlin-durability --features {feature}");
        report.add(at, format!("this program was built without {feature}; build it with: {build}"));
    }
}

/// A password out of a file, of which the end of the line is none.
fn secret(table: &mut Table<'_>, folder: Option<&Path>, report: &mut Report<'_>) -> Option<String> {
    let text = named_file(table, "password_file", folder, report)?;
    Some(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// The text of a file that a key names.
fn named_file(
    table: &mut Table<'_>,
    key: &'static str,
    folder: Option<&Path>,
    report: &mut Report<'_>,
) -> Option<String> {
    let (at, file) = table.text(key, report)?;
    let text = path(&file, folder).map_err(str::to_owned).and_then(|path| read_text(&path));
    text.map_err(|why| report.add(at, format!("{key} = {file:?}: {why}"))).ok()
}

/// A name in a back end: what needs no quotes anywhere.
fn name(table: &mut Table<'_>, key: &'static str, report: &mut Report<'_>) -> String {
    let Some((at, name)) = table.text(key, report) else { return "dunlin".into() };
    let sound = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !begins || name.len() > MAX_NAME || !name.chars().all(sound) {
        let wanted = format!("up to {MAX_NAME} of a-z, 0-9 and _, beginning with a letter");
        report.add(at, format!("{key} = {name:?}: expected {wanted}"));
    }
    name
}

fn timeout(table: &mut Table<'_>, report: &mut Report<'_>) -> std::time::Duration {
    let at = table.at;
    let Some(timeout) = table.duration("timeout", report) else { return TIMEOUT };
    if timeout < Duration::from_millis(10) || timeout > MAX_TIMEOUT {
        report.add(at, "timeout = …: expected 10 ms to 10 minutes");
    }
    timeout.to_std().unwrap_or(TIMEOUT)
}

#[cfg(all(test, feature = "postgres"))]
mod tests {
    use super::*;

    /// What asks for TLS gets it, or is refused: nothing goes in clear text that was not to.
    #[test]
    fn tls_is_as_it_was_said_or_refused() {
        use tokio_postgres::config::SslMode::{Disable, Require};
        let mode = |mode: &str, authorities: Option<&str>| {
            let authorities = authorities.map(str::to_owned);
            let (address, schema) = (format!("host=db user=u{mode}"), "s".to_owned());
            let backend = PostgresBackend { address, password: None, authorities, schema, timeout: TIMEOUT };
            backend.settings().map(|it| it.get_ssl_mode())
        };
        for plain in ["", " sslmode=disable"] {
            assert_eq!(mode(plain, None), Ok(Disable));
        }
        for encrypted in ["", " sslmode=require"] {
            assert_eq!(mode(encrypted, Some("authority")), Ok(Require));
        }
        for (said, authorities, wanted) in [
            (" sslmode=require", None, "needs ca_file"),
            (" sslmode=disable", Some("authority"), "exclude each other"),
            (" sslmode=prefer", None, "whether there is TLS"),
            (" sslmode=prefer", Some("authority"), "whether there is TLS"),
            (" sslmode=verify-full", Some("authority"), "always verified"),
            (" sslmode=verify-ca", None, "always verified"),
        ] {
            let why = mode(said, authorities).unwrap_err();
            assert!(why.contains(wanted), "{said}: {why}");
        }
    }
}
