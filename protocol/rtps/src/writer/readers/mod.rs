//! RTPS 2.5 §8.4.9.1 "RTPS StatefulWriter", matched_readers: the readers of a writer, and what follows from all of them.

mod account;
mod flow;
mod log;
mod long_datagram_path;
mod path_room;
mod proxy;
mod requests;
mod round_trip;
mod routes;
mod silence;

use alloc::boxed::Box;
use alloc::vec::Vec;

pub(crate) use account::RepairAccount;
use dunlin_core::{Behaviour, EntityId, Guid, Locator, SequenceNumber};
pub(crate) use flow::Flow;
pub(crate) use log::{Suppression, WHOLE};
pub(in crate::writer) use long_datagram_path::{LongDatagramPaths, Question};
pub(crate) use proxy::{MAX_KEPT, ReaderProxy, ReaderState, Separation, Terms};
pub(crate) use requests::{FragmentRequest, MAX_REQUEST_INTERVALS, Requests};
pub(crate) use round_trip::RoundTrip;
use routes::Routes;
pub(crate) use silence::Silence;
pub(in crate::writer) use silence::{InactivityWait, Lacking};

use crate::proxy_index::ProxyIndex;
use crate::remembered::{Life, Remembered};

/// The matched readers of one writer.
///
/// They are numbered from 0, ascending by GUID. An index is good until a reader is [inserted](Self::insert) or
/// [removed](Self::remove).
///
/// Order of calls: [`vacancy`](Self::vacancy) and [`insert`](Self::insert) for a new reader, [`acknowledge`](Self::acknowledge)
/// for what it has received, [`remove`](Self::remove) at its end. After that, and after a change through
/// [`get_mut`](Self::get_mut) to locators or state: [`refresh`](Self::refresh). Before [`routes`](Self::routes):
/// [`refresh_routes`](Self::refresh_routes).
#[derive(Debug, Default)]
pub(super) struct Readers {
    // The table
    /// Sorted by GUID; boxed, so that making room among a thousand moves pointers.
    #[expect(clippy::vec_box, reason = "a proxy is a third of a kilobyte")]
    proxies: Vec<Box<ReaderProxy>>,
    /// Their GUIDs in the same order, close together for the search.
    guids: Vec<Guid>,
    /// What readers had acknowledged whose participants were not heard for their lease.
    lost: Remembered<SequenceNumber>,
    /// Those that acknowledge nothing.
    lost_unreliable: Remembered<()>,

    // Those that are sent new data
    routes: Routes,
    /// One of them expects inline QoS.
    inline_qos_expected: bool,
    /// How many of them acknowledge.
    reliable_count: usize,

    // Acknowledgments
    /// Of the reliable readers.
    slowest: Slowest,
    /// Readers that are not waited for, because they are or were inactive.
    lagging: usize,
    /// Of the readers that are waited for; only up to date while others are lagging.
    slowest_active: Slowest,
}

/// The least that some readers have acknowledged. Only when the last of the slowest has moved, all have to be looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slowest {
    acked: Option<SequenceNumber>,
    /// How many have acknowledged no more than that.
    count: usize,
}

impl Slowest {
    fn of(acked: impl Iterator<Item = SequenceNumber> + Clone) -> Self {
        let least = acked.clone().min();
        Self { acked: least, count: acked.filter(|acked| Some(*acked) == least).count() }
    }

    /// One more reader, which has acknowledged so much.
    fn add(&mut self, acked: SequenceNumber) {
        match self.acked {
            Some(least) if least < acked => {}
            Some(least) if least == acked => self.count = self.count.saturating_add(1),
            _ => *self = Self { acked: Some(acked), count: 1 },
        }
    }

    /// A reader that had acknowledged no more than `before` has acknowledged more. True if it was the last of the slowest.
    #[inline]
    fn moved(&mut self, before: SequenceNumber) -> bool {
        if self.acked != Some(before) {
            return false;
        }
        self.count = self.count.saturating_sub(1);
        self.count == 0
    }
}

