//! From TOML.

use std::path::Path;

use dunlin::{Config, Duration};
use dunlin_settings::{Report, Table};

use super::{
    BridgeConfig, ConfigError, Congestion, DdsConfig, Direction, Limits, RouteConfig, ZenohConfig, read_text,
};
use crate::key::{Convention, check_scope};

/// Highest domain: RTPS 2.5 §9.6.2 has ports for no other.
const MAX_DOMAIN: u32 = 232;
/// Most routes of a file.
const MAX_ROUTES: usize = 1000;
const MIB: usize = 1 << 20;

pub(super) fn read(name: &str, text: &str, folder: Option<&Path>) -> Result<BridgeConfig, ConfigError> {
    Table::read(name, text, |table, report| bridge(table, folder, report))
}

fn bridge(mut table: Table<'_>, folder: Option<&Path>, report: &mut Report<'_>) -> Option<BridgeConfig> {
    let name = short_name(&mut table, "name", report);
    let dds =
        table.table("dds", report).map_or_else(DdsConfig::default, |table| dds(table, folder, report));
    let zenoh = match table.table("zenoh", report) {
        Some(table) => zenoh_side(table, folder, report),
        None => {
            report.add(
                0,
                "there is no zenoh side: write [zenoh] with connect = or listen = a list of endpoints",
            );
            None
        }
    };
    let routes: Vec<_> =
        table.tables("route", report).into_iter().map(|table| route(table, report)).collect();
    if routes.is_empty() {
        report.add(0, "there is no route: write [[route]] with convention = \"dds\" or \"ros2dds\"");
    }
    if routes.len() > MAX_ROUTES {
        report.add(0, format!("there are more than {MAX_ROUTES} routes: use patterns"));
    }
    let limits = table.table("limits", report).map_or_else(Limits::default, |table| limits(table, report));
    let status_period = match table.table("status", report) {
        Some(mut table) => {
            let period = table.duration("period", report).unwrap_or(Duration::ZERO);
            table.end(report);
            period
        }
        None => Duration::ZERO,
    };
    table.end(report);
    Some(BridgeConfig { name, dds, zenoh: zenoh?, routes, limits, status_period })
}

/// A name that marks of services can carry.
fn short_name(table: &mut Table<'_>, key: &'static str, report: &mut Report<'_>) -> String {
    let (at, name) = table.required(key, report);
    if name.is_empty() || name.len() > 64 || name.contains('/') {
        report.add(at, format!("{key} = …: a name has 1 to 64 bytes without /"));
    }
    name
}

/// The text of a file that the configuration names.
fn named_file(
    (at, file): &(usize, String),
    folder: Option<&Path>,
    report: &mut Report<'_>,
) -> Option<String> {
    let found = folder.ok_or_else(|| "no file can be named here".to_owned());
    found
        .and_then(|folder| read_text(&folder.join(file)))
        .map_err(|error| report.add(*at, format!("config = \"{file:.100}\": {error}")))
        .ok()
}

fn dds(mut table: Table<'_>, folder: Option<&Path>, report: &mut Report<'_>) -> DdsConfig {
    let domain = table.number("domain", (0, MAX_DOMAIN), report).unwrap_or(0);
    let mut config = None;
    if let Some(named) = table.text("config", report)
        && let Some(text) = named_file(&named, folder, report)
    {
        config = Config::from_toml(&named.1, &text)
            .map_err(|error| report.add(named.0, format!("dds.config = \"{}\": {error}", named.1)))
            .ok();
    }
    let at = table.at;
    if let Some((_, tag)) = table.text("tag", report) {
        let mut tagged = config.unwrap_or_default();
        if let Err(error) = tagged.set("domain.tag", &tag) {
            report.add(at, error.to_string());
        }
        config = Some(tagged);
    }
    table.end(report);
    DdsConfig { domain, config }
}

