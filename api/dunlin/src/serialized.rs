//! Samples that stay serialized (DDS-XTypes 1.3 §7.4): written and taken as octets, with what the type can find out about them.

use std::any::Any;
use std::sync::Arc;

use dunlin_buf::SharedBytes;
use dunlin_cache::key_hash;
use dunlin_cdr::{
    CdrError, DecodeOptions, EncapsulationHeader, Extensibility, KeyHash, Limits, Representation, TopicType,
    TypeSupport,
};
use dunlin_core::{InstanceHandle, VendorId};
use dunlin_dynamic::{DynamicData, DynamicType};

use crate::content_filter::ContentFilteredTopic;
use crate::topic::Topic;

/// A buffer may be so much larger than the octets in it that are passed on; else they are copied, so as not to keep it.
const TOLERATED: usize = 512;

/// A sample as it was serialized, in any encapsulation: of every topic, see [`Topic::serialized`].
///
/// Readers hand out the octets that arrived, shared and not copied. Writers send octets that are in the representation that they
/// offer as they are, in either byte order; others are converted, if the topic's type is known at run time
/// ([`DynamicType`]), or refused. The key and its hash are taken out of the octets by the type; nothing else is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SerializedData {
    payload: SharedBytes,
    key_only: bool,
    key_hash: Option<KeyHash>,
    /// How the octets deviate from the standard.
    options: DecodeOptions,
    /// A loan of a writer, which is for being written: it goes where it lies.
    lent: bool,
}

impl SerializedData {
    /// A whole sample: the encapsulation header (DDS-XTypes 1.3 §7.6.3.1.2), whose first two octets are the representation
    /// identifier, and the octets after it.
    pub fn new(payload: impl Into<SharedBytes>) -> Self {
        let (key_hash, options) = (None, DecodeOptions::default());
        Self { payload: payload.into(), key_only: false, key_hash, options, lent: false }
    }

    /// A loan that was filled.
    pub(crate) fn lent(payload: SharedBytes, key_hash: Option<KeyHash>) -> Self {
        Self { lent: true, key_hash, ..Self::new(payload) }
    }

    /// Key members alone, for an end of an instance: the same of the key holder type (§7.6.8).
    pub fn key(payload: impl Into<SharedBytes>) -> Self {
        Self { key_only: true, ..Self::new(payload) }
    }

    /// With the key hash, which a topic needs that has nothing of its type but the name; others compute it.
    #[must_use]
    pub fn with_key_hash(self, key_hash: [u8; 16]) -> Self {
        Self { key_hash: Some(key_hash), ..self }
    }

    /// With the key hash of an instance, of a reader of any participant.
    #[must_use]
    pub fn of_instance(self, instance: InstanceHandle) -> Self {
        Self { key_hash: Some(key_hash(instance)), ..self }
    }

    /// As an implementation made it that deviates from the standard: what a reader takes has this already.
    #[must_use]
    pub fn made_by(self, vendor: VendorId) -> Self {
        Self { options: DecodeOptions::for_vendor(vendor), ..self }
    }

    /// The octets, with encapsulation header.
    #[must_use]
    pub fn payload(&self) -> &SharedBytes {
        &self.payload
    }

    /// Whether these are key members alone.
    #[must_use]
    pub const fn is_key(&self) -> bool {
        self.key_only
    }

    /// The representation identifier ([`cdr::representation_id`](crate::cdr::representation_id)).
    #[must_use]
    pub fn representation_id(&self) -> Option<u16> {
        self.header().ok().map(|header| header.id)
    }

    fn header(&self) -> Result<EncapsulationHeader, CdrError> {
        EncapsulationHeader::parse(&self.payload).map(|(header, _)| header)
    }

    /// Whether the octets are what a writer with this representation would have made. What deviates cannot be told by who gets it.
    fn is_as_offered(&self, support: &dyn TypeSupport, rep: Representation) -> Result<bool, CdrError> {
        let is_known = !(support as &dyn Any).is::<Opaque>();
        let deviates = is_known && self.options != DecodeOptions::default();
        Ok(self.header()?.form()?.0 == rep && !deviates)
    }

    /// The value, if the type can make it.
    fn decoded(&self, support: &dyn TypeSupport) -> Result<DynamicData, CdrError> {
        let encapsulation = self.header()?.id;
        let ty = dynamic_type(support).ok_or(CdrError::NotConvertible { encapsulation })?;
        if self.key_only {
            DynamicData::from_key_payload(ty, &self.payload, &Limits::default(), self.options)
        } else {
            DynamicData::from_payload_with(ty, &self.payload, &Limits::default(), self.options)
        }
    }

    fn read(payload: &SharedBytes, key_only: bool, options: DecodeOptions) -> Self {
        Self { key_only, options, ..Self::new(payload.clone()) }
    }
}

