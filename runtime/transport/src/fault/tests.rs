use std::collections::BTreeSet;
use std::sync::mpsc;

use super::*;
use crate::memory::{MemoryNetwork, MemoryTransport};

const PATIENCE: Duration = Duration::from_secs(20);

fn single(number: u16, to: Locator) -> Outbox {
    let mut outbox = Outbox::new();
    outbox.begin();
    outbox.put(&number.to_le_bytes());
    outbox.finish(&[to]);
    outbox
}

fn numbered(count: u16, to: Locator) -> Vec<Outbox> {
    (0..count).map(|number| single(number, to)).collect()
}

fn pair(config: FaultConfig) -> (Fault, Arc<MemoryTransport>) {
    let network = MemoryNetwork::new();
    (Fault::new(network.attach(0), config).unwrap(), network.attach(0))
}

/// Sends numbers and gives what arrives, in order, until `enough` says so.
fn exchange(config: FaultConfig, count: u16, enough: impl Fn(&[u16]) -> bool) -> (Vec<u16>, FaultStats) {
    let (faulty, receiver) = pair(config);
    let to = receiver.locators().default_unicast[0];
    let (sender, arrived) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let (mut pool, mut batch) = (BufPool::new(0), vec![]);
        while receiver.recv(Channel::Data, RecvMode::Blocking, &mut pool, &mut batch).is_ok() {
            for (bytes, _) in batch.drain(..) {
                let number = u16::from_le_bytes([bytes[0], bytes[1]]);
                if number == u16::MAX || sender.send(number).is_err() {
                    return;
                }
            }
        }
    });
    for outbox in numbered(count, to) {
        assert_eq!(faulty.send(&outbox, SendMode::Blocking).failed, 0);
    }
    let (mut numbers, deadline) = (vec![], Instant::now() + PATIENCE);
    while !enough(&numbers) {
        let left = deadline.saturating_duration_since(Instant::now());
        numbers.push(arrived.recv_timeout(left).expect("the rest arrives"));
    }
    let stats = faulty.fault_stats();
    faulty.shutdown();
    faulty.shared.inner.send(&single(u16::MAX, to), SendMode::Blocking);
    thread.join().unwrap();
    (numbers, stats)
}

/// What a seed lets through, read from a receiver that is not emptied meanwhile.
fn survivors(config: FaultConfig, count: u16) -> (Vec<u16>, FaultStats) {
    let (faulty, receiver) = pair(config);
    let to = receiver.locators().default_unicast[0];
    for outbox in numbered(count, to) {
        faulty.send(&outbox, SendMode::NonBlocking);
    }
    let stats = faulty.fault_stats();
    let expected = u64::from(count) - stats.lost + stats.duplicated;
    let (mut pool, mut batch) = (BufPool::new(0), vec![]);
    while (batch.len() as u64) < expected {
        receiver.recv(Channel::Data, RecvMode::Blocking, &mut pool, &mut batch).unwrap();
    }
    (batch.iter().map(|(bytes, _)| u16::from_le_bytes([bytes[0], bytes[1]])).collect(), stats)
}

#[test]
fn fault_transport_without_faults_passes_datagrams_in_order() {
    let (numbers, stats) = survivors(FaultConfig::default(), 500);
    assert_eq!(numbers, (0..500).collect::<Vec<_>>());
    assert_eq!(stats, FaultStats::default());
    assert!(!FaultConfig::default().is_active());
}

#[test]
fn loss_and_duplication_have_the_share_asked_and_follow_the_seed() {
    let config = FaultConfig { seed: 11, loss_ppm: 200_000, duplicate_ppm: 100_000, ..Default::default() };
    let (numbers, stats) = survivors(config, 900);
    assert!((120..=240).contains(&stats.lost), "{stats:?}");
    assert!((40..=110).contains(&stats.duplicated), "{stats:?}");
    assert_eq!(survivors(config, 900).0, numbers);
    assert_ne!(survivors(FaultConfig { seed: 12, ..config }, 900).0, numbers);
}

#[test]
fn fault_transport_can_lose_all_datagrams() {
    let config = FaultConfig { loss_ppm: 1_000_000, ..Default::default() };
    assert_eq!(survivors(config, 50).1.lost, 50);
}

#[test]
fn reordering_loses_nothing() {
    let config = FaultConfig { seed: 5, reorder_ppm: 300_000, ..Default::default() };
    let (numbers, stats) = exchange(config, 400, |numbers| numbers.len() == 400);
    assert_eq!(numbers.iter().copied().collect::<BTreeSet<_>>().len(), 400);
    assert!(!numbers.is_sorted());
    assert!(stats.held > 80, "{stats:?}");
}

#[test]
fn delay_holds_back_for_the_time_asked() {
    let delay = Duration::from_millis(30);
    let config = FaultConfig { delay, ..Default::default() };
    let start = Instant::now();
    let (numbers, stats) = exchange(config, 20, |numbers| numbers.len() == 20);
    assert!(start.elapsed() >= delay);
    assert_eq!(numbers, (0..20).collect::<Vec<_>>());
    assert_eq!(stats.held, 20);
}

#[test]
fn injected_delays_are_bounded_and_end_at_shutdown() {
    let (faulty, receiver) = pair(FaultConfig { delay: Duration::from_secs(600), ..Default::default() });
    let to = receiver.locators().default_unicast[0];
    for outbox in numbered(10, to) {
        faulty.send(&outbox, SendMode::Blocking);
    }
    faulty.shutdown();
    faulty.send(&numbered(1, to)[0], SendMode::Blocking);
    let (mut pool, mut batch) = (BufPool::new(0), vec![]);
    while batch.len() < 11 {
        receiver.recv(Channel::Data, RecvMode::Blocking, &mut pool, &mut batch).unwrap();
    }

    let (faulty, receiver) = pair(FaultConfig { delay: Duration::from_secs(600), ..Default::default() });
    let to = receiver.locators().default_unicast[0];
    let many = numbered(10, to);
    for outbox in many.iter().cycle().take(MAX_HELD + 5) {
        faulty.send(outbox, SendMode::Blocking);
    }
    assert_eq!(faulty.fault_stats().overflowed, 5);
    receiver.shutdown();
}
