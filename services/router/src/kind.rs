//! What one output stands for: the writers of one kind, as far as readers can tell them apart.

use std::sync::Arc;

use dunlin::qos::{
    DataWriterQos, DurabilityKind, HistoryKind, PresentationAccessScope, PublisherQos, Reliability,
    ReliabilityKind, ServiceMark,
};
use dunlin::{Duration, PublicationBuiltinTopicData};

use crate::config::{RouteConfig, RouterConfig};
use crate::pattern::Denied;

/// Property of outputs: which route of which router has taken the data up first. Of several ways of the same data the shortest is
/// passed on.
const FLOW: &str = "router.flow";
/// Most routers that data comes through.
pub(crate) const MAX_HOPS: usize = 8;

/// Writers that one output passes on, and what the output is to be.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    /// Tells kinds apart that have the same output by several ways.
    pub(crate) key: Arc<str>,
    /// The routers that the data has come through.
    pub(crate) path: Vec<String>,
    /// Position of the route.
    pub(crate) route: usize,
    /// Position of the participant that it goes to.
    pub(crate) to: usize,
    pub(crate) topic: Arc<str>,
    pub(crate) type_name: Arc<str>,
    pub(crate) input: Names,
    /// What the output is called.
    pub(crate) output: Names,
    /// Policies of the writers of the source.
    pub(crate) offered: Arc<DataWriterQos>,
    pub(crate) published: Arc<PublisherQos>,
    /// Of the output.
    pub(crate) writer: DataWriterQos,
    pub(crate) publisher: PublisherQos,
}

/// Topic, type and partitions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Names {
    pub(crate) topic: String,
    pub(crate) type_name: String,
    pub(crate) partitions: Vec<String>,
}

/// Why a writer is not passed on by a route.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// The route is not about it.
    Elsewhere,
    /// It is about it, but this speaks against it.
    Refused(String),
}

impl Kind {
    /// What a route makes of a writer at one of its destinations.
    pub(crate) fn of(
        config: &RouterConfig,
        (route, to): (usize, usize),
        writer: &PublicationBuiltinTopicData,
    ) -> Result<Self, Why> {
        let Some(rule) = config.routes.get(route) else { return Err(Why::Elsewhere) };
        let output = output_names(rule, writer)?;
        let (path, flow) = way(config, rule, writer)?;
        check(rule, writer)?;
        let (out_writer, publisher) = output_qos(config, rule, (to, &output), writer)?;
        let information = writer.type_information.as_deref().unwrap_or_default();
        let from_to = config.participants.get(to).map_or("", |it| it.name.as_str());
        let key = format!(
            "{}|{}>{from_to}|{}|{}|{information:?}|{flow}|{out_writer:?}|{publisher:?}",
            rule.name, rule.from, writer.topic_name, writer.type_name
        );
        Ok(Self {
            key: key.into(),
            path,
            route,
            to,
            topic: Arc::clone(&writer.topic_name),
            type_name: Arc::clone(&writer.type_name),
            input: Names {
                topic: writer.topic_name.to_string(),
                type_name: writer.type_name.to_string(),
                partitions: writer.publisher_qos.partition.names.clone(),
            },
            output,
            offered: Arc::clone(&writer.qos),
            published: Arc::clone(&writer.publisher_qos),
            writer: out_writer,
            publisher,
        }
        .with_mark(&config.name, &flow))
    }

    fn with_mark(mut self, router: &str, flow: &str) -> Self {
        let mark = ServiceMark { kind: "router".into(), id: router.into(), path: self.path.clone() };
        self.writer = self.writer.service(&mark).property(FLOW, flow);
        self
    }
}

/// The names of the output, if the route is about the writer.
fn output_names(rule: &RouteConfig, writer: &PublicationBuiltinTopicData) -> Result<Names, Why> {
    let denied = |what: &str, denied: Denied| match denied {
        Denied::NotAllowed => Why::Elsewhere,
        Denied::By(pattern) => Why::Refused(format!("the pattern \"{pattern}\" of deny_{what} denies it")),
    };
    let topic = rule.topics.judge(&writer.topic_name).map_err(|it| denied("topics", it))?;
    let ty = rule.types.judge(&writer.type_name).map_err(|it| denied("types", it))?;
    let of = |template: &Option<crate::pattern::Template>, captures: &[&str]| match template {
        Some(template) => template.fill(captures),
        None => captures.first().map_or_else(String::new, |whole| (*whole).to_owned()),
    };
    let default = [String::new()];
    let names = &writer.publisher_qos.partition.names;
    let names = if names.is_empty() { &default[..] } else { &names[..] };
    if names.iter().any(|name| name.contains(['*', '?', '['])) {
        return Err(Why::Refused(
            "its publisher has a wildcard in its partitions, so nobody can know which are meant".into(),
        ));
    }
    let judged: Vec<_> = names.iter().map(|name| rule.partitions.judge(name)).collect();
    let mut partitions: Vec<String> =
        judged.iter().flatten().map(|captures| of(&rule.rename_partition, captures)).collect();
    if partitions.is_empty() {
        let by = judged.into_iter().find_map(Result::err).unwrap_or(Denied::NotAllowed);
        return Err(denied("partitions", by));
    }
    partitions.sort_unstable();
    partitions.dedup();
    if partitions == default {
        partitions.clear();
    }
    Ok(Names { topic: of(&rule.rename_topic, &topic), type_name: of(&rule.rename_type, &ty), partitions })
}

