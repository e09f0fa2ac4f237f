//! Setting the listener of a data reader, and calling it.

use std::any::Any;
use std::sync::Arc;

use dunlin_cdr::TopicType;

use super::DataReaderListener;
use crate::reader::DataReader;
use crate::reader_inner::{ErasedReaderListener, ReaderInner};
use crate::status::StatusMask;

impl<T: TopicType> DataReader<T> {
    /// set_listener: replaces the previous listener, which may still be running on another thread when this returns. A closure `|reader| …` is a listener for
    /// DATA_AVAILABLE.
    pub fn set_listener(&self, listener: impl DataReaderListener<T>, mask: StatusMask) {
        self.set_shared_listener(Arc::new(listener), mask);
    }

    /// set_listener with one that others have too, such as [`listener`](Self::listener) gives.
    pub fn set_shared_listener(&self, listener: Arc<dyn DataReaderListener<T>>, mask: StatusMask) {
        self.core().set_listener(Some(erased(listener)), mask);
    }

    /// A listener that does nothing: these statuses do not reach subscriber and participant either.
    pub fn consume_statuses(&self, mask: StatusMask) {
        self.core().listener.set(Some((None, mask)));
    }

    /// get_listener: the one set here; `None` without one, and after `consume_statuses`.
    #[must_use]
    pub fn listener(&self) -> Option<Arc<dyn DataReaderListener<T>>> {
        let erased = self.core().listener.get()?;
        erased.typed()?.downcast_ref::<Erased<T>>().map(|erased| Arc::clone(&erased.listener))
    }

    /// The statuses that a listener set here answers for, or one that does nothing; `None` without either.
    #[must_use]
    pub fn listener_mask(&self) -> Option<StatusMask> {
        self.core().listener.mask()
    }

    /// Removes the listener; one that runs at this moment finishes.
    pub fn clear_listener(&self) {
        self.core().set_listener(None, StatusMask::NONE);
    }
}

/// A listener without the type of its samples.
pub(crate) fn erased<T: TopicType>(
    listener: Arc<dyn DataReaderListener<T>>,
) -> Arc<dyn ErasedReaderListener> {
    Arc::new(Erased { listener })
}

struct Erased<T: TopicType> {
    listener: Arc<dyn DataReaderListener<T>>,
}

impl<T: TopicType> ErasedReaderListener for Erased<T> {
    fn typed(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn call(&self, core: &Arc<ReaderInner>, status: StatusMask) {
        let reader = DataReader::<T>::from_core(Arc::clone(core));
        let listener = &self.listener;
        match status {
            StatusMask::DATA_AVAILABLE => listener.on_data_available(&reader),
            StatusMask::SUBSCRIPTION_MATCHED => {
                listener.on_subscription_matched(&reader, reader.subscription_matched_status());
            }
            StatusMask::REQUESTED_INCOMPATIBLE_QOS => {
                listener.on_requested_incompatible_qos(&reader, reader.requested_incompatible_qos_status());
            }
            StatusMask::REQUESTED_DEADLINE_MISSED => {
                listener.on_requested_deadline_missed(&reader, reader.requested_deadline_missed_status());
            }
            StatusMask::LIVELINESS_CHANGED => {
                listener.on_liveliness_changed(&reader, reader.liveliness_changed_status());
            }
            StatusMask::SAMPLE_LOST => listener.on_sample_lost(&reader, reader.sample_lost_status()),
            StatusMask::SAMPLE_REJECTED => {
                listener.on_sample_rejected(&reader, reader.sample_rejected_status())
            }
            _ => {}
        }
    }
}
