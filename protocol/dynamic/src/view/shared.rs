//! Views that keep the bytes they look at.

use alloc::vec::Vec;
use core::fmt;

use dunlin_buf::SharedBytes;
use dunlin_cdr::{CdrError, DecodeOptions, KeyHash, Limits, Representation, TopicType, TypeSupport};

use super::DynamicView;
use crate::support::{is_of, of};
use crate::{DynamicData, DynamicType};

/// A received value, still serialized, that can be looked at: the type, and the bytes as they arrived, which are shared and not
/// copied. Cheap to clone.
///
/// While it exists it keeps the whole buffer that the bytes arrived in; of samples that are kept for long,
/// [`to_data`](Self::to_data) takes what is needed.
#[derive(Clone)]
pub struct SharedView {
    ty: DynamicType,
    payload: SharedBytes,
    limits: Limits,
    options: DecodeOptions,
    key_only: bool,
}

impl SharedView {
    /// A view of a payload with encapsulation header, of a writer with the given deviations, that was checked as decoding checks.
    ///
    /// # Errors
    /// A payload that is no serialization of the type, or beyond the limits.
    pub fn new(
        ty: &DynamicType,
        payload: SharedBytes,
        limits: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError> {
        Self::checked(Self { ty: ty.clone(), payload, limits: *limits, options, key_only: false })
    }

    /// A view of a serialized key, as [`SharedView::new`]: members that are no key have their defaults.
    ///
    /// # Errors
    /// As [`SharedView::new`].
    pub fn of_key(
        ty: &DynamicType,
        payload: SharedBytes,
        limits: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError> {
        Self::checked(Self { ty: ty.clone(), payload, limits: *limits, options, key_only: true })
    }

    fn checked(self) -> Result<Self, CdrError> {
        self.try_view()?.check()?;
        Ok(self)
    }

    fn try_view(&self) -> Result<DynamicView<'_>, CdrError> {
        if self.key_only {
            DynamicView::of_key(&self.ty, &self.payload, &self.limits, self.options)
        } else {
            DynamicView::with_options(&self.ty, &self.payload, &self.limits, self.options)
        }
    }

    /// The view.
    #[must_use]
    pub fn view(&self) -> DynamicView<'_> {
        // What was checked has a header.
        self.try_view().unwrap_or_else(|_| DynamicView::default_of_part(self.ty.view(), None))
    }

    /// The type.
    #[must_use]
    pub fn dynamic_type(&self) -> &DynamicType {
        &self.ty
    }

    /// The bytes, with encapsulation header.
    #[must_use]
    pub fn payload(&self) -> &SharedBytes {
        &self.payload
    }

    /// Whether these are key members alone.
    #[must_use]
    pub const fn is_key(&self) -> bool {
        self.key_only
    }

    /// The value, decoded.
    ///
    /// # Errors
    /// A limit reached that views do not have: memory.
    pub fn to_data(&self) -> Result<DynamicData, CdrError> {
        if self.key_only {
            DynamicData::from_key_payload(&self.ty, &self.payload, &self.limits, self.options)
        } else {
            DynamicData::from_payload_with(&self.ty, &self.payload, &self.limits, self.options)
        }
    }

    /// The value, if it is one of the topic's type.
    fn data_of(&self, support: &dyn TypeSupport) -> Result<DynamicData, CdrError> {
        is_of(&self.ty, support)?;
        self.to_data()
    }
}

impl fmt::Debug for SharedView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedView").field(&self.ty.name()).field(&self.view()).finish()
    }
}

impl TopicType for SharedView {
    fn has_key(support: &dyn TypeSupport) -> bool {
        support.has_key()
    }

    fn default_representation(support: &dyn TypeSupport) -> Representation {
        DynamicData::default_representation(support)
    }

    /// Decodes and encodes: the writer may have had another version of the type.
    fn write_payload(
        &self,
        support: &dyn TypeSupport,
        rep: Representation,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        self.data_of(support)?.to_payload(rep, out)
    }

    fn write_key_payload(
        &self,
        support: &dyn TypeSupport,
        rep: Representation,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        self.data_of(support)?.key_payload(rep, out)
    }

    fn hash_key(&self, support: &dyn TypeSupport, scratch: &mut Vec<u8>) -> Result<KeyHash, CdrError> {
        is_of(&self.ty, support)?;
        support.key_hash_with(&self.payload, self.key_only, self.options, scratch)
    }

    fn read_payload(
        support: &dyn TypeSupport,
        payload: &[u8],
        limits: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError> {
        Self::read_shared(support, &SharedBytes::copy_from(payload), limits, options)
    }

    fn read_key_payload(
        support: &dyn TypeSupport,
        payload: &[u8],
        limits: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError> {
        Self::read_shared_key(support, &SharedBytes::copy_from(payload), limits, options)
    }

    fn read_shared(
        support: &dyn TypeSupport,
        payload: &SharedBytes,
        limits: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError> {
        Self::new(of(support)?, payload.clone(), limits, options)
    }

    fn read_shared_key(
        support: &dyn TypeSupport,
        payload: &SharedBytes,
        limits: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError> {
        Self::of_key(of(support)?, payload.clone(), limits, options)
    }
}
