//! Prints what happens to an endpoint.

use crate::{ShapeType, say};
use dust_dds::dds_async::data_reader::DataReaderAsync;
use dust_dds::dds_async::data_writer::DataWriterAsync;
use dust_dds::infrastructure::status::*;
use dust_dds::publication::data_writer_listener::DataWriterListener;
use dust_dds::subscription::data_reader_listener::DataReaderListener;
use std::future::{Future, Ready, ready};
use std::sync::{Arc, Mutex};

pub const WRITER_STATUSES: [StatusKind; 3] =
    [StatusKind::PublicationMatched, StatusKind::OfferedIncompatibleQos, StatusKind::OfferedDeadlineMissed];
pub const READER_STATUSES: [StatusKind; 3] = [
    StatusKind::SubscriptionMatched,
    StatusKind::RequestedIncompatibleQos,
    StatusKind::RequestedDeadlineMissed,
];

/// What has happened is kept until the endpoint's creation has been told.
#[derive(Clone)]
pub struct Tell(Arc<Mutex<Option<Vec<String>>>>, String);

impl Tell {
    pub fn new(topic: &str) -> Self {
        Self(Arc::new(Mutex::new(Some(Vec::new()))), format!("topic: '{topic}'  type: 'ShapeType' :"))
    }

    fn tell(&self, what: &str, more: String) -> Ready<()> {
        let line = format!("{what}() {} {more}", self.1);
        match &mut *self.0.lock().expect("no panic") {
            Some(kept) => kept.push(line),
            None => say(line),
        }
        ready(())
    }

    pub fn created(&self, line: String) {
        let mut kept = self.0.lock().expect("no panic");
        say(line);
        kept.take().into_iter().flatten().for_each(say);
    }
}

impl DataWriterListener<ShapeType> for Tell {
    fn on_publication_matched(
        &mut self,
        _: DataWriterAsync<ShapeType>,
        s: PublicationMatchedStatus,
    ) -> impl Future<Output = ()> + Send {
        let counts = format!("matched readers {} (change = {})", s.current_count, s.current_count_change);
        self.tell("on_publication_matched", counts)
    }

    fn on_offered_incompatible_qos(
        &mut self,
        _: DataWriterAsync<ShapeType>,
        s: OfferedIncompatibleQosStatus,
    ) -> impl Future<Output = ()> + Send {
        self.tell("on_offered_incompatible_qos", s.last_policy_id.to_string())
    }

    fn on_offered_deadline_missed(
        &mut self,
        _: DataWriterAsync<ShapeType>,
        s: OfferedDeadlineMissedStatus,
    ) -> impl Future<Output = ()> + Send {
        self.tell("on_offered_deadline_missed", format!("(total = {})", s.total_count))
    }
}

impl DataReaderListener<ShapeType> for Tell {
    fn on_subscription_matched(
        &mut self,
        _: DataReaderAsync<ShapeType>,
        s: SubscriptionMatchedStatus,
    ) -> impl Future<Output = ()> + Send {
        let counts = format!("matched writers {} (change = {})", s.current_count, s.current_count_change);
        self.tell("on_subscription_matched", counts)
    }

    fn on_requested_incompatible_qos(
        &mut self,
        _: DataReaderAsync<ShapeType>,
        s: RequestedIncompatibleQosStatus,
    ) -> impl Future<Output = ()> + Send {
        self.tell("on_requested_incompatible_qos", s.last_policy_id.to_string())
    }

    fn on_requested_deadline_missed(
        &mut self,
        _: DataReaderAsync<ShapeType>,
        s: RequestedDeadlineMissedStatus,
    ) -> impl Future<Output = ()> + Send {
        self.tell("on_requested_deadline_missed", format!("(total = {})", s.total_count))
    }
}
