//! Key hashes (RTPS 2.5 §9.6.4.8).

use alloc::vec::Vec;

use md5::{Digest, Md5};

use crate::{CdrError, CdrRead, DdsType, DecodeOptions, Decoder, Encoder, Endianness, Limits};
use crate::{Representation, Scope, key_payload};

/// The sixteen bytes that identify an instance of a topic.
pub type KeyHash = [u8; 16];

/// The greatest key that is its own hash.
const INLINE_KEY: usize = 16;

/// The key hash of key members that [`Encoder::for_key_hash`] wrote, of a type whose key has at most `max_size` bytes.
#[must_use]
pub fn key_hash_of_octets(octets: &[u8], max_size: Option<usize>) -> KeyHash {
    let mut hash = [0; 16];
    if max_size.is_some_and(|max| max <= INLINE_KEY) {
        hash.iter_mut().zip(octets).for_each(|(to, from)| *to = *from);
    } else {
        hash.iter_mut().zip(Md5::digest(octets)).for_each(|(to, from)| *to = from);
    }
    hash
}

/// The key hash of a value; all zero for types without key.
///
/// # Errors
/// As [`crate::to_payload`], which fails for the same values.
pub fn key_hash<T: DdsType>(value: &T) -> Result<KeyHash, CdrError> {
    key_hash_with(value, &mut Vec::new())
}

/// The key hash of a value, like [`key_hash`], with memory to reuse: nothing is allocated when the capacity of
/// `scratch` suffices for the key members.
///
/// # Errors
/// As [`key_hash`].
pub fn key_hash_with<T: DdsType>(value: &T, scratch: &mut Vec<u8>) -> Result<KeyHash, CdrError> {
    if !T::HAS_KEY {
        return Ok([0; 16]);
    }
    scratch.clear();
    value.write(&mut Encoder::for_key_hash(scratch))?;
    Ok(key_hash_of_octets(scratch, T::MAX_KEY_SIZE))
}

/// The key hash of the value that a decoder is about to read. Reads up to the last key member only.
///
/// # Errors
/// As [`crate::from_payload`].
pub fn key_hash_from_sample<'de, T: DdsType>(
    decoder: &mut Decoder<'de>,
    scratch: &mut Vec<u8>,
) -> Result<KeyHash, CdrError> {
    if !T::HAS_KEY {
        return Ok([0; 16]);
    }
    scratch.clear();
    <T as CdrRead<'de>>::copy_key(decoder, &mut Encoder::for_key_hash(scratch))?;
    Ok(key_hash_of_octets(scratch, T::MAX_KEY_SIZE))
}

/// The key hash of a payload: a whole sample, or key members alone (`key_only`).
///
/// # Errors
/// As [`crate::from_payload`].
pub fn key_hash_of_payload<T: DdsType>(
    payload: &[u8],
    key_only: bool,
    options: DecodeOptions,
    scratch: &mut Vec<u8>,
) -> Result<KeyHash, CdrError> {
    let decoder = Decoder::from_payload(payload, T::EXTENSIBILITY, &Limits::default())?;
    let scope = if key_only { Scope::Key } else { Scope::Sample };
    key_hash_from_sample::<T>(&mut decoder.with_scope(scope).with_options(options), scratch)
}

/// Makes the serialized key of a whole sample, in the same encoding version, as [`crate::key_payload`] would of the
/// value.
///
/// # Errors
/// As [`crate::from_payload`]; `out` is empty then.
pub fn key_payload_of_payload<T: DdsType>(
    payload: &[u8],
    options: DecodeOptions,
    out: &mut Vec<u8>,
) -> Result<(), CdrError> {
    let made = try_key_payload::<T>(payload, options, out);
    if made.is_err() {
        out.clear();
    }
    made
}

fn try_key_payload<T: DdsType>(
    payload: &[u8],
    options: DecodeOptions,
    out: &mut Vec<u8>,
) -> Result<(), CdrError> {
    let limits = Limits::default();
    let mut sample = Decoder::from_payload(payload, T::EXTENSIBILITY, &limits)?.with_options(options);
    let representation = sample.representation();
    out.clear();
    if T::HAS_KEY {
        <T as CdrRead<'_>>::copy_key(&mut sample, &mut Encoder::for_key_hash(out))?;
    }
    let keys = Decoder::new(out, Representation::Xcdr2, Endianness::Big, &limits);
    let value = if T::HAS_KEY {
        T::read(&mut keys.with_scope(Scope::KeyHash))?
    } else {
        <T as CdrRead<'_>>::default_value()
    };
    key_payload(&value, representation, out)
}

/// Recovers the key members from a key hash, where they fit it; the other members have their default values. `None`
/// if the hash of this type is a digest or the type has no key.
///
/// Some implementations send nothing but the key hash when they dispose an instance.
///
/// # Errors
/// As [`crate::from_payload`].
pub fn from_key_hash<T: DdsType>(hash: &KeyHash, limits: &Limits) -> Option<Result<T, CdrError>> {
    if !T::HAS_KEY || T::MAX_KEY_SIZE.is_none_or(|max| max > INLINE_KEY) {
        return None;
    }
    let decoder = Decoder::new(hash, Representation::Xcdr2, Endianness::Big, limits);
    Some(T::read(&mut decoder.with_scope(Scope::KeyHash)))
}
