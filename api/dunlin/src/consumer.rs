//! A reader whose data one part of the program takes, whatever listeners others set.

use std::marker::PhantomData;
use std::sync::Arc;

use dunlin_cdr::{CdrError, TopicType};

use crate::reader::DataReader;
use crate::reader_inner::{ErasedReaderListener, ReaderInner};
use crate::sample::{RawSample, Sample};
use crate::status::StatusMask;

struct Consumer<T, F> {
    take: F,
    sample: PhantomData<fn() -> T>,
}

impl<T: TopicType, F: Fn(&DataReader<T>) + Send + Sync> ErasedReaderListener for Consumer<T, F> {
    fn call(&self, core: &Arc<ReaderInner>, _: StatusMask) {
        (self.take)(&DataReader::from_core(Arc::clone(core)));
    }
}

impl<T: TopicType> DataReader<T> {
    /// From now on `take` is called for each arrival of data, and nobody hears of DATA_AVAILABLE or DATA_ON_READERS for this reader
    /// instead of it: neither its listener nor those of subscriber and participant. For code that hands the reader out, whose
    /// users may set listeners of their own, and that has to see all data. What has arrived before waits to be taken.
    ///
    /// It stays as long as the reader, so it must not hold the last handle to it. It runs where listeners run and must not wait.
    /// False if the reader has such a consumer: that stays.
    pub fn consume_data(&self, take: impl Fn(&Self) + Send + Sync + 'static) -> bool {
        let consumer = Consumer { take, sample: PhantomData };
        self.core().consumer.set(Arc::new(consumer)).is_ok()
    }

    /// Decodes what [`take_payloads`](Self::take_payloads) has taken, perhaps much later.
    ///
    /// # Errors
    /// The payload is no value of `T`; it is counted as [undecodable](Self::undecodable_count).
    pub fn decode_raw(&self, sample: RawSample) -> Result<Sample<T>, CdrError> {
        let decoded = Sample::decode(sample.into(), &*self.core().topic.type_support);
        decoded.inspect_err(|_| self.core().count_undecodable())
    }
}
