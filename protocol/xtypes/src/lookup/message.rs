//! Requests and replies of the TypeLookup service (DDS-XTypes 1.3 §7.6.3.3.4), with the extensibility that
//! implementations use: messages and headers final, unions appendable, parameters mutable.

use alloc::string::String;
use alloc::vec::Vec;

use dunlin_cdr::{CdrError, CdrRead, CdrWrite, Limits, Representation, from_payload, to_payload};

use crate::{TypeIdentifier, TypeIdentifierWithSize, TypeObject};

/// Names a request (RPC over DDS 1.0 §7.5.1.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, CdrRead, CdrWrite)]
#[dds(final)]
pub struct SampleIdentity {
    /// The writer of the request.
    pub writer_guid: [u8; 16],
    /// High half of its sequence number.
    pub high: i32,
    /// Low half.
    pub low: u32,
}

/// A request.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct Request {
    /// Names it.
    pub request_id: SampleIdentity,
    /// The participant that is asked, see [`super::instance_name`].
    #[dds(bound = 255)]
    pub instance_name: String,
    /// What is asked.
    pub call: Call,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(union, discriminator = "i32", appendable)]
pub enum Call {
    /// Objects of identifiers.
    #[dds(case = 0x018252d3)]
    GetTypes(GetTypesIn),
    /// What types depend on.
    #[dds(case = 0x05aafb31)]
    GetTypeDependencies(GetTypeDependenciesIn),
    /// Something else.
    #[dds(default)]
    Unknown {
        /// The operation.
        #[dds(discriminator)]
        operation: i32,
    },
}

/// Parameters of `getTypes`.
#[derive(Clone, Debug, Default, PartialEq, CdrRead, CdrWrite)]
#[dds(mutable)]
pub struct GetTypesIn {
    /// The types.
    #[dds(hashid)]
    pub type_ids: Vec<TypeIdentifier>,
}

/// Parameters of `getTypeDependencies`.
#[derive(Clone, Debug, Default, PartialEq, CdrRead, CdrWrite)]
#[dds(mutable)]
pub struct GetTypeDependenciesIn {
    /// The types.
    #[dds(hashid)]
    pub type_ids: Vec<TypeIdentifier>,
    /// Where the last reply ended; empty to begin.
    #[dds(hashid, bound = 32)]
    pub continuation_point: Vec<u8>,
}

/// Whether a request could be answered at all (RPC over DDS 1.0 §7.5.1.1.2).
pub mod remote_exception {
    /// It was.
    pub const OK: i32 = 0;
    /// The operation is none.
    pub const UNKNOWN_OPERATION: i32 = 4;
}

/// A reply.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct Reply {
    /// The request.
    pub related_request_id: SampleIdentity,
    /// See [`remote_exception`].
    pub remote_ex: i32,
    /// The answer.
    pub result: Return,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(union, discriminator = "i32", appendable)]
pub enum Return {
    /// Objects.
    #[dds(case = 0x018252d3)]
    GetTypes(GetTypesResult),
    /// What types depend on.
    #[dds(case = 0x05aafb31)]
    GetTypeDependencies(GetTypeDependenciesResult),
    /// To something else.
    #[dds(default)]
    Unknown {
        /// The operation.
        #[dds(discriminator)]
        operation: i32,
    },
}

/// Objects, or an error.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(union, discriminator = "i32", appendable)]
pub enum GetTypesResult {
    /// Objects.
    #[dds(case = 0)]
    Ok(GetTypesOut),
    /// An error.
    #[dds(default)]
    Error {
        /// A return code of DDS.
        #[dds(discriminator)]
        code: i32,
    },
}

/// Dependencies, or an error.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(union, discriminator = "i32", appendable)]
pub enum GetTypeDependenciesResult {
    /// Dependencies.
    #[dds(case = 0)]
    Ok(GetTypeDependenciesOut),
    /// An error.
    #[dds(default)]
    Error {
        /// A return code of DDS.
        #[dds(discriminator)]
        code: i32,
    },
}

/// The answer of `getTypes`.
#[derive(Clone, Debug, Default, PartialEq, CdrRead, CdrWrite)]
#[dds(mutable)]
pub struct GetTypesOut {
    /// The objects; those of unknown types are missing.
    #[dds(hashid)]
    pub types: Vec<TypeIdentifierTypeObjectPair>,
    /// Minimal identifiers of complete ones.
    #[dds(hashid)]
    pub complete_to_minimal: Vec<TypeIdentifierPair>,
}

/// The answer of `getTypeDependencies`.
#[derive(Clone, Debug, Default, PartialEq, CdrRead, CdrWrite)]
#[dds(mutable)]
pub struct GetTypeDependenciesOut {
    /// What the types depend on.
    #[dds(hashid)]
    pub dependent_typeids: Vec<TypeIdentifierWithSize>,
    /// Where to go on; empty at the end.
    #[dds(hashid, bound = 32)]
    pub continuation_point: Vec<u8>,
}

/// An object with its identifier.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct TypeIdentifierTypeObjectPair {
    /// The identifier.
    pub type_identifier: TypeIdentifier,
    /// The object.
    pub type_object: TypeObject,
}

/// Two identifiers of one type.
#[derive(Clone, Debug, PartialEq, CdrRead, CdrWrite)]
#[dds(final)]
pub struct TypeIdentifierPair {
    /// Of the complete object.
    pub type_identifier1: TypeIdentifier,
    /// Of the minimal object.
    pub type_identifier2: TypeIdentifier,
}

/// Bounds of what decoding a message may cost.
const LIMITS: Limits = Limits { max_bytes: 16 << 20, ..crate::object::LIMITS };

/// A serialized message, with encapsulation header (XCDR2).
///
/// # Errors
/// Lengths or nesting that cannot be represented.
pub fn encode<T: CdrWrite>(message: &T) -> Result<Vec<u8>, CdrError> {
    let mut out = Vec::new();
    to_payload(message, Representation::Xcdr2, &mut out)?;
    Ok(out)
}

/// A message of a serialized one, with bounded memory and nesting.
///
/// # Errors
/// Bytes that are no such message, or too costly ones.
pub fn decode<'de, T: CdrRead<'de>>(payload: &'de [u8]) -> Result<T, CdrError> {
    from_payload(payload, &LIMITS)
}
