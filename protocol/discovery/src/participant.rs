//! What is remembered of one remote participant: RTPS 2.5 §8.5.3.3 (leases) and our quotas.

use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use dunlin_core::{Duration, EntityId, GuidPrefix, Locator, MonoTime, SequenceNumber};

use crate::{
    config::{GoodbyeSecret, Locators, Quotas},
    data::ParticipantData,
    goodbye::{Doubt, Latest},
    liveliness::AssertionTimes,
    places::Places,
    reach::Reach,
    unverified::Unverified,
};

/// The lease of a participant that is not verified, if it asks for more: its announcement may be forged.
pub(crate) const UNVERIFIED_LEASE: Duration = Duration::from_secs(10);

/// The lease of anybody who asks for more, for ever even: without a sign of life nothing is sent for longer.
pub(crate) const LONGEST_LEASE: Duration = Duration::from_secs(3_600);

/// What announcements that are remembered take.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Account {
    /// Octets as they were received.
    pub(crate) octets: usize,
    pub(crate) endpoints: usize,
}

impl Account {
    pub(crate) const fn with(self, other: Self) -> Self {
        Self {
            octets: self.octets.saturating_add(other.octets),
            endpoints: self.endpoints.saturating_add(other.endpoints),
        }
    }

    /// Without what was added before.
    pub(crate) const fn without(self, other: Self) -> Self {
        debug_assert!(
            other.octets <= self.octets && other.endpoints <= self.endpoints,
            "it was added before"
        );
        Self {
            octets: self.octets.saturating_sub(other.octets),
            endpoints: self.endpoints.saturating_sub(other.endpoints),
        }
    }
}

/// A remote participant.
#[derive(Debug)]
pub(crate) struct RemoteParticipant {
    pub(crate) data: Arc<ParticipantData>,
    /// Its default locators as its endpoints have them.
    places: (Arc<[Locator]>, Arc<[Locator]>),
    /// All locators it announced, once it is verified those with which it has shown that it receives there.
    pub(crate) announced: Locators,
    pub(crate) reach: Reach,
    /// The announcement as it was received; the same octets again only renew the lease.
    pub(crate) payload: Box<[u8]>,
    /// Which of its announcements that was.
    pub(crate) latest: Latest,
    pub(crate) since: MonoTime,
    pub(crate) expires: MonoTime,
    /// When its built-in endpoints were last heard from an address where it is believed to be.
    pub(crate) heard: MonoTime,
    /// Where it is believed to receive and to speak, once it is verified.
    pub(crate) whereabouts: Places,
    /// Nothing has come from it yet: a server has told of it.
    pub(crate) introduced: bool,
    /// Its lease was prolonged since it was last heard, because this participant stood still itself.
    pub(crate) spared: bool,
    /// Until it is verified.
    pub(crate) unverified: Option<Box<Unverified>>,
    /// When it last reached this participant by multicast, so the opposite direction is taken to work too.
    pub(crate) heard_by_multicast: Option<MonoTime>,
    /// That nothing of it arrives by multicast has been told.
    pub(crate) told_of_groups: bool,
    /// Until when it is announced to by unicast because it does so itself.
    pub(crate) directed_until: Option<MonoTime>,
    /// Places that its endpoints have, some of which may have gone.
    pub(crate) endpoint_places: BTreeSet<Locator>,
    /// A goodbye in its name that proves nothing, until it has shown that it is still there.
    pub(crate) doubt: Option<Box<Doubt>>,
    /// It has announced hashes of different secrets: no goodbye proves anything.
    pub(crate) hash_varies: bool,
    /// The secret that its goodbye has proven itself with.
    pub(crate) left_with: Option<Box<GoodbyeSecret>>,
    /// What it says of its manual writers.
    pub(crate) assertion_times: AssertionTimes,
    /// The announcement of each of its endpoints.
    announcements: BTreeMap<EntityId, Announcement>,
    account: Account,
}

/// A participant that the caller has met: only a mistake of ours asks for one that has gone since.
pub(crate) fn found(
    known: &BTreeMap<GuidPrefix, Box<RemoteParticipant>>,
    prefix: GuidPrefix,
) -> Option<&RemoteParticipant> {
    let participant = known.get(&prefix);
    debug_assert!(participant.is_some(), "{prefix} is not there any more");
    participant.map(|participant| &**participant)
}

/// The same, to be changed.
pub(crate) fn found_mut(
    known: &mut BTreeMap<GuidPrefix, Box<RemoteParticipant>>,
    prefix: GuidPrefix,
) -> Option<&mut RemoteParticipant> {
    let participant = known.get_mut(&prefix);
    debug_assert!(participant.is_some(), "{prefix} is not there any more");
    participant.map(|participant| &mut **participant)
}

impl RemoteParticipant {
    pub(crate) fn new(
        data: ParticipantData,
        announced: Locators,
        reach: Reach,
        payload: Box<[u8]>,
        latest: Latest,
        now: MonoTime,
    ) -> Self {
        Self {
            expires: now.plus(data.lease_duration.min(UNVERIFIED_LEASE)),
            heard: now,
            whereabouts: Places::default(),
            introduced: false,
            spared: false,
            unverified: Some(Box::default()),
            places: places(&data),
            data: Arc::new(data),
            announced,
            reach,
            account: Account { octets: payload.len(), endpoints: 0 },
            payload,
            latest,
            since: now,
            heard_by_multicast: None,
            told_of_groups: false,
            directed_until: None,
            endpoint_places: BTreeSet::new(),
            doubt: None,
            hash_varies: false,
            left_with: None,
            assertion_times: AssertionTimes::new(now),
            announcements: BTreeMap::new(),
        }
    }

