//! Types that fastddsgen makes of IDL: what Fast DDS 3 announces of them and tells when asked, against Dunlin's, for the types
//! that are compared with Cyclone DDS (`protocol/xtypes/tests/cyclone`). `docs/type-comparisons.md` says why what differs does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use dunlin::xtypes::{
    TypeGraph, TypeIdentifier, TypeIdentifierWithDependencies, TypeIn, TypeInformation, TypeObject,
    TypeRecord, assignable, from_octets, to_octets, type_objects,
};
use dunlin::{DCPS_PUBLICATION, DcpsPublication, DomainParticipant, TypeDiscovery};
use dunlin_idl::{Disk, Extensibility, Options, compile};
use dunlin_interop::{Peer, Vendor, eventually, participant};

fn capture(name: &str) -> PathBuf {
    let folder = std::env::var_os("INTEROP_CAPTURES").map_or_else(std::env::temp_dir, PathBuf::from);
    folder.join(format!("{name}.pcap"))
}

fn graph(file: &str, default_extensibility: Extensibility) -> Result<TypeGraph> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../protocol/xtypes/tests/cyclone");
    let options = Options { default_extensibility, ..Options::default() };
    let path = folder.join(format!("{file}.idl")).display().to_string();
    let model = compile(&path, &options, &Disk).model.context("the IDL does not compile")?;
    Ok(dunlin_idl::xtypes::type_graph(&model).0)
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

fn octets(hex: &str) -> Result<Vec<u8>> {
    (0..hex.len()).step_by(2).map(|at| Ok(u8::from_str_radix(&hex[at..at + 2], 16)?)).collect()
}

/// Type information of `count` topics of the peer, by the name of the type, as it came over the wire.
fn announced(participant: &DomainParticipant, count: usize) -> Result<BTreeMap<String, TypeInformation>> {
    let builtin = participant.builtin_subscriber();
    let publications = builtin.lookup_datareader::<DcpsPublication>(DCPS_PUBLICATION).context("no reader")?;
    let mut all = BTreeMap::new();
    eventually("the topics of the peer", || {
        for data in publications.take(64)?.into_iter().filter_map(|sample| sample.data) {
            let information = from_octets(&data.type_information).with_context(|| data.type_name.clone())?;
            all.insert(data.type_name, information);
        }
        Ok((all.len() >= count).then_some(()))
    })?;
    Ok(all)
}

/// The octets of a type object of the peer, which have the hash that it announces.
fn object(peer: &mut Peer, id: &TypeIdentifier) -> Result<(TypeObject, Vec<u8>)> {
    peer.tell(&format!("object {}", hex(&to_octets(id)?)))?;
    let line = peer.wait_for_prefix("object ")?;
    let told = octets(line.strip_prefix("object ").unwrap_or_default())?;
    let object: TypeObject = from_octets(&told)?;
    ensure!(to_octets(&object)? == told, "{object:?} has other octets");
    ensure!(object.identifier()? == *id, "{object:?} has another hash");
    Ok((object, told))
}

/// What an object says, a line for each item, without hashes: what they stand for is compared for itself.
fn items(object: &TypeObject) -> Vec<String> {
    let mut text = format!("{object:?}");
    for kind in ["Minimal([", "Complete(["] {
        let mut parts = text.split(kind);
        let first = parts.next().unwrap_or_default().to_owned();
        text = parts.fold(first, |all, part| {
            all + kind.trim_end_matches('[') + part.split_once(']').map_or(part, |(_, rest)| rest)
        });
    }
    text.split(", ").map(str::to_owned).collect()
}

/// What one object says and the other does not.
fn difference(ours: &TypeObject, theirs: &TypeObject) -> String {
    let mut counts: BTreeMap<String, i32> = BTreeMap::new();
    for item in items(ours) {
        *counts.entry(item).or_default() -= 1;
    }
    for item in items(theirs) {
        *counts.entry(item).or_default() += 1;
    }
    counts.retain(|_, count| *count != 0);
    counts.iter().map(|(item, count)| format!(" [{count:+} {item}]")).collect()
}

fn identifiers(object: &TypeObject) -> Vec<TypeIdentifier> {
    let mut all = Vec::new();
    object.visit_identifiers(&mut |id| id.visit_hashed(&mut |id| all.push(id.clone())));
    all
}

/// The comparison of a file.
struct Comparison<'a> {
    peer: &'a mut Peer,
    graph: &'a TypeGraph,
    records: BTreeMap<TypeIdentifier, (String, TypeObject)>,
    /// Pairs that are compared already.
    seen: BTreeSet<(TypeIdentifier, TypeIdentifier)>,
    equal: usize,
    differences: BTreeSet<String>,
}

