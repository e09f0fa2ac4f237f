//! The policies that the options say.

use crate::options::Options;
use dust_dds::infrastructure::qos::{DataReaderQos, DataWriterQos};
use dust_dds::infrastructure::qos_policy::*;
use dust_dds::infrastructure::time::{Duration, DurationKind};

fn ms(number: i32) -> DurationKind {
    DurationKind::Finite(Duration::new(number / 1000, (number % 1000) as u32 * 1_000_000))
}

fn reliability(o: &Options) -> ReliabilityQosPolicy {
    let best_effort = o.has("-b");
    let kind =
        if best_effort { ReliabilityQosPolicyKind::BestEffort } else { ReliabilityQosPolicyKind::Reliable };
    ReliabilityQosPolicy { kind, max_blocking_time: ms(10_000) }
}

fn durability(o: &Options) -> DurabilityQosPolicy {
    let kind = match &*o.text("-D", "v") {
        "l" => DurabilityQosPolicyKind::TransientLocal,
        "t" => DurabilityQosPolicyKind::Transient,
        "p" => DurabilityQosPolicyKind::Persistent,
        _ => DurabilityQosPolicyKind::Volatile,
    };
    DurabilityQosPolicy { kind }
}

fn history(o: &Options) -> HistoryQosPolicy {
    let kind = match o.number("-k", 1) {
        0 => HistoryQosPolicyKind::KeepAll,
        depth => HistoryQosPolicyKind::KeepLast(depth as u32),
    };
    HistoryQosPolicy { kind }
}

fn ownership(o: &Options) -> OwnershipQosPolicy {
    let shared = o.number("-s", -1) < 0;
    OwnershipQosPolicy {
        kind: if shared { OwnershipQosPolicyKind::Shared } else { OwnershipQosPolicyKind::Exclusive },
    }
}

fn deadline(o: &Options) -> DeadlineQosPolicy {
    if o.has("-f") {
        DeadlineQosPolicy { period: ms(o.number("-f", 0)) }
    } else {
        DeadlineQosPolicy::default()
    }
}

fn representation(o: &Options) -> DataRepresentationQosPolicy {
    let id = if o.number("-x", 1) == 2 { XCDR2_DATA_REPRESENTATION } else { XCDR_DATA_REPRESENTATION };
    DataRepresentationQosPolicy { value: vec![id] }
}

pub fn partition(o: &Options) -> PartitionQosPolicy {
    PartitionQosPolicy { name: if o.has("-p") { vec![o.text("-p", "")] } else { vec![] } }
}

/// dust_dds has no group access; `main` refuses it.
pub fn presentation(o: &Options) -> PresentationQosPolicy {
    if !o.has("--coherent") && !o.has("--ordered") {
        return PresentationQosPolicy::default();
    }
    let access_scope = match &*o.text("--access-scope", "i") {
        "t" => PresentationQosPolicyAccessScopeKind::Topic,
        _ => PresentationQosPolicyAccessScopeKind::Instance,
    };
    PresentationQosPolicy {
        access_scope,
        coherent_access: o.has("--coherent"),
        ordered_access: o.has("--ordered"),
    }
}

pub fn of_writer(o: &Options) -> DataWriterQos {
    let lifespan = if o.has("--lifespan") { ms(o.number("--lifespan", 0)) } else { DurationKind::Infinite };
    // Nothing is disposed unless asked for.
    let disposes = o.text("--final-instance-state", "") == "d";
    DataWriterQos {
        reliability: reliability(o),
        durability: durability(o),
        history: history(o),
        ownership: ownership(o),
        ownership_strength: OwnershipStrengthQosPolicy { value: o.number("-s", 0).max(0) },
        deadline: deadline(o),
        lifespan: LifespanQosPolicy { duration: lifespan },
        representation: representation(o),
        writer_data_lifecycle: WriterDataLifecycleQosPolicy { autodispose_unregistered_instances: disposes },
        ..Default::default()
    }
}

pub fn of_reader(o: &Options) -> DataReaderQos {
    DataReaderQos {
        reliability: reliability(o),
        durability: durability(o),
        history: history(o),
        ownership: ownership(o),
        deadline: deadline(o),
        representation: representation(o),
        time_based_filter: TimeBasedFilterQosPolicy { minimum_separation: ms(o.number("--time-filter", 0)) },
        ..Default::default()
    }
}
