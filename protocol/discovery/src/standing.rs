//! How a remote participant stands to this one (RTPS 2.5 §8.5.5), and the types of a writer and a reader to each other
//! (DDS-XTypes 1.3 §7.6.3.7).

use alloc::sync::Arc;

use dunlin_core::{Behaviour, EntityKind, MonoTime, VendorId};
use dunlin_qos::partitions_match;

use crate::{
    config::Locators,
    data::{DiscoveredReader, DiscoveredWriter, ParticipantData},
    types::{Fit, LookupKey, Types},
};

/// How a remote participant stands to this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParticipantState {
    /// What it announced.
    pub data: Arc<ParticipantData>,
    /// It has shown that it receives what this participant sends.
    pub verified: bool,
    /// When it was first heard.
    pub since: MonoTime,
    /// Every locator it announced, also those that cannot be used from here.
    pub announced: Locators,
    /// It announces groups, and nothing that it sends to them arrives here: data for it goes to it alone.
    pub groups_silent: bool,
    /// It is on this host: its announcement came from an address of it.
    pub same_host: bool,
}

pub(crate) fn same_partition(writer: &DiscoveredWriter, reader: &DiscoveredReader) -> bool {
    partitions_match(&writer.publisher_qos.partition.names, &reader.subscriber_qos.partition.names)
}

/// Whether the writer's data has come through a service that the reader takes nothing of.
pub(crate) fn is_ignored(writer: &DiscoveredWriter, reader: &DiscoveredReader) -> bool {
    let Some(ignored) = reader.qos.ignored_service() else { return false };
    writer.qos.property.service().is_some_and(|mark| mark.has_passed(ignored))
}

/// The kind octets tell whether the types have a key; a keyed and a keyless type cannot be the same.
pub(crate) fn keyed(writer: &DiscoveredWriter, reader: &DiscoveredReader) -> (bool, bool) {
    let keyed_writer = writer.guid.entity_id.kind() == EntityKind::WriterWithKey;
    (keyed_writer, reader.guid.entity_id.kind() == EntityKind::ReaderWithKey)
}

/// How the types of a writer and a reader stand to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TypeStanding {
    /// The reader can read what the writer writes, or the names are the same where more is not known.
    Fits,
    /// Names differ, and more is not known, or one side needs equal names.
    OtherName,
    /// One has key members, the other has none.
    OtherKey,
    /// The reader's type cannot read the writer's, and why.
    Differs(Arc<[dunlin_xtypes::Mismatch]>),
    /// A participant is being asked for its type.
    Unsettled(LookupKey),
}

/// Judges types as DDS-XTypes 1.3 §7.6.3.7 says: by assignability if both are known, or else by name, unless the reader
/// insists on more.
pub(crate) fn type_standing(
    types: &mut Types,
    writer: &DiscoveredWriter,
    reader: &DiscoveredReader,
    ask: bool,
) -> TypeStanding {
    let (keyed_writer, keyed_reader) = keyed(writer, reader);
    if keyed_writer != keyed_reader {
        return TypeStanding::OtherKey;
    }
    let same_name = writer.type_name == reader.type_name;
    let by_name = if same_name { TypeStanding::Fits } else { TypeStanding::OtherName };
    let by_names = |vendor: &VendorId| vendor.does(Behaviour::NeedsEqualTypeNames);
    match types.fit(writer, reader, ask) {
        Fit::Fits if [writer.vendor, reader.vendor].iter().any(by_names) => by_name,
        Fit::Fits => TypeStanding::Fits,
        Fit::Differs(reasons) => TypeStanding::Differs(reasons),
        Fit::Unknown(why) if reader.qos.type_consistency.force_type_validation => {
            let reason = alloc::format!("the reader insists on comparing types, but {why}");
            TypeStanding::Differs([dunlin_xtypes::Mismatch::of_type(reason)].into())
        }
        Fit::Unknown(_) | Fit::NotAsked => by_name,
        Fit::Pending(key) => TypeStanding::Unsettled(key),
    }
}
