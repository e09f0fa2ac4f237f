//! What a reader returns.

use dunlin_buf::SharedBytes;
use dunlin_cache::{CachedSample, SampleInfo};
use dunlin_cdr::{CdrError, DecodeOptions, Limits, TopicType, TypeSupport};
use dunlin_core::VendorId;

/// A sample, or a change of its instance's state without data.
#[derive(Clone, Debug)]
pub struct Sample<T> {
    /// State, time, instance and writer of the sample (SampleInfo).
    pub info: SampleInfo,
    /// The value; `None` for a change of instance state only (`valid_data` is false).
    pub data: Option<T>,
    /// For a sample without data, a value of which only the key fields are set, where the key is known.
    pub key: Option<T>,
}

/// A sample still serialized: decode it into a borrowed view with [`crate::cdr::from_payload_with`] or pass
/// it on as it is.
#[derive(Clone, Debug)]
pub struct RawSample {
    /// State, time, instance and writer of the sample (SampleInfo).
    pub info: SampleInfo,
    /// The serialized value with its encapsulation header; `None` when `valid_data` is false.
    pub payload: Option<SharedBytes>,
    /// For a sample without data, the serialized key with its encapsulation header, where the key is known.
    pub key: Option<SharedBytes>,
    /// Whose implementation serialized it, for [`crate::cdr::DecodeOptions::for_vendor`]; unknown if it is as the
    /// standard says.
    pub vendor: VendorId,
}

impl RawSample {
    /// Whether the payload lies where its writer put it, in memory that both share: dropping it gives it back.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.payload.as_ref().is_some_and(|payload| payload.memory().is_some())
    }
}

impl From<CachedSample> for RawSample {
    fn from(CachedSample { info, payload, key, vendor }: CachedSample) -> Self {
        Self { info, payload, key, vendor }
    }
}

impl From<RawSample> for CachedSample {
    fn from(RawSample { info, payload, key, vendor }: RawSample) -> Self {
        Self { info, payload, key, vendor }
    }
}

impl<T: TopicType> Sample<T> {
    pub(crate) fn decode(sample: CachedSample, support: &dyn TypeSupport) -> Result<Self, CdrError> {
        let (limits, options) = (Limits::default(), DecodeOptions::for_vendor(sample.vendor));
        let data = match &sample.payload {
            Some(payload) if sample.info.valid_data => {
                let value = T::read_shared(support, payload, &limits, options)?;
                if !payload.is_intact() {
                    return Err(CdrError::LostMemory);
                }
                Some(value)
            }
            _ => None,
        };
        let key = sample.key.as_ref().and_then(|key| T::read_shared_key(support, key, &limits, options).ok());
        Ok(Self { info: sample.info, data, key })
    }
}

#[cfg(test)]
mod tests {
    use dunlin_cache::{InstanceState, SampleState, ViewState};
    use dunlin_cdr::{DdsType, TypeSupportOf, WString};
    use dunlin_core::{InstanceHandle, SequenceNumber, WallTime};

    use super::*;

    #[derive(Clone, Debug, PartialEq, DdsType)]
    #[dds(crate = "dunlin_cdr", final)]
    struct Wide {
        #[dds(key)]
        text: WString,
    }

    fn cached(vendor: VendorId, payload: Option<&[u8]>, key: Option<&[u8]>) -> CachedSample {
        let info = SampleInfo {
            sample_state: SampleState::NotRead,
            view_state: ViewState::New,
            instance_state: InstanceState::Alive,
            disposed_generation_count: 0,
            no_writers_generation_count: 0,
            sample_rank: 0,
            generation_rank: 0,
            absolute_generation_rank: 0,
            source_timestamp: WallTime(0),
            reception_timestamp: WallTime(0),
            instance_handle: InstanceHandle::NIL,
            publication_handle: InstanceHandle::NIL,
            sequence_number: SequenceNumber(1),
            valid_data: payload.is_some(),
            related_sample: None,
            original_sample: None,
        };
        let shared = |octets: &[u8]| SharedBytes::copy_from(octets);
        CachedSample { info, payload: payload.map(shared), key: key.map(shared), vendor }
    }

    /// Fast DDS counts the units of a wide string, not its octets.
    #[test]
    fn samples_and_keys_are_read_as_their_writer_made_them() {
        let of_units = [0, 1, 0, 0, 2, 0, 0, 0, b'h', 0, b'i', 0];
        let of_octets = [0, 1, 0, 0, 4, 0, 0, 0, b'h', 0, b'i', 0];
        let hi = Wide { text: WString::from("hi") };
        for (vendor, octets) in [(VendorId::FAST_DDS, of_units), (VendorId::CYCLONE_DDS, of_octets)] {
            let decode = |sample| Sample::<Wide>::decode(sample, &TypeSupportOf::<Wide>::new()).unwrap();
            assert_eq!(decode(cached(vendor, Some(&octets), None)).data.as_ref(), Some(&hi));
            assert_eq!(decode(cached(vendor, None, Some(&octets))).key.as_ref(), Some(&hi));
        }
    }
}
