//! "Why not?": every cause that keeps a writer and a reader from talking, with what to change.

mod note;
mod others;
mod survey;
mod text;

use dunlin_core::{Guid, InstanceHandle, VendorId};
pub use note::Note;

use crate::any::LocalEndpoint;
use crate::cause::Cause;
use crate::participant::DomainParticipant;
use crate::process::ProcessInfo;

/// What [`DomainParticipant::explain`] compares a local endpoint with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Against {
    /// Every endpoint of its topic that is known.
    Topic,
    /// One endpoint.
    Endpoint(Guid),
}

impl From<Guid> for Against {
    fn from(guid: Guid) -> Self {
        Self::Endpoint(guid)
    }
}

impl From<InstanceHandle> for Against {
    fn from(handle: InstanceHandle) -> Self {
        Self::Endpoint(handle.to_guid())
    }
}

/// Who is known to talk to whom, and why not. `Display` is for people: pairs with the same causes stand together, and participants
/// have their names and processes. `{:#}` has every pair alone, with GUIDs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// The domain.
    pub domain: u32,
    /// The topic.
    pub topic: String,
    /// Each writer with each reader.
    pub pairs: Vec<Pair>,
    /// What concerns no pair in particular: nobody is there, or somebody may be whom this participant cannot hear.
    pub causes: Vec<Cause>,
}

/// A writer and a reader. If it was one endpoint that was asked for and it is not known, the other side is `None`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pair {
    /// The writer.
    pub writer: Option<EndpointInfo>,
    /// The reader.
    pub reader: Option<EndpointInfo>,
    /// They match, as far as this participant knows: if one of them is its own it has matched them, else their
    /// announcements fit.
    pub matched: bool,
    /// Every cause that keeps them apart; of two that match, why nothing arrives, or may arrive.
    pub causes: Vec<Cause>,
    /// What keeps nobody apart, but may not be as one expects.
    pub notes: Vec<Note>,
}

/// An endpoint in an [`Explanation`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndpointInfo {
    /// Its GUID; all zero while it is disabled.
    pub guid: Guid,
    /// Its type.
    pub type_name: String,
    /// Who made it.
    pub vendor: VendorId,
    /// The name of its participant, perhaps empty.
    pub participant_name: String,
    /// The process of its participant, as far as that announces it.
    pub process: ProcessInfo,
    /// Whether data for it goes through shared memory, or why it does not; `None` where its participant offers none, or
    /// this one does not use any.
    pub shared_memory: Option<Result<(), String>>,
    /// It belongs to the participant that was asked.
    pub local: bool,
}

impl Explanation {
    /// Every cause, those of pairs first.
    pub fn all_causes(&self) -> impl Iterator<Item = &Cause> {
        self.pairs.iter().flat_map(|pair| &pair.causes).chain(&self.causes)
    }

    /// Somebody writes and somebody reads the topic, they all match, and nothing is known that keeps them apart.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        !self.pairs.is_empty()
            && self.causes.is_empty()
            && self.pairs.iter().all(|pair| pair.matched && pair.causes.is_empty())
    }

    /// Looks for whoever is missing among what participants of other domains have discovered: where nobody writes or nobody
    /// reads the topic here, but somebody does there, [`Cause::Domain`] takes the place of [`Cause::NoCounterpart`].
    ///
    /// A participant hears nothing of other domains, whose ports are others, so somebody has to be there: `dunlin why` joins
    /// them for a while.
    pub fn look_in(&mut self, others: &[DomainParticipant]) {
        survey::look_in(self, others);
    }

    /// How many pairs match.
    #[must_use]
    pub fn matched(&self) -> usize {
        self.pairs.iter().filter(|pair| pair.matched).count()
    }
}

impl DomainParticipant {
    /// Why a writer or reader of this participant does or does not talk to another endpoint, or to all endpoints of its
    /// topic that are known ([`Against::Topic`]).
    ///
    /// The answer is as of now: what was created a moment ago may not have been discovered yet.
    #[must_use]
    pub fn explain(&self, local: &impl LocalEndpoint, against: impl Into<Against>) -> Explanation {
        survey::endpoint(self.inner(), &local.local(), against.into())
    }

    /// Who writes and reads a topic, which of them match, and why the others do not. Pairs of other participants are
    /// judged by what they announce, and by whether what they send arrives here.
    #[must_use]
    pub fn explain_topic(&self, topic: &str) -> Explanation {
        survey::topic(self.inner(), topic)
    }
}
