//! Type support without the Rust type: what finds the instance of a received sample (DDS 1.4 §2.2.2.3.6).

use alloc::vec::Vec;
use core::any::Any;
use core::fmt;
use core::marker::PhantomData;

use crate::{CdrError, DdsType, DecodeOptions, Extensibility, KeyHash, Representation, TypeRef, key};

/// What the middleware has to know of a topic type.
pub trait TypeSupport: Any + Send + Sync {
    /// The registered name.
    fn type_name(&self) -> &str;

    /// Whether the topic has instances.
    fn has_key(&self) -> bool;

    /// Whether the key can be found in the bytes of a sample. If not, the hash that its writer sent tells instances apart.
    fn finds_keys(&self) -> bool {
        self.has_key()
    }

    /// How the type may evolve.
    fn extensibility(&self) -> Extensibility;

    /// The greatest size of the key members, or `None` without upper limit.
    fn max_key_size(&self) -> Option<usize>;

    /// The representations that the type allows.
    fn representations(&self) -> &'static [Representation] {
        &[Representation::Xcdr1, Representation::Xcdr2]
    }

    /// The description of the type, which expressions need; `None` if it has none. A type known at run time makes it anew: keep it.
    fn description(&self) -> Option<TypeRef> {
        None
    }

    /// The key hash of a payload with encapsulation header: a whole sample, or key members alone (`key_only`), of a
    /// writer with the given deviations. `scratch` is memory to reuse.
    ///
    /// # Errors
    /// A payload that is no serialization of the type.
    fn key_hash_with(
        &self,
        payload: &[u8],
        key_only: bool,
        options: DecodeOptions,
        scratch: &mut Vec<u8>,
    ) -> Result<KeyHash, CdrError>;

    /// The serialized key, with encapsulation header, of the payload of a whole sample, in the encoding version of the
    /// sample. `out` is cleared first.
    ///
    /// # Errors
    /// A payload that is no serialization of the type; `out` is empty then.
    fn key_payload_with(
        &self,
        payload: &[u8],
        options: DecodeOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError>;

    /// The key hash of a payload, like [`TypeSupport::key_hash_with`], of a writer without deviations.
    ///
    /// # Errors
    /// As [`TypeSupport::key_hash_with`].
    fn key_hash_of_payload(&self, payload: &[u8], key_only: bool) -> Result<KeyHash, CdrError> {
        self.key_hash_with(payload, key_only, DecodeOptions::default(), &mut Vec::new())
    }
}

/// The type support of a Rust type.
pub struct TypeSupportOf<T>(PhantomData<fn() -> T>);

impl<T> TypeSupportOf<T> {
    /// The type support of `T`.
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for TypeSupportOf<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for TypeSupportOf<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for TypeSupportOf<T> {}

impl<T: DdsType> fmt::Debug for TypeSupportOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TypeSupportOf").field(&T::TYPE_NAME).finish()
    }
}

impl<T: DdsType> TypeSupport for TypeSupportOf<T> {
    fn description(&self) -> Option<TypeRef> {
        Some(TypeRef::of::<T>())
    }

    fn type_name(&self) -> &str {
        T::TYPE_NAME
    }

    fn representations(&self) -> &'static [Representation] {
        T::REPRESENTATIONS
    }

    fn has_key(&self) -> bool {
        T::HAS_KEY
    }

    fn extensibility(&self) -> Extensibility {
        T::EXTENSIBILITY
    }

    fn max_key_size(&self) -> Option<usize> {
        T::MAX_KEY_SIZE
    }

    fn key_hash_with(
        &self,
        payload: &[u8],
        key_only: bool,
        options: DecodeOptions,
        scratch: &mut Vec<u8>,
    ) -> Result<KeyHash, CdrError> {
        key::key_hash_of_payload::<T>(payload, key_only, options, scratch)
    }

    fn key_payload_with(
        &self,
        payload: &[u8],
        options: DecodeOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        key::key_payload_of_payload::<T>(payload, options, out)
    }
}
