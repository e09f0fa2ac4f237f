//! What a reader returns.

use dunlin_buf::SharedBytes;
use dunlin_cache::{CachedSample, SampleInfo};
use dunlin_cdr::{CdrError, Limits, TopicType, TypeSupport};

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

/// A sample still serialized: decode it into a borrowed view with [`crate::cdr::from_payload`] or pass
/// it on as it is.
#[derive(Clone, Debug)]
pub struct RawSample {
    /// State, time, instance and writer of the sample (SampleInfo).
    pub info: SampleInfo,
    /// The serialized value with its encapsulation header; `None` when `valid_data` is false.
    pub payload: Option<SharedBytes>,
    /// For a sample without data, the serialized key with its encapsulation header, where the key is known.
    pub key: Option<SharedBytes>,
}

impl<T: TopicType> Sample<T> {
    pub(crate) fn decode(sample: CachedSample, support: &dyn TypeSupport) -> Result<Self, CdrError> {
        let limits = Limits::default();
        let data = match &sample.payload {
            Some(payload) if sample.info.valid_data => Some(T::read_payload(support, payload, &limits)?),
            _ => None,
        };
        let key = sample.key.as_ref().and_then(|key| T::read_key_payload(support, key, &limits).ok());
        Ok(Self { info: sample.info, data, key })
    }
}
