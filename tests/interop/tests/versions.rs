//! The 33 × 33 table of versions with Cyclone DDS's C library on the other side: 33 writers and 33 readers of each vendor on one
//! topic, and each of the four tables of who matches whom is the one that was worked out from the standard.

#[path = "../../../protocol/xtypes/tests/versions/mod.rs"]
mod versions;

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use dunlin::qos::{
    DataReaderQos, DataRepresentationId, DataWriterQos, PublisherQos, SubscriberQos, TopicQos,
};
use dunlin::{
    Config, DataReader, DataWriter, DomainParticipant, DynamicData, DynamicType, Guid, TypeDiscovery,
};
use dunlin_idl::{Memory, Options, compile};
use dunlin_interop::{Peer, Vendor, eventually};
use versions::Version;

const TOPIC: &str = "Versions";

/// Who reads whom: endpoints are `dunlin:N` and `cyclone:N`.
type Matches = BTreeSet<(String, String)>;

/// A version with a participant of its own, because a participant has one type of a topic.
struct Ours {
    name: String,
    participant: DomainParticipant,
    reader: DataReader<DynamicData>,
    writer: DataWriter<DynamicData>,
}

fn type_of(version: &Version) -> Result<DynamicType> {
    let compilation = compile("t.idl", &Options::default(), &Memory::default().with("t.idl", version.idl()));
    let model = compilation.model.as_ref().with_context(|| compilation.render(false))?;
    let (graph, index) = dunlin_idl::xtypes::type_graph_of(model, "T").context("no T")?;
    Ok(DynamicType::new(graph, index)?)
}

fn ours(domain: u32, at: usize, version: &Version) -> Result<Ours> {
    let mut config = Config::default();
    config.set("network.interfaces", "lo")?;
    let participant = DomainParticipant::builder(domain).config(config).build()?;
    let topic = participant.create_dynamic_topic(TOPIC, &type_of(version)?, &TopicQos::default())?;
    let name = format!("dunlin:{at}");
    let xcdr2 = [DataRepresentationId::Xcdr2];
    let qos = DataReaderQos::default().reliable().representation(&xcdr2).user_data(name.as_bytes());
    let reader = participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, &qos)?;
    let qos = DataWriterQos::default().reliable().representation(&xcdr2).user_data(name.as_bytes());
    let writer = participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, &qos)?;
    Ok(Ours { name, participant, reader, writer })
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

/// Waits until a participant has judged all endpoints of the peer: it knows their types.
fn judged(ours: &Ours, count: usize) -> Result<()> {
    eventually(&format!("the types of the peer at {}", ours.name), || {
        let writers = ours.participant.discovered_publications();
        let writers = writers.iter().filter(|it| it.qos.user_data.0.starts_with(b"cyclone:"));
        let readers = ours.participant.discovered_subscriptions();
        let readers = readers.iter().filter(|it| it.qos.user_data.0.starts_with(b"cyclone:"));
        let guids: Vec<Guid> = writers.map(|it| it.guid).chain(readers.map(|it| it.guid)).collect();
        let known = |guid: &Guid| match ours.participant.discovered_type(*guid) {
            TypeDiscovery::Known(_) => Ok(true),
            TypeDiscovery::Pending => Ok(false),
            other => bail!("{other:?}"),
        };
        for guid in &guids {
            if !known(guid)? {
                return Ok(None);
            }
        }
        Ok((guids.len() == 2 * count).then_some(()))
    })
}

/// What Dunlin's readers and writers say.
fn seen_by_us(all: &[Ours]) -> Result<[Matches; 2]> {
    let (mut by_readers, mut by_writers) = (Matches::new(), Matches::new());
    for it in all {
        for handle in it.reader.matched_publications() {
            let writer = it.reader.matched_publication_data(handle)?;
            by_readers.insert((it.name.clone(), text(&writer.qos.user_data.0)));
        }
        for handle in it.writer.matched_subscriptions() {
            let reader = it.writer.matched_subscription_data(handle)?;
            by_writers.insert((text(&reader.qos.user_data.0), it.name.clone()));
        }
    }
    Ok([by_readers, by_writers])
}

/// What Cyclone's readers and writers say.
fn seen_by_peer(peer: &mut Peer, count: usize) -> Result<[Matches; 2]> {
    peer.tell("matched")?;
    let mut seen = [Matches::new(), Matches::new()];
    for at in 0..count {
        for (side, word) in ["reader", "writer"].into_iter().enumerate() {
            let line = peer.wait_for_prefix(&format!("{word} {at}"))?;
            let own = format!("cyclone:{at}");
            for other in line.split(' ').skip(2) {
                let pair = (own.clone(), other.to_owned());
                seen[side].insert(if side == 0 { pair } else { (pair.1, pair.0) });
            }
        }
    }
    Ok(seen)
}

fn expected(readers: &str, writers: &str) -> Matches {
    let all: Vec<Version> = versions::all().collect();
    let pairs = all.iter().enumerate().flat_map(|(r, reader)| {
        let read = all.iter().enumerate().filter(|(_, writer)| reader.reads(writer));
        read.map(move |(w, _)| (format!("{readers}:{r}"), format!("{writers}:{w}")))
    });
    pairs.collect()
}

fn of(matches: &Matches, readers: &str, writers: &str) -> Matches {
    let own =
        |(reader, writer): &&(String, String)| reader.starts_with(readers) && writer.starts_with(writers);
    matches.iter().filter(own).cloned().collect()
}

/// Who sees which table, and what it has more or less than it should.
fn differing(all: &[Ours], peer: &mut Peer) -> Result<Vec<String>> {
    let [by_our_readers, by_our_writers] = seen_by_us(all)?;
    let [by_their_readers, by_their_writers] = seen_by_peer(peer, all.len())?;
    let tables = [
        ("our readers", &by_our_readers, "dunlin", "dunlin"),
        ("our readers", &by_our_readers, "dunlin", "cyclone"),
        ("our writers", &by_our_writers, "cyclone", "dunlin"),
        ("their readers", &by_their_readers, "cyclone", "dunlin"),
        ("their writers", &by_their_writers, "dunlin", "cyclone"),
        ("their readers", &by_their_readers, "cyclone", "cyclone"),
    ];
    let all = tables.into_iter().map(|(view, matches, readers, writers)| {
        let (wanted, found) = (expected(readers, writers), of(matches, readers, writers));
        let missing: Vec<_> = wanted.difference(&found).collect();
        let wrong: Vec<_> = found.difference(&wanted).collect();
        let well = missing.is_empty() && wrong.is_empty();
        (!well).then(|| format!("{view}: not matched {missing:?}, matched {wrong:?} (reader, writer)"))
    });
    Ok(all.flatten().collect())
}

#[test]
#[ignore = "needs the peers: make interop"]
fn cyclone_matches_the_versions_that_the_table_says() -> Result<()> {
    let domain = 31;
    let all = versions::all().enumerate().map(|(at, version)| ours(domain, at, &version));
    let all = all.collect::<Result<Vec<Ours>>>()?;
    let mut peer = Peer::start(Vendor::CycloneC, "versions", domain)?;
    peer.tell(&format!("types {}", all.len()))?;
    for it in &all {
        judged(it, all.len())?;
    }
    let mut last = Vec::new();
    let settled = eventually("the tables", || {
        last = differing(&all, &mut peer)?;
        Ok(last.is_empty().then_some(()))
    });
    ensure!(settled.is_ok(), "{}", last.join("\n"));
    peer.quit()
}
