//! Types of endpoints over the network: announced, asked for, compared.

use alloc::{string::ToString, sync::Arc, vec, vec::Vec};

use dunlin_core::{EntityId, Misbehaviour};
use dunlin_idl::{Memory, Options, compile};
use dunlin_qos::{DataRepresentationId, PresentationAccessScope, PublisherQos, TypeConsistencyEnforcement};
use dunlin_xtypes::identifier::Equivalence;
use dunlin_xtypes::{TypeIdentifierWithDependencies, to_idl};

use super::net::*;
use crate::types::{Fit, tests::as_a_whole};
use crate::{LocalType, Quotas, TypeDiscovery};

const OLD: &str =
    "@nested struct Part { long a; }; struct ShapeType { string color; sequence<Part> parts; };";
const NEW: &str = "@nested struct Part { long a; long b; };
    struct ShapeType { string color; sequence<Part> parts; long size; };";
const OTHER: &str = "struct ShapeType { double color; };";

pub(super) fn local(idl: &str) -> Arc<LocalType> {
    let model = compile("a.idl", &Options::default(), &Memory::default().with("a.idl", idl)).model;
    let (graph, root) =
        dunlin_idl::xtypes::type_graph_of(&model.expect("it is correct"), "ShapeType").expect("it is there");
    LocalType::new(graph, root).expect("a structure")
}

fn writes(net: &mut Net, node: usize, idl: &str) {
    let qos = DataWriterQos::default().representation(&[DataRepresentationId::Xcdr2]);
    let writer = LocalWriter { type_information: Some(local(idl)), ..local_writer(qos) };
    net.with(node, |d, now, out, fx| d.add_writer(now, writer, out, fx)).expect("valid names");
}

fn reads(net: &mut Net, node: usize, idl: &str, consistency: TypeConsistencyEnforcement) {
    let qos = DataReaderQos::default().type_consistency(consistency);
    let reader = LocalReader { type_information: Some(local(idl)), ..local_reader(qos) };
    net.with(node, |d, now, out, fx| d.add_reader(now, reader, out, fx)).expect("valid names");
}

/// Two nodes that know each other.
fn pair(configs: [DiscoveryConfig; 2]) -> Net {
    let mut net = Net::new(configs);
    net.start();
    net.run_for(secs(1));
    net.forget_events();
    net
}

const ALLOW: fn() -> TypeConsistencyEnforcement = TypeConsistencyEnforcement::default;

fn events(net: &mut Net) -> [vec::Vec<alloc::string::String>; 2] {
    [net.events(0), net.events(1)]
}

#[test]
fn equal_types_need_no_question() {
    let mut net = pair([config(0), config(1)]);
    writes(&mut net, 0, OLD);
    reads(&mut net, 1, OLD, TypeConsistencyEnforcement::DISALLOW);
    net.run_for(secs(1));
    assert_eq!(events(&mut net), [["+reader 1"], ["+writer 0"]]);
    assert!(net.nodes.iter().all(|node| node.discovery.stats().type_questions == 0));
}

const RECURSIVE: &str = "struct ShapeType; struct Back { sequence<ShapeType> all; };
    struct ShapeType { sequence<Back> back; long n; };";

/// Types that depend on each other, announced as a whole by one side or by both.
#[test]
fn equal_recursive_types_need_no_question() {
    let whole = || local(RECURSIVE).announced_otherwise(as_a_whole);
    // Minimal objects have no names to find one of them by.
    let minimal = || {
        whole().announced_otherwise(|side| {
            as_a_whole(side);
            if side.typeid_with_size.type_id.equivalence() == Equivalence::Complete {
                *side = TypeIdentifierWithDependencies::none();
            }
        })
    };
    let strict =
        TypeConsistencyEnforcement { force_type_validation: true, ..TypeConsistencyEnforcement::DISALLOW };
    let ours = || local(RECURSIVE);
    for (w, r) in [(whole(), whole()), (ours(), whole()), (whole(), ours()), (minimal(), ours())] {
        let mut net = pair([config(0), config(1)]);
        let writer = LocalWriter { type_information: Some(w), ..local_writer(DataWriterQos::default()) };
        net.with(0, |d, now, out, fx| d.add_writer(now, writer, out, fx)).expect("valid names");
        let qos = DataReaderQos::default().type_consistency(strict);
        let reader = LocalReader { type_information: Some(r), ..local_reader(qos) };
        net.with(1, |d, now, out, fx| d.add_reader(now, reader, out, fx)).expect("valid names");
        net.run_for(secs(1));
        assert_eq!(events(&mut net), [["+reader 1"], ["+writer 0"]]);
        assert!(net.nodes.iter().all(|node| node.discovery.stats().type_questions == 0));
    }
    // Under another name it is another of these types.
    let mut types = crate::types::Types::new(prefix(0), &Quotas::default());
    types.lookups.add_peer(prefix(1));
    let writer = LocalWriter { type_information: Some(whole()), ..local_writer(DataWriterQos::default()) };
    let writer = writer.describe(prefix(1), dunlin_core::VendorId::DUNLIN);
    for (name, equal) in [("ShapeType", true), ("Back", false)] {
        let reader = LocalReader {
            type_information: Some(whole()),
            type_name: name.to_string(),
            ..local_reader(DataReaderQos::default())
        };
        let reader = reader.describe(prefix(1), dunlin_core::VendorId::DUNLIN);
        let fit = types.fit(&writer, &reader, true);
        assert!(matches!((&fit, equal), (Fit::Fits, true) | (Fit::Pending(_), false)), "{name}: {fit:?}");
    }
}

