//! Setting the listener of a data writer, and calling it.

use std::any::Any;
use std::sync::Arc;

use dunlin_cdr::TopicType;

use super::DataWriterListener;
use crate::status::StatusMask;
use crate::writer::DataWriter;
use crate::writer_inner::{ErasedWriterListener, WriterInner};

impl<T: TopicType> DataWriter<T> {
    /// set_listener: replaces the previous listener, which may still be running on another thread when this returns.
    pub fn set_listener(&self, listener: impl DataWriterListener<T>, mask: StatusMask) {
        self.set_shared_listener(Arc::new(listener), mask);
    }

    /// set_listener with one that others have too, such as [`listener`](Self::listener) gives.
    pub fn set_shared_listener(&self, listener: Arc<dyn DataWriterListener<T>>, mask: StatusMask) {
        self.core().set_listener(Some(erased(listener)), mask);
    }

    /// A listener that does nothing: these statuses do not reach publisher and participant either.
    pub fn consume_statuses(&self, mask: StatusMask) {
        self.core().listener.set(Some((None, mask)));
    }

    /// get_listener: the one set here; `None` without one, and after `consume_statuses`.
    #[must_use]
    pub fn listener(&self) -> Option<Arc<dyn DataWriterListener<T>>> {
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
    listener: Arc<dyn DataWriterListener<T>>,
) -> Arc<dyn ErasedWriterListener> {
    Arc::new(Erased { listener })
}

struct Erased<T: TopicType> {
    listener: Arc<dyn DataWriterListener<T>>,
}

impl<T: TopicType> ErasedWriterListener for Erased<T> {
    fn typed(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn call(&self, core: &Arc<WriterInner>, status: StatusMask) {
        let writer = DataWriter::<T>::from_core(Arc::clone(core));
        match status {
            StatusMask::PUBLICATION_MATCHED => {
                self.listener.on_publication_matched(&writer, writer.publication_matched_status());
            }
            StatusMask::OFFERED_INCOMPATIBLE_QOS => {
                self.listener.on_offered_incompatible_qos(&writer, writer.offered_incompatible_qos_status());
            }
            StatusMask::OFFERED_DEADLINE_MISSED => {
                self.listener.on_offered_deadline_missed(&writer, writer.offered_deadline_missed_status());
            }
            StatusMask::LIVELINESS_LOST => {
                self.listener.on_liveliness_lost(&writer, writer.liveliness_lost_status());
            }
            _ => {}
        }
    }
}
