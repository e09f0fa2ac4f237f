//! What implementations of RTPS do that matters to others: one table by vendor and version, each line with the test or capture that
//! needs it. Nothing else in Dunlin asks who a peer is made by in order to treat it differently: `cargo xtask tidy` looks for that.

use crate::{ProtocolVersion, VendorId};

/// Something that not all implementations do; [`VendorId::does`] says who does it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Behaviour {
    /// Takes a serialized key of up to 16 octets, encapsulation header included, for the key hash itself, and so loses the
    /// instance that a dispose is about.
    MisreadsShortKeys,
    /// Its writers answer an ACKNACK that requests nothing only if it is that of a new reader: with base 0 and not final. Asked
    /// otherwise they let a reader that missed their first HEARTBEAT wait for the next periodic one, 3 s later.
    AnswersOnlyNewReaders,
    /// Its readers accept datagrams with several fragments of one change, and DATA longer than usual.
    AcceptsLargeDatagrams,
    /// Understands the submessages, and the parts of submessages, that Dunlin adds to RTPS: ECHO and ECHO_REQUEST, the count of
    /// filtered changes in a GAP, the receive room in an ACKNACK, the sizes of coherent sets of a group; tells filtered
    /// changes from lost ones; evaluates filters as Dunlin does; directs what it sends to one participant. Its readers drop copies
    /// where their QoS says so, and its services say that they are services.
    SpeaksDunlin,
    /// Its readers leave TYPE_CONSISTENCY_ENFORCEMENT out of their announcement where it has the default of the API, not that of
    /// the standard.
    LeavesOutDefaultTypeConsistency,
    /// Matches types by name even where both sides announce type information.
    NeedsEqualTypeNames,
    /// Writes nanoseconds into the place of fractions in the durations of its QoS, unless its participant flags say otherwise.
    WritesNanosecondsInQos,
    /// The same in the lease of a participant.
    WritesNanosecondsInLease,
    /// Its readers answer a HEARTBEAT that asks for an acknowledgment some milliseconds later. Each further HEARTBEAT that asks
    /// starts that time anew, so does any while a change is missing, and one that does not ask calls the question off.
    DelaysAnswers,
    /// Its readers fail where some changes come whole and others in fragments, and some of either are missed: they take one change for
    /// ever, or crash.
    FailsOnMixedForms,
    /// Has a protocol of its own on TCP, under a kind of locator that others have too.
    SpeaksOtherTcp,
    /// The length of a wide string counts UTF-16 units, not octets.
    CountsUnitsOfWideStrings,
    /// XCDR2 sequences and arrays of enumerations, bitmasks and bitsets have no DHEADER.
    OmitsDheaderOfEnums,
    /// Whether an XCDR2 map has a DHEADER depends on its value type alone.
    DecidesDheaderOfMapsByValue,
    /// Its writers keep samples for late joiners with DURABILITY TRANSIENT_LOCAL alone: with TRANSIENT and PERSISTENT they leave that
    /// to a service.
    LeavesTransientToServices,
    /// ROS 2 on it puts sixteen octets in front of the data of requests and replies, in place of related identities.
    PutsIdentityBeforeRequests,
}

impl Behaviour {
    const fn bit(self) -> u32 {
        1_u32.wrapping_shl(self as u32)
    }
}

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub struct VendorRow {
    /// What is done.
    pub behaviour: Behaviour,
    /// By whom.
    pub vendor: VendorId,
    /// Up to this version of the protocol, and not from it on; `None`: in all versions so far.
    pub before: Option<ProtocolVersion>,
    /// The test that needs the line, as file and function.
    pub evidence: (&'static str, &'static str),
}

const fn row(behaviour: Behaviour, vendor: VendorId, evidence: (&'static str, &'static str)) -> VendorRow {
    VendorRow { behaviour, vendor, before: None, evidence }
}