/// The table.
impl Readers {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.proxies.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.proxies.is_empty()
    }

    /// Of all of them.
    #[inline]
    pub(super) fn indices(&self) -> impl Iterator<Item = ProxyIndex> + use<> {
        ProxyIndex::all(self.proxies.len())
    }

    /// The index of a matched reader.
    #[inline]
    pub(super) fn find(&self, reader: Guid) -> Option<ProxyIndex> {
        self.guids.binary_search(&reader).ok().map(ProxyIndex::new)
    }

    /// The index that a new reader will have; `None` if it is matched already.
    pub(super) fn vacancy(&self, reader: Guid) -> Option<ProxyIndex> {
        self.guids.binary_search(&reader).err().map(ProxyIndex::new)
    }

    /// A place that names none is a mistake of this crate, never of a peer: what peers name is looked up by GUID first.
    #[inline]
    pub(super) fn get(&self, index: ProxyIndex) -> Option<&ReaderProxy> {
        debug_assert!(index.get() < self.proxies.len(), "no reader at {index:?}");
        self.proxies.get(index.get()).map(|proxy| &**proxy)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: ProxyIndex) -> Option<&mut ReaderProxy> {
        debug_assert!(index.get() < self.proxies.len(), "no reader at {index:?}");
        self.proxies.get_mut(index.get()).map(|proxy| &mut **proxy)
    }

    /// A matched reader.
    pub(super) fn by_guid(&self, reader: Guid) -> Option<&ReaderProxy> {
        self.get(self.find(reader)?)
    }

    /// A matched reader, to be changed.
    pub(super) fn by_guid_mut(&mut self, reader: Guid) -> Option<&mut ReaderProxy> {
        let index = self.find(reader)?;
        self.get_mut(index)
    }

    #[inline]
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &ReaderProxy> + DoubleEndedIterator + Clone {
        self.proxies.iter().map(|proxy| &**proxy)
    }

    #[inline]
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut ReaderProxy> {
        self.proxies.iter_mut().map(|proxy| &mut **proxy)
    }

    /// All readers but one.
    pub(super) fn others(&self, than: ProxyIndex) -> impl Iterator<Item = &ReaderProxy> {
        self.iter().enumerate().filter(move |(place, _)| *place != than.get()).map(|(_, proxy)| proxy)
    }

    /// Adds a reader where there is a [vacancy](Self::vacancy) for it. Where new data goes is found out when there is some: a
    /// writer that meets a thousand readers need not do so a thousand times.
    pub(super) fn insert(&mut self, slot: ProxyIndex, proxy: ReaderProxy) {
        debug_assert_eq!(self.vacancy(proxy.guid()), Some(slot), "sorted by GUID, each once");
        self.routes.outdate();
        if proxy.state != ReaderState::CatchingUp {
            self.inline_qos_expected |= proxy.cfg.expects_inline_qos;
            self.reliable_count = self.reliable_count.saturating_add(usize::from(proxy.reliable));
        }
        if proxy.reliable {
            self.slowest.add(proxy.acked);
        }
        self.guids.insert(slot.get(), proxy.guid());
        self.proxies.insert(slot.get(), Box::new(proxy));
        self.refresh_active();
    }

    /// Takes a reader out; [`refresh`](Self::refresh) has to follow.
    pub(super) fn remove(&mut self, index: ProxyIndex) {
        self.guids.remove(index.get());
        self.proxies.remove(index.get());
    }

    /// Remembers how far a reader is that is about to be removed, in case it is met again in the same life.
    pub(super) fn remember(&mut self, reader: Guid, life: Life) {
        match self.by_guid(reader).map(|proxy| (proxy.reliable, proxy.acked)) {
            Some((true, acked)) => self.lost.put(reader, life, acked),
            Some((false, _)) => self.lost_unreliable.put(reader, life, ()),
            None => {}
        }
    }

    /// How far a reader was when it was lost in the same life; it is remembered no more.
    pub(super) fn recall(&mut self, reader: Guid, life: Option<Life>) -> Option<SequenceNumber> {
        self.lost.take(reader, life)
    }

    /// Whether a reader that acknowledges nothing was lost in the same life; it is remembered no more.
    pub(super) fn recall_unreliable(&mut self, reader: Guid, life: Option<Life>) -> bool {
        self.lost_unreliable.take(reader, life).is_some()
    }

    /// Recomputes everything that is derived from the set of readers, but for the destinations of new data.
    pub(super) fn refresh(&mut self) {
        self.routes.outdate();
        let live = self.iter().filter(|proxy| proxy.is_sent_new_data());
        let inline_qos_expected = live.clone().any(|proxy| proxy.cfg.expects_inline_qos);
        let reliable_count = live.filter(|proxy| proxy.reliable).count();
        (self.inline_qos_expected, self.reliable_count) = (inline_qos_expected, reliable_count);
        self.refresh_acked();
        self.count_lagging();
    }

    /// Whom a message for one reader names if it has no room for INFO_DST: nobody, so that the other readers of the
    /// participant have it as well, unless one of them would take the change for new. One that has just come would, where no
    /// other one is known or where it is best effort.
    pub(super) fn addressee(&self, index: ProxyIndex, sn: SequenceNumber) -> EntityId {
        let Some(guid) = self.guids.get(index.get()) else { return EntityId::UNKNOWN };
        // Sorted by GUID, those of a participant stand together.
        let (before, after) = self.proxies.split_at(index.get().min(self.proxies.len()));
        let neighbour = |proxy: &&ReaderProxy| proxy.guid().prefix == guid.prefix;
        let before = before.iter().map(|proxy| &**proxy).rev().take_while(neighbour);
        let after = after.iter().map(|proxy| &**proxy).take_while(neighbour);
        let mut together = before.chain(after);
        let alone = together.clone().nth(1).is_none();
        let best_effort = self.proxies.get(index.get()).is_some_and(|proxy| !proxy.reliable);
        let named = alone || best_effort || together.any(|proxy| proxy.takes_for_new(sn));
        if named { guid.entity_id } else { EntityId::UNKNOWN }
    }

    /// A reader needs the work-around for short keys.
    pub(super) fn misread_short_keys(&self) -> bool {
        self.iter().any(|proxy| proxy.cfg.vendor.does(Behaviour::MisreadsShortKeys))
    }
}

