//! RTPS 2.5 §9.6.3 and §9.6.4: the parameter identifiers of the standard, of DDS Security and of DDS-RPC, and the few of
//! other vendors that this implementation interprets.

/// Bit that marks a parameter identifier as belonging to the vendor of the sender (§9.4.2.11.2).
pub const VENDOR_SPECIFIC: u16 = 0x8000;
/// Bit that tells a receiver to drop what carries this parameter unless it understands it (§9.4.2.11.2).
pub const MUST_UNDERSTAND: u16 = 0x4000;

macro_rules! pids {
    ($($(#[$doc:meta])* $name:ident = $value:literal;)*) => {
        $($(#[$doc])* pub const $name: u16 = $value;)*

        /// Standard identifiers with their names, in ascending order of the identifier.
        const NAMES: &[(u16, &str)] = &[$(($value, stringify!($name)),)*];
    };
}

pids! {
    /// Filler; its bytes are skipped.
    PAD = 0x0000;
    /// End of the list; its length is ignored.
    SENTINEL = 0x0001;
    /// SPDP: `Duration_t`, default 100 s.
    PARTICIPANT_LEASE_DURATION = 0x0002;
    /// Reader: `Duration_t` minimum separation.
    TIME_BASED_FILTER = 0x0004;
    /// Endpoints, topics, inline: string of at most 256 bytes.
    TOPIC_NAME = 0x0005;
    /// Writer, inline: `i32`.
    OWNERSHIP_STRENGTH = 0x0006;
    /// Endpoints, topics: string of at most 256 bytes.
    TYPE_NAME = 0x0007;
    /// Deprecated: metatraffic multicast address, `u32`.
    METATRAFFIC_MULTICAST_IPADDRESS = 0x000b;
    /// Deprecated: default unicast address, `u32`.
    DEFAULT_UNICAST_IPADDRESS = 0x000c;
    /// Deprecated: metatraffic unicast port, `u32`.
    METATRAFFIC_UNICAST_PORT = 0x000d;
    /// Deprecated: default unicast port, `u32`.
    DEFAULT_UNICAST_PORT = 0x000e;
    /// SPDP: `u32`.
    DOMAIN_ID = 0x000f;
    /// Deprecated: multicast address, `u32`.
    MULTICAST_IPADDRESS = 0x0011;
    /// SPDP, endpoints: two bytes and two of padding.
    PROTOCOL_VERSION = 0x0015;
    /// SPDP, endpoints: two bytes and two of padding.
    VENDORID = 0x0016;
    /// Endpoints, topics, inline: `i32` kind (1 best effort, 2 reliable), `Duration_t`.
    RELIABILITY = 0x001a;
    /// Endpoints, topics, inline: `u32` kind, `Duration_t` lease.
    LIVELINESS = 0x001b;
    /// Endpoints, topics, inline: `u32` kind.
    DURABILITY = 0x001d;
    /// Writer, topic: `Duration_t`, `u32` history kind and four `i32`.
    DURABILITY_SERVICE = 0x001e;
    /// Endpoints, topics, inline: `u32` kind.
    OWNERSHIP = 0x001f;
    /// Endpoints, inline: `u32` scope, two booleans.
    PRESENTATION = 0x0021;
    /// Endpoints, topics, inline: `Duration_t`.
    DEADLINE = 0x0023;
    /// Endpoints, topics, inline: `u32` kind.
    DESTINATION_ORDER = 0x0025;
    /// Endpoints, topics, inline: `Duration_t`.
    LATENCY_BUDGET = 0x0027;
    /// Endpoints, inline: sequence of strings.
    PARTITION = 0x0029;
    /// Writer, topic, inline: `Duration_t`.
    LIFESPAN = 0x002b;
    /// SPDP, endpoints: octet sequence.
    USER_DATA = 0x002c;
    /// Endpoints: octet sequence.
    GROUP_DATA = 0x002d;
    /// Endpoints, topics: octet sequence.
    TOPIC_DATA = 0x002e;
    /// Endpoints: `Locator_t`, repeated.
    UNICAST_LOCATOR = 0x002f;
    /// Endpoints: `Locator_t`, repeated.
    MULTICAST_LOCATOR = 0x0030;
    /// SPDP: `Locator_t`, repeated.
    DEFAULT_UNICAST_LOCATOR = 0x0031;
    /// SPDP: `Locator_t`, repeated.
    METATRAFFIC_UNICAST_LOCATOR = 0x0032;
    /// SPDP: `Locator_t`, repeated.
    METATRAFFIC_MULTICAST_LOCATOR = 0x0033;
    /// SPDP: `i32`.
    PARTICIPANT_MANUAL_LIVELINESS_COUNT = 0x0034;
    /// Reader: four strings and a sequence of strings.
    CONTENT_FILTER_PROPERTY = 0x0035;
    /// Topic (other vendors: endpoints): `u32` kind, `i32` depth.
    HISTORY = 0x0040;
    /// Topic (other vendors: endpoints): three `i32`.
    RESOURCE_LIMITS = 0x0041;
    /// SPDP, reader: boolean.
    EXPECTS_INLINE_QOS = 0x0043;
    /// Deprecated: participant built-in endpoints, `u32`.
    PARTICIPANT_BUILTIN_ENDPOINTS = 0x0044;
    /// Deprecated: metatraffic unicast address, `u32`.
    METATRAFFIC_UNICAST_IPADDRESS = 0x0045;
    /// Deprecated: metatraffic multicast port, `u32`.
    METATRAFFIC_MULTICAST_PORT = 0x0046;
    /// SPDP: `Locator_t`, repeated.
    DEFAULT_MULTICAST_LOCATOR = 0x0048;
    /// Writer, topic, inline: `i32`.
    TRANSPORT_PRIORITY = 0x0049;
    /// SPDP, endpoints: `GUID_t`.
    PARTICIPANT_GUID = 0x0050;
    /// Deprecated: entity id of the participant.
    PARTICIPANT_ENTITYID = 0x0051;
    /// Endpoints: `GUID_t` of the publisher or subscriber.
    GROUP_GUID = 0x0052;
    /// Endpoints: entity id of the publisher or subscriber.
    GROUP_ENTITYID = 0x0053;
    /// Inline: result bitmaps and filter signatures.
    CONTENT_FILTER_INFO = 0x0055;
    /// Inline: `SequenceNumber_t` of the first sample of the set.
    COHERENT_SET = 0x0056;
    /// Inline: `GUID_t` of the only reader meant.
    DIRECTED_WRITE = 0x0057;
    /// SPDP: `u32` bit set.
    BUILTIN_ENDPOINT_SET = 0x0058;
    /// SPDP, endpoints: sequence of name and value strings, optionally followed by binary properties.
    PROPERTY_LIST = 0x0059;
    /// Endpoints, topics: `GUID_t`.
    ENDPOINT_GUID = 0x005a;
    /// Writer: `i32`.
    TYPE_MAX_SIZE_SERIALIZED = 0x0060;
    /// Inline: `GUID_t` and `SequenceNumber_t`.
    ORIGINAL_WRITER_INFO = 0x0061;
    /// SPDP, endpoints: string.
    ENTITY_NAME = 0x0062;
    /// Inline: `SequenceNumber_t` in the publisher's numbering.
    GROUP_COHERENT_SET = 0x0063;
    /// Inline: `SequenceNumber_t` in the publisher's numbering.
    GROUP_SEQ_NUM = 0x0064;
    /// Inline: `GroupDigest_t`.
    WRITER_GROUP_INFO = 0x0065;
    /// Inline: `GroupDigest_t`.
    SECURE_WRITER_GROUP_INFO = 0x0066;
    /// Endpoints: type identifier of XTypes 1.0 and 1.1.
    TYPE_IDV1 = 0x0069;
    /// Inline: 16 bytes.
    KEY_HASH = 0x0070;
    /// Inline: four bytes, flags in the last one.
    STATUS_INFO = 0x0071;
    /// Endpoints: type object of XTypes 1.0 and 1.1.
    TYPE_OBJECTV1 = 0x0072;
    /// Endpoints, topics: sequence of `i16`.
    DATA_REPRESENTATION = 0x0073;
    /// Reader: `u16` kind and five booleans.
    TYPE_CONSISTENCY_ENFORCEMENT = 0x0074;
    /// Endpoints, topics: XCDR2 little-endian `TypeInformation`.
    TYPE_INFORMATION = 0x0075;
    /// SPDP: `u32` bit set.
    BUILTIN_ENDPOINT_QOS = 0x0077;
    /// DDS-RPC, endpoints: string.
    SERVICE_INSTANCE_NAME = 0x0080;
    /// DDS-RPC, endpoints: `GUID_t`.
    RELATED_ENTITY_GUID = 0x0081;
    /// DDS-RPC, endpoints: sequence of strings.
    TOPIC_ALIASES = 0x0082;
    /// DDS-RPC, inline: `GUID_t` and `SequenceNumber_t`.
    RELATED_SAMPLE_IDENTITY = 0x0083;
    /// Security, SPDP: `DataHolder`.
    IDENTITY_TOKEN = 0x1001;
    /// Security, SPDP: `DataHolder`.
    PERMISSIONS_TOKEN = 0x1002;
    /// Security, endpoints: sequence of name and value strings.
    DATA_TAGS = 0x1003;
    /// Security, endpoints: two `u32` masks.
    ENDPOINT_SECURITY_INFO = 0x1004;
    /// Security, SPDP: two `u32` masks, from 1.2 two `u16` more.
    PARTICIPANT_SECURITY_INFO = 0x1005;
    /// Security, secure SPDP: `DataHolder`.
    IDENTITY_STATUS_TOKEN = 0x1006;
    /// Security 1.2, SPDP: `u32`.
    AVAILABLE_BUILTIN_ENDPOINTS_EXT = 0x1007;
    /// Security 1.2, SPDP: four `u32`.
    DIGITAL_SIGNATURE_ALGORITHM_INFO = 0x1010;
    /// Security 1.2, SPDP: two `u32`.
    KEY_ESTABLISHMENT_ALGORITHM_INFO = 0x1011;
    /// Security 1.2, SPDP: four `u32`.
    SYMMETRIC_CIPHER_ALGORITHM_INFO = 0x1012;
    /// Security 1.2, endpoints: `u32`.
    ENDPOINT_SYMMETRIC_CIPHER_ALGORITHM_INFO = 0x1013;
    /// XTypes §7.4.1.2: a parameter whose member id and length are two `u32` that follow.
    EXTENDED = 0x3f01;
    /// XTypes §7.4.1.2: end of the list.
    LIST_END = 0x3f02;
    /// SPDP: string of at most 256 bytes, default empty; must be understood.
    DOMAIN_TAG = 0x4014;
}

/// Identifiers of other vendors that are interpreted here; each is meaningful only with that vendor's id.
pub mod vendor {
    /// Fast DDS and RTI, inline: the same content as [`super::RELATED_SAMPLE_IDENTITY`].
    pub const CUSTOM_RELATED_SAMPLE_IDENTITY: u16 = 0x800f;
    /// Cyclone DDS, reader: boolean, asks the writer for key hashes.
    pub const CYCLONE_REQUESTS_KEYHASH: u16 = 0x801c;
    /// Dunlin, inline, SPDP: prefix of the discovery server that sent an announcement in the name of another participant, whose vendor
    /// the message names.
    pub const INTRODUCED_BY: u16 = 0x8d01;
    /// Dunlin, SPDP: prefix of the daemon through which a participant speaks and is spoken to.
    pub const BEHIND_DAEMON: u16 = 0x8d02;
    /// Dunlin, inline, SPDP, of a goodbye that a daemon says: the participant did not leave, but was not heard for its lease.
    pub const LEASE_ENDED: u16 = 0x8d03;
    /// Dunlin, SPDP, what a daemon says of a participant: a locator where it takes data, or sends from and takes answers, without this
    /// daemon.
    pub const DIRECT_LOCATOR: u16 = 0x8d04;
    /// Dunlin, SPDP: the UDP ports that a participant sends from, two octets each, the high one first.
    pub const SOURCE_PORTS: u16 = 0x8d05;
    /// Dunlin, SPDP: 16 octets that the [`GOODBYE_SECRET`] of the participant has for its hash.
    pub const GOODBYE_HASH: u16 = 0x8d06;
    /// Dunlin, inline, SPDP, of a goodbye: 16 octets that the participant alone has known until then.
    pub const GOODBYE_SECRET: u16 = 0x8d07;
    /// OpenDDS, SPDP: `u32` flags.
    pub const OPENDDS_PARTICIPANT_FLAGS: u16 = 0xb005;
    /// Bit of [`OPENDDS_PARTICIPANT_FLAGS`]: durations inside QoS are written as RTPS fractions, not as nanoseconds.
    pub const OPENDDS_FLAG_RTPS_DURATIONS: u32 = 0x8;
}

/// The standard's name of `pid` without its `PID_` prefix, or `None` for identifiers that this crate does not know.
pub fn name(pid: u16) -> Option<&'static str> {
    let index = NAMES.binary_search_by_key(&pid, |(id, _)| *id).ok()?;
    NAMES.get(index).map(|(_, name)| *name)
}

/// Whether `pid` is one of the standard identifiers of this module.
pub fn is_known(pid: u16) -> bool {
    name(pid).is_some()
}

/// Whether a receiver has to drop the submessage or sample that carries `pid`: the must-understand bit is set and the
/// identifier is unknown (§9.4.2.11.2). The two list-structuring identifiers of XTypes count as known in either form.
pub fn is_incomprehensible(pid: u16) -> bool {
    pid & MUST_UNDERSTAND != 0 && !is_known(pid) && !is_known_structure(pid)
}

fn is_known_structure(pid: u16) -> bool {
    matches!(pid & !MUST_UNDERSTAND, EXTENDED | LIST_END)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_so_that_lookup_finds_each() {
        assert!(NAMES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(NAMES.iter().all(|(id, text)| name(*id) == Some(*text)));
    }

    #[test]
    fn only_unknown_must_understand_identifiers_are_refused() {
        assert!(!is_incomprehensible(DOMAIN_TAG));
        assert!(!is_incomprehensible(0x7f01));
        assert!(!is_incomprehensible(0x3abc));
        assert!(!is_incomprehensible(0x8abc));
        assert!(is_incomprehensible(0x4abc));
        assert!(is_incomprehensible(0xcabc));
    }
}
