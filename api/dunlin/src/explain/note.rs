//! What keeps nobody apart, but may not be as one expects.

use dunlin_core::VendorId;
use dunlin_discovery::DiscoveredWriter;
use dunlin_qos::DurabilityKind;
use std::fmt;

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
}

impl Note {
    /// A word that says which note this is: the policy's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::DurabilityIsLocal { .. } => "DURABILITY",
        }
    }

    /// Those about a writer.
    pub(crate) fn of_writer(writer: &DiscoveredWriter, has_service: bool) -> Vec<Self> {
        let offered = writer.qos.durability.kind;
        // Others may have a service of their own, which does not say so.
        let unserved = writer.vendor == VendorId::DUNLIN && !has_service;
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
        }
    }
}
