//! Setting the listener of a subscriber, and calling it.

use std::any::Any;
use std::sync::Arc;

use super::SubscriberListener;
use crate::any::AnyDataReader;
use crate::reader_inner::ReaderInner;
use crate::status::StatusMask;
use crate::subscriber::Subscriber;
use crate::subscriber_state::ErasedSubscriberListener;

impl Subscriber {
    /// set_listener: it hears of what the readers' own listeners do not answer for, and with DATA_ON_READERS in the mask of
    /// all data. Replaces the previous one.
    pub fn set_listener(&self, listener: impl SubscriberListener, mask: StatusMask) {
        self.set_shared_listener(Arc::new(listener), mask);
    }

    /// set_listener with one that others have too, such as [`listener`](Self::listener) gives.
    pub fn set_shared_listener(&self, listener: Arc<dyn SubscriberListener>, mask: StatusMask) {
        let listener: Arc<dyn ErasedSubscriberListener<ReaderInner>> = Arc::new(Erased(listener));
        self.state.entity.listener.set(Some((Some(listener), mask)));
    }

    /// A listener that does nothing: these statuses do not reach the participant's listener.
    pub fn consume_statuses(&self, mask: StatusMask) {
        self.state.entity.listener.set(Some((None, mask)));
    }

    /// get_listener: the one set here; `None` without one, and after `consume_statuses`.
    #[must_use]
    pub fn listener(&self) -> Option<Arc<dyn SubscriberListener>> {
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

struct Erased(Arc<dyn SubscriberListener>);

impl ErasedSubscriberListener<ReaderInner> for Erased {
    fn typed(&self) -> &dyn Any {
        self
    }

    fn call(&self, reader: &Arc<ReaderInner>, status: StatusMask) {
        call(&*self.0, reader, status);
    }

    fn call_data_on_readers(&self, reader: &Arc<ReaderInner>) {
        self.0.on_data_on_readers(&reader.subscriber());
    }
}

pub(super) fn call<L: SubscriberListener + ?Sized>(
    listener: &L,
    core: &Arc<ReaderInner>,
    status: StatusMask,
) {
    let reader = AnyDataReader::from_core(Arc::clone(core));
    match status {
        StatusMask::DATA_AVAILABLE => listener.on_data_available(&reader),
        StatusMask::SUBSCRIPTION_MATCHED => {
            listener.on_subscription_matched(&reader, core.read_status(status, |s| &mut s.matched));
        }
        StatusMask::REQUESTED_INCOMPATIBLE_QOS => {
            let read = core.read_status(status, |s| &mut s.incompatible);
            listener.on_requested_incompatible_qos(&reader, read);
        }
        StatusMask::REQUESTED_DEADLINE_MISSED => {
            listener.on_requested_deadline_missed(&reader, core.read_status(status, |s| &mut s.deadline));
        }
        StatusMask::LIVELINESS_CHANGED => {
            listener.on_liveliness_changed(&reader, core.read_status(status, |s| &mut s.liveliness));
        }
        StatusMask::SAMPLE_LOST => listener.on_sample_lost(&reader, core.read_lost()),
        StatusMask::SAMPLE_REJECTED => {
            listener.on_sample_rejected(&reader, core.read_status(status, |s| &mut s.rejected));
        }
        _ => {}
    }
}
