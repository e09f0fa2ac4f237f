//! What a writer offers, as far as it survives the way through zenoh.

use dunlin::Duration;
use dunlin::qos::{
    DataReaderQos, DataRepresentationId, DataWriterQos, DestinationOrderKind, DurabilityKind, HistoryKind,
    OwnershipKind, Reliability, ReliabilityKind,
};

/// Octets of an offer.
const LENGTH: usize = 36;
const VERSION: u8 = 1;

/// What one route passes on is of writers that offer the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Offer {
    pub(crate) keyed: bool,
    pub(crate) reliable: bool,
    /// TRANSIENT_LOCAL or more.
    pub(crate) kept: bool,
    /// HISTORY KEEP_LAST with this depth; KEEP_ALL if there is none.
    pub(crate) depth: Option<u32>,
    pub(crate) exclusive: bool,
    pub(crate) by_source: bool,
    pub(crate) xcdr2: bool,
    pub(crate) strength: i32,
    pub(crate) priority: i32,
    pub(crate) deadline: i64,
    pub(crate) lifespan: i64,
}

impl Offer {
    pub(crate) fn of_writer(qos: &DataWriterQos, keyed: bool) -> Self {
        Self {
            keyed,
            reliable: qos.reliability.kind == ReliabilityKind::Reliable,
            kept: qos.durability.kind >= DurabilityKind::TransientLocal,
            depth: depth(qos.history.kind, qos.history.depth),
            exclusive: qos.ownership.kind == OwnershipKind::Exclusive,
            by_source: qos.destination_order.kind == DestinationOrderKind::BySourceTimestamp,
            xcdr2: qos.representation.offered() == DataRepresentationId::Xcdr2,
            strength: qos.ownership_strength.value,
            priority: qos.transport_priority.value,
            deadline: qos.deadline.period.as_nanos(),
            lifespan: qos.lifespan.duration.as_nanos(),
        }
    }

    /// What suits a reader.
    pub(crate) fn for_reader(qos: &DataReaderQos, keyed: bool) -> Self {
        Self {
            keyed,
            reliable: true,
            kept: qos.durability.kind >= DurabilityKind::TransientLocal,
            depth: depth(qos.history.kind, qos.history.depth),
            exclusive: qos.ownership.kind == OwnershipKind::Exclusive,
            by_source: qos.destination_order.kind == DestinationOrderKind::BySourceTimestamp,
            xcdr2: !qos.representation.accepts(DataRepresentationId::Xcdr1),
            strength: 0,
            priority: 0,
            deadline: qos.deadline.period.as_nanos(),
            lifespan: Duration::INFINITE.as_nanos(),
        }
    }

