//! What a generation draws from a number stays what it is.

use std::fmt::Write;

use dunlin_simulation::generate::generate;
use dunlin_simulation::qos::Qos;
use dunlin_simulation::scenario::{EndpointPlan, FaultPlan, GroupPlan, NodePlan, Scenario};
use dunlin_simulation::seed::Seed;

fn node(plan: &NodePlan) -> String {
    let NodePlan { lease, period, max_message_size, wall_offset_ms, big_endian, nat, .. } = plan;
    let NodePlan { peers, unaware, inactive_after, .. } = plan;
    format!(
        "{lease} {period} {max_message_size} {wall_offset_ms} {big_endian} {nat} {peers} {unaware} {inactive_after}"
    )
}

fn qos(qos: &Qos) -> String {
    let Qos { reliable, durable, keep_last, max_samples, deadline, latency, liveliness, lease, .. } = qos;
    let Qos { exclusive, strength, by_source, lifespan, separation, filter, partition, .. } = qos;
    let Qos { scope, ordered, coherent, .. } = qos;
    format!(
        "{reliable} {durable} {keep_last:?} {max_samples:?} {deadline:?} {latency} {liveliness} {lease:?} {exclusive} \
         {strength} {by_source} {lifespan:?} {separation} {filter:?} {partition} {scope:?} {ordered} {coherent}"
    )
}

fn endpoint(plan: &EndpointPlan) -> String {
    let EndpointPlan { node, topic, keyed, appears, leaves, role, .. } = plan;
    format!("{node} {topic} {keyed} {appears} {leaves:?} {role:?} {}", qos(&plan.qos))
}

fn fault(plan: &FaultPlan) -> String {
    let FaultPlan { class, from, until, fault, .. } = plan;
    format!("{class:?} {from} {until} {fault:?}")
}

/// What the first generation knows of a scenario. What is added to the types later is no part of it.
fn text(scenario: &Scenario) -> String {
    let Scenario { lasts, base, .. } = scenario;
    let mut text = format!("{lasts} {:?} {} {}\n", base.delay, base.loss_ppm, base.mtu);
    let parts = scenario.nodes.iter().map(node).chain(scenario.endpoints.iter().map(endpoint));
    parts.chain(scenario.faults.iter().map(fault)).for_each(|part| {
        let _ = writeln!(text, "{part}");
    });
    text
}

/// What the second generation adds.
fn second(scenario: &Scenario) -> String {
    let host = |plan: &NodePlan| format!("{:?} {}\n", plan.host, plan.memory);
    let group = |plan: &GroupPlan| format!("{} {:?}\n", plan.node, plan.sets);
    let member = |plan: &EndpointPlan| format!("{:?}\n", plan.group);
    let parts = scenario.nodes.iter().map(host).chain(scenario.groups.iter().map(group));
    text(scenario) + &parts.chain(scenario.endpoints.iter().map(member)).collect::<String>()
}

/// FNV-1a.
fn hash(texts: impl Iterator<Item = String>) -> u64 {
    let octets = texts.flat_map(String::into_bytes);
    octets.fold(0xcbf2_9ce4_8422_2325, |hash, octet| (hash ^ u64::from(octet)).wrapping_mul(0x100_0000_01b3))
}

#[test]
fn the_first_generation_draws_what_it_always_drew() {
    let seed = |number| Seed { generation: 1, number };
    let draws =
        |numbers: std::ops::RangeInclusive<u64>| hash(numbers.map(|number| text(&generate(seed(number)))));
    assert_eq!(
        [draws(1..=1_000), draws(50_000_001..=50_001_000)],
        [12_368_558_755_203_400_457, 880_271_076_434_058_272]
    );
}

#[test]
fn the_second_generation_draws_what_it_always_drew() {
    let seed = |number| Seed { generation: 2, number };
    let draws =
        |numbers: std::ops::RangeInclusive<u64>| hash(numbers.map(|number| second(&generate(seed(number)))));
    assert_eq!(
        [draws(1..=1_000), draws(50_000_001..=50_001_000)],
        [213_985_370_074_919_276, 4_171_551_310_372_947_686]
    );
}
