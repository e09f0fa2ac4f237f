//! A host in the simulator, with a daemon and programs.

use dunlin::config::Architecture;
use dunlin::sim::{Node, Result, Sim};
use dunlin::{Config, Duration};
use dunlin_hub::{Daemon, DaemonConfig};

/// A host: a node for the daemon, and one for each program, so that each can crash alone.
pub struct Host {
    pub daemon: Node,
    config: DaemonConfig,
    pub programs: Vec<Node>,
    running: Option<Daemon>,
}

impl Host {
    pub fn new(sim: &mut Sim, name: &str, programs: usize) -> Result<Self> {
        Self::with(sim, name, programs, |_| ())
    }

    pub fn with(sim: &mut Sim, name: &str, programs: usize, change: impl Fn(&mut Config)) -> Result<Self> {
        let daemon = sim.node(name);
        let mut own = Config::default();
        change(&mut own);
        own.discovery.architecture = Architecture::Federated;
        name.clone_into(&mut own.daemon.address);
        let programs: Vec<Node> =
            (0..programs).map(|n| sim.node_with(&format!("{name}-{n}"), own.clone())).collect();
        let mut config = DaemonConfig::new(0);
        config.base.daemon.applications = programs.iter().map(|node| node.address().to_string()).collect();
        change(&mut config.base);
        let mut host = Self { daemon, config, programs, running: None };
        host.start()?;
        Ok(host)
    }

    pub fn start(&mut self) -> Result {
        let config = self.config.clone();
        self.running = Some(self.daemon.run(|| Daemon::start(config))?);
        Ok(())
    }

    /// The daemon is gone, and comes back with an empty memory.
    pub fn restart(&mut self, sim: &mut Sim, away: Duration) -> Result {
        self.daemon.crash();
        self.running = None;
        sim.run_for(away)?;
        self.daemon.restart();
        self.start()
    }

    pub fn status(&self) -> dunlin::RelayStats {
        let running = self.running.as_ref().unwrap();
        self.daemon.run(|| running.status().relay)
    }
}
