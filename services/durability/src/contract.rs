//! What a history keeps, and how long: DURABILITY_SERVICE (DDS 1.4 §2.2.3.5) and the policies beside it.

use dunlin::Duration;
use dunlin::qos::{DataWriterQos, DestinationOrderKind, DurabilityService, HistoryKind, Property};

/// The property in which services tell each other the DURABILITY_SERVICE of a history.
pub const PROPERTY: &str = "store.durability_service";

/// What the writers of a topic ask of a service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contract {
    /// DURABILITY_SERVICE.
    pub service: DurabilityService,
    /// DESTINATION_ORDER BY_SOURCE_TIMESTAMP: then the source timestamp decides which samples are the last ones.
    pub by_source: bool,
    /// LIFESPAN.
    pub lifespan: Duration,
}

impl Contract {
    /// Of a writer; of another service's if the property says so.
    #[must_use]
    pub fn of(qos: &DataWriterQos) -> Self {
        let of_service = qos.property.service().is_some_and(|mark| mark.kind == "durability");
        let told = qos.property.get(PROPERTY).filter(|_| of_service).and_then(parse);
        Self {
            service: told.unwrap_or(qos.durability_service),
            by_source: qos.destination_order.kind == DestinationOrderKind::BySourceTimestamp,
            lifespan: qos.lifespan.duration,
        }
    }

    /// How many samples with data of an instance it keeps.
    #[must_use]
    pub fn depth(&self) -> usize {
        let service = &self.service;
        let depth = match service.history_kind {
            HistoryKind::KeepLast => limit(service.history_depth),
            HistoryKind::KeepAll => usize::MAX,
        };
        depth.min(limit(service.max_samples_per_instance)).max(1)
    }

    /// How many changes it keeps.
    #[must_use]
    pub fn max_samples(&self) -> usize {
        limit(self.service.max_samples).max(1)
    }

    /// How many instances it keeps.
    #[must_use]
    pub fn max_instances(&self) -> usize {
        limit(self.service.max_instances).max(1)
    }

    /// As text: in stores, and in the property that services tell each other.
    #[must_use]
    pub fn encode(&self) -> String {
        let service = &self.service;
        let kind = match service.history_kind {
            HistoryKind::KeepLast => "keep_last",
            HistoryKind::KeepAll => "keep_all",
        };
        format!(
            "{} {kind} {} {} {} {}",
            service.service_cleanup_delay.as_nanos(),
            service.history_depth,
            service.max_samples,
            service.max_instances,
            service.max_samples_per_instance
        )
    }

    /// What a store had of it.
    #[must_use]
    pub fn restored(service: &str, by_source: bool, lifespan: Duration) -> Option<Self> {
        Some(Self { service: parse(service)?, by_source, lifespan })
    }

    /// Puts it into the QoS of a writer that does not keep the history itself.
    pub fn announce(&self, property: &mut Property) {
        property.values.retain(|(name, _)| name != PROPERTY);
        property.values.push((PROPERTY.into(), self.encode()));
    }
}

impl std::fmt::Display for Contract {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let DurabilityService { history_kind, history_depth, .. } = self.service;
        match history_kind {
            HistoryKind::KeepLast => write!(f, "KEEP_LAST {history_depth}")?,
            HistoryKind::KeepAll => f.write_str("KEEP_ALL")?,
        }
        let limits = [
            ("max_samples", self.service.max_samples),
            ("max_instances", self.service.max_instances),
            ("max_samples_per_instance", self.service.max_samples_per_instance),
        ];
        limits
            .iter()
            .filter(|(_, limit)| *limit >= 0)
            .try_for_each(|(name, limit)| write!(f, " {name} {limit}"))?;
        let seconds = |time: Duration| time.as_nanos() as f64 / 1e9;
        let delay = self.service.service_cleanup_delay;
        if delay.is_infinite() {
            f.write_str(" cleanup never")?;
        } else {
            write!(f, " cleanup {} s", seconds(delay))?;
        }
        if !self.lifespan.is_infinite() {
            write!(f, " LIFESPAN {} s", seconds(self.lifespan))?;
        }
        f.write_str(if self.by_source { " BY_SOURCE_TIMESTAMP" } else { " BY_RECEPTION_TIMESTAMP" })
    }
}

/// A limit of the QoS model as a number.
fn limit(limit: i32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

fn parse(text: &str) -> Option<DurabilityService> {
    let mut words = text.split(' ');
    let delay = words.next()?.parse().ok()?;
    let history_kind = match words.next()? {
        "keep_last" => HistoryKind::KeepLast,
        "keep_all" => HistoryKind::KeepAll,
        _ => return None,
    };
    let mut number = || words.next()?.parse::<i32>().ok().filter(|number| *number >= -1 && *number != 0);
    let service = DurabilityService {
        service_cleanup_delay: Duration::from_nanos(delay),
        history_kind,
        history_depth: number()?,
        max_samples: number()?,
        max_instances: number()?,
        max_samples_per_instance: number()?,
    };
    (delay >= 0 && words.next().is_none()).then_some(service)
}

#[cfg(test)]
mod tests {
    use dunlin::qos::ServiceMark;

    use super::*;

    #[test]
    fn services_tell_each_other_what_they_keep() {
        let service = DurabilityService {
            service_cleanup_delay: Duration::from_secs(7),
            history_depth: 5,
            max_samples: 100,
            ..DurabilityService::default()
        };
        let contract = Contract::of(&DataWriterQos::default().durability_service(service));
        let mark = ServiceMark { kind: "durability".into(), id: "s".into(), path: Vec::new() };
        let mut other = DataWriterQos::default().service(&mark);
        contract.announce(&mut other.property);
        assert_eq!(Contract::of(&other), contract);
        assert_eq!(
            (contract.depth(), contract.max_samples(), contract.max_instances()),
            (5, 100, usize::MAX)
        );
        for wrong in
            ["", "x keep_last 1 1 1 1", "1 keep_last 0 1 1 1", "1 keep_last 1 1 1 1 1", "-1 keep_all 1 1 1 1"]
        {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
