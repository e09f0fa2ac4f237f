//! To whom a daemon passes on what somebody says (RTPS 2.5 §8.3.7.2: a reader id of UNKNOWN means all readers).

use alloc::{collections::BTreeSet, sync::Arc};

use dunlin_core::{EntityId, Guid, GuidPrefix};
use dunlin_qos::partitions_match;

use crate::{
    discovery::Discovery,
    relay::{
        Relay,
        routes::{From, Route},
        shaper::Lane,
    },
};

impl Discovery {
    /// The way to one participant; `None` if it is not known or not the affair of the sender.
    pub(super) fn way_to(
        &self,
        relay: &mut Relay,
        from: From,
        to: GuidPrefix,
        builtin: bool,
    ) -> Option<Route> {
        if !relay.may_reach(from, to) {
            return None;
        }
        if let Some(known) = relay.routes.directed.get(&(to, builtin)) {
            return Some(Arc::clone(known));
        }
        let participant = self.participants.get(&to).filter(|known| known.unverified.is_none())?;
        let route = relay.targets(core::iter::once(&**participant), builtin);
        relay.routes.directed.insert((to, builtin), Arc::clone(&route));
        Some(route)
    }

    /// The way to all whom it concerns what a writer says; `None` if the writer is not known.
    pub(super) fn way_of(
        &self,
        relay: &mut Relay,
        from: From,
        source: GuidPrefix,
        writer: EntityId,
    ) -> Option<Route> {
        let builtin = writer.is_builtin();
        let guid = Guid::new(source, if builtin { EntityId::UNKNOWN } else { writer });
        if let Some(known) = relay.routes.open.get(&guid) {
            return Some(Arc::clone(known));
        }
        let concerned: BTreeSet<GuidPrefix> =
            if builtin { self.participants.keys().copied().collect() } else { self.with_readers_of(guid)? };
        let by_daemon =
            |to: &GuidPrefix| from == From::Elsewhere || builtin || !self.is_sent_directly(relay, guid, *to);
        let others = concerned.into_iter().filter(|to| *to != source && relay.may_reach(from, *to));
        let others = others.filter(by_daemon);
        let others = others.filter_map(|to| self.participants.get(&to));
        let route =
            relay.targets(others.filter(|known| known.unverified.is_none()).map(|known| &**known), builtin);
        relay.routes.open.insert(guid, Arc::clone(&route));
        Some(route)
    }

    /// How urgent what a writer says is, and what is said to it; the least for one that is not known.
    pub(super) fn lane_of(&self, relay: &mut Relay, guid: Guid) -> Lane {
        if guid.entity_id.is_builtin() {
            return Lane::Discovery;
        }
        if let Some(known) = relay.routes.lanes.get(&guid) {
            return *known;
        }
        let writer = self.endpoints.writer(guid);
        let lane = relay.shaper.lane(writer.map_or(i32::MIN, |it| it.qos.transport_priority.value));
        if writer.is_some() {
            relay.routes.lanes.insert(guid, lane);
        }
        lane
    }

    /// Participants with readers of the topic of a writer in one of its partitions. Types and QoS they compare themselves.
    fn with_readers_of(&self, guid: Guid) -> Option<BTreeSet<GuidPrefix>> {
        let writer = self.endpoints.writer(guid)?;
        let offered = &writer.publisher_qos.partition.names;
        let readers = self.endpoints.remote_opposites(true, &writer.topic_name);
        let fits = |reader: &Guid| {
            let reader = self.endpoints.reader(*reader);
            reader.is_some_and(|it| partitions_match(offered, &it.subscriber_qos.partition.names))
        };
        Some(readers.filter(fits).map(|reader| reader.prefix).collect())
    }
}