/// Versions of types that are announced as a whole are compared too.
#[test]
fn versions_of_types_announced_as_a_whole_are_compared() {
    for (version, events) in [("long n; long more;", "+writer 0"), ("string n;", "inconsistent 0")] {
        let mut net = pair([config(0), config(1)]);
        let theirs = local(&RECURSIVE.replace("long n;", version)).announced_otherwise(as_a_whole);
        let qos = DataWriterQos::default().representation(&[DataRepresentationId::Xcdr2]);
        let writer = LocalWriter { type_information: Some(theirs), ..local_writer(qos) };
        net.with(0, |d, now, out, fx| d.add_writer(now, writer, out, fx)).expect("valid names");
        let strict = TypeConsistencyEnforcement { force_type_validation: true, ..ALLOW() };
        reads(&mut net, 1, RECURSIVE, strict);
        net.run_for(secs(1));
        assert_eq!(net.events(1), [events], "{version}");
    }
}

#[test]
fn versions_are_compared_once_they_are_known_also_under_loss() {
    for (loss, wait) in [(0, 1), (300, 30)] {
        let mut net = pair([patient(0), patient(1)]);
        net.loss = loss;
        writes(&mut net, 0, OLD);
        reads(&mut net, 1, NEW, ALLOW());
        net.run_for(secs(wait));
        assert_eq!(events(&mut net), [["+reader 1"], ["+writer 0"]], "{loss}");
        let stats = net.nodes[1].discovery.stats();
        assert!(stats.type_questions > 0 && stats.type_object_octets > 0);
    }
}

/// Where types fit, their names matter to Fast DDS alone.
#[test]
fn types_of_fast_dds_need_equal_names() {
    use dunlin_core::VendorId;

    use crate::standing::{TypeStanding, type_standing};
    let mut types = crate::types::Types::new(prefix(0), &Quotas::default());
    let writer = LocalWriter { type_information: Some(local(OLD)), ..local_writer(DataWriterQos::default()) };
    for (vendor, other_name, fits) in
        [(VendorId::DUNLIN, true, true), (VendorId::FAST_DDS, true, false), (VendorId::FAST_DDS, false, true)]
    {
        let writer = writer.clone().describe(prefix(1), vendor);
        let reader =
            LocalReader { type_information: Some(local(OLD)), ..local_reader(DataReaderQos::default()) };
        let mut reader = reader.describe(prefix(0), VendorId::DUNLIN);
        if other_name {
            reader.type_name = "Another".into();
        }
        let standing = type_standing(&mut types, &writer, &reader, false);
        assert_eq!(matches!(standing, TypeStanding::Fits), fits, "{vendor:?}, other name {other_name}");
    }
}

#[test]
fn types_that_do_not_fit_part_the_endpoints_on_both_sides() {
    let mut net = pair([config(0), config(1)]);
    writes(&mut net, 0, OTHER);
    reads(&mut net, 1, OLD, ALLOW());
    net.run_for(secs(1));
    for node in [0, 1] {
        let reasons = net.nodes[node].fx.iter().find_map(|effect| match effect {
            DiscoveryEffect::InconsistentTopic { reasons, .. } => Some(reasons[0].to_string()),
            _ => None,
        });
        assert_eq!(reasons.as_deref(), Some("color: `string` cannot read `double`"));
    }
    assert_eq!(events(&mut net), [["inconsistent 1"], ["inconsistent 0"]]);
}

