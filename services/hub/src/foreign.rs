//! Clients of discovery servers of another kind.

use std::fmt;

use dunlin::{GuidPrefix, ParticipantBuiltinTopicData, VendorId};

/// The property with which participants of Fast DDS say what they are to a discovery server.
const PARTICIPANT_TYPE: &str = "PARTICIPANT_TYPE";

/// A participant that speaks the protocol of Fast DDS's discovery server. `Display` says what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignClient {
    /// Which.
    pub prefix: GuidPrefix,
    /// Who made it.
    pub vendor: VendorId,
    /// What it calls itself: `CLIENT`, `SUPER_CLIENT`, `SERVER` or `BACKUP`.
    pub role: String,
}

impl fmt::Display for ForeignClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "participant {} ({}) is a {} of Fast DDS's discovery server, which this server is none of: let it be a SIMPLE \
             participant with this server as its only initial peer, and unset ROS_DISCOVERY_SERVER (docs/architectures.md)",
            self.prefix,
            self.vendor.name(),
            self.role
        )
    }
}

/// Those among participants.
pub(crate) fn among<'a>(known: impl Iterator<Item = &'a ParticipantBuiltinTopicData>) -> Vec<ForeignClient> {
    let role = |known: &ParticipantBuiltinTopicData| {
        let named = known.property.values.iter().find(|(name, _)| name == PARTICIPANT_TYPE);
        named.map(|(_, value)| value.clone()).filter(|value| value != "SIMPLE")
    };
    let foreign = known.filter_map(|known| {
        let role = role(known)?;
        Some(ForeignClient { prefix: known.guid_prefix, vendor: known.vendor, role })
    });
    foreign.collect()
}
