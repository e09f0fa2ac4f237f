//! The hosts of a measurement: on one machine, as network namespaces, two of them with a virtual cable, that are removed again
//! when the value goes; or this machine and another one over ssh.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::scenario::Link;

/// What every host has, side by side: the near one and the far one.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    /// Names of the interfaces.
    pub(crate) interfaces: [String; 2],
    /// Addresses on them.
    pub(crate) addresses: [String; 2],
}

impl Ends {
    /// Both on the loopback interface.
    pub(crate) fn same_host() -> Self {
        Self { interfaces: ["lo"; 2].map(String::from), addresses: ["127.0.0.1"; 2].map(String::from) }
    }
}

/// Another machine.
#[derive(Clone, Debug)]
pub struct Remote {
    /// What runs a command line there: `ssh` and its arguments, the host last.
    pub(crate) shell: Vec<OsString>,
    /// Where its adapters are.
    pub(crate) peers: String,
    /// The command line tool there.
    pub(crate) dunlin: String,
    pub(crate) ends: Ends,
}

/// The hosts of a measurement.
pub(crate) enum Hosts<'a> {
    Namespaces(Namespaces),
    Machines(&'a Remote),
}

impl Hosts<'_> {
    /// Octets that the first host has put on the cable, with the headers of frames; nothing if it is no namespace.
    pub(crate) fn octets_on_cable(&self) -> Result<Option<f64>> {
        match self {
            Self::Namespaces(hosts) => hosts.counter("tx_bytes").map(Some),
            Self::Machines(_) => Ok(None),
        }
    }

    /// Frames that have crossed the cable in both directions, or the loopback interface of a single host.
    pub(crate) fn frames(&self) -> Result<Option<f64>> {
        match self {
            Self::Namespaces(hosts) if hosts.is_single() => hosts.counter("tx_packets").map(Some),
            Self::Namespaces(hosts) => Ok(Some(hosts.counter("tx_packets")? + hosts.counter("rx_packets")?)),
            Self::Machines(_) => Ok(None),
        }
    }

    /// Whether both sides are on the same host.
    pub(crate) fn is_single(&self) -> bool {
        matches!(self, Self::Namespaces(hosts) if hosts.is_single())
    }

    pub(crate) fn ends(&self) -> Ends {
        match self {
            Self::Namespaces(hosts) if hosts.is_single() => Ends::same_host(),
            Self::Namespaces(_) => {
                Ends { interfaces: [INTERFACE; 2].map(String::from), addresses: ADDRESSES.map(String::from) }
            }
            Self::Machines(remote) => remote.ends.clone(),
        }
    }
}

/// Two namespaces, each with an interface of the same name and an address of its own; or one with its loopback interface.
pub(crate) struct Namespaces {
    names: Vec<String>,
}

/// The interface in each of two namespaces.
const INTERFACE: &str = "bench0";
/// The address of each host.
const ADDRESSES: [&str; 2] = ["10.77.0.1", "10.77.0.2"];

impl Namespaces {
    pub(crate) fn two(link: Link) -> Result<Self> {
        let hosts = Self::named(&["a", "b"]);
        hosts
            .lay(link)
            .context("two hosts need network namespaces (root, and the packages iproute2, nftables)")?;
        Ok(hosts)
    }

    pub(crate) fn one(link: Link) -> Result<Self> {
        let host = Self::named(&["a"]);
        host.lay_loopback(link)
            .context("a host of its own is a network namespace (root, and the package iproute2)")?;
        Ok(host)
    }

    fn named(sides: &[&str]) -> Self {
        sweep();
        let name = |side: &&str| format!("dunlin-bench-{}-{side}", std::process::id());
        Self { names: sides.iter().map(name).collect() }
    }

    fn is_single(&self) -> bool {
        self.names.len() == 1
    }

    /// The namespace of a side.
    pub(crate) fn name(&self, side: usize) -> &str {
        self.names.get(side).or(self.names.last()).map_or("", String::as_str)
    }

    /// What the kernel counts at the interface of the first host.
    fn counter(&self, name: &str) -> Result<f64> {
        let interface = if self.is_single() { "lo" } else { INTERFACE };
        let file = format!("/sys/class/net/{interface}/statistics/{name}");
        let output = Command::new("ip").args(["netns", "exec", self.name(0), "cat", &file]).output();
        let output = output.context("ip cannot be started")?;
        let text = String::from_utf8_lossy(&output.stdout);
        text.trim().parse().with_context(|| format!("the counter of {interface}"))
    }

