//! What the middleware has to know of a type at run time (DDS 1.4 §2.2.2.3.6).

use alloc::vec::Vec;
use core::any::Any;

use dunlin_cdr::{
    CdrError, DecodeOptions, Decoder, Extensibility, KeyHash, Limits, Representation, Scope, TopicType,
    TypeRef, TypeSupport,
};

use crate::{DynamicData, DynamicType};

impl TypeSupport for DynamicType {
    fn type_name(&self) -> &str {
        self.name()
    }

    fn has_key(&self) -> bool {
        self.is_keyed()
    }

    fn extensibility(&self) -> Extensibility {
        self.view().extensibility()
    }

    fn max_key_size(&self) -> Option<usize> {
        Self::max_key_size(self)
    }

    fn description(&self) -> Option<TypeRef> {
        self.describe().ok()
    }

    fn key_hash_with(
        &self,
        payload: &[u8],
        key_only: bool,
        options: DecodeOptions,
        scratch: &mut Vec<u8>,
    ) -> Result<KeyHash, CdrError> {
        if !self.is_keyed() {
            return Ok([0; 16]);
        }
        let scope = if key_only { Scope::Key } else { Scope::Sample };
        let d = Decoder::from_payload(payload, self.view().extensibility(), &Limits::default())?;
        let mut d = d.with_scope(scope).with_options(options);
        DynamicData::read_key(self, &mut d)?.key_hash(scratch)
    }

    fn key_payload_with(
        &self,
        payload: &[u8],
        options: DecodeOptions,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        out.clear();
        let mut d = Decoder::from_payload(payload, self.view().extensibility(), &Limits::default())?
            .with_options(options);
        let representation = d.representation();
        DynamicData::read_key(self, &mut d)?.key_payload(representation, out)
    }
}

/// The type of a topic of values known at run time.
pub(crate) fn of(support: &dyn TypeSupport) -> Result<&DynamicType, CdrError> {
    let support: &dyn Any = support;
    support.downcast_ref().ok_or(CdrError::ForeignType)
}

/// Values of a type are those of a topic.
pub(crate) fn is_of(ty: &DynamicType, support: &dyn TypeSupport) -> Result<(), CdrError> {
    if ty.is_same(of(support)?) { Ok(()) } else { Err(CdrError::ForeignType) }
}

impl TopicType for DynamicData {
    fn has_key(support: &dyn TypeSupport) -> bool {
        support.has_key()
    }

    fn default_representation(support: &dyn TypeSupport) -> Representation {
        of(support).map_or(Representation::Xcdr1, DynamicType::default_representation)
    }

    fn write_payload(
        &self,
        support: &dyn TypeSupport,
        rep: Representation,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        is_of(self.dynamic_type(), support)?;
        self.to_payload(rep, out)
    }

    fn write_key_payload(
        &self,
        support: &dyn TypeSupport,
        rep: Representation,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        is_of(self.dynamic_type(), support)?;
        self.key_payload(rep, out)
    }

    fn hash_key(&self, support: &dyn TypeSupport, scratch: &mut Vec<u8>) -> Result<KeyHash, CdrError> {
        is_of(self.dynamic_type(), support)?;
        self.key_hash(scratch)
    }

    fn read_payload(
        support: &dyn TypeSupport,
        payload: &[u8],
        limits: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError> {
        Self::from_payload_with(of(support)?, payload, limits, options)
    }

    fn read_key_payload(
        support: &dyn TypeSupport,
        payload: &[u8],
        limits: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError> {
        Self::from_key_payload(of(support)?, payload, limits, options)
    }
}
