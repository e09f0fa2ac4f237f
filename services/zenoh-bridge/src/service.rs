//! Services of ROS 2 in the convention of zenoh-plugin-ros2dds: a request is a query on the key of the service.

mod client;
mod request;
mod server;

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

pub(crate) use client::ClientRoute;
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, Reliability, SubscriberQos, TopicQos};
use dunlin::{
    Behaviour, DataReader, DataReaderListener, DataWriter, DataWriterListener, MatchedStatus, SerializedData,
    StatusMask, VendorId,
};
pub(crate) use server::ServerRoute;

use crate::bridge::Shared;
use crate::key;

/// A service.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ServiceKey {
    pub(crate) key: String,
    /// Of ROS 2, such as `arm/move`.
    pub(crate) name: String,
    /// Of DDS, without `_Request_`.
    pub(crate) type_name: String,
}

/// Which end of a service is in the domain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum End {
    Client,
    Server,
}

/// How requests and replies belong together in the domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    /// By sixteen octets in front of the data, as rmw_cyclonedds does it.
    Header,
    /// By the identity of the request (DDS-RPC 1.0 §7.8.2), as others do it.
    Identity,
}

impl Style {
    pub(crate) fn of_vendor(vendor: VendorId) -> Self {
        if vendor.does(Behaviour::PutsIdentityBeforeRequests) { Self::Header } else { Self::Identity }
    }
}

impl ServiceKey {
    /// Of a topic of requests and its type.
    pub(crate) fn of_requests(topic: &str, type_name: &str) -> Option<(String, String)> {
        let name = topic.strip_prefix("rq/")?.strip_suffix("Request")?;
        let type_name = type_name.strip_suffix("_Request_")?;
        (!name.is_empty()).then(|| (name.to_owned(), type_name.to_owned()))
    }

    fn requests(&self) -> (String, String) {
        (format!("rq/{}Request", self.name), format!("{}_Request_", self.type_name))
    }

    fn replies(&self) -> (String, String) {
        (format!("rr/{}Reply", self.name), format!("{}_Response_", self.type_name))
    }

    fn token(&self, shared: &Shared, kind: &str) -> String {
        let (key, ty) = (key::escape(&self.key), key::escape(&key::ros2_type(&self.type_name)));
        format!("@/{}/@ros2_lv/{kind}/{key}/{ty}", shared.session.zid())
    }
}

/// A topic of nothing but its name: the header of requests is in no type.
fn topic(
    shared: &Shared,
    (name, type_name): &(String, String),
) -> Result<dunlin::Topic<SerializedData>, String> {
    shared
        .participant
        .create_serialized_topic(name, type_name, false, &TopicQos::default())
        .map_err(|error| format!("its topic cannot be created: {error}"))
}

/// Tells who passes on what has arrived, and who looks whether a server is there.
struct Told(Weak<Shared>);

impl Told {
    fn tell(&self, tell: impl Fn(&Shared)) {
        if let Some(shared) = self.0.upgrade() {
            tell(&shared);
        }
    }
}

impl DataReaderListener<SerializedData> for Told {
    fn on_data_available(&self, _: &DataReader<SerializedData>) {
        self.tell(|shared| shared.up_wake.wake());
    }

    fn on_subscription_matched(&self, _: &DataReader<SerializedData>, _: MatchedStatus) {
        self.tell(Shared::plan_again);
    }
}

impl DataWriterListener<SerializedData> for Told {
    fn on_publication_matched(&self, _: &DataWriter<SerializedData>, _: MatchedStatus) {
        self.tell(Shared::plan_again);
    }
}

fn writer(shared: &Arc<Shared>, names: &(String, String)) -> Result<DataWriter<SerializedData>, String> {
    let most = i32::try_from(shared.config.limits.samples).unwrap_or(i32::MAX);
    let mut qos = DataWriterQos::default().keep_all().resource_limits(most, -1, -1);
    qos.reliability = Reliability { max_blocking_time: dunlin::Duration::ZERO, ..Reliability::RELIABLE };
    let publisher = shared.participant.create_publisher(&PublisherQos::default());
    let publisher = publisher.map_err(|error| format!("its publisher cannot be created: {error}"))?;
    publisher
        .create_datawriter_with_listener(
            &topic(shared, names)?,
            &shared.marked_writer(qos),
            Told(Arc::downgrade(shared)),
            StatusMask::PUBLICATION_MATCHED,
        )
        .map_err(|error| format!("the output cannot be created: {error}"))
}

