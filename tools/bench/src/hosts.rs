//! Two hosts: on one machine, as network namespaces with a virtual cable that are removed again when the value goes; or
//! this machine and another one over ssh.

use crate::scenario::Link;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::process::{Command, Stdio};

/// What every host has, side by side: the near one and the far one.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    /// Names of the interfaces.
    pub(crate) interfaces: [String; 2],
    /// Addresses on them.
    pub(crate) addresses: [String; 2],
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

/// The two hosts of a measurement.
pub(crate) enum Hosts<'a> {
    Namespaces(TwoHosts),
    Machines(&'a Remote),
}

impl Hosts<'_> {
    /// Octets that the first host has put on the cable, with the headers of frames; nothing if it is no namespace.
    pub(crate) fn octets_on_cable(&self) -> Result<Option<f64>> {
        match self {
            Self::Namespaces(hosts) => hosts.octets_sent().map(Some),
            Self::Machines(_) => Ok(None),
        }
    }

    pub(crate) fn ends(&self) -> Ends {
        match self {
            Self::Namespaces(_) => {
                Ends { interfaces: [INTERFACE; 2].map(String::from), addresses: ADDRESSES.map(String::from) }
            }
            Self::Machines(remote) => remote.ends.clone(),
        }
    }
}

/// Two namespaces. Each has an interface of the same name with an address of its own.
pub(crate) struct TwoHosts {
    names: [String; 2],
}

/// The interface in each namespace.
const INTERFACE: &str = "bench0";
/// The address of each host.
const ADDRESSES: [&str; 2] = ["10.77.0.1", "10.77.0.2"];

impl TwoHosts {
    pub(crate) fn new(link: Link) -> Result<Self> {
        sweep();
        let names = ["a", "b"].map(|side| format!("dunlin-bench-{}-{side}", std::process::id()));
        let hosts = Self { names };
        hosts
            .lay(link)
            .context("two hosts need network namespaces (root, and the packages iproute2, nftables)")?;
        Ok(hosts)
    }

    pub(crate) fn name(&self, side: usize) -> &str {
        self.names.get(side).map_or("", String::as_str)
    }

    /// Octets of the frames that have left the first host.
    fn octets_sent(&self) -> Result<f64> {
        let file = format!("/sys/class/net/{INTERFACE}/statistics/tx_bytes");
        let output = Command::new("ip").args(["netns", "exec", self.name(0), "cat", &file]).output();
        let output = output.context("ip cannot be started")?;
        let text = String::from_utf8_lossy(&output.stdout);
        text.trim().parse().with_context(|| format!("the counter of {INTERFACE}"))
    }

    fn lay(&self, link: Link) -> Result<()> {
        let [a, b] = &self.names;
        run(&format!("ip netns add {a}"))?;
        run(&format!("ip netns add {b}"))?;
        run(&format!("ip link add {INTERFACE} netns {a} type veth peer name {INTERFACE} netns {b}"))?;
        for (name, address) in self.names.iter().zip(ADDRESSES) {
            run(&format!("ip -n {name} address add {address}/24 dev {INTERFACE}"))?;
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
            if link.loss > 0.0 {
                self.drop_frames(name, link.loss)?;
            }
        }
        Ok(())
    }

    /// Drops single frames at random where they come in, each on its own: segments must not travel as one.
    fn drop_frames(&self, name: &str, percent: f64) -> Result<()> {
        run(&format!(
            "ip netns exec {name} ethtool -K {INTERFACE} tso off gso off gro off tx-udp-segmentation off"
        ))?;
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

impl Drop for TwoHosts {
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