    /// What suits both.
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            kept: self.kept || other.kept,
            depth: self.depth.zip(other.depth).map(|(one, other)| one.max(other)),
            by_source: self.by_source || other.by_source,
            xcdr2: self.xcdr2 && other.xcdr2,
            deadline: self.deadline.min(other.deadline),
            ..self
        }
    }

    /// The policies of an output. What has no room waits in the bridge, not in a call.
    pub(crate) fn writer_qos(&self, samples: u32) -> DataWriterQos {
        let mut qos = DataWriterQos::default();
        if self.reliable {
            qos.reliability = Reliability { max_blocking_time: Duration::ZERO, ..Reliability::RELIABLE };
        } else {
            qos.reliability.kind = ReliabilityKind::BestEffort;
        }
        if self.kept {
            qos = qos.transient_local();
        }
        qos = match self.depth {
            // Reliable data for those who are there is kept until they have it.
            Some(_) if self.reliable && !self.kept => keep_all(qos, samples),
            Some(depth) => qos.keep_last(i32::try_from(depth).unwrap_or(i32::MAX)),
            None => keep_all(qos, samples),
        };
        if self.exclusive {
            qos.ownership.kind = OwnershipKind::Exclusive;
            qos.ownership_strength.value = self.strength;
        }
        if self.by_source {
            qos.destination_order.kind = DestinationOrderKind::BySourceTimestamp;
        }
        if self.xcdr2 {
            qos.representation.ids = vec![DataRepresentationId::Xcdr2];
        }
        qos.transport_priority.value = self.priority;
        qos.deadline.period = Duration::from_nanos(self.deadline);
        qos.lifespan.duration = Duration::from_nanos(self.lifespan);
        qos.writer_data_lifecycle.autodispose_unregistered_instances = false;
        qos
    }

    /// For announcements.
    pub(crate) fn to_hex(self) -> String {
        let flags = [self.keyed, self.reliable, self.kept, self.exclusive, self.by_source, self.xcdr2];
        let flags = flags.iter().enumerate().fold(0, |all, (bit, set)| all | (u8::from(*set) << bit));
        let mut out = vec![VERSION, flags, 0, 0];
        out.extend_from_slice(&self.depth.unwrap_or(0).to_be_bytes());
        out.extend_from_slice(&self.strength.to_be_bytes());
        out.extend_from_slice(&self.priority.to_be_bytes());
        out.extend_from_slice(&self.deadline.to_be_bytes());
        out.extend_from_slice(&self.lifespan.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        to_hex(&out)
    }

    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        let octets = from_hex::<LENGTH>(text)?;
        let [VERSION, flags, 0, 0, rest @ ..] = octets else { return None };
        if flags >= 1 << 6 {
            return None;
        }
        let four = |at: usize| rest.get(at..at + 4).and_then(|it| it.try_into().ok());
        let eight = |at: usize| rest.get(at..at + 8).and_then(|it| it.try_into().ok());
        let depth = u32::from_be_bytes(four(0)?);
        let (deadline, lifespan) = (i64::from_be_bytes(eight(12)?), i64::from_be_bytes(eight(20)?));
        let bit = |bit: u8| flags & (1 << bit) != 0;
        let sound = deadline > 0 && lifespan > 0 && depth <= i32::MAX as u32;
        sound.then_some(Self {
            keyed: bit(0),
            reliable: bit(1),
            kept: bit(2),
            exclusive: bit(3),
            by_source: bit(4),
            xcdr2: bit(5),
            depth: (depth > 0).then_some(depth),
            strength: i32::from_be_bytes(four(4)?),
            priority: i32::from_be_bytes(four(8)?),
            deadline,
            lifespan,
        })
    }
}

fn keep_all(qos: DataWriterQos, samples: u32) -> DataWriterQos {
    qos.keep_all().resource_limits(i32::try_from(samples).unwrap_or(i32::MAX), -1, -1)
}

fn depth(kind: HistoryKind, depth: i32) -> Option<u32> {
    (kind == HistoryKind::KeepLast).then(|| u32::try_from(depth).unwrap_or(1).max(1))
}

pub(crate) fn to_hex(octets: &[u8]) -> String {
    use std::fmt::Write;
    octets.iter().fold(String::with_capacity(2 * octets.len()), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    })
}

pub(crate) fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut out = [0; N];
    for (octet, pair) in out.iter_mut().zip(digits.chunks(2)) {
        *octet = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_come_back() {
        let qos = DataWriterQos::default().transient_local().keep_last(5);
        let mut offer = Offer::of_writer(&qos, true);
        offer.strength = -7;
        offer.deadline = 1_000_000;
        assert_eq!(Offer::from_hex(&offer.to_hex()), Some(offer));
        offer.depth = None;
        assert_eq!(Offer::from_hex(&offer.to_hex()), Some(offer));
        assert_eq!(offer.to_hex().len(), 2 * LENGTH);
    }

    #[test]
    fn hostile_offers_are_refused() {
        let good = Offer::of_writer(&DataWriterQos::default(), false).to_hex();
        for bad in ["", "00", "é", &good[2..], &good.replace("01", "zz"), &good.replacen("01", "02", 1)] {
            assert_eq!(Offer::from_hex(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_output_suits_every_reader() {
        let one = Offer::for_reader(&DataReaderQos::default().transient_local().keep_last(3), true);
        let other = Offer::for_reader(&DataReaderQos::default().keep_last(9), true);
        let both = one.with(other);
        assert!(both.kept && both.depth == Some(9));
        assert!(both.with(Offer::for_reader(&DataReaderQos::default().keep_all(), true)).depth.is_none());
        assert!(both.writer_qos(100).validate().is_ok());
    }
}
