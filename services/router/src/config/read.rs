//! From TOML.

use std::collections::BTreeSet;
use std::path::Path;

use dunlin::config::nearest;
use dunlin::qos::DataRepresentationId;
use dunlin::{Config, Duration};
use dunlin_settings::pattern::{Names, Template};
use dunlin_settings::{Report, Table};

use super::{
    ConfigError, Create, Limits, ParticipantConfig, RouteConfig, RouterConfig, StatusConfig, read_text,
};

/// Highest domain: RTPS 2.5 §9.6.2 has ports for no other.
const MAX_DOMAIN: u32 = 232;
/// Most routes of a file.
const MAX_ROUTES: usize = 1000;

pub(super) fn read(name: &str, text: &str, folder: Option<&Path>) -> Result<RouterConfig, ConfigError> {
    Table::read(name, text, |table, report| router(table, folder, report))
}

fn router(mut table: Table<'_>, folder: Option<&Path>, report: &mut Report<'_>) -> Option<RouterConfig> {
    let (at, name) = table.required("name", report);
    if name.is_empty() || name.len() > 64 || name.contains('/') {
        report.add(at, "name = …: the name of a router has 1 to 64 bytes without /");
    }
    let participants: Vec<ParticipantConfig> = table
        .named_tables("participant", report)
        .into_iter()
        .map(|(name, table)| participant(name, table, folder, report))
        .collect();
    if participants.is_empty() {
        report.add(0, "there is no participant: write [participant.NAME] with domain = 0");
    }
    let routes: Vec<RouteConfig> = table
        .tables("route", report)
        .into_iter()
        .flat_map(|table| route(table, &participants, report))
        .collect();
    if routes.is_empty() {
        report.add(0, "there is no route: write [[route]] with from = and to =");
    }
    if routes.len() > MAX_ROUTES {
        report.add(0, format!("there are more than {MAX_ROUTES} routes: use patterns"));
    }
    unique_names(&routes, report);
    let limits = table.table("limits", report).map_or_else(Limits::default, |table| limits(table, report));
    let status = table.table("status", report);
    let status = status.map(|table| status_of(table, &participants, report));
    let everywhere = || participants.iter().map(|it| it.name.clone()).collect();
    let status =
        status.unwrap_or_else(|| StatusConfig { participants: everywhere(), period: Duration::from_secs(1) });
    table.end(report);
    Some(RouterConfig { name, participants, routes, limits, status })
}

fn unique_names(routes: &[RouteConfig], report: &mut Report<'_>) {
    let mut seen = BTreeSet::new();
    for route in routes {
        if !seen.insert((&route.name, &route.from)) {
            report.add(0, format!("two routes have the name \"{}\": name = tells them apart", route.name));
        }
    }
}

fn participant(
    name: String,
    mut table: Table<'_>,
    folder: Option<&Path>,
    report: &mut Report<'_>,
) -> ParticipantConfig {
    let domain = table.number("domain", (0, MAX_DOMAIN), report);
    if domain.is_none() {
        report.add(table.at, format!("participant.{name} needs domain = a number"));
    }
    let mut source = String::new();
    let file = table.text("config", report);
    let config = file.and_then(|(at, file)| {
        let found = folder.ok_or_else(|| "no file can be named here".to_owned());
        let found = found.and_then(|folder| read_text(&folder.join(&file)));
        let parsed = found.and_then(|text| {
            let parsed = Config::from_toml(&file, &text).map_err(|error| error.to_string());
            source = text;
            parsed
        });
        parsed
            .map_err(|error| report.add(at, format!("participant.{name}.config = \"{file}\": {error}")))
            .ok()
    });
    let at = table.at;
    let tag = table.text("tag", report);
    let mut config = config;
    if let Some((_, tag)) = tag {
        let mut tagged = config.unwrap_or_default();
        if let Err(error) = tagged.set("domain.tag", &tag) {
            report.add(at, error.to_string());
        }
        source.push_str(&tag);
        config = Some(tagged);
    }
    table.end(report);
    ParticipantConfig { name, domain: domain.unwrap_or(0), config, source }
}

fn limits(mut table: Table<'_>, report: &mut Report<'_>) -> Limits {
    let default = Limits::default();
    let flows = table.number("outputs", (1, 1_000_000), report);
    let samples = table.number("samples", (1, 10_000_000), report).unwrap_or(default.samples);
    let instances = table.number("instances", (1, 100_000_000), report).unwrap_or(default.instances);
    table.end(report);
    Limits { flows: flows.map_or(default.flows, |flows| flows as usize), samples, instances }
}

fn status_of(mut table: Table<'_>, known: &[ParticipantConfig], report: &mut Report<'_>) -> StatusConfig {
    let given = table.texts("participants", report);
    let everywhere = || known.iter().map(|it| it.name.clone()).collect();
    let participants = match given {
        Some(names) => names.into_iter().filter_map(|named| reference(named, known, report)).collect(),
        None => everywhere(),
    };
    let period = table.duration("period", report).unwrap_or(Duration::from_secs(1));
    if period < Duration::from_millis(10) {
        report.add(table.at, "status.period: expected at least 10ms");
    }
    table.end(report);
    StatusConfig { participants, period }
}

/// The name of a participant that exists.
fn reference(
    (at, name): (usize, String),
    known: &[ParticipantConfig],
    report: &mut Report<'_>,
) -> Option<String> {
    let names = || known.iter().map(|it| it.name.as_str());
    if names().any(|it| it == name) {
        return Some(name);
    }
    let meant = nearest(&name, names()).map(|meant| format!("; did you mean \"{meant}\"?"));
    report.add(at, format!("there is no participant \"{name:.100}\"{}", meant.unwrap_or_default()));
    None
}

