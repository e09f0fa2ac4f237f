//! What the daemon of a host remembers: for whom it speaks, whom it has told of whom, what waits, and what it has passed on. RTPS 2.5
//! §8.5.3 has no such role; `daemon` says what it does.

pub(crate) mod allowance;
pub(crate) mod bucket;
pub(crate) mod bundle;
pub(crate) mod rewrite;
pub(crate) mod routes;
pub(crate) mod shaper;
pub(crate) mod walk;

use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    vec::Vec,
};

use dunlin_core::{Duration, GuidPrefix, MonoTime, SequenceNumber};
use dunlin_wire::Header;

use crate::{
    config::GoodbyeSecret,
    data::ParticipantData,
    effect::LostReason,
    participant::RemoteParticipant,
    relay::{allowance::Allowance, bundle::Bundles, routes::Routes, shaper::Shaper},
    relay_config::{RelayConfig, RelayStats},
};

/// A participant is told of no more often than this.
pub(crate) const REPEAT: Duration = Duration::from_millis(50);

/// What a daemon knows besides what discovery knows.
#[derive(Debug)]
pub(crate) struct Relay {
    pub(crate) config: RelayConfig,
    /// The participants of this host for which it speaks.
    pub(crate) applications: BTreeMap<GuidPrefix, Allowance>,
    pub(crate) routes: Routes,
    /// Who is to be told of whom; of all who have to know without a name.
    pub(crate) queue: VecDeque<(GuidPrefix, Option<GuidPrefix>)>,
    /// The queue goes on no earlier.
    pub(crate) next: MonoTime,
    /// When was told last of whom.
    pub(crate) told: BTreeMap<GuidPrefix, MonoTime>,
    /// Who has announced itself too soon after that.
    pub(crate) later: BTreeSet<(MonoTime, GuidPrefix)>,
    pub(crate) goodbyes: Vec<Goodbye>,
    pub(crate) bundles: Bundles,
    pub(crate) shaper: Shaper,
    pub(crate) stats: RelayStats,
}

/// A participant that is gone, of which others have to hear.
#[derive(Debug)]
pub(crate) struct Goodbye {
    pub(crate) header: Header,
    pub(crate) sn: SequenceNumber,
    /// It was an application of this host.
    pub(crate) own: bool,
    pub(crate) reason: LostReason,
    /// What it has proven its own goodbye with.
    pub(crate) secret: Option<GoodbyeSecret>,
}

impl Relay {
    pub(crate) fn new(config: RelayConfig) -> Self {
        Self {
            bundles: Bundles::new(config.bundle_delay),
            shaper: Shaper::new(&config.shaping),
            config,
            applications: BTreeMap::new(),
            routes: Routes::default(),
            queue: VecDeque::new(),
            next: MonoTime::default(),
            told: BTreeMap::new(),
            later: BTreeSet::new(),
            goodbyes: Vec::new(),
            stats: RelayStats::default(),
        }
    }

    /// Counters.
    pub(crate) fn stats(&self) -> RelayStats {
        let applications = u64::try_from(self.applications.len()).unwrap_or(u64::MAX);
        let left = self.shaper.left();
        RelayStats {
            applications,
            bands: self.shaper.stats(),
            passed: self.stats.passed.saturating_add(left.0),
            octets: self.stats.octets.saturating_add(left.1),
            ..self.stats
        }
    }

    /// When `Discovery::speak_for_others` has something to do.
    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        let queue = (!self.queue.is_empty()).then_some(self.next);
        let later = self.later.first().map(|(at, _)| *at);
        [queue, later, self.bundles.next_deadline(), self.shaper.next_deadline()].into_iter().flatten().min()
    }

    /// A participant is gone.
    pub(crate) fn forget(&mut self, participant: &RemoteParticipant, reason: LostReason) {
        let prefix = participant.data.guid_prefix;
        let own = self.applications.remove(&prefix).is_some();
        if let Some(told) = self.told.remove(&prefix) {
            self.later.remove(&(told.plus(REPEAT), prefix));
            // Those who know a participant of another host only miss it from now on if its lease has ended.
            if own || reason == LostReason::Left {
                let sn = participant.latest.sample().0.next();
                let (header, secret) =
                    (header_of(&participant.data), participant.left_with.as_deref().copied());
                self.goodbyes.push(Goodbye { header, sn, own, reason, secret });
            }
        }
        self.queue.retain(|(of, to)| *of != prefix && *to != Some(prefix));
        self.routes.clear();
    }
}

/// How messages of a participant begin.
pub(crate) fn header_of(data: &ParticipantData) -> Header {
    Header { version: data.protocol_version, vendor_id: data.vendor, guid_prefix: data.guid_prefix }
}