impl Comparison<'_> {
    fn add(&mut self, record: &TypeRecord) -> Result<()> {
        let name = &self.graph.get(record.index).context("no such type")?.name;
        for (side, ours) in [("minimal", &record.minimal), ("complete", &record.complete)] {
            self.records.insert(ours.id.clone(), (format!("{name} {side}"), ours.object.clone()));
        }
        Ok(())
    }

    /// Compares an object, and what it depends on; returns the size of the peer's.
    fn compare(&mut self, ours: &TypeIdentifier, theirs: &TypeIdentifier) -> Result<usize> {
        let (name, object_here) = self.records.get(ours).context("an unknown hash")?.clone();
        let (object_there, octets) = object(self.peer, theirs).with_context(|| name.clone())?;
        if !self.seen.insert((ours.clone(), theirs.clone())) {
            return Ok(octets.len());
        }
        let difference = difference(&object_here, &object_there);
        if ours == theirs {
            ensure!(octets == to_octets(&object_here)?, "{name}: one hash of different octets");
            self.equal += 1;
        } else if !difference.is_empty() {
            self.differences.insert(name.clone() + &difference);
        } else if items(&object_here) != items(&object_there) {
            self.differences.insert(name.clone() + " [another order]");
        }
        let (here, there) = (identifiers(&object_here), identifiers(&object_there));
        ensure!(here.len() == there.len(), "{name}: {here:?} {there:?}");
        for (ours, theirs) in here.iter().zip(&there) {
            self.compare(ours, theirs)?;
        }
        Ok(octets.len())
    }
}

/// What the peer tells over the wire is assignable to ours and ours to it.
fn is_told(participant: &DomainParticipant, name: &str, ours: &TypeGraph) -> Result<()> {
    let publications = participant.discovered_publications();
    let writer = publications.iter().find(|it| *it.topic_name == *name).context("no writer")?;
    let known = eventually("the type of a writer", || match participant.discovered_type(writer.guid) {
        TypeDiscovery::Known(known) => Ok(Some(known)),
        TypeDiscovery::Pending => Ok(None),
        other => Err(anyhow::anyhow!("{name}: {other:?}")),
    })?;
    let ours = TypeIn { graph: ours, index: ours.find(name).context("an unknown type")? };
    let theirs = TypeIn { graph: &known.graph, index: known.root };
    let (policy, xcdr2) =
        (dunlin::qos::TypeConsistencyEnforcement::default(), dunlin::cdr::Representation::Xcdr2);
    // fastddsgen does not know @bit_bound of enumerations, whose values have four octets there.
    let other_size = name == "E::Collections";
    for (reader, writer) in [(ours, theirs), (theirs, ours)] {
        let verdict = assignable(reader, writer, &policy, xcdr2);
        ensure!(verdict.is_err() == other_size, "{name}: {verdict:?}");
    }
    Ok(())
}

/// Information of an object that leaves open what it depends on (§7.6.3.2.1).
fn alone(id: &TypeIdentifier, size: usize) -> Result<TypeIdentifierWithDependencies> {
    let mut it = TypeIdentifierWithDependencies::none();
    it.typeid_with_size.type_id = id.clone();
    it.typeid_with_size.typeobject_serialized_size = u32::try_from(size)?;
    it.dependent_typeid_count = -1;
    Ok(it)
}

/// Compares the types of a file; returns how many there are, how many objects are equal, and what differs or was refused.
fn compare(
    file: &'static str,
    extensibility: Extensibility,
    domain: u32,
) -> Result<(usize, usize, Vec<String>)> {
    let program = if file == "final" { "types-final" } else { "types-appendable" };
    let participant = participant(domain, &capture(&format!("FastDds3-{program}")))?;
    let mut peer = Peer::start(Vendor::FastDds3Generated(program), "types", domain)?;
    let count = peer.wait_for_prefix("types ")?[6..].parse()?;
    let mut list: Vec<String> = peer.leftover().iter().map(|line| format!("{file} {line}")).collect();
    let graph = graph(file, extensibility)?;
    let told = announced(&participant, count)?;
    let (records, seen, differences) = Default::default();
    let mut comparison = Comparison { peer: &mut peer, graph: &graph, records, seen, equal: 0, differences };
    for (name, information) in &told {
        let ours = type_objects(&graph, graph.find(name).with_context(|| name.clone())?)?;
        ours.records.iter().try_for_each(|record| comparison.add(record))?;
        let root = ours.root().context("no root")?;
        let sides = [(&root.minimal, &information.minimal), (&root.complete, &information.complete)];
        for (ours, theirs) in sides {
            let id = &theirs.typeid_with_size.type_id;
            let size = comparison.compare(&ours.id, id)?;
            ensure!(*theirs == alone(id, size)?, "{name} has dependencies now: {theirs:?}");
        }
        is_told(&participant, name, &graph)?;
    }
    let equal = comparison.equal;
    list.extend(comparison.differences.iter().map(|line| format!("{file} {line}")));
    peer.quit()?;
    Ok((told.len(), equal, list))
}

#[test]
#[ignore = "needs Fast DDS 3: make interop-fastdds3"]
fn fast_dds3_tells_types_of_fastddsgen() -> Result<()> {
    let (types, equal, mut list) = compare("appendable", Extensibility::Appendable, 125)?;
    let (more_types, more_equal, more) = compare("final", Extensibility::Final, 126)?;
    list.extend(more);
    println!(
        "{} types, {} type objects are equal, {} lines differ",
        types + more_types,
        equal + more_equal,
        list.len()
    );
    let expected = include_str!("../peers/fastdds3/differences.txt");
    let seen: BTreeSet<&str> = list.iter().map(String::as_str).collect();
    let known: BTreeSet<&str> = expected.lines().filter(|line| !line.starts_with('#')).collect();
    let new: Vec<&&str> = seen.difference(&known).collect();
    let gone: Vec<&&str> = known.difference(&seen).collect();
    ensure!(new.is_empty() && gone.is_empty(), "new: {new:#?}\ngone: {gone:#?}");
    ensure!(
        types + more_types == 74 && equal + more_equal == 85,
        "{types} {more_types} {equal} {more_equal}"
    );
    Ok(())
}
