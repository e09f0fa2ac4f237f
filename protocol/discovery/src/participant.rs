//! What is remembered of one remote participant: RTPS 2.5 §8.5.3.3 (leases) and our quotas.

use alloc::{collections::BTreeMap, sync::Arc, vec::Vec};

use dunlin_core::{Duration, EntityId, MonoTime, SequenceNumber};

use crate::{
    config::{Locators, Quotas},
    data::ParticipantData,
    goodbye::Latest,
    reach::Reach,
};

/// The lease of a participant that never answered, if it asks for more: its announcement may be forged, and what it is
/// sent would hit somebody else for as long as the forger likes.
pub(crate) const UNANSWERED_LEASE: Duration = Duration::from_secs(10);

/// A remote participant.
#[derive(Debug)]
pub(crate) struct RemoteParticipant {
    pub(crate) data: Arc<ParticipantData>,
    /// All locators it announced.
    pub(crate) announced: Locators,
    pub(crate) reach: Reach,
    /// The announcement as it was received; the same octets again only renew the lease.
    pub(crate) payload: Vec<u8>,
    /// Which of its announcements that was.
    pub(crate) latest: Latest,
    pub(crate) since: MonoTime,
    pub(crate) expires: MonoTime,
    /// One of its reliable built-in endpoints was heard.
    answered: bool,
    /// It reaches this participant by multicast, so the opposite direction is taken to work too.
    pub(crate) heard_by_multicast: bool,
    /// Until when it is announced to by unicast because it does so itself.
    pub(crate) directed_until: Option<MonoTime>,
    /// The announcement of each of its endpoints.
    announcements: BTreeMap<EntityId, Announcement>,
    octets: usize,
}

impl RemoteParticipant {
    pub(crate) fn new(
        data: ParticipantData,
        announced: Locators,
        reach: Reach,
        payload: Vec<u8>,
        latest: Latest,
        now: MonoTime,
    ) -> Self {
        Self {
            expires: now.plus(data.lease_duration.min(UNANSWERED_LEASE)),
            answered: false,
            data: Arc::new(data),
            announced,
            reach,
            octets: payload.len(),
            payload,
            latest,
            since: now,
            heard_by_multicast: false,
            directed_until: None,
            announcements: BTreeMap::new(),
        }
    }

    pub(crate) fn renew(&mut self, now: MonoTime) {
        let announced = self.data.lease_duration;
        let lease = if self.answered { announced } else { announced.min(UNANSWERED_LEASE) };
        self.expires = now.plus(lease);
    }

    /// One of its reliable built-in endpoints sent something: from now on it has the lease that it announced.
    pub(crate) fn note_answer(&mut self, now: MonoTime) {
        if !self.answered {
            self.answered = true;
            self.renew(now);
        }
    }

    /// Replaces what the participant announced.
    pub(crate) fn replace_payload(&mut self, payload: Vec<u8>) {
        self.octets = self.octets.saturating_sub(self.payload.len()).saturating_add(payload.len());
        self.payload = payload;
    }

    /// Whether it must be announced to by unicast.
    pub(crate) fn needs_unicast(&self, now: MonoTime) -> bool {
        !self.heard_by_multicast || self.directed_until.is_some_and(|until| until > now)
    }

    /// Accounts for the announcement of an endpoint; false if it exceeds a quota.
    pub(crate) fn charge(
        &mut self,
        endpoint: EntityId,
        sn: SequenceNumber,
        size: usize,
        quotas: &Quotas,
    ) -> bool {
        let before = self.announcements.get(&endpoint).map(|known| known.size as usize);
        let octets = self.octets.saturating_sub(before.unwrap_or(0)).saturating_add(size);
        let one_too_many =
            before.is_none() && self.announcements.len() >= quotas.max_endpoints_per_participant;
        let Ok(size) = u32::try_from(size) else { return false };
        if one_too_many || octets > quotas.max_octets_per_participant {
            return false;
        }
        self.announcements.insert(endpoint, Announcement { sn, size });
        self.octets = octets;
        true
    }

    /// Ends the account of an endpoint.
    pub(crate) fn discharge(&mut self, endpoint: EntityId) {
        if let Some(known) = self.announcements.remove(&endpoint) {
            self.octets = self.octets.saturating_sub(known.size as usize);
        }
    }

    /// Its endpoints that were announced before `first`.
    pub(crate) fn announced_before(&self, first: SequenceNumber) -> impl Iterator<Item = EntityId> {
        self.announcements.iter().filter(move |(_, known)| known.sn < first).map(|(endpoint, _)| *endpoint)
    }
}

/// What an endpoint was last announced with.
#[derive(Debug, Clone, Copy)]
struct Announcement {
    sn: SequenceNumber,
    /// Octets.
    size: u32,
}
