//! Random graphs of routers: cycles, several ways, restarts. Every sample reaches every domain that there is a way to exactly once, and
//! when the writers are silent, so is everything else.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use dunlin::qos::{DataReaderQos, DataWriterQos};
use dunlin::sim::{Node, Result, Sim};
use dunlin::{DataReader, DataWriter, Guid};

use crate::support::*;

/// Samples of each writer.
const SAMPLES: i64 = 30;

/// An arrow: a router passes on from one domain to another.
type Arrows = Vec<(usize, usize)>;

/// Routers with their arrows.
#[derive(Debug)]
struct Graph {
    domains: usize,
    routers: Vec<Arrows>,
    writers: Vec<usize>,
    /// Which router crashes, when, and for how long, in milliseconds.
    restarts: Vec<(usize, u64, u64)>,
}

/// Below a bound.
fn draw(sim: &mut Sim, bound: usize) -> usize {
    (sim.random() % bound as u64) as usize
}

fn graph(sim: &mut Sim) -> Graph {
    let domains = 2 + draw(sim, 4);
    let count = 1 + draw(sim, 8);
    let mut routers: Vec<Arrows> = Vec::new();
    for _ in 0..count {
        let mut arrows = BTreeSet::new();
        for _ in 0..1 + draw(sim, 3) {
            let (from, to) = (draw(sim, domains), draw(sim, domains));
            if from != to {
                arrows.insert((from, to));
            }
            if from != to && draw(sim, 2) == 0 {
                arrows.insert((to, from));
            }
        }
        if !arrows.is_empty() {
            routers.push(arrows.into_iter().collect());
        }
    }
    let writers = (0..1 + draw(sim, 3)).map(|_| draw(sim, domains)).collect();
    let times = if routers.is_empty() { 0 } else { draw(sim, 4) };
    let restart =
        |sim: &mut Sim| (draw(sim, routers.len()), 500 + sim.random() % 6000, 100 + sim.random() % 4000);
    let restarts = (0..times).map(|_| restart(sim)).collect();
    Graph { domains, routers, writers, restarts }
}

/// The domains that data of one reaches, through each router at most once.
fn reached(graph: &Graph, from: usize) -> BTreeSet<usize> {
    fn walk(graph: &Graph, at: usize, used: u32, seen: &mut BTreeSet<(usize, u32)>) {
        if !seen.insert((at, used)) {
            return;
        }
        for (router, arrows) in
            graph.routers.iter().enumerate().filter(|(router, _)| used & (1 << router) == 0)
        {
            for (_, to) in arrows.iter().filter(|(from, _)| *from == at) {
                walk(graph, *to, used | (1 << router), seen);
            }
        }
    }
    let mut seen = BTreeSet::new();
    walk(graph, from, 0, &mut seen);
    seen.into_iter().map(|(domain, _)| domain).collect()
}

fn configuration(router: usize, arrows: &Arrows) -> String {
    let domains: BTreeSet<usize> = arrows.iter().flat_map(|(from, to)| [*from, *to]).collect();
    let mut text = format!("name = \"r{router}\"\n");
    for domain in domains {
        _ = writeln!(text, "participant.d{domain}.domain = {domain}");
    }
    for (from, to) in arrows {
        _ = write!(text, "[[route]]\nfrom = \"d{from}\"\nto = \"d{to}\"\n");
    }
    text + "[status]\nparticipants = []\n"
}

struct System {
    routers: Vec<Node>,
    readers: Vec<(Node, DataReader<Track>)>,
    writers: Vec<(Node, DataWriter<Track>)>,
    /// What each reader has had, by first writer and number.
    had: Vec<BTreeMap<(Guid, i64), u32>>,
}

impl System {
    fn new(sim: &mut Sim, graph: &Graph) -> Result<Self> {
        let mut routers = Vec::new();
        for (number, arrows) in graph.routers.iter().enumerate() {
            let node = sim.node(&format!("r{number}"));
            route(&node, &configuration(number, arrows));
            routers.push(node);
        }
        let mut readers = Vec::new();
        for domain in 0..graph.domains {
            let node = sim.node(&format!("reader{domain}"));
            let reader = reader(&node, &at(domain as u32, "Tracks"), &reader_of_all())?;
            readers.push((node, reader));
        }
        let mut writers = Vec::new();
        for (number, domain) in graph.writers.iter().enumerate() {
            let node = sim.node(&format!("writer{number}"));
            let writer = writer(&node, &at(*domain as u32, "Tracks"), &writer_of_all())?;
            writers.push((node, writer));
        }
        let had = vec![BTreeMap::new(); graph.domains];
        Ok(Self { routers, readers, writers, had })
    }

