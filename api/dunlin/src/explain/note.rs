//! What keeps nobody apart, but may not be as one expects.

use std::fmt;

use dunlin_core::{Behaviour, GuidPrefix, Misbehaviour};
use dunlin_discovery::DiscoveredWriter;
use dunlin_engine::Misbehaved;
use dunlin_qos::DurabilityKind;

/// Something worth knowing about a pair, whether it matches or not.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Note {
    /// DURABILITY is TRANSIENT or PERSISTENT, but there is no durability service: the writer alone keeps its samples
    /// (`durability.without_service = "local"`).
    DurabilityIsLocal {
        /// What the writer offers.
        offered: DurabilityKind,
    },
    /// The participant of one side did what another participant, perhaps that of the other side, refused.
    Misbehaves {
        /// Who refused it; `None` if that is this participant.
        refused_by: Option<GuidPrefix>,
        /// Who did it, as it said.
        participant: GuidPrefix,
        /// What.
        what: Misbehaviour,
        /// How often.
        count: u64,
    },
}

impl Note {
    /// A word that says which note this is: the policy's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::DurabilityIsLocal { .. } => "DURABILITY",
            Self::Misbehaves { what, .. } => what.name(),
        }
    }

    /// What participants of a pair did that was refused here, without what happens by itself.
    pub(crate) fn of_misbehaviours(refused: &[Misbehaved], pair: [GuidPrefix; 2]) -> Vec<Self> {
        let involved = refused.iter().filter(|misbehaved| pair.contains(&misbehaved.participant));
        let notes = involved.flat_map(|misbehaved| {
            let counts = misbehaved.counts.iter().filter(|(what, _)| !what.is_usual());
            counts.map(|(what, count)| Self::Misbehaves {
                refused_by: None,
                participant: misbehaved.participant,
                what,
                count: count.into(),
            })
        });
        notes.collect()
    }

    /// Those about a writer.
    pub(crate) fn of_writer(writer: &DiscoveredWriter, has_service: bool) -> Vec<Self> {
        let offered = writer.qos.durability.kind;
        // Others may have a service of their own, which does not say so.
        let unserved = writer.vendor.does(Behaviour::SpeaksDunlin) && !has_service;
        let local = unserved && offered > DurabilityKind::TransientLocal;
        local.then_some(Self::DurabilityIsLocal { offered }).into_iter().collect()
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DurabilityIsLocal { offered } => write!(
                f,
                "DURABILITY: {} is offered without a durability service in the domain: the writer alone keeps its samples, as \
                 with TRANSIENT_LOCAL, and they are gone when it is (durability.without_service = \"local\")",
                offered.name()
            ),
            Self::Misbehaves { refused_by, participant, what, count } => {
                write!(f, "{}: participant {participant} {what}, which ", what.name())?;
                match refused_by {
                    Some(other) => write!(f, "participant {other}")?,
                    None => f.write_str("this participant")?,
                }
                let times = if *count == 1 { "time" } else { "times" };
                write!(f, " refused {count} {times}")
            }
        }
    }
}
