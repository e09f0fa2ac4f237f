//! The conformance suite on the in-memory network and through the wrappers.

use std::io;
use std::sync::Arc;

use dunlin_transport::conformance::{Pair, run};
use dunlin_transport::memory::MemoryNetwork;
use dunlin_transport::{Fault, FaultConfig, Pcap, Transport};

fn pair_with(wrap: impl Fn(Arc<dyn Transport>) -> Arc<dyn Transport>) -> Pair {
    let network = MemoryNetwork::new();
    (wrap(network.attach(0)), wrap(network.attach(0)))
}

#[test]
fn memory_network() {
    run(&|| pair_with(|transport| transport));
}

#[test]
fn fault_wrapper_without_faults_conforms() {
    run(&|| pair_with(|inner| Arc::new(Fault::new(inner, FaultConfig::default()).unwrap())));
}

#[test]
fn pcap_wrapper_conforms() {
    run(&|| pair_with(|inner| Arc::new(Pcap::new(inner, Box::new(io::sink()), u64::MAX).unwrap())));
}
