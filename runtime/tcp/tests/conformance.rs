//! The conformance suite of transports over TCP.

use std::sync::Arc;

use dunlin_core::PortParameters;
use dunlin_tcp::{Listen, TcpConfig, TcpTransport};
use dunlin_transport::Transport;
use dunlin_transport::conformance::{Pair, run};

/// A range of ports of its own for each test.
fn config(base: u16) -> TcpConfig {
    TcpConfig {
        ports: PortParameters { base, ..PortParameters::default() },
        interfaces: vec!["lo".into()],
        ..TcpConfig::default()
    }
}

fn open(config: &TcpConfig) -> Arc<dyn Transport> {
    Arc::new(TcpTransport::open(config.clone()).unwrap())
}

fn pair(config: &TcpConfig) -> Pair {
    (open(config), open(config))
}

#[test]
fn ipv4() {
    let config = config(26_000);
    run(&|| pair(&config));
}

#[test]
fn ipv6() {
    let v6 = TcpConfig { ipv4: false, ipv6: true, interfaces: vec!["::1".into()], ..config(26_250) };
    run(&|| pair(&v6));
}

#[test]
fn tcp_on_all_interfaces_and_any_port_conforms() {
    let any = TcpConfig { interfaces: vec![], listen: Listen::Port(0), ..config(26_500) };
    run(&|| pair(&any));
}