    fn lay_loopback(&self, link: Link) -> Result<()> {
        let name = self.name(0);
        run(&format!("ip netns add {name}"))?;
        run(&format!("ip -n {name} link set lo up multicast on"))?;
        run(&format!("ip -n {name} route add 224.0.0.0/4 dev lo"))?;
        if link.count { separate_segments(name, "lo") } else { Ok(()) }
    }

    fn lay(&self, link: Link) -> Result<()> {
        let (a, b) = (self.name(0), self.name(1));
        run(&format!("ip netns add {a}"))?;
        run(&format!("ip netns add {b}"))?;
        run(&format!("ip link add {INTERFACE} netns {a} type veth peer name {INTERFACE} netns {b}"))?;
        for (name, address) in self.names.iter().zip(ADDRESSES) {
            run(&format!("ip -n {name} address add {address}/24 broadcast + dev {INTERFACE}"))?;
            run(&format!("ip -n {name} link set lo up"))?;
            run(&format!("ip -n {name} link set {INTERFACE} up multicast on"))?;
            run(&format!("ip -n {name} route add 224.0.0.0/4 dev {INTERFACE}"))?;
            if link.mbit > 0 {
                // Three full frames of burst: what a network card holds.
                run(&format!(
                    "tc -n {name} qdisc add dev {INTERFACE} root tbf rate {}mbit burst 4542 limit 262144",
                    link.mbit
                ))?;
            }
            if link.count || link.loss > 0.0 {
                separate_segments(name, INTERFACE)?;
            }
            if link.loss > 0.0 {
                Self::drop_frames(name, link.loss)?;
            }
        }
        Ok(())
    }

    /// Drops single frames at random where they come in, each on its own: segments must not travel as one.
    fn drop_frames(name: &str, percent: f64) -> Result<()> {
        let below = (percent * 10_000.0).round() as u64;
        run(&format!("ip netns exec {name} nft add table netdev loss"))?;
        run(&format!(
            "ip netns exec {name} nft add chain netdev loss in {{ type filter hook ingress device {INTERFACE} priority 0 ; }}"
        ))?;
        run(&format!(
            "ip netns exec {name} nft add rule netdev loss in numgen random mod 1000000 < {below} counter drop"
        ))
    }
}

/// Segments do not travel as one: each datagram is a frame of its own.
fn separate_segments(namespace: &str, interface: &str) -> Result<()> {
    run(&format!(
        "ip netns exec {namespace} ethtool -K {interface} tso off gso off gro off tx-udp-segmentation off"
    ))
}

/// Removes what a run that was killed has left behind.
fn sweep() {
    remove_where(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists());
}

fn remove_where(made_by: impl Fn(u32) -> bool) {
    let Ok(entries) = std::fs::read_dir("/run/netns") else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if owner(&name).is_some_and(&made_by) {
            let _ = run(&format!("ip netns delete {name}"));
        }
    }
}

/// From now on a signal that ends this process first removes the namespaces it has made: nobody else does before the next
/// run. What it has started ends with its standard input.
pub(crate) fn removed_on_signals() -> Result<()> {
    ctrlc::set_handler(|| {
        remove_where(|pid| pid == std::process::id());
        std::process::exit(130);
    })
    .context("a handler for signals")
}

/// The process that made a namespace, if one of these did.
fn owner(name: &str) -> Option<u32> {
    let (pid, side) = name.strip_prefix("dunlin-bench-")?.split_once('-')?;
    if side == "a" || side == "b" { pid.parse().ok() } else { None }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = run(&format!("ip netns delete {name}"));
        }
    }
}

fn run(command: &str) -> Result<()> {
    let mut words = command.split_ascii_whitespace();
    let program = words.next().context("no program")?;
    let output = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{program} cannot be started"))?;
    if !output.status.success() {
        bail!("{command}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_namespaces_of_this_tool_are_swept() {
        assert_eq!(owner("dunlin-bench-17-a"), Some(17));
        for other in
            ["dunlin-bench-17", "dunlin-bench-17-c", "dunlin-bench-x-a", "eth-17-a", "dunlin-bench-1 2-a"]
        {
            assert_eq!(owner(other), None, "{other}");
        }
    }
}