fn template(
    table: &mut Table<'_>,
    key: &'static str,
    names: &Names,
    report: &mut Report<'_>,
) -> Option<Template> {
    let (at, text) = table.text(key, report)?;
    Template::new(&text, names.captures())
        .map_err(|error| report.add(at, format!("{key} = \"{text:.100}\": {error}")))
        .ok()
}

fn word<T: Copy>(
    table: &mut Table<'_>,
    key: &'static str,
    words: &[(&str, T)],
    report: &mut Report<'_>,
) -> Option<T> {
    let (at, text) = table.text(key, report)?;
    let found = words.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
    if found.is_none() {
        let known: Vec<String> = words.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        report.add(at, format!("route.{key} = \"{text:.100}\": expected {}", known.join(" or ")));
    }
    found
}

/// One route, or two of `between`.
fn route(mut table: Table<'_>, known: &[ParticipantConfig], report: &mut Report<'_>) -> Vec<RouteConfig> {
    let ends = ends(&mut table, known, report);
    let name = table.text("name", report).map(|(_, name)| name);
    let topics = table.names(("topics", "deny_topics"), report);
    let types = table.names(("types", "deny_types"), report);
    let partitions = table.names(("partitions", "deny_partitions"), report);
    let separation = separation(&mut table, report);
    let template_of =
        |table: &mut Table<'_>, key, names, report: &mut Report<'_>| template(table, key, names, report);
    let one = RouteConfig {
        name: String::new(),
        from: String::new(),
        to: Vec::new(),
        rename_topic: template_of(&mut table, "rename_topic", &topics, report),
        rename_type: template_of(&mut table, "rename_type", &types, report),
        rename_partition: template_of(&mut table, "rename_partition", &partitions, report),
        topics,
        types,
        partitions,
        profile: profile(&mut table, &ends, known, report),
        representation: word(
            &mut table,
            "representation",
            &[("xcdr1", DataRepresentationId::Xcdr1), ("xcdr2", DataRepresentationId::Xcdr2)],
            report,
        ),
        filter: table.text("filter", report).map(|(_, text)| text),
        one_of: table.number("one_of", (1, 1_000_000_000), report).unwrap_or(1),
        separation,
        only_on_change: table.flag("only_on_change", report).unwrap_or(false),
        create: word(&mut table, "create", &[("writer", Create::Writer), ("both", Create::Both)], report)
            .unwrap_or_default(),
    };
    table.end(report);
    let named = |(from, to): (String, Vec<String>)| {
        let name = name.clone().unwrap_or_else(|| format!("{from} to {}", to.join(", ")));
        RouteConfig { name, from, to, ..one.clone() }
    };
    ends.into_iter().map(named).collect()
}

/// From where to where.
fn ends(
    table: &mut Table<'_>,
    known: &[ParticipantConfig],
    report: &mut Report<'_>,
) -> Vec<(String, Vec<String>)> {
    if let Some(between) = table.texts("between", report) {
        let names: Vec<String> = between.into_iter().filter_map(|it| reference(it, known, report)).collect();
        let [one, other] = &names[..] else {
            report.add(table.at, "route.between names two participants");
            return Vec::new();
        };
        return vec![(one.clone(), vec![other.clone()]), (other.clone(), vec![one.clone()])];
    }
    let from = table.text("from", report).and_then(|it| reference(it, known, report));
    let to: Vec<String> = table
        .texts("to", report)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|it| reference(it, known, report))
        .collect();
    match from {
        Some(from) if !to.is_empty() => vec![(from, to)],
        _ => {
            report.add(table.at, "route needs from = and to =, or between = [\"one\", \"other\"]");
            Vec::new()
        }
    }
}

/// The least time between samples, given as such or as a rate.
fn separation(table: &mut Table<'_>, report: &mut Report<'_>) -> Duration {
    let separation = table.duration("separation", report);
    let Some((at, rate)) = table.text("at_most", report) else { return separation.unwrap_or(Duration::ZERO) };
    let hertz = rate.strip_suffix("Hz").and_then(|number| number.trim().parse::<f64>().ok());
    let hertz = hertz.filter(|hertz| (0.001..=1e9).contains(hertz));
    if hertz.is_none() || separation.is_some() {
        report.add(
            at,
            format!("route.at_most = \"{rate:.100}\": expected a rate such as \"10Hz\", and no separation"),
        );
    }
    hertz.map_or(Duration::ZERO, |hertz| Duration::from_nanos((1e9 / hertz) as i64))
}

/// A profile that every destination has.
fn profile(
    table: &mut Table<'_>,
    ends: &[(String, Vec<String>)],
    known: &[ParticipantConfig],
    report: &mut Report<'_>,
) -> Option<String> {
    let (at, profile) = table.text("profile", report)?;
    for to in ends.iter().flat_map(|(_, to)| to) {
        let config = known.iter().find(|it| it.name == *to).and_then(|it| it.config.as_ref());
        let found = config.map(|config| config.profiles.writer_qos(&profile, ""));
        match found {
            Some(Ok(_)) => {}
            Some(Err(unknown)) => {
                report.add(at, format!("route.profile: {unknown} in the configuration of \"{to}\""))
            }
            None => report.add(
                at,
                format!(
                    "route.profile = \"{profile:.100}\": participant.{to} needs config = the file with it"
                ),
            ),
        }
    }
    Some(profile)
}
