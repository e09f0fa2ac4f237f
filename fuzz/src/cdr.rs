//! DDS-XTypes 1.3 §7.4: whatever decodes as a value of a type can be encoded in every representation and byte order, and
//! decodes to the same value again; its key and its key hash are the same however they are found.

mod types;

use dunlin_cdr::{
    CdrError, CdrRead, DdsType, DecodeOptions, Decoder, Endianness, KeyHash, LimitKind, Limits,
    Representation, Scope, TypeSupport, TypeSupportOf, from_key_payload, from_payload, from_payload_with,
    key_hash, key_payload, to_payload, to_payload_as,
};
use dunlin_core::VendorId;
use types::{
    ByBool, ByChar, BySmall, Call, Collections, Derived, Everything, Expression, Keyed, Primitives, Tree,
};

/// Heap memory that decoding may take for each octet of input, and for an empty one.
const MEMORY_PER_OCTET: u64 = 512;
const LEAST_MEMORY: u64 = 4096;

/// Octets of the decoder's own account that a value may take.
const LIMITS: Limits = Limits { max_bytes: 1 << 20, max_sequence_len: 1 << 16, max_depth: 64 };

const FORMS: [(Representation, Endianness); 4] = [
    (Representation::Xcdr1, Endianness::Little),
    (Representation::Xcdr1, Endianness::Big),
    (Representation::Xcdr2, Endianness::Little),
    (Representation::Xcdr2, Endianness::Big),
];

/// What is done with the values of one type.
type Check = fn(&[u8]);

const CHECKS: [Check; 11] = [
    check::<Primitives>,
    check::<Keyed>,
    check::<Collections>,
    check::<Everything>,
    check::<Tree>,
    check::<Expression>,
    check::<Call>,
    check::<BySmall>,
    check::<ByChar>,
    check::<ByBool>,
    check::<Derived>,
];

/// Decodes a payload. The first octet chooses the type.
pub fn cdr_value(data: &[u8]) {
    let Some((choice, payload)) = data.split_first() else { return };
    CHECKS[usize::from(*choice) % CHECKS.len()](payload);
}

fn check<T: DdsType>(payload: &[u8]) {
    let used = allocation_counter::measure(|| decode_only::<T>(payload));
    let allowed = LEAST_MEMORY + payload.len() as u64 * MEMORY_PER_OCTET;
    assert!(used.bytes_max <= allowed, "{} octets of memory for {}", used.bytes_max, payload.len());
    skip_is_like_read::<T>(payload);
    if let Ok(value) = from_payload::<T>(payload, &LIMITS)
        && !is_too_deep(&value)
    {
        round_trips(&value);
        check_key(&value, payload);
    }
    if let Ok(key) = from_key_payload::<T>(payload, &LIMITS)
        && T::HAS_KEY
    {
        let mut again = Vec::new();
        key_payload(&key, Representation::Xcdr2, &mut again).expect("a key that was decoded");
        let hash = hash_of::<T>(payload, true);
        assert_eq!(hash, Ok(key_hash(&key).expect("a key that was decoded")));
    }
}

/// The members that a short value lacks get their defaults, which nest by themselves: behind the last level that is read they may
/// be deeper than readers accept. Writing refuses such a value, in every form.
fn is_too_deep<T: DdsType>(value: &T) -> bool {
    let refused = |(representation, endianness)| {
        let mut payload = Vec::new();
        to_payload_as(value, representation, endianness, Scope::Sample, &mut payload)
            == Err(CdrError::LimitExceeded { limit: LimitKind::Depth })
    };
    let refusals = FORMS.into_iter().filter(|form| refused(*form)).count();
    assert!(refusals == 0 || refusals == FORMS.len(), "{refusals} forms refuse the value");
    refusals > 0
}

/// With every set of deviations, and as the middleware does it without the type.
fn decode_only<T: DdsType>(payload: &[u8]) {
    for vendor in [VendorId::CYCLONE_DDS, VendorId::FAST_DDS] {
        let options = DecodeOptions::for_vendor(vendor);
        let _ = from_payload_with::<T>(payload, &LIMITS, options).is_ok();
    }
    let mut key = Vec::new();
    let _ = TypeSupportOf::<T>::new().key_payload_with(payload, DecodeOptions::default(), &mut key);
    let _ = (hash_of::<T>(payload, false), hash_of::<T>(payload, true));
}

fn hash_of<T: DdsType>(payload: &[u8], key_only: bool) -> Result<KeyHash, CdrError> {
    TypeSupportOf::<T>::new().key_hash_of_payload(payload, key_only)
}

/// Where a value ends is the same whether it is wanted or not.
fn skip_is_like_read<T: DdsType>(payload: &[u8]) {
    let decoder = || Decoder::from_payload(payload, <T as CdrRead<'_>>::FORM, &LIMITS);
    let (Ok(mut reader), Ok(mut skipper)) = (decoder(), decoder()) else { return };
    if T::read(&mut reader).is_ok() {
        T::skip(&mut skipper).expect("what can be read can be skipped");
        assert_eq!(reader.position(), skipper.position());
    }
}

/// Compared as octets, since some numbers are not equal to themselves.
fn round_trips<T: DdsType>(value: &T) {
    let canonical = encoded(value, Representation::Xcdr2, Endianness::Little);
    for (representation, endianness) in FORMS {
        let payload = encoded(value, representation, endianness);
        let again = match from_payload::<T>(&payload, &Limits::default()) {
            // Elements without octets are bounded by the octets of the payload, and there may have been more of them.
            Err(CdrError::LimitExceeded { limit: LimitKind::SequenceLength }) => return,
            again => again.expect("what was just encoded"),
        };
        assert_eq!(encoded(&again, Representation::Xcdr2, Endianness::Little), canonical);
    }
}

fn encoded<T: DdsType>(value: &T, representation: Representation, endianness: Endianness) -> Vec<u8> {
    let mut payload = Vec::new();
    to_payload_as(value, representation, endianness, Scope::Sample, &mut payload).expect("a decoded value");
    payload
}

fn check_key<T: DdsType>(value: &T, payload: &[u8]) {
    let hash = key_hash(value).expect("a decoded value");
    assert_eq!(hash_of::<T>(payload, false), Ok(hash));
    let mut own = Vec::new();
    to_payload(value, Representation::Xcdr1, &mut own).expect("a decoded value");
    assert_eq!(hash_of::<T>(&own, false), Ok(hash));
    if T::HAS_KEY {
        let mut key = Vec::new();
        key_payload(value, Representation::Xcdr1, &mut key).expect("a decoded value");
        assert_eq!(hash_of::<T>(&key, true), Ok(hash));
    }
}

/// Inputs that decode: for each type the least octets that do.
pub(crate) fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for (choice, default) in DEFAULTS.iter().enumerate() {
        for (number, (representation, endianness)) in FORMS.into_iter().enumerate() {
            let mut bytes = vec![choice as u8];
            bytes.extend(default(representation, endianness));
            seeds.push((format!("default-{choice}-{number}"), bytes));
        }
    }
    seeds
}

const DEFAULTS: [fn(Representation, Endianness) -> Vec<u8>; 11] = [
    default::<Primitives>,
    default::<Keyed>,
    default::<Collections>,
    default::<Everything>,
    default::<Tree>,
    default::<Expression>,
    default::<Call>,
    default::<BySmall>,
    default::<ByChar>,
    default::<ByBool>,
    default::<Derived>,
];

fn default<T: DdsType>(representation: Representation, endianness: Endianness) -> Vec<u8> {
    encoded(&<T as CdrRead<'_>>::default_value(), representation, endianness)
}
