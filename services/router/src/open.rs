//! The entities of a flow.

use std::sync::Arc;

use dunlin::qos::{
    DataReaderQos, DestinationOrderKind, DurabilityKind, ServiceMark, SubscriberQos, TopicQos,
};
use dunlin::{
    ContentFilteredTopic, DataReader, DomainParticipant, DynamicData, DynamicType, EntityKind,
    GuardCondition, Guid, SerializedData, StatusMask, Subscriber, Topic, TypeDiscovery,
};

use crate::config::{Limits, RouteConfig, RouterConfig};
use crate::flow::{Ends, Flow, TransferredInput};
use crate::kind::Kind;
use crate::known::{Sources, Wanted};
use crate::requests::Requests;

/// Why a flow cannot be opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum CannotOpen {
    /// The type is being asked for.
    TypePending,
    /// For people.
    Because(String),
}

fn because(what: &str) -> impl FnOnce(dunlin::CreateEntityError) -> CannotOpen + '_ {
    move |error| CannotOpen::Because(format!("{what}: {error}"))
}

/// What a flow is opened with.
pub(crate) struct Opening<'a> {
    pub(crate) config: &'a Arc<RouterConfig>,
    pub(crate) route: &'a RouteConfig,
    pub(crate) kind: &'a Arc<Kind>,
    pub(crate) from: &'a DomainParticipant,
    pub(crate) to: &'a DomainParticipant,
    /// A writer that announces the type.
    pub(crate) writer: Guid,
    /// Tells filters apart.
    pub(crate) number: u64,
}

/// The topic of an input or output.
enum Input {
    Plain(Topic<SerializedData>),
    Filtered(ContentFilteredTopic<SerializedData>),
}

