//! The QoS of an entity: every policy may change until it is enabled, then the changeable ones (DDS 1.4 §2.2.2.1.1.1 set_qos).

use std::sync::Mutex;

use crate::error::SetQosError;
use crate::mutex::lock;

/// A QoS, and whether its immutable policies stay.
///
/// Whoever sets it applies it afterwards, reading it anew; whoever enables the entity holds its policies first, and applies
/// once more when it is made. So the last of several threads to apply applies what is there at last.
pub(crate) struct QosCell<Q>(Mutex<Held<Q>>);

struct Held<Q> {
    qos: Q,
    /// How many threads have enabled it, or are about to.
    holds: u32,
}

impl<Q: Clone> QosCell<Q> {
    pub(crate) fn new(qos: Q) -> Self {
        Self(Mutex::new(Held { qos, holds: 0 }))
    }

    pub(crate) fn get(&self) -> Q {
        lock(&self.0).qos.clone()
    }

    /// What `look` sees of it.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&Q) -> R) -> R {
        look(&lock(&self.0).qos)
    }

    /// Replaces it, unless `check` has an objection, which is asked once the immutable policies stay.
    pub(crate) fn set<E: Into<SetQosError>>(
        &self,
        new: &Q,
        check: impl FnOnce(&Q, &Q) -> Result<(), E>,
    ) -> Result<(), SetQosError> {
        let mut held = lock(&self.0);
        if held.holds > 0 {
            check(&held.qos, new).map_err(Into::into)?;
        }
        held.qos = new.clone();
        Ok(())
    }

    /// From now on the immutable policies stay.
    pub(crate) fn hold(&self) {
        self.hold_if(|_| true);
    }

    /// The same if `fits` is true of it; whether it is.
    pub(crate) fn hold_if(&self, fits: impl FnOnce(&Q) -> bool) -> bool {
        let mut held = lock(&self.0);
        let fits = fits(&held.qos);
        held.holds = held.holds.saturating_add(u32::from(fits));
        fits
    }

    /// It was not enabled after all.
    pub(crate) fn release(&self) {
        let mut held = lock(&self.0);
        held.holds = held.holds.saturating_sub(1);
    }
}