    /// Where its endpoints receive that do not say otherwise: unicast and multicast. One copy serves all of them.
    pub(crate) fn default_places(&self) -> (Arc<[Locator]>, Arc<[Locator]>) {
        self.places.clone()
    }

    /// Replaces what is known of it. The hash of its secret does not change: somebody else announces another one.
    pub(crate) fn set_data(&mut self, mut data: ParticipantData) -> Arc<ParticipantData> {
        self.places = places(&data);
        if self.unverified.is_none() {
            let known = self.data.goodbye_hash;
            self.hash_varies |= data.goodbye_hash.is_some() && data.goodbye_hash != known;
            data.goodbye_hash = known;
        }
        core::mem::replace(&mut self.data, Arc::new(data))
    }

    pub(crate) fn renew(&mut self, now: MonoTime) {
        let announced = self.data.lease_duration;
        let lease = if self.unverified.is_none() { announced } else { announced.min(UNVERIFIED_LEASE) };
        self.expires = now.plus(lease.min(LONGEST_LEASE));
        self.spared = false;
    }

    /// Prolongs the lease by as much, not beyond a whole one from now, and not twice for one silence: timers that are
    /// late again and again do not keep alive who is gone.
    pub(crate) fn spare(&mut self, now: MonoTime, late: Duration) {
        if self.spared {
            return;
        }
        let later = self.expires.plus(late);
        self.renew(now);
        self.expires = self.expires.min(later);
        self.spared = true;
    }

    /// Replaces what the participant announced; false, and nothing changed, if that exceeds a quota.
    pub(crate) fn replace_payload(&mut self, payload: &[u8], total: &mut Account, quotas: &Quotas) -> bool {
        let before = self.account;
        let octets = before.octets.saturating_sub(self.payload.len()).saturating_add(payload.len());
        if !self.settle(Account { octets, ..before }, total, quotas) {
            return false;
        }
        self.payload = payload.into();
        true
    }

    /// Takes over a new balance, unless that exceeds a quota that the old one did not.
    fn settle(&mut self, after: Account, total: &mut Account, quotas: &Quotas) -> bool {
        let new_total = total.without(self.account).with(after);
        let more = after.octets > self.account.octets;
        let too_much =
            after.octets > quotas.max_octets_per_participant || new_total.octets > quotas.max_octets;
        let one_too_many = after.endpoints > self.account.endpoints
            && (after.endpoints > quotas.max_endpoints_per_participant
                || new_total.endpoints > quotas.max_endpoints);
        if one_too_many || (more && too_much) {
            return false;
        }
        (*total, self.account) = (new_total, after);
        true
    }

    /// What it takes, which is nothing once it is forgotten.
    pub(crate) const fn account(&self) -> Account {
        self.account
    }

    /// Whether it must be announced to by unicast with every announcement. Unverified participants are answered instead.
    pub(crate) fn needs_unicast(&self, now: MonoTime) -> bool {
        let asks = self.directed_until.is_some_and(|until| until > now);
        self.unverified.is_none() && (self.heard_by_multicast.is_none() || asks)
    }

    /// Accounts for the announcement of an endpoint; false if it exceeds a quota.
    pub(crate) fn charge(
        &mut self,
        endpoint: EntityId,
        sn: SequenceNumber,
        size: usize,
        total: &mut Account,
        quotas: &Quotas,
    ) -> bool {
        let before = self.announcements.get(&endpoint).map(|known| known.size as usize);
        let octets = self.account.octets.saturating_sub(before.unwrap_or(0)).saturating_add(size);
        let endpoints = self.account.endpoints.saturating_add(usize::from(before.is_none()));
        let Ok(size) = u32::try_from(size) else { return false };
        if !self.settle(Account { octets, endpoints }, total, quotas) {
            return false;
        }
        self.announcements.insert(endpoint, Announcement { sn, size });
        true
    }

    /// Ends the account of an endpoint.
    pub(crate) fn discharge(&mut self, endpoint: EntityId, total: &mut Account) {
        if let Some(known) = self.announcements.remove(&endpoint) {
            let gone = Account { octets: known.size as usize, endpoints: 1 };
            self.account = self.account.without(gone);
            *total = total.without(gone);
        }
    }

    /// What announced an endpoint last.
    pub(crate) fn announced_at(&self, endpoint: EntityId) -> Option<SequenceNumber> {
        self.announcements.get(&endpoint).map(|known| known.sn)
    }

    /// Its endpoints that were announced before `first`.
    pub(crate) fn announced_before(&self, first: SequenceNumber) -> impl Iterator<Item = EntityId> {
        self.announcements.iter().filter(move |(_, known)| known.sn < first).map(|(endpoint, _)| *endpoint)
    }
}

fn places(data: &ParticipantData) -> (Arc<[Locator]>, Arc<[Locator]>) {
    (data.locators.default_unicast.as_slice().into(), data.locators.default_multicast.as_slice().into())
}

/// What an endpoint was last announced with.
#[derive(Debug, Clone, Copy)]
struct Announcement {
    sn: SequenceNumber,
    /// Octets.
    size: u32,
}
