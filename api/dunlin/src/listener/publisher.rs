//! Setting the listener of a publisher, and calling it.

use std::any::Any;
use std::sync::Arc;

use super::PublisherListener;
use crate::any::AnyDataWriter;
use crate::publisher::Publisher;
use crate::publisher_state::ErasedPublisherListener;
use crate::status::StatusMask;
use crate::writer_inner::WriterInner;

impl Publisher {
    /// set_listener: it hears of what the writers' own listeners do not answer for. Replaces the previous one.
    pub fn set_listener(&self, listener: impl PublisherListener, mask: StatusMask) {
        self.set_shared_listener(Arc::new(listener), mask);
    }

    /// set_listener with one that others have too, such as [`listener`](Self::listener) gives.
    pub fn set_shared_listener(&self, listener: Arc<dyn PublisherListener>, mask: StatusMask) {
        let listener: Arc<dyn ErasedPublisherListener<WriterInner>> = Arc::new(Erased(listener));
        self.state.entity.listener.set(Some((Some(listener), mask)));
    }

    /// A listener that does nothing: these statuses do not reach the participant's listener.
    pub fn consume_statuses(&self, mask: StatusMask) {
        self.state.entity.listener.set(Some((None, mask)));
    }

    /// get_listener: the one set here; `None` without one, and after `consume_statuses`.
    #[must_use]
    pub fn listener(&self) -> Option<Arc<dyn PublisherListener>> {
        let erased = self.state.entity.listener.get()?;
        erased.typed().downcast_ref().map(|Erased(listener)| Arc::clone(listener))
    }

    /// The statuses that a listener set here answers for, or one that does nothing; `None` without either.
    #[must_use]
    pub fn listener_mask(&self) -> Option<StatusMask> {
        self.state.entity.listener.mask()
    }

    /// Removes the listener; one that runs at this moment finishes.
    pub fn clear_listener(&self) {
        self.state.entity.listener.set(None);
    }
}

struct Erased(Arc<dyn PublisherListener>);

impl ErasedPublisherListener<WriterInner> for Erased {
    fn typed(&self) -> &dyn Any {
        self
    }

    fn call(&self, writer: &Arc<WriterInner>, status: StatusMask) {
        call(&*self.0, writer, status);
    }
}

pub(super) fn call<L: PublisherListener + ?Sized>(listener: &L, core: &Arc<WriterInner>, status: StatusMask) {
    let writer = AnyDataWriter::from_core(Arc::clone(core));
    match status {
        StatusMask::PUBLICATION_MATCHED => {
            listener.on_publication_matched(&writer, core.read_status(status, |s| &mut s.matched));
        }
        StatusMask::OFFERED_INCOMPATIBLE_QOS => {
            listener.on_offered_incompatible_qos(&writer, core.read_status(status, |s| &mut s.incompatible));
        }
        StatusMask::OFFERED_DEADLINE_MISSED => {
            listener.on_offered_deadline_missed(&writer, core.read_status(status, |s| &mut s.deadline));
        }
        StatusMask::LIVELINESS_LOST => {
            listener.on_liveliness_lost(&writer, core.read_status(status, |s| &mut s.liveliness));
        }
        _ => {}
    }
}