    fn collect(&mut self) {
        for ((node, reader), had) in self.readers.iter().zip(&mut self.had) {
            for sample in take(node, reader).iter().filter(|sample| sample.info.valid_data) {
                let first = sample.info.origin();
                *had.entry((first.writer, first.sequence_number.0)).or_default() += 1;
            }
        }
    }

    fn run(&mut self, sim: &mut Sim, graph: &Graph) -> Result {
        let mut restarts: Vec<(u64, usize, bool)> = Vec::new();
        for (router, at, down) in &graph.restarts {
            restarts.extend([(*at, *router, false), (*at + *down, *router, true)]);
        }
        restarts.sort_unstable();
        let mut restarts = restarts.into_iter().peekable();
        for step in 0..130 {
            sim.run_for(millis(100))?;
            while let Some((_, router, up)) = restarts.next_if(|(at, ..)| *at <= step * 100) {
                match (&self.routers[router], up) {
                    (node, true) if !node.is_up() => node.restart(),
                    (node, false) if node.is_up() => node.crash(),
                    _ => {}
                }
            }
            if step >= 10 && step < 10 + SAMPLES as u64 * 3 && step % 3 == 0 {
                for (node, writer) in &self.writers {
                    node.run(|| writer.write(&track(step as u32 % 4, step as i64)))?;
                }
            }
            self.collect();
        }
        Ok(())
    }

    /// What is missing, or came twice.
    fn verdict(&self, graph: &Graph) -> Vec<String> {
        let mut wrong = Vec::new();
        for (number, from) in graph.writers.iter().enumerate() {
            let guid = self.writers[number].1.guid().unwrap_or_default();
            let reached = reached(graph, *from);
            for (domain, had) in self.had.iter().enumerate() {
                for n in 1..=SAMPLES {
                    let (times, wanted) =
                        (had.get(&(guid, n)).copied().unwrap_or(0), u32::from(reached.contains(&domain)));
                    if times != wanted {
                        wrong.push(format!("sample {n} of writer {number} in domain {from} came {times} times to domain {domain}, not {wanted}"));
                    }
                }
            }
        }
        wrong
    }
}

fn reader_of_all() -> DataReaderQos {
    DataReaderQos::default().reliable().keep_all().transient_local().remove_duplicates(true)
}

fn writer_of_all() -> DataWriterQos {
    DataWriterQos::default().reliable().keep_all().transient_local()
}

fn scenario(sim: &mut Sim) -> Result {
    let graph = graph(sim);
    let mut system = System::new(sim, &graph)?;
    system.run(sim, &graph)?;
    // Restarted routers have to find everybody again.
    let complete = |system: &System| system.verdict(&graph).is_empty();
    for _ in 0..60 {
        if complete(&system) {
            break;
        }
        sim.run_for(secs(1))?;
        system.collect();
    }
    silent(sim, &graph)?;
    system.collect();
    let wrong = system.verdict(&graph);
    if !wrong.is_empty() {
        return Err(
            format!("{} of {graph:?}: {}", wrong.len(), wrong[..wrong.len().min(5)].join("; ")).into()
        );
    }
    // Outputs end with the writers: none keeps another one alive.
    for (node, _) in system.writers.drain(..) {
        node.crash();
    }
    let readers = std::mem::take(&mut system.readers);
    let alone = || readers.iter().all(|(_, reader)| reader.matched_publications().is_empty());
    sim.run_until(alone, secs(300)).map_err(|_| format!("outputs outlive the writers: {graph:?}"))?;
    Ok(())
}

/// Five seconds after all is said there are only signs of life.
fn silent(sim: &mut Sim, graph: &Graph) -> Result {
    sim.run_for(secs(5))?;
    let before = sim.network_stats().sent.datagrams;
    sim.run_for(secs(5))?;
    let sent = sim.network_stats().sent.datagrams - before;
    let in_domain = |domain: usize| {
        let joined = |arrows: &&Arrows| arrows.iter().any(|(from, to)| *from == domain || *to == domain);
        let routers = graph.routers.iter().filter(joined).count();
        1 + routers + graph.writers.iter().filter(|at| **at == domain).count()
    };
    let pairs: usize = (0..graph.domains).map(|domain| in_domain(domain).pow(2)).sum();
    let most = 16 * pairs as u64 + 100;
    if sent > most {
        return Err(format!("{sent} datagrams in 5 s of silence, more than {most}: {graph:?}").into());
    }
    Ok(())
}

#[test]
fn routed_samples_reach_each_domain_once_and_traffic_ends() {
    Sim::builder().loss(0.02).delay(millis(1), millis(5)).seeds(0..12, scenario);
}