/// Those that are sent new data.
impl Readers {
    /// Whether one of them expects inline QoS.
    #[inline]
    pub(super) fn expect_inline_qos(&self) -> bool {
        self.inline_qos_expected
    }

    /// Whether one of them acknowledges.
    #[inline]
    pub(super) fn acknowledge_any(&self) -> bool {
        self.reliable_count > 0
    }

    /// Whether a reader is still being sent the history before new data.
    #[inline]
    pub(super) fn catch_up(&self) -> bool {
        self.iter().any(|proxy| proxy.state == ReaderState::CatchingUp)
    }

    /// The only reader that the change that is just leaving is meant for; `None` if there are none or several.
    pub(super) fn only_receiver(&self) -> Option<ProxyIndex> {
        let mut receivers = self.iter().enumerate().filter(|(_, proxy)| proxy.is_receiver());
        let (index, _) = receivers.next()?;
        receivers.next().is_none().then_some(ProxyIndex::new(index))
    }

    /// Where new data goes, as of the last [`refresh_routes`](Self::refresh_routes).
    #[inline]
    pub(super) fn routes(&self) -> &[Locator] {
        self.routes.destinations()
    }

    /// Whether the set of readers has changed since then.
    #[inline]
    pub(super) fn routes_are_stale(&self) -> bool {
        self.routes.is_stale()
    }

    /// Derives where new data goes from the set of readers; false if that is known.
    #[inline]
    pub(super) fn refresh_routes(&mut self) -> bool {
        self.routes.refresh(&self.proxies, ReaderProxy::is_sent_new_data)
    }

    /// Where a message goes that is for these readers alone: if `by_group`, to groups where that saves sending.
    pub(super) fn cover(&mut self, by_group: bool, wanted: impl Fn(&ReaderProxy) -> bool) -> &[Locator] {
        self.routes.cover(&self.proxies, by_group, wanted)
    }
}

/// Acknowledgments.
impl Readers {
    /// The least that a reliable reader has acknowledged; `None` without such readers.
    #[inline]
    pub(super) fn acked(&self) -> Option<SequenceNumber> {
        self.slowest.acked
    }

    /// The least that a reader has acknowledged that is waited for; `None` without such readers.
    #[inline]
    pub(super) fn acked_by_active(&self) -> Option<SequenceNumber> {
        if self.lagging == 0 { self.slowest.acked } else { self.slowest_active.acked }
    }

    /// Readers that are not waited for.
    #[inline]
    pub(super) fn lagging(&self) -> usize {
        self.lagging
    }

    /// A reliable reader has received everything up to `through`. True when that is news.
    pub(super) fn acknowledge(&mut self, index: ProxyIndex, through: SequenceNumber) -> bool {
        let Some(proxy) = self.get_mut(index).filter(|proxy| proxy.acked < through) else { return false };
        let before = proxy.acked;
        proxy.acknowledge(through);
        if proxy.is_waited_for() && self.lagging > 0 && self.slowest_active.moved(before) {
            self.refresh_active();
        }
        if self.slowest.moved(before) {
            self.refresh_acked();
        }
        true
    }

    /// A reader has acknowledged something. If it was inactive and has caught up by that, it is waited for again; its GUID then.
    pub(super) fn readmit(&mut self, index: ProxyIndex) -> Option<Guid> {
        if self.lagging == 0 {
            return None;
        }
        let proxy = self.get_mut(index).filter(|proxy| proxy.has_returned())?;
        proxy.state = ReaderState::Active;
        let guid = proxy.guid();
        self.count_lagging();
        Some(guid)
    }

    fn refresh_acked(&mut self) {
        self.slowest = Slowest::of(self.iter().filter(|proxy| proxy.reliable).map(|proxy| proxy.acked));
    }

    fn count_lagging(&mut self) {
        self.lagging = self.iter().filter(|proxy| proxy.state.is_lagging()).count();
        self.refresh_active();
    }

    fn refresh_active(&mut self) {
        if self.lagging > 0 {
            let waited_for = self.iter().filter(|proxy| proxy.is_waited_for());
            self.slowest_active = Slowest::of(waited_for.map(|proxy| proxy.acked));
        }
    }
}

#[cfg(test)]
mod tests;