fn zenoh_side(mut table: Table<'_>, folder: Option<&Path>, report: &mut Report<'_>) -> Option<ZenohConfig> {
    let network = table.text("network", report);
    let given = table.text("config", report);
    let mut session = match &given {
        Some(named) => named_file(named, folder, report).and_then(|text| {
            zenoh::Config::from_json5(&text)
                .map_err(|error| report.add(named.0, format!("zenoh.config = \"{}\": {error}", named.1)))
                .ok()
        })?,
        None => zenoh::Config::default(),
    };
    let mut set = |at: usize, key: &str, value: String, report: &mut Report<'_>| {
        if let Err(error) = session.insert_json5(key, &value) {
            report.add(at, format!("zenoh: {key} = {value:.200}: {error}"));
        }
    };
    let at = table.at;
    if given.is_none() {
        // Who wants to be found says so.
        set(at, "scouting/multicast/enabled", "false".into(), report);
        // Who is to be connected to may come later.
        set(at, "connect/timeout_ms", "-1".into(), report);
        set(at, "connect/exit_on_failure", "false".into(), report);
    }
    if let Some((at, mode)) = table.text("mode", report) {
        if !["peer", "client", "router"].contains(&mode.as_str()) {
            report.add(
                at,
                format!("zenoh.mode = \"{mode:.100}\": expected \"peer\", \"client\" or \"router\""),
            );
        } else {
            set(at, "mode", format!("{mode:?}"), report);
        }
    }
    let mut reaches = given.is_some();
    for (key, path) in [("connect", "connect/endpoints"), ("listen", "listen/endpoints")] {
        let Some(endpoints) = table.texts(key, report) else { continue };
        reaches |= !endpoints.is_empty();
        let list: Vec<_> = endpoints.iter().map(|(_, it)| format!("{it:?}")).collect();
        let at = endpoints.first().map_or(at, |(at, _)| *at);
        set(at, path, format!("[{}]", list.join(",")), report);
    }
    if let Some(scouting) = table.flag("scouting", report) {
        reaches |= scouting;
        set(at, "scouting/multicast/enabled", scouting.to_string(), report);
    }
    if !reaches {
        report.add(at, "zenoh reaches nobody: write connect = or listen = a list such as [\"tcp/192.0.2.1:7447\"], or scouting = true");
    }
    table.end(report);
    Some(ZenohConfig { network: network.map_or_else(|| "zenoh".to_owned(), |(_, name)| name), session })
}

fn word<T: Copy + Default>(
    table: &mut Table<'_>,
    key: &'static str,
    words: &[(&str, T)],
    report: &mut Report<'_>,
) -> T {
    let Some((at, text)) = table.text(key, report) else { return T::default() };
    let found = words.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
    if found.is_none() {
        let known: Vec<String> = words.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        report.add(at, format!("route.{key} = \"{text:.100}\": expected {}", known.join(" or ")));
    }
    found.unwrap_or_default()
}

fn route(mut table: Table<'_>, report: &mut Report<'_>) -> RouteConfig {
    let conventions = [("dds", Convention::Dds), ("ros2dds", Convention::Ros2Dds)];
    let convention = word(&mut table, "convention", &conventions, report);
    let scope = table.text("scope", report).and_then(|(at, scope)| {
        check_scope(&scope)
            .map_err(|why| report.add(at, format!("route.scope = \"{scope:.100}\": {why}")))
            .ok()?;
        Some(scope)
    });
    let directions =
        [("both", Direction::Both), ("to-zenoh", Direction::ToZenoh), ("from-zenoh", Direction::FromZenoh)];
    let name = table.text("name", report).map(|(_, name)| name);
    let route = RouteConfig {
        name: name.unwrap_or_else(|| "all".to_owned()),
        convention,
        scope,
        direction: word(&mut table, "direction", &directions, report),
        topics: table.names(("topics", "deny_topics"), report),
        types: table.names(("types", "deny_types"), report),
        partitions: table.names(("partitions", "deny_partitions"), report),
        priority: table.number("priority", (1, 7), report).and_then(|priority| u8::try_from(priority).ok()),
        express: table.flag("express", report).unwrap_or(false),
        congestion: word(
            &mut table,
            "congestion",
            &[("block", Congestion::Block), ("drop", Congestion::Drop)],
            report,
        ),
        separation: table.duration("separation", report).unwrap_or(Duration::ZERO),
    };
    table.end(report);
    route
}

fn limits(mut table: Table<'_>, report: &mut Report<'_>) -> Limits {
    let default = Limits::default();
    let mut size = |key, most: u32, default: usize, unit: usize| {
        table.number(key, (1, most), report).map_or(default, |found| found as usize * unit)
    };
    let limits = Limits {
        routes: size("routes", 1_000_000, default.routes, 1),
        samples: size("samples", 1_000_000, default.samples as usize, 1) as u32,
        octets: size("mib", 65_536, default.octets, MIB),
        history_samples: size("history_samples", 10_000_000, default.history_samples, 1),
        history_octets: size("history_mib", 65_536, default.history_octets, MIB),
        sample_octets: size("sample_mib", 2_047, default.sample_octets, MIB),
        sources: size("sources", 100_000, default.sources, 1),
    };
    table.end(report);
    limits
}
