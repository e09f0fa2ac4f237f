//! RTPS 2.5 §8.4.9.2 ReaderProxy, §8.4.10.4 WriterProxy: which of those of an endpoint.

/// The place of a proxy in the table of its endpoint, which gives it out. It holds until a proxy comes or goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ProxyIndex(usize);

impl ProxyIndex {
    #[inline]
    pub(crate) fn new(place: usize) -> Self {
        Self(place)
    }

    #[inline]
    pub(crate) fn get(self) -> usize {
        self.0
    }

    /// All places of a table of so many proxies.
    #[inline]
    pub(crate) fn all(count: usize) -> impl Iterator<Item = Self> + Clone {
        (0..count).map(Self)
    }
}
