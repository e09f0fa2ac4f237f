//! Where a measurement takes place: its hosts, the configuration file of their programs, and the servers and daemons that run on
//! them besides the two sides.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use dunlin::Config;
use dunlin_bench_adapter::Line;

use crate::adapter::{DAEMON, SERVER};
use crate::hosts::{Ends, Hosts, Namespaces};
use crate::measure::{Bench, PATIENCE};
use crate::process::{Adapter, Launch};
use crate::scenario::{Architecture, Kind, Link, SetUp};
use crate::statistics::Figures;

pub(crate) struct Place<'a> {
    // What runs on the hosts ends before they do.
    hubs: Vec<Hub>,
    hosts: Option<Hosts<'a>>,
    config: Option<PathBuf>,
}

/// A server or daemon.
struct Hub {
    host: usize,
    process: Adapter,
}

impl<'a> Place<'a> {
    /// Makes the hosts, and starts what the architecture needs on them.
    pub(crate) fn new(bench: &Bench<'a>) -> Result<Self> {
        let link = bench.measure.link;
        let hosts = match (bench.cell.set_up, bench.remote) {
            (SetUp::OneHost, _) => Some(Hosts::Namespaces(Namespaces::one(link)?)),
            (SetUp::TwoHosts, None) => Some(Hosts::Namespaces(Namespaces::two(link)?)),
            (SetUp::TwoHosts, Some(remote)) => {
                ensure!(
                    link == Link::default(),
                    "the link between two machines is what it is; take link out"
                );
                ensure!(
                    !matches!(bench.measure.kind, Kind::OneWay | Kind::Applications),
                    "two machines have two clocks: no one way"
                );
                Some(Hosts::Machines(remote))
            }
            _ => None,
        };
        let mut place = Self { hubs: Vec::new(), hosts, config: None };
        if let Some(architecture) = bench.contender.architecture {
            ensure!(
                !matches!(place.hosts, Some(Hosts::Machines(_))),
                "architectures are compared on one machine: what runs on the other cannot be prepared"
            );
            place.prepare(bench, architecture)?;
        }
        Ok(place)
    }

    /// Whether what both hosts spend is of interest.
    pub(crate) fn is_studied(&self) -> bool {
        self.config.is_some()
    }

    fn is_single(&self) -> bool {
        self.hosts.as_ref().is_none_or(Hosts::is_single)
    }

    fn ends(&self) -> Ends {
        self.hosts.as_ref().map_or_else(Ends::same_host, Hosts::ends)
    }