#[test]
fn types_match_by_name_if_the_participant_does_not_answer() {
    let mut net = pair([config(0), config(1)]);
    // The question gets lost wherever it goes.
    net.nodes[0].mute_about_types = true;
    writes(&mut net, 0, OTHER);
    reads(&mut net, 1, OLD, ALLOW());
    net.run_for(millis(2900));
    assert_eq!(net.events(1), [""; 0], "it waits");
    net.run_for(secs(1));
    assert_eq!(net.events(1), ["+writer 0"]);
    assert_eq!(net.nodes[1].discovery.stats().type_questions_failed, 1);
    // A reader that insists has nothing to go by.
    let force = TypeConsistencyEnforcement { force_type_validation: true, ..ALLOW() };
    reads(&mut net, 1, OLD, force);
    net.run_for(secs(1));
    assert_eq!(net.events(1), ["-writer 0", "inconsistent 0"]);
}

#[test]
fn a_match_whose_types_were_forgotten_stays_but_its_policies_are_compared() {
    let mut net = pair([config(0), config(1)]);
    writes(&mut net, 0, NEW);
    reads(&mut net, 1, OLD, ALLOW());
    net.run_for(secs(1));
    assert_eq!(net.events(1), ["+writer 0"]);
    let types = &mut net.nodes[1].discovery.endpoints.types;
    types.remove_peer(prefix(0));
    types.lookups.add_peer(prefix(0));
    net.nodes[0].mute_about_types = true;
    let reads = |qos| LocalReader { type_information: Some(local(OLD)), ..local_reader(qos) };
    let other = reads(DataReaderQos::default().user_data([1]));
    net.with(1, |d, now, out, fx| d.add_reader(now, other, out, fx)).expect("valid names");
    assert_eq!(net.events(1), [""; 0], "it stays");
    let strict = reads(DataReaderQos::default().deadline(dunlin_core::Duration::from_secs(1)));
    net.with(1, |d, now, out, fx| d.add_reader(now, strict, out, fx)).expect("valid names");
    assert_eq!(net.events(1), ["-writer 0", "incompatible 0 DEADLINE"]);
}

#[test]
fn types_match_by_name_at_once_without_type_lookup_endpoints() {
    let mut net = pair([config(0), config(1)]);
    net.nodes[1].discovery.endpoints.types.remove_peer(prefix(0));
    writes(&mut net, 0, OTHER);
    reads(&mut net, 1, OLD, ALLOW());
    net.run_for(millis(500));
    assert_eq!(net.events(1), ["+writer 0"]);
}

#[test]
fn type_lookup_is_answered_and_types_are_removed_with_participant() {
    let mut net = pair([config(0), config(1)]);
    writes(&mut net, 0, NEW);
    net.run_for(secs(1));
    let ask = |net: &mut Net, guid| net.with(1, |d, now, out, fx| d.discovered_type(now, guid, out, fx));
    let there = guid(0, WRITER);
    assert!(matches!(ask(&mut net, there), TypeDiscovery::Pending));
    net.run_for(secs(1));
    let TypeDiscovery::Known(known) = ask(&mut net, there) else { panic!("it is known") };
    let here = local(NEW);
    assert_eq!(to_idl(&known.graph, known.root), to_idl(&here.known().graph, here.known().root));
    assert!(matches!(ask(&mut net, guid(0, READER)), TypeDiscovery::NotAnnounced));
    assert!(net.nodes[1].discovery.stats().type_object_octets > 0);
    net.with(0, |d, now, out, _| d.shutdown(now, out));
    net.run_for(secs(1));
    assert_eq!(net.nodes[1].discovery.stats().type_object_octets, 0);
    assert!(matches!(ask(&mut net, there), TypeDiscovery::NotAnnounced));
}

#[test]
fn quotas_bound_the_type_objects_of_a_participant() {
    let quotas = Quotas { max_type_object_octets_per_participant: 100, ..Quotas::default() };
    let mut net = pair([config(0), DiscoveryConfig { quotas, ..config(1) }]);
    writes(&mut net, 0, NEW);
    reads(&mut net, 1, OLD, ALLOW());
    net.run_for(secs(1));
    assert_eq!(net.events(1), ["+writer 0"], "by name");
    let stats = net.nodes[1].discovery.stats();
    assert!(stats.type_object_octets <= 100 && stats.type_objects_refused > 0, "{stats:?}");
    let refused: Vec<_> = net.nodes[1].discovery.take_refused().collect();
    assert!(refused.contains(&(guid(0, WRITER).prefix, Misbehaviour::UnaskedType)), "{refused:?}");
}

