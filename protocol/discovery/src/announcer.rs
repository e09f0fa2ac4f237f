//! When and what a participant announces of itself: RTPS 2.5 §8.5.3.2, §8.5.3.3 (SPDPbuiltinParticipantWriter).

use dunlin_buf::{Outbox, SharedBytes};
use dunlin_core::{Duration, EntityId, GuidPrefix, Locator, MonoTime, Now, Rng, SequenceNumber};
use dunlin_wire::{DataSpec, MessageBuilder, PayloadSpec, size};

use crate::{
    codec::{encode_participant, encode_participant_key, goodbye_qos},
    config::DiscoveryConfig,
};

/// The SPDP writer: stateless and best-effort, one sample, repeated.
#[derive(Debug)]
pub(crate) struct Announcer {
    payload: SharedBytes,
    /// Raised when the contents change.
    sn: SequenceNumber,
    next: Option<MonoTime>,
    /// Announcements left of the quick ones at start.
    burst_left: u32,
    rng: Rng,
    /// When the groups were last told.
    groups_announced: Option<MonoTime>,
}

/// Periods vary by up to this fraction, so that participants started together do not stay in step.
const JITTER_FRACTION: i64 = 10;

impl Announcer {
    pub(crate) fn new(config: &DiscoveryConfig, seed: u64) -> Self {
        Self {
            payload: encode_participant(config).into(),
            sn: SequenceNumber::FIRST,
            next: None,
            burst_left: 0,
            rng: Rng::new(seed),
            groups_announced: None,
        }
    }

    /// Takes up a changed configuration.
    pub(crate) fn update(&mut self, config: &DiscoveryConfig) {
        self.payload = encode_participant(config).into();
        self.sn = self.sn.next();
    }

    /// Begins, or begins again, with a row of quick announcements; the first one is due at once.
    pub(crate) fn start(&mut self, now: MonoTime, config: &DiscoveryConfig) {
        self.burst_left = config.initial_announcements;
        self.next = Some(now);
    }

    /// Ends announcing.
    pub(crate) fn stop(&mut self) {
        self.next = None;
    }

    pub(crate) const fn is_running(&self) -> bool {
        self.next.is_some()
    }

    pub(crate) const fn next_deadline(&self) -> Option<MonoTime> {
        self.next
    }

    /// Whether an announcement is due; if so, plans the next one. The quick ones at start end when this participant is
    /// `well_known`: in a large domain they are what costs most.
    pub(crate) fn take_due(&mut self, now: MonoTime, config: &DiscoveryConfig, well_known: bool) -> bool {
        if self.next.is_none_or(|next| next > now) {
            return false;
        }
        self.burst_left = if well_known { 0 } else { self.burst_left.saturating_sub(1) };
        let period =
            if self.burst_left > 0 { config.initial_announcement_period } else { config.announcement_period };
        self.next = Some(now.plus(self.vary(period)));
        true
    }

    fn vary(&mut self, period: Duration) -> Duration {
        let span = u64::try_from(period.divided_by(JITTER_FRACTION).as_nanos()).unwrap_or(0);
        let less = i64::try_from(self.rng.below(span)).unwrap_or(0);
        Duration::from_nanos(period.as_nanos().saturating_sub(less))
    }

    /// Sends the announcement to groups, for whoever listens.
    pub(crate) fn send_to_groups(&mut self, now: Now, own: GuidPrefix, groups: &[Locator], out: &mut Outbox) {
        self.groups_announced = Some(now.mono);
        self.send(now, own, None, EntityId::UNKNOWN, groups, out);
    }

    pub(crate) const fn groups_announced(&self) -> Option<MonoTime> {
        self.groups_announced
    }

    /// Octets of the announcement in a message, with its timestamp.
    pub(crate) fn data_len(&self) -> usize {
        size::INFO_TS.saturating_add(size::data(0, self.payload.len()))
    }

    /// Sends the announcement to single locators; to one participant only if `to` names it.
    pub(crate) fn send_directed(
        &self,
        now: Now,
        own: GuidPrefix,
        to: Option<GuidPrefix>,
        peers: &[Locator],
        out: &mut Outbox,
    ) {
        self.send(now, own, to, EntityId::SPDP_READER, peers, out);
    }

    fn send(
        &self,
        now: Now,
        own: GuidPrefix,
        to: Option<GuidPrefix>,
        reader_id: EntityId,
        destinations: &[Locator],
        out: &mut Outbox,
    ) {
        let mut message = MessageBuilder::new(out, own);
        if let Some(prefix) = to {
            message.info_dst(prefix);
        }
        message.info_ts(Some(now.wall));
        message.data(&DataSpec {
            reader_id,
            writer_id: EntityId::SPDP_WRITER,
            writer_sn: self.sn,
            inline_qos: &[],
            payload: PayloadSpec::Data(self.payload.clone()),
        });
        message.finish(destinations);
    }

    /// Tells everybody that the participant is gone.
    pub(crate) fn send_disposal(
        &mut self,
        now: Now,
        config: &DiscoveryConfig,
        destinations: &[Locator],
        out: &mut Outbox,
    ) {
        self.sn = self.sn.next();
        let own = config.guid_prefix;
        let inline_qos = goodbye_qos(own, false, config.goodbye_secret.as_ref());
        let key: SharedBytes = encode_participant_key(own).into();
        let mut message = MessageBuilder::new(out, own);
        message.info_ts(Some(now.wall));
        message.data(&DataSpec {
            reader_id: EntityId::UNKNOWN,
            writer_id: EntityId::SPDP_WRITER,
            writer_sn: self.sn,
            inline_qos: &inline_qos,
            payload: PayloadSpec::Key(key),
        });
        message.finish(destinations);
    }
}
