//! Whose samples a flow passes on. Its input matches writers the moment that discovery has them; what is planned follows later, and
//! forgets writers that have ended while their samples wait.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dunlin::{DataReader, Duration, Guid, InstanceHandle, SerializedData, WallTime};

use crate::config::RouterConfig;
use crate::kind::Kind;

/// How long writers that have left the plan are remembered: samples of theirs may still wait.
const REMEMBERED: Duration = Duration::from_secs(60);
/// Most writers outside of the plan that are remembered.
const MOST: usize = 4096;

/// The writers that a flow passes on, as far as they are planned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sources {
    /// Those that it passes on.
    pub(crate) writers: BTreeSet<Guid>,
    /// Those that write to the output's topic themselves, at the destination: who has them needs no copy.
    pub(crate) present: BTreeSet<Guid>,
}

/// What writers have to be for a flow to pass them on.
pub(crate) struct Wanted {
    /// As it was when the flow began: positions are positions in it.
    pub(crate) config: Arc<RouterConfig>,
    pub(crate) kind: Arc<Kind>,
}

/// What a writer is to a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SourceKind {
    Ours,
    /// It is of another kind.
    Other,
    /// Nothing is known of it any more.
    Unknown,
}

pub(crate) struct KnownSources {
    wanted: Wanted,
    planned: Sources,
    /// What was found out of writers since there was a plan last.
    heard: BTreeMap<Guid, SourceKind>,
    /// Sources that are in the plan no longer, and since when.
    left: BTreeMap<Guid, WallTime>,
    /// The writer of the last sample that was one of the sources.
    recent: Guid,
}

impl KnownSources {
    pub(crate) fn new(wanted: Wanted) -> Self {
        let (heard, left) = (BTreeMap::new(), BTreeMap::new());
        Self { wanted, planned: Sources::default(), heard, left, recent: Guid::default() }
    }

    /// Takes the writers that are planned now.
    pub(crate) fn plan(&mut self, sources: &Sources, now: WallTime) {
        if self.planned == *sources && self.heard.is_empty() {
            return;
        }
        let ours = |(writer, kind_of_source): (Guid, SourceKind)| {
            (kind_of_source == SourceKind::Ours).then_some(writer)
        };
        let heard = std::mem::take(&mut self.heard).into_iter().filter_map(ours);
        let before = std::mem::replace(&mut self.planned, sources.clone()).writers;
        let left = before.into_iter().chain(heard).filter(|writer| !sources.writers.contains(writer));
        for writer in left {
            self.left.entry(writer).or_insert(now);
        }
        let is_late = |since: WallTime| now.since(since) >= REMEMBERED || now < since;
        self.left.retain(|writer, since| !sources.writers.contains(writer) && !is_late(*since));
        while self.left.len() > MOST {
            let oldest = self.left.iter().min_by_key(|(_, since)| **since).map(|(writer, _)| *writer);
            oldest.map(|writer| self.left.remove(&writer));
        }
        self.recent = Guid::default();
    }

    /// Whose a sample is; the input tells of writers that the plan does not have.
    pub(crate) fn kind_of_source(
        &mut self,
        input: Option<&DataReader<SerializedData>>,
        writer: InstanceHandle,
    ) -> SourceKind {
        let guid = writer.to_guid();
        if guid == self.recent {
            return SourceKind::Ours;
        }
        let kind_of_source =
            if self.planned.writers.contains(&guid) { SourceKind::Ours } else { self.outside(input, writer) };
        if kind_of_source == SourceKind::Ours {
            self.recent = guid;
        }
        kind_of_source
    }

    fn outside(&mut self, input: Option<&DataReader<SerializedData>>, writer: InstanceHandle) -> SourceKind {
        let guid = writer.to_guid();
        if let Some(kind_of_source) = self.heard.get(&guid) {
            return *kind_of_source;
        }
        let data = input.and_then(|input| input.matched_publication_data(writer).ok());
        let kind_of_source = match data {
            Some(data) => {
                let wanted = &self.wanted.kind;
                let kind = Kind::of(&self.wanted.config, (wanted.route, wanted.to), &data);
                let is_ours = kind.is_ok_and(|kind| kind.key == wanted.key && kind.path == wanted.path);
                if is_ours { SourceKind::Ours } else { SourceKind::Other }
            }
            None if self.left.contains_key(&guid) => SourceKind::Ours,
            None => SourceKind::Unknown,
        };
        // Those of which nothing is known are not remembered: their name may be another's later.
        if kind_of_source != SourceKind::Unknown && self.heard.len() < MOST {
            self.heard.insert(guid, kind_of_source);
        }
        kind_of_source
    }

    /// Whether a writer writes to the output's topic itself.
    pub(crate) fn is_present(&self, writer: Guid) -> bool {
        self.planned.present.contains(&writer)
    }
}