impl Opening<'_> {
    pub(crate) fn open(
        &self,
        requests: &Requests,
        wake: &Arc<GuardCondition>,
        inline: bool,
        sources: &Sources,
        transferred: Option<TransferredInput>,
    ) -> Result<Arc<Flow>, CannotOpen> {
        let ty = self.known_type()?;
        let output = self.output_topic(ty.as_ref())?;
        let publisher = self
            .to
            .create_publisher(&self.kind.publisher)
            .map_err(because("its publisher cannot be created"))?;
        let writer = publisher
            .create_datawriter(&output, &self.kind.writer)
            .map_err(because("the output cannot be created"))?;
        let subscriber = match &transferred {
            Some(transferred) => transferred.subscriber.clone(),
            None => self
                .from
                .create_subscriber(&self.subscriber_qos())
                .map_err(because("its subscriber cannot be created"))?,
        };
        let requests = requests.of_output(&self.kind.output.topic, writer.guid());
        let coherent = self.kind.published.presentation.coherent_access;
        let ends = Ends { subscriber: subscriber.clone(), publisher, writer, opaque: ty.is_none(), coherent };
        let wanted = Wanted { config: Arc::clone(self.config), kind: Arc::clone(self.kind) };
        let flow = Flow::new(
            ends,
            self.route,
            (wanted, self.limits().instances),
            (requests, Arc::clone(wake), inline),
        );
        flow.set_sources(sources);
        match transferred {
            Some(transferred) => flow.take_over(transferred),
            None => flow.begin(self.reader(&subscriber, &self.input(ty.as_ref())?, &flow)?),
        }
        Ok(flow)
    }

    /// Whether the flow can go on with the input of another one, which was opened by `route`. What is kept for those who come late
    /// has to come again, for the new output to have it.
    pub(crate) fn goes_on_with(&self, former: &Flow, route: &RouteConfig) -> bool {
        self.route.filter == route.filter
            && self.kind.offered.durability.kind == DurabilityKind::Volatile
            && former.input().is_some_and(|input| {
                input.qos() == self.reader_qos() && input.subscriber().qos() == self.subscriber_qos()
            })
    }

    fn limits(&self) -> Limits {
        self.config.limits
    }

    fn known_type(&self) -> Result<Option<DynamicType>, CannotOpen> {
        match self.from.discovered_type(self.writer) {
            TypeDiscovery::Known(known) => DynamicType::new(known.graph, known.root)
                .map(Some)
                .map_err(|error| CannotOpen::Because(format!("its type cannot be used: {error}"))),
            TypeDiscovery::Pending => Err(CannotOpen::TypePending),
            TypeDiscovery::NotAnnounced => Ok(None),
            TypeDiscovery::Refused(why) => {
                Err(CannotOpen::Because(format!("its type cannot be known: {why}")))
            }
        }
    }

    fn is_keyed(&self) -> bool {
        self.writer.entity_id.kind() == EntityKind::WriterWithKey
    }

    fn topic(
        &self,
        participant: &DomainParticipant,
        (topic, type_name): (&str, &str),
        ty: Option<&DynamicType>,
    ) -> Result<Result<Topic<DynamicData>, Topic<SerializedData>>, dunlin::CreateEntityError> {
        let qos = &TopicQos::default();
        match ty {
            Some(ty) => participant.create_dynamic_topic_of_type(topic, type_name, ty, qos).map(Ok),
            None => participant.create_serialized_topic(topic, type_name, self.is_keyed(), qos).map(Err),
        }
    }

    fn input(&self, ty: Option<&DynamicType>) -> Result<Input, CannotOpen> {
        let names = (&*self.kind.topic, &*self.kind.type_name);
        let topic =
            self.topic(self.from, names, ty).map_err(because("its topic cannot be created at the source"))?;
        let Some(filter) = &self.route.filter else {
            return Ok(Input::Plain(topic.map_or_else(|opaque| opaque, |topic| topic.serialized())));
        };
        let Ok(topic) = topic else {
            return Err(CannotOpen::Because(
                "its type is not announced, so nothing can be filtered by its contents".into(),
            ));
        };
        let name = format!("router/{}/{}", self.config.name, self.number);
        let filtered = self.from.create_contentfilteredtopic(&name, &topic, filter, &[""; 0]);
        Ok(Input::Filtered(filtered.map_err(because("the filter cannot be used"))?.serialized()))
    }

    fn output_topic(&self, ty: Option<&DynamicType>) -> Result<Topic<SerializedData>, CannotOpen> {
        let names = (self.kind.output.topic.as_str(), self.kind.output.type_name.as_str());
        let topic = self
            .topic(self.to, names, ty)
            .map_err(because("its topic cannot be created at the destination"))?;
        Ok(topic.map_or_else(|opaque| opaque, |topic| topic.serialized()))
    }

    fn subscriber_qos(&self) -> SubscriberQos {
        let published = &self.kind.published;
        let names = self.kind.input.partitions.iter().cloned();
        let mut qos = SubscriberQos::default().partition(names);
        qos.presentation = published.presentation;
        qos
    }

    fn reader(
        &self,
        subscriber: &Subscriber,
        input: &Input,
        flow: &Arc<Flow>,
    ) -> Result<DataReader<SerializedData>, CannotOpen> {
        let (qos, mask) = (self.reader_qos(), StatusMask::DATA_AVAILABLE);
        let reader = match input {
            Input::Plain(topic) => {
                subscriber.create_datareader_with_listener(topic, &qos, flow.listener(), mask)
            }
            Input::Filtered(topic) => {
                subscriber.create_datareader_with_listener(topic, &qos, flow.listener(), mask)
            }
        };
        reader.map_err(because("the input cannot be created"))
    }

    fn reader_qos(&self) -> DataReaderQos {
        let offered = &self.kind.offered;
        let mark = ServiceMark { kind: "router".into(), id: self.config.name.clone(), path: Vec::new() };
        let most = |limit: u32| i32::try_from(limit).unwrap_or(i32::MAX);
        let mut qos = DataReaderQos::default()
            .keep_all()
            .resource_limits(most(self.limits().samples), most(self.limits().instances), -1)
            .durability(offered.durability.kind.min(DurabilityKind::TransientLocal))
            .destination_order(DestinationOrderKind::ByReceptionTimestamp)
            .liveliness(offered.liveliness.kind, offered.liveliness.lease_duration)
            .remove_duplicates(false)
            .ignore_service(&self.config.name)
            .show_every_change()
            .service(&mark);
        qos.reliability.kind = offered.reliability.kind;
        qos.ownership = offered.ownership;
        qos.time_based_filter.minimum_separation = self.route.separation;
        qos
    }
}
