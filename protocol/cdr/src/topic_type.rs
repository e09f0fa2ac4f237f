//! What the samples of a topic are to an application: values of a Rust type, or of a type known at run time (DDS 1.4 §2.2.2.3;
//! DDS-XTypes 1.3 §7.5).

use alloc::vec::Vec;

use dunlin_buf::SharedBytes;

use crate::{CdrError, DdsType, DecodeOptions, KeyHash, Limits, Representation, TypeSupport};

/// Something that writers write and readers read.
///
/// Every [`DdsType`] is one; what the type is follows from the Rust type then, and costs nothing at run time. Values of types
/// known at run time are others: what their type is, the topic knows, and hands it over as `support`.
pub trait TopicType: Sized + Send + Sync + 'static {
    /// Whether the topic has instances.
    fn has_key(support: &dyn TypeSupport) -> bool;

    /// What a writer uses unless told otherwise.
    fn default_representation(support: &dyn TypeSupport) -> Representation;

    /// The value as a payload, as [`crate::to_payload`] makes it.
    ///
    /// # Errors
    /// As [`crate::to_payload`]; [`CdrError::ForeignType`] if the value is none of the topic's type.
    fn write_payload(
        &self,
        support: &dyn TypeSupport,
        rep: Representation,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError>;

    /// The payload, if the value is one: it is then sent as it is, and [`TopicType::write_payload`] is not called.
    #[inline]
    fn as_payload(&self, _support: &dyn TypeSupport, _rep: Representation) -> Option<&SharedBytes> {
        None
    }

    /// The serialized key, as [`crate::key_payload`] makes it; empty if nobody can find it.
    ///
    /// # Errors
    /// As [`TopicType::write_payload`].
    fn write_key_payload(
        &self,
        support: &dyn TypeSupport,
        rep: Representation,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError>;

    /// The key hash. `scratch` is memory to reuse.
    ///
    /// # Errors
    /// As [`TopicType::write_payload`].
    fn hash_key(&self, support: &dyn TypeSupport, scratch: &mut Vec<u8>) -> Result<KeyHash, CdrError>;

    /// The value of a payload of a writer with these deviations.
    ///
    /// # Errors
    /// As [`crate::from_payload`].
    fn read_payload(
        support: &dyn TypeSupport,
        payload: &[u8],
        limits: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError>;

    /// The value of a serialized key of a writer with these deviations.
    ///
    /// # Errors
    /// As [`crate::from_key_payload`].
    fn read_key_payload(
        support: &dyn TypeSupport,
        payload: &[u8],
        limits: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError>;

    /// As [`TopicType::read_payload`], of bytes that the value may keep instead of copying them.
    ///
    /// # Errors
    /// As [`TopicType::read_payload`].
    #[inline]
    fn read_shared(
        support: &dyn TypeSupport,
        payload: &SharedBytes,
        limits: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError> {
        Self::read_payload(support, payload, limits, options)
    }

    /// As [`TopicType::read_key_payload`], of bytes that the value may keep instead of copying them.
    ///
    /// # Errors
    /// As [`TopicType::read_key_payload`].
    #[inline]
    fn read_shared_key(
        support: &dyn TypeSupport,
        payload: &SharedBytes,
        limits: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError> {
        Self::read_key_payload(support, payload, limits, options)
    }
}

impl<T: DdsType> TopicType for T {
    #[inline]
    fn has_key(_: &dyn TypeSupport) -> bool {
        T::HAS_KEY
    }

    #[inline]
    fn default_representation(_: &dyn TypeSupport) -> Representation {
        T::DEFAULT_REPRESENTATION
    }

    #[inline]
    fn write_payload(
        &self,
        _: &dyn TypeSupport,
        rep: Representation,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        crate::to_payload(self, rep, out)
    }

    #[inline]
    fn write_key_payload(
        &self,
        _: &dyn TypeSupport,
        rep: Representation,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        crate::key_payload(self, rep, out)
    }

    #[inline]
    fn hash_key(&self, _: &dyn TypeSupport, scratch: &mut Vec<u8>) -> Result<KeyHash, CdrError> {
        crate::key_hash_with(self, scratch)
    }

    #[inline]
    fn read_payload(
        _: &dyn TypeSupport,
        payload: &[u8],
        limits: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError> {
        crate::from_payload_with(payload, limits, options)
    }

    #[inline]
    fn read_key_payload(
        _: &dyn TypeSupport,
        payload: &[u8],
        limits: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError> {
        crate::from_key_payload_with(payload, limits, options)
    }
}