/// The table.
pub const VENDORS: [VendorRow; 19] = {
    use Behaviour as B;
    use VendorId as V;
    const LARGE: &str = "tests/interop/tests/video.rs";
    const ONE_FORM: &str = "a_reader_that_fails_on_mixed_forms_gets_one_form_within_a_host";
    const CODEC: &str = "protocol/discovery/src/codec/tests.rs";
    // Fast DDS serializes C++ types as Fast-CDR 2 does.
    const FAST_CDR: (&str, &str) = ("protocol/cdr/tests/kinds.rs", "deviations_of_vendors");
    let with_fractions = Some(ProtocolVersion { major: 2, minor: 4 });
    [
        row(B::MisreadsShortKeys, V::FAST_DDS, ("tests/interop/tests/shapes.rs", "fast_dds_reads")),
        row(
            B::AnswersOnlyNewReaders,
            V::FAST_DDS,
            ("protocol/rtps/src/tests/match_confirmation.rs", "fast_dds_is_asked_as_if_by_a_new_reader"),
        ),
        row(
            B::AcceptsLargeDatagrams,
            V::DUNLIN,
            ("protocol/rtps/src/tests/large_datagrams.rs", "readers_of_unknown_vendors_get_usual_datagrams"),
        ),
        row(B::AcceptsLargeDatagrams, V::CYCLONE_DDS, (LARGE, "cyclone_reads")),
        row(B::AcceptsLargeDatagrams, V::FAST_DDS, (LARGE, "fast_dds_reads")),
        row(
            B::SpeaksDunlin,
            V::DUNLIN,
            ("protocol/rtps/src/tests/window.rs", "far_readers_and_other_vendors_are_not_slowed_down"),
        ),
        row(B::LeavesOutDefaultTypeConsistency, V::CYCLONE_DDS, (CODEC, "captured_policies_of_peers")),
        row(B::LeavesOutDefaultTypeConsistency, V::FAST_DDS, (CODEC, "captured_policies_of_peers")),
        row(
            B::NeedsEqualTypeNames,
            V::FAST_DDS,
            ("protocol/discovery/src/discovery/tests/types.rs", "types_of_fast_dds_need_equal_names"),
        ),
        row(B::WritesNanosecondsInQos, V::OPENDDS, (CODEC, "opendds_durations")),
        VendorRow {
            before: with_fractions,
            ..row(B::WritesNanosecondsInLease, V::OPENDDS, (CODEC, "opendds_durations"))
        },
        row(B::DelaysAnswers, V::FAST_DDS, ("tests/interop/tests/dense.rs", "fast_dds_reads")),
        row(B::FailsOnMixedForms, V::FAST_DDS, ("protocol/rtps/src/tests/large_datagrams.rs", ONE_FORM)),
        row(B::SpeaksOtherTcp, V::RTI, (CODEC, "tcp_of_rti_is_another_protocol")),
        row(B::CountsUnitsOfWideStrings, V::FAST_DDS, FAST_CDR),
        row(B::OmitsDheaderOfEnums, V::FAST_DDS, FAST_CDR),
        row(B::DecidesDheaderOfMapsByValue, V::FAST_DDS, FAST_CDR),
        row(
            B::LeavesTransientToServices,
            V::CYCLONE_DDS,
            ("services/durability/src/writers.rs", "transient_writers_of_cyclone_serve_nobody"),
        ),
        row(
            B::PutsIdentityBeforeRequests,
            V::CYCLONE_DDS,
            ("services/zenoh-bridge/src/service.rs", "requests_of_cyclone_have_a_header"),
        ),
    ]
};

/// What a vendor does in every version: a bit for each behaviour, by the second octet of the id. Some is asked for each sample.
#[cfg_attr(
    not(test),
    expect(clippy::indexing_slicing, reason = "the compiler evaluates it, and stops where it fails")
)]
static IN_EVERY_VERSION: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < VENDORS.len() {
        let row = &VENDORS[at];
        let [first, second] = row.vendor.0;
        assert!(first == FIRST_OCTET, "vendors are told apart by their second octet");
        if row.before.is_none() {
            table[second as usize] |= row.behaviour.bit();
        }
        at += 1;
    }
    table
};

/// The first octet of all ids that have been given out.
const FIRST_OCTET: u8 = 1;

impl VendorId {
    /// Whether its implementations do something in every version.
    #[inline]
    #[must_use]
    pub fn does(self, behaviour: Behaviour) -> bool {
        let [first, second] = self.0;
        let all = IN_EVERY_VERSION.get(usize::from(second)).copied().unwrap_or_default();
        first == FIRST_OCTET && all & behaviour.bit() != 0
    }

    /// Whether an implementation of this version does something.
    #[must_use]
    pub fn does_in(self, version: ProtocolVersion, behaviour: Behaviour) -> bool {
        rows(self, behaviour).any(|row| row.before.is_none_or(|before| version < before))
    }
}

fn rows(vendor: VendorId, behaviour: Behaviour) -> impl Iterator<Item = &'static VendorRow> {
    VENDORS.iter().filter(move |row| row.vendor == vendor && row.behaviour == behaviour)
}