    pub(crate) fn hosts(&self) -> Option<&Hosts<'a>> {
        self.hosts.as_ref()
    }

    /// Tells a side of its interface, its address, and the address of the other one.
    pub(crate) fn tell(&self, line: Line, side: usize) -> Line {
        let Ends { interfaces: [near, far], addresses: [here, there] } = self.ends();
        let (interface, address, peer) = if side == 0 { (near, here, there) } else { (far, there, here) };
        line.with("interface", interface).with("address", address).with("peer", peer)
    }

    /// Puts a side on its host, with the configuration file.
    pub(crate) fn put(&self, launch: &mut Launch, side: usize) {
        launch.config.clone_from(&self.config);
        if let Some(Hosts::Namespaces(hosts)) = &self.hosts {
            launch.namespace = Some(hosts.name(side.min(1)).to_string());
        }
    }

    /// Writes the configuration file, and starts servers and daemons with it.
    fn prepare(&mut self, bench: &Bench<'_>, architecture: Architecture) -> Result<()> {
        let [address, _] = self.ends().addresses;
        let text = config_file(architecture, &address, &bench.contender.options)?;
        let file = bench.scratch.join("dunlin.toml");
        std::fs::write(&file, text).with_context(|| format!("writing {}", file.display()))?;
        self.config = Some(file);
        let hosts = if self.is_single() { 1 } else { 2 };
        let wanted = match architecture {
            Architecture::Decentralised => 0..0,
            Architecture::Centralised => 0..1,
            Architecture::Federated => 0..hosts,
        };
        let role = if architecture == Architecture::Centralised { SERVER } else { DAEMON };
        for host in wanted {
            let mut launch = Launch { command: bench.adapters.own(role)?, ..Launch::default() };
            self.put(&mut launch, host);
            let mut process = Adapter::start(&format!("{}: {role}", bench.contender.name), &launch)?;
            let open = self.tell(Line::new("open").with("domain", bench.domain), host);
            process.ask(&open, "opened", PATIENCE)?;
            self.hubs.push(Hub { host, process });
        }
        Ok(())
    }

    /// Processor time that a host's server or daemon has used, seconds.
    fn hub_time(&self, host: usize) -> Result<f64> {
        let here = self.hubs.iter().filter(|hub| hub.host == host);
        here.map(|hub| Ok(hub.process.usage()?.map_or(0.0, |usage| usage.cpu))).sum()
    }

    /// What has been spent so far; nothing where no architecture is given.
    pub(crate) fn spent<'b>(
        &self,
        near: impl IntoIterator<Item = &'b Adapter>,
        far: impl IntoIterator<Item = &'b Adapter>,
    ) -> Result<Option<Spent>> {
        if !self.is_studied() {
            return Ok(None);
        }
        let sides = [time(near)?, time(far)?];
        let hubs = [self.hub_time(0)?, self.hub_time(1)?];
        let frames = self.hosts.as_ref().map(Hosts::frames).transpose()?.flatten();
        Ok(Some(Spent { sides, hubs, frames }))
    }

    /// What was spent since then, for each of so many samples.
    pub(crate) fn add_spent(
        &self,
        figures: &mut Figures,
        (before, after): (Option<Spent>, Option<Spent>),
        counts_frames: bool,
        samples: f64,
    ) {
        let Some((before, after)) = before.zip(after) else { return };
        let micros = |of: fn(&Spent) -> f64| (of(&after) - of(&before)).max(0.0) * 1e6 / samples.max(1.0);
        let mut add = |name: &str, value: f64| figures.insert(name.into(), value);
        add("cpu_us", micros(|it| it.sides.iter().chain(&it.hubs).sum()));
        if !self.is_single() {
            add("cpu_us_near", micros(|it| it.sides[0] + it.hubs[0]));
            add("cpu_us_far", micros(|it| it.sides[1] + it.hubs[1]));
        }
        if !self.hubs.is_empty() {
            add("cpu_us_hubs", micros(|it| it.hubs.iter().sum()));
        }
        if let Some((before, after)) = before.frames.zip(after.frames).filter(|_| counts_frames) {
            add("frames", (after - before) / samples.max(1.0));
        }
    }

    /// Memory of all processes, and of servers and daemons alone; what they have in common counts once.
    pub(crate) fn add_memory<'b>(
        &self,
        figures: &mut Figures,
        sides: impl IntoIterator<Item = &'b Adapter>,
    ) -> Result<()> {
        if !self.is_studied() {
            return Ok(());
        }
        let hubs: f64 = self.hubs.iter().map(|hub| hub.process.proportional_memory()).sum::<Result<f64>>()?;
        let sides: f64 = sides.into_iter().map(Adapter::proportional_memory).sum::<Result<f64>>()?;
        figures.insert("all_mb".into(), (sides + hubs) / 1e6);
        if !self.hubs.is_empty() {
            figures.insert("hubs_mb".into(), hubs / 1e6);
        }
        Ok(())
    }
}

/// Processor time of both sides and of servers and daemons on each host, seconds; and frames.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    sides: [f64; 2],
    hubs: [f64; 2],
    frames: Option<f64>,
}

fn time<'b>(processes: impl IntoIterator<Item = &'b Adapter>) -> Result<f64> {
    processes.into_iter().map(|one| Ok(one.usage()?.map_or(0.0, |usage| usage.cpu))).sum()
}

/// The configuration file of all programs of an architecture.
fn config_file(
    architecture: Architecture,
    server: &str,
    options: &BTreeMap<String, String>,
) -> Result<String> {
    let mut config = Config::default();
    let name = match architecture {
        Architecture::Decentralised => "decentralised",
        Architecture::Centralised => "centralised",
        Architecture::Federated => "federated",
    };
    config.set("discovery.architecture", name)?;
    let mut keys = vec!["discovery.architecture"];
    if architecture == Architecture::Centralised {
        config.set("discovery.servers", &format!("udp://{server}"))?;
        keys.push("discovery.servers");
    }
    for (key, value) in options {
        config.set(key, value)?;
        keys.push(key);
    }
    config.check()?;
    let line = |key: &&str| Some(format!("{key} = {}\n", config.get(key)?));
    Ok(keys.iter().filter_map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_file_is_one() {
        let options = [
            ("shared_memory.enabled", "false"),
            ("receive.waiting", "blocking"),
            ("daemon.max_applications", "7"),
            ("daemon.applications", "10.0.0.1,10.0.0.2"),
        ];
        let options = options.map(|(key, value)| (key.to_string(), value.to_string())).into();
        let text = config_file(Architecture::Centralised, "10.77.0.1", &options).unwrap();
        let config = Config::from_toml("dunlin.toml", &text).unwrap();
        config.check().unwrap();
        assert_eq!(config.discovery.servers, ["udp://10.77.0.1"]);
        assert_eq!((config.daemon.max_applications, config.shared_memory.enabled), (7, false));
        for architecture in [Architecture::Decentralised, Architecture::Federated] {
            let text = config_file(architecture, "", &options).unwrap();
            let config = Config::from_toml("dunlin.toml", &text).unwrap();
            config.check().unwrap();
            assert_eq!(config.daemon.applications, ["10.0.0.1", "10.0.0.2"]);
        }
    }
}