/// The routers that data has come through, and who took it up first.
fn way(
    config: &RouterConfig,
    rule: &RouteConfig,
    writer: &PublicationBuiltinTopicData,
) -> Result<(Vec<String>, String), Why> {
    let own = || format!("{}/{}/{}", config.name, rule.name, rule.from);
    let Some(mark) = writer.qos.property.service().filter(|mark| mark.kind == "router") else {
        return Ok((Vec::new(), own()));
    };
    if mark.has_passed(&config.name) {
        return Err(Why::Elsewhere);
    }
    let mut path = mark.path;
    path.push(mark.id);
    if path.len() > MAX_HOPS {
        return Err(Why::Refused(format!(
            "it has come through more than {MAX_HOPS} routers: {}",
            path.join(", ")
        )));
    }
    let flow = writer.qos.property.get(FLOW).map_or_else(own, ToOwned::to_owned);
    Ok((path, flow))
}

/// What cannot survive.
fn check(rule: &RouteConfig, writer: &PublicationBuiltinTopicData) -> Result<(), Why> {
    let presentation = writer.publisher_qos.presentation;
    let together = presentation.coherent_access || presentation.ordered_access;
    if together && presentation.access_scope == PresentationAccessScope::Group {
        return Err(Why::Refused(
            "its publisher presents all its topics as one (PRESENTATION GROUP), which would need all of them in one route".into(),
        ));
    }
    let thins =
        rule.filter.is_some() || rule.one_of > 1 || rule.separation > Duration::ZERO || rule.only_on_change;
    if presentation.coherent_access && thins {
        return Err(Why::Refused(
            "its coherent sets would not be whole: the route leaves samples out (filter, one_of, separation, only_on_change)".into(),
        ));
    }
    Ok(())
}

/// The policies of the output.
fn output_qos(
    config: &RouterConfig,
    rule: &RouteConfig,
    (to, names): (usize, &Names),
    writer: &PublicationBuiltinTopicData,
) -> Result<(DataWriterQos, PublisherQos), Why> {
    let mut qos = (*writer.qos).clone();
    let mut publisher = (*writer.publisher_qos).clone();
    qos.property.values.retain(|(name, _)| !name.starts_with("dunlin.") && name != FLOW);
    keep_history(&mut qos, config.limits.samples);
    publisher.partition.names = names.partitions.clone();
    if let (Some(profile), Some(to)) = (&rule.profile, config.participants.get(to)) {
        let profiles = to.config.as_ref().map(|config| &config.profiles);
        let refused = |error: dunlin::config::UnknownProfile| Why::Refused(error.to_string());
        if let Some(profiles) = profiles {
            profiles.overlay_writer(profile, &names.topic, &mut qos).map_err(refused)?;
            profiles.overlay_publisher(profile, &mut publisher).map_err(refused)?;
        }
    }
    if let Some(representation) = rule.representation {
        qos.representation.ids = vec![representation];
    }
    // What has no room waits at the input, not in a call.
    qos.reliability = Reliability { max_blocking_time: Duration::ZERO, ..qos.reliability };
    qos.writer_data_lifecycle.autodispose_unregistered_instances = false;
    let validated = qos.validate().map_err(|error| error.to_string());
    validated.and_then(|()| publisher.validate().map_err(|error| error.to_string())).map_err(Why::Refused)?;
    Ok((qos, publisher))
}

/// Reliable data for those who are there is kept until they have it; history is as deep as the writer's.
fn keep_history(qos: &mut DataWriterQos, samples: u32) {
    let most = i32::try_from(samples).unwrap_or(i32::MAX);
    if qos.reliability.kind == ReliabilityKind::Reliable && qos.durability.kind == DurabilityKind::Volatile {
        qos.history.kind = HistoryKind::KeepAll;
        qos.resource_limits.max_samples = most;
        qos.resource_limits.max_samples_per_instance = -1;
        qos.resource_limits.max_instances = -1;
    }
}
