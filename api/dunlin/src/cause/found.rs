//! Causes made of what discovery knows.

use dunlin_core::{Guid, GuidPrefix, Locator};
use dunlin_discovery::{Locators, ParticipantData, ParticipantState, Survey};

use super::Cause;
use crate::process::{ProcessInfo, who};

/// Where a participant says that its endpoints receive.
pub(crate) fn announced(survey: &Survey, prefix: GuidPrefix) -> Vec<Locator> {
    let standing = survey.participants.iter().find(|standing| standing.data.guid_prefix == prefix);
    let announced = standing.map(|standing| &standing.announced);
    announced
        .map(|a| a.default_unicast.iter().chain(&a.default_multicast).copied().collect())
        .unwrap_or_default()
}

fn described(data: &ParticipantData) -> String {
    let (name, process) = (&data.entity_name, ProcessInfo::of(&data.property));
    let who = who(name, &process).unwrap_or_else(|| data.guid_prefix.to_string());
    format!("participant {who} ({})", data.vendor.name())
}

impl Cause {
    /// A participant that does not answer.
    pub(crate) fn one_sided(data: &ParticipantData) -> Self {
        Self::OneSided { participant: described(data), locators: data.locators.metatraffic_unicast.clone() }
    }

    /// An endpoint of which no place is left.
    pub(crate) fn unreachable(engine: &dunlin_engine::Participant, remote: Guid) -> Self {
        let survey = engine.survey(|_, guid| guid == remote);
        Self::Unreachable { announced: announced(&survey, remote.prefix) }
    }

    /// A participant whose groups are silent.
    pub(crate) fn multicast(standing: &ParticipantState) -> Self {
        let Locators { metatraffic_multicast, default_multicast, .. } = &standing.announced;
        let groups = metatraffic_multicast.iter().chain(default_multicast).copied().collect();
        Self::Multicast { participant: described(&standing.data), groups }
    }
}