fn dynamic_type(support: &dyn TypeSupport) -> Option<&DynamicType> {
    let support: &dyn Any = support;
    support.downcast_ref()
}

impl TopicType for SerializedData {
    fn has_key(support: &dyn TypeSupport) -> bool {
        support.has_key()
    }

    fn default_representation(support: &dyn TypeSupport) -> Representation {
        let own = || support.representations().first().copied().unwrap_or(Representation::Xcdr1);
        dynamic_type(support).map_or_else(own, DynamicType::default_representation)
    }

    fn write_payload(
        &self,
        support: &dyn TypeSupport,
        rep: Representation,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        if self.key_only {
            return Err(CdrError::ForeignType);
        }
        if !self.is_as_offered(support, rep)? {
            return self.decoded(support)?.to_payload(rep, out);
        }
        out.clear();
        out.extend_from_slice(&self.payload);
        Ok(())
    }

    fn as_payload(&self, support: &dyn TypeSupport, rep: Representation) -> Option<&SharedBytes> {
        let tolerable = self.payload.len().saturating_mul(2).max(TOLERATED);
        let keeps_little = self.payload.is_plain() && self.payload.retained_len() <= tolerable;
        let as_offered =
            (keeps_little || self.lent) && !self.key_only && self.is_as_offered(support, rep) == Ok(true);
        as_offered.then_some(&self.payload)
    }

    fn write_key_payload(
        &self,
        support: &dyn TypeSupport,
        rep: Representation,
        out: &mut Vec<u8>,
    ) -> Result<(), CdrError> {
        out.clear();
        if !support.finds_keys() {
            // Then the hash alone names the instance.
            out.extend_from_slice(if self.key_only { &self.payload } else { &[] });
            return Ok(());
        }
        if !self.is_as_offered(support, rep)? {
            return self.decoded(support)?.key_payload(rep, out);
        }
        if self.key_only {
            out.extend_from_slice(&self.payload);
            return Ok(());
        }
        support.key_payload_with(&self.payload, self.options, out)
    }

    fn hash_key(&self, support: &dyn TypeSupport, scratch: &mut Vec<u8>) -> Result<KeyHash, CdrError> {
        if support.finds_keys() {
            support.key_hash_with(&self.payload, self.key_only, self.options, scratch)
        } else {
            self.key_hash.ok_or(CdrError::NoKeyHash)
        }
    }

    fn read_payload(
        _: &dyn TypeSupport,
        payload: &[u8],
        _: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError> {
        Ok(Self::read(&SharedBytes::copy_from(payload), false, options))
    }

    fn read_key_payload(
        _: &dyn TypeSupport,
        payload: &[u8],
        _: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError> {
        Ok(Self::read(&SharedBytes::copy_from(payload), true, options))
    }

    fn read_shared(
        _: &dyn TypeSupport,
        payload: &SharedBytes,
        _: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError> {
        Ok(Self::read(payload, false, options))
    }

    fn read_shared_key(
        _: &dyn TypeSupport,
        payload: &SharedBytes,
        _: &Limits,
        options: DecodeOptions,
    ) -> Result<Self, CdrError> {
        Ok(Self::read(payload, true, options))
    }
}

/// A type of which nothing is known but its name.
pub(crate) struct Opaque {
    pub(crate) name: String,
    pub(crate) keyed: bool,
}

impl TypeSupport for Opaque {
    fn type_name(&self) -> &str {
        &self.name
    }

    fn has_key(&self) -> bool {
        self.keyed
    }

    fn finds_keys(&self) -> bool {
        false
    }

    fn extensibility(&self) -> Extensibility {
        Extensibility::Final
    }

    fn max_key_size(&self) -> Option<usize> {
        None
    }

    fn key_hash_with(
        &self,
        _: &[u8],
        _: bool,
        _: DecodeOptions,
        _: &mut Vec<u8>,
    ) -> Result<KeyHash, CdrError> {
        Err(CdrError::ForeignType)
    }

    fn key_payload_with(&self, _: &[u8], _: DecodeOptions, out: &mut Vec<u8>) -> Result<(), CdrError> {
        out.clear();
        Err(CdrError::ForeignType)
    }
}

impl<T: TopicType> Topic<T> {
    /// The same topic for writers and readers whose samples stay serialized: `DataWriter<SerializedData>` and
    /// `DataReader<SerializedData>`. States, instances, conditions, filters and the announcement of the type are as for `T`, but
    /// what is no value of the type is not dropped.
    #[must_use]
    pub fn serialized(&self) -> Topic<SerializedData> {
        Topic::new(Arc::clone(&self.inner))
    }
}

impl<T: TopicType> ContentFilteredTopic<T> {
    /// The same topic for readers whose samples stay serialized: see [`Topic::serialized`].
    #[must_use]
    pub fn serialized(&self) -> ContentFilteredTopic<SerializedData> {
        ContentFilteredTopic::new(Arc::clone(&self.inner))
    }
}