/// Its samples are taken by the thread that passes data to zenoh, which may have to wait.
fn reader(shared: &Arc<Shared>, names: &(String, String)) -> Result<DataReader<SerializedData>, String> {
    let most = i32::try_from(shared.config.limits.samples).unwrap_or(i32::MAX);
    let qos = DataReaderQos::default().reliable().keep_all().resource_limits(most, -1, -1);
    let subscriber = shared.participant.create_subscriber(&SubscriberQos::default());
    let subscriber = subscriber.map_err(|error| format!("its subscriber cannot be created: {error}"))?;
    subscriber
        .create_datareader_with_listener(
            &topic(shared, names)?,
            &shared.marked_reader(qos),
            Told(Arc::downgrade(shared)),
            StatusMask::DATA_AVAILABLE | StatusMask::SUBSCRIPTION_MATCHED,
        )
        .map_err(|error| format!("the input cannot be created: {error}"))
}

/// What holds a route in the list of all.
#[derive(Clone)]
pub(crate) enum ServiceRoute {
    Client(Arc<ClientRoute>),
    Server(Arc<ServerRoute>),
}

/// The services that there are to be, each with how its server tells requests apart.
pub(crate) type Services = BTreeMap<(End, ServiceKey), Style>;

impl ServiceRoute {
    fn new(shared: &Arc<Shared>, end: End, key: ServiceKey, style: Style) -> Result<Self, String> {
        Ok(match end {
            End::Client => Self::Client(ClientRoute::new(shared, key)?),
            End::Server => Self::Server(ServerRoute::new(shared, key, style)?),
        })
    }

    /// Looks at what has to begin or to end.
    fn tend(&self) -> Result<(), String> {
        match self {
            Self::Client(route) => route.tend(),
            Self::Server(route) => route.tend(),
        }
    }

    /// Passes on what has arrived from the domain.
    pub(crate) fn pump(&self) {
        match self {
            Self::Client(route) => route.pump(),
            Self::Server(route) => route.pump(),
        }
    }
}

/// Opens and ends routes.
pub(crate) fn plan(shared: &Arc<Shared>, wanted: &Services) {
    for ((end, key), style) in wanted {
        let known = shared.services().get(&(*end, key.clone())).cloned();
        let route = match known {
            Some(route) => Ok(route),
            None if shared.services().len() >= shared.config.limits.routes => {
                Err("there are as many services as limits.routes says".to_owned())
            }
            None => ServiceRoute::new(shared, *end, key.clone(), *style).inspect(|route| {
                shared.services().insert((*end, key.clone()), route.clone());
            }),
        };
        if let Err(why) = route.and_then(|route| route.tend()) {
            shared.refuse(&key.name, &why);
        }
    }
    // Ending one waits for those who are about to pass something on, so it is not done under the lock.
    drop(take_over(&mut shared.services(), wanted));
}

/// The routes.
pub(crate) type Routes = BTreeMap<(End, ServiceKey), ServiceRoute>;

/// Takes out those that nobody needs any more.
fn take_over(routes: &mut Routes, wanted: &Services) -> Routes {
    let (kept, over) = std::mem::take(routes).into_iter().partition(|(key, _)| wanted.contains_key(key));
    *routes = kept;
    over
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_cyclone_have_a_header() {
        assert_eq!(Style::of_vendor(VendorId::CYCLONE_DDS), Style::Header);
        let others = [VendorId::DUNLIN, VendorId::FAST_DDS, VendorId::RTI, VendorId::UNKNOWN];
        assert!(others.iter().all(|vendor| Style::of_vendor(*vendor) == Style::Identity));
    }
}
