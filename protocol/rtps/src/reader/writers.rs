//! The matched writers of a reader (RTPS 2.5 §8.4.10.3), by their places.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

use super::proxy::WriterProxy;
use crate::proxy_index::ProxyIndex;

/// In the order of their GUIDs. A place that names none is a mistake of this crate, never of a peer: what peers name is looked up
/// by GUID first. Builds with assertions stop there, others pass over it.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "a proxy is a third of a kilobyte")]
pub(super) struct Writers(Vec<Box<WriterProxy>>);

impl Writers {
    /// Of all of them.
    pub(super) fn indices(&self) -> impl Iterator<Item = ProxyIndex> + use<> {
        ProxyIndex::all(self.0.len())
    }

    #[inline]
    pub(super) fn get(&self, index: ProxyIndex) -> Option<&WriterProxy> {
        debug_assert!(index.get() < self.0.len(), "no writer at {index:?}");
        self.0.get(index.get()).map(|proxy| &**proxy)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: ProxyIndex) -> Option<&mut WriterProxy> {
        debug_assert!(index.get() < self.0.len(), "no writer at {index:?}");
        self.0.get_mut(index.get()).map(|proxy| &mut **proxy)
    }
}

impl Deref for Writers {
    type Target = Vec<Box<WriterProxy>>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Writers {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}
