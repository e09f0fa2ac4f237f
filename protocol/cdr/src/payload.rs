//! Serialized payloads: encapsulation header, data, padding (RTPS 2.5 §10.2; DDS-XTypes 1.3 §7.6.3.1.2).

use alloc::vec::Vec;

use crate::{
    CdrError, CdrRead, CdrWrite, DdsType, DecodeOptions, Decoder, EncapsulationHeader, Encoder, Endianness,
    Extensibility, Limits, Representation, Scope,
};

/// Serializes a value, little-endian, with encapsulation header, padded to a multiple of four bytes.
///
/// `out` is cleared first and keeps its capacity: when that suffices nothing is allocated.
///
/// # Errors
/// Lengths or nesting that cannot be represented, or an exceeded bound. `out` is empty then.
pub fn to_payload<T: CdrWrite + ?Sized>(
    value: &T,
    rep: Representation,
    out: &mut Vec<u8>,
) -> Result<(), CdrError> {
    to_payload_as(value, rep, Endianness::Little, Scope::Sample, out)
}

/// Serializes the key members of a value as the payload of a DATA submessage with flag K, like [`to_payload`].
/// Without key members there is only the header.
///
/// # Errors
/// As [`to_payload`].
pub fn key_payload<T: DdsType>(value: &T, rep: Representation, out: &mut Vec<u8>) -> Result<(), CdrError> {
    if T::HAS_KEY {
        return to_payload_as(value, rep, Endianness::Little, Scope::Key, out);
    }
    out.clear();
    out.extend_from_slice(&EncapsulationHeader::new(rep, T::EXTENSIBILITY, Endianness::Little).to_bytes());
    Ok(())
}

/// Serializes a value in the given byte order and scope ([`Scope::Sample`] or [`Scope::Key`]), like [`to_payload`].
///
/// # Errors
/// As [`to_payload`].
pub fn to_payload_as<T: CdrWrite + ?Sized>(
    value: &T,
    rep: Representation,
    endianness: Endianness,
    scope: Scope,
    out: &mut Vec<u8>,
) -> Result<(), CdrError> {
    write_payload(T::FORM, rep, endianness, scope, out, |e| value.write(e))
}

/// Makes a payload of what `write` writes: encapsulation header for a type of this extensibility, bytes, padding.
///
/// `out` is cleared first.
///
/// # Errors
/// Those of `write`; `out` is empty then.
#[inline]
pub fn write_payload(
    form: Extensibility,
    rep: Representation,
    endianness: Endianness,
    scope: Scope,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Encoder<'_>) -> Result<(), CdrError>,
) -> Result<(), CdrError> {
    out.clear();
    let mut header = EncapsulationHeader::new(rep, form, endianness);
    out.extend_from_slice(&header.to_bytes());
    let mut encoder = Encoder::with_scope(out, rep, endianness, scope);
    if let Err(error) = write(&mut encoder) {
        out.clear();
        return Err(error);
    }
    let padding = out.len().wrapping_neg() & 3;
    if padding != 0 {
        out.resize(out.len().saturating_add(padding), 0);
        header.options = u16::try_from(padding).unwrap_or(0);
        if let Some(start) = out.first_chunk_mut::<4>() {
            *start = header.to_bytes();
        }
    }
    Ok(())
}

/// Deserializes a payload of any representation and byte order. The value may borrow from the payload.
///
/// # Errors
/// A payload that is no serialization of the type, or a limit reached.
pub fn from_payload<'de, T: CdrRead<'de>>(payload: &'de [u8], limits: &Limits) -> Result<T, CdrError> {
    from_payload_with(payload, limits, DecodeOptions::default())
}

/// Deserializes a payload of a writer with the given deviations, like [`from_payload`].
///
/// # Errors
/// As [`from_payload`].
pub fn from_payload_with<'de, T: CdrRead<'de>>(
    payload: &'de [u8],
    limits: &Limits,
    options: DecodeOptions,
) -> Result<T, CdrError> {
    let mut decoder = Decoder::from_payload(payload, T::FORM, limits)?.with_options(options);
    T::read(&mut decoder)
}

/// Deserializes the payload of a DATA submessage with flag K: the key members are set, the others have their default
/// values.
///
/// # Errors
/// As [`from_payload`].
pub fn from_key_payload<T: DdsType>(payload: &[u8], limits: &Limits) -> Result<T, CdrError> {
    from_key_payload_with(payload, limits, DecodeOptions::default())
}

/// Deserializes a serialized key of a writer with the given deviations, like [`from_key_payload`].
///
/// # Errors
/// As [`from_payload`].
pub fn from_key_payload_with<T: DdsType>(
    payload: &[u8],
    limits: &Limits,
    options: DecodeOptions,
) -> Result<T, CdrError> {
    if !T::HAS_KEY {
        EncapsulationHeader::parse(payload)?.0.form()?;
        return Ok(<T as CdrRead<'_>>::default_value());
    }
    let decoder = Decoder::from_payload(payload, <T as CdrRead<'_>>::FORM, limits)?;
    T::read(&mut decoder.with_scope(Scope::Key).with_options(options))
}
