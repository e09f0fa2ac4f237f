//! Where a daemon passes on what comes from whom, to whom (RTPS 2.5 §8.3.7.2: a reader id of UNKNOWN means all): computed when it is first needed, and again after anything has changed.

use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};

use dunlin_core::{Guid, GuidPrefix, Locator};

use crate::{
    participant::RemoteParticipant,
    relay::{Relay, shaper::Lane},
};

/// A place to pass something on to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target {
    pub(crate) place: Locator,
    /// Another daemon receives there.
    pub(crate) far: bool,
    /// An application of this host receives there.
    pub(crate) near: bool,
}

/// Where something is passed on to, each place once.
pub(crate) type Route = Arc<[Target]>;

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// From an application of this host, to whomever.
    Application,
    /// From elsewhere, to applications of this host.
    Elsewhere,
}

/// The routes that are known.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    /// Of what a writer says to all whom it concerns, and of what a participant says to all with the id of no writer.
    pub(crate) open: BTreeMap<Guid, Route>,
    /// To one participant, discovery or data.
    pub(crate) directed: BTreeMap<(GuidPrefix, bool), Route>,
    /// Of answers to a writer; `None` is the way to its participant.
    pub(crate) answers: BTreeMap<Guid, Option<Route>>,
    /// How urgent it is what a writer says, and what is said to it.
    pub(crate) lanes: BTreeMap<Guid, Lane>,
}

impl Routes {
    pub(crate) fn clear(&mut self) {
        self.open.clear();
        self.directed.clear();
        self.answers.clear();
        self.lanes.clear();
    }
}

impl Relay {
    /// Whether what comes from there may be passed on to a participant.
    pub(crate) fn may_reach(&self, from: From, to: GuidPrefix) -> bool {
        from == From::Application || self.applications.contains_key(&to)
    }

    /// Where all of these receive, each place once.
    pub(crate) fn targets<'a>(
        &self,
        to: impl Iterator<Item = &'a RemoteParticipant>,
        builtin: bool,
    ) -> Route {
        let mut all: BTreeMap<Locator, Target> = BTreeMap::new();
        for participant in to {
            let locators = &participant.data.locators;
            let data = &locators.default_unicast;
            let list = if builtin || data.is_empty() { &locators.metatraffic_unicast } else { data };
            for place in list {
                let target = all.entry(*place).or_insert(Target { place: *place, far: false, near: false });
                target.far |= participant.data.behind.is_some();
                target.near |= self.applications.contains_key(&participant.data.guid_prefix);
            }
        }
        all.into_values().collect::<Vec<_>>().into()
    }
}
