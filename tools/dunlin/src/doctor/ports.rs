//! The well-known ports of the domain (RTPS 2.5 §9.6.2).

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use dunlin::Config;
use dunlin::host::{MAX_PARTICIPANT_INDEX, PortParameters};
use socket2::{Domain, Protocol, Socket, Type};

use super::report::Report;

/// Participant indices that are looked at.
const INDICES: u32 = MAX_PARTICIPANT_INDEX + 1;

fn bind(port: u16, shared: bool) -> io::Result<()> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    if shared {
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(true)?;
    }
    socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)).into())
}

/// Looks which ports of the domain are free.
pub fn check(config: &Config, domain: u32, report: &mut Report) {
    let ports = config.port_parameters();
    let (Some(meta), Some(data)) = (ports.metatraffic_multicast(domain), ports.user_multicast(domain)) else {
        let advice = "use a domain from 0 to 232";
        return report.problem(format!("domain {domain}: its ports are above 65535"), advice);
    };
    for port in [meta, data] {
        if let Err(error) = bind(port, true) {
            report.problem(
                format!("domain {domain}: multicast port {port}: {error}"),
                format!("a program that does not share it has it (`ss -lunp 'sport = :{port}'`): end it, or use another domain or ports.base"),
            );
        }
    }
    unicast(&ports, domain, report);
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    ephemeral(&ports, domain, &range, report);
}

fn unicast(ports: &PortParameters, domain: u32, report: &mut Report) {
    let pair = |index| Some((ports.metatraffic_unicast(domain, index)?, ports.user_unicast(domain, index)?));
    let all: Vec<(u16, u16)> = (0..INDICES).map_while(pair).collect();
    let is_free = |(meta, data): &(u16, u16)| bind(*meta, false).is_ok() && bind(*data, false).is_ok();
    let taken = all.iter().filter(|pair| !is_free(pair)).count();
    let Some((first, last)) = all.first().zip(all.last()) else { return };
    let what =
        format!("domain {domain}: ports {} to {}, {taken} of {} pairs taken", first.0, last.1, all.len());
    if taken == all.len() {
        report.problem(
            what,
            "peers that look at the well-known ports alone will not find a participant: end some",
        );
    } else {
        report.ok(what);
    }
}

/// Ports that the kernel gives to others may take those of the domain.
fn ephemeral(ports: &PortParameters, domain: u32, range: &str, report: &mut Report) {
    let mut numbers = range.split_whitespace().filter_map(|word| word.parse::<u16>().ok());
    let (Some(low), Some(high)) = (numbers.next(), numbers.next()) else { return };
    let first = ports.metatraffic_multicast(domain);
    let last = ports.user_unicast(domain, INDICES - 1).unwrap_or(u16::MAX);
    if first.is_some_and(|first| first <= high && last >= low) {
        report.note(
            format!(
                "domain {domain}: its ports lie in the range {low} to {high} that the kernel gives to anybody"
            ),
            "use a lower domain or ports.base, or reserve them: sysctl net.ipv4.ip_local_reserved_ports",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_in_the_range_of_the_kernel_and_domains_without_ports() {
        let (config, ports) = (Config::default(), PortParameters::default());
        let mut report = Report::default();
        ephemeral(&ports, 0, "32768\t60999\n", &mut report);
        assert_eq!(report.to_string(), "0 ok, 0 notes, 0 problems\n");
        ephemeral(&ports, 120, "32768\t60999\n", &mut report);
        assert!(report.to_string().contains("ip_local_reserved_ports"), "{report}");
        check(&config, 233, &mut report);
        assert_eq!(report.problems(), 1, "{report}");
    }

    #[test]
    fn a_port_that_somebody_keeps_is_named() {
        let ports = PortParameters { base: 23_100, ..PortParameters::default() };
        let mut config = Config::default();
        config.set("ports.base", "23100").unwrap();
        let keeper = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).unwrap();
        keeper
            .bind(&SocketAddr::from(([0, 0, 0, 0], ports.metatraffic_multicast(0).unwrap())).into())
            .unwrap();
        let mut report = Report::default();
        check(&config, 0, &mut report);
        assert!(report.problems() == 1 && report.to_string().contains("multicast port 23100"), "{report}");
    }
}