#[test]
#[cfg_attr(miri, ignore = "two hundred structures of IDL")]
fn large_types_are_announced_and_sent_in_parts() {
    let nested: alloc::string::String =
        (0..200).map(|n| alloc::format!("@nested struct S{n} {{ long long_member_name_{n}; }};")).collect();
    let members: alloc::string::String = (0..200).map(|n| alloc::format!("S{n} m{n};")).collect();
    let large = alloc::format!("{nested} struct ShapeType {{ {members} }};");
    assert!(local(&large).octets().len() < 8192, "{}", local(&large).octets().len());
    let mut net = pair([config(0), config(1)]);
    net.loss = 50;
    writes(&mut net, 0, &large);
    reads(&mut net, 1, &alloc::format!("{nested} struct ShapeType {{ {members} long more; }};"), ALLOW());
    net.run_for(secs(20));
    assert_eq!(events(&mut net), [["+reader 1"], ["+writer 0"]]);
}

#[test]
fn type_lookup_works_after_a_lease_expired_on_one_side_alone() {
    let mut net = pair([config(0), config(1)]);
    writes(&mut net, 0, NEW);
    net.run_for(secs(1));
    let ask = |net: &mut Net| {
        let found =
            |net: &mut Net| net.with(1, |d, now, out, fx| d.discovered_type(now, guid(0, WRITER), out, fx));
        let _ = found(net);
        // Less than it takes until a question is asked again.
        net.run_for(millis(500));
        found(net)
    };
    assert!(matches!(ask(&mut net), TypeDiscovery::Known(_)));
    // One direction was cut for a while: node 0 has heard node 1 all the time, but not the other way round.
    net.with(1, |d, _, _, fx| d.remove_participant(prefix(0), crate::LostReason::LeaseExpired, fx));
    net.run_for(secs(10));
    assert_eq!(net.nodes[1].discovery.stats().type_object_octets, 0);
    let known = ask(&mut net);
    assert!(matches!(known, TypeDiscovery::Known(_)), "{known:?}");
    assert!(net.nodes[1].discovery.stats().type_object_octets > 0, "it was told again");
}

/// A writer of a publisher with access scope GROUP.
fn grouped(net: &mut Net, node: usize, idl: &str) -> Guid {
    let group = EntityId([0, 0, 9, 8]);
    let publisher_qos = PublisherQos::default().presentation(PresentationAccessScope::Group, true, true);
    let qos = DataWriterQos::default().representation(&[DataRepresentationId::Xcdr2]);
    let writer =
        LocalWriter { type_information: Some(local(idl)), group, publisher_qos, ..local_writer(qos) };
    net.with(node, |d, now, out, fx| d.add_writer(now, writer, out, fx)).expect("valid names");
    Guid::new(prefix(node), group)
}

#[test]
fn group_writers_count_as_discovered_once_their_types_are_known() {
    let mut net = pair([config(0), config(1)]);
    reads(&mut net, 1, NEW, ALLOW());
    net.run_for(secs(1));
    let publisher = grouped(&mut net, 0, OLD);
    let mut seen = vec![];
    for _ in 0..20_000 {
        net.run_for(millis(1) / 20);
        seen.push(net.nodes[1].discovery.writers_of_publisher(publisher));
        seen.dedup();
    }
    assert_eq!(seen, [Some(vec![]), None, Some(vec![WRITER])]);
    assert_eq!(net.events(1), ["+writer 0"]);
    net.with(1, |d, _, _, fx| d.ignore_endpoint(guid(0, WRITER), fx));
    let known = |net: &Net| net.nodes[1].discovery.writers_of_publisher(publisher);
    assert_eq!(known(&net), Some(vec![WRITER]));
    assert_eq!(net.events(1), ["-writer 0"]);
    net.with(0, |d, now, out, fx| d.remove_writer(now, WRITER, out, fx));
    net.run_for(secs(1));
    assert_eq!(known(&net), Some(vec![]));
    // One that is announced after it was ignored.
    grouped(&mut net, 0, OLD);
    net.run_for(secs(1));
    assert_eq!((known(&net), net.events(1)), (Some(vec![WRITER]), vec![]));
    net.with(1, |d, _, _, fx| d.ignore_participant(prefix(0), fx));
    assert_eq!(known(&net), Some(vec![]));
}
