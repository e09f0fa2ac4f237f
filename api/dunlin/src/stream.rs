//! Samples as an async stream, without any particular executor.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use dunlin_cdr::TopicType;
use futures_core::Stream;

use crate::reader::DataReader;
use crate::sample::Sample;
use crate::signal::Registration;

/// How many samples one look into the cache takes.
const BATCH: usize = 64;

/// Takes every sample of a reader in turn; ends when the reader is deleted, and not before. Made by [`DataReader::stream`].
#[derive(Debug)]
pub struct SampleStream<T: TopicType> {
    reader: DataReader<T>,
    taken: VecDeque<Sample<T>>,
    place: Registration,
}

impl<T: TopicType> DataReader<T> {
    /// An endless stream of taken samples for async code, on any executor. With access scope GROUP each look into the
    /// reader is an access of its own.
    #[must_use]
    pub fn stream(&self) -> SampleStream<T> {
        SampleStream::new(self.clone())
    }
}

impl<T: TopicType> SampleStream<T> {
    fn new(reader: DataReader<T>) -> Self {
        let place = Registration::new(Arc::clone(&reader.core().signal));
        Self { reader, taken: VecDeque::new(), place }
    }

    /// The next sample, when there is one; `None` when the reader was deleted, as in `while let Some(sample) = stream.next().await`.
    pub async fn next(&mut self) -> Option<Sample<T>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    fn next_taken(&mut self) -> Poll<Option<Sample<T>>> {
        if self.taken.is_empty() {
            let reader = &self.reader;
            let taken = reader.core().in_access(|| reader.take(BATCH));
            self.taken.extend(taken.unwrap_or_default());
        }
        match self.taken.pop_front() {
            None if !self.reader.core().is_deleted() => Poll::Pending,
            sample => Poll::Ready(sample),
        }
    }
}

impl<T: TopicType> Unpin for SampleStream<T> {}

impl<T: TopicType> Stream for SampleStream<T> {
    type Item = Sample<T>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if let Poll::Ready(sample) = this.next_taken() {
            return Poll::Ready(sample);
        }
        this.place.register(context.waker());
        // Data that came between the look and the registration raised the signal too early.
        this.next_taken()
    }
}
