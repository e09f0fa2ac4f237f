//! Names for participants (RTPS 2.5 §9.3.1.5): unique on the network, and telling which participants share a
//! host or a process.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

use dunlin_core::{GuidPrefix, VendorId};
use dunlin_engine::GoodbyeSecret;

/// The next prefix: vendor id (2), host (2), process (4), participant (4). A process that was started again has
/// another number, so nobody takes its new participants for the old ones.
pub(crate) fn next_prefix() -> Result<GuidPrefix, getrandom::Error> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let [v0, v1] = VendorId::DUNLIN.0;
    let [h0, h1] = host().to_be_bytes();
    let [p0, p1, p2, p3] = process()?.to_be_bytes();
    let [c0, c1, c2, c3] = COUNTER.fetch_add(1, Relaxed).wrapping_add(1).to_be_bytes();
    Ok(GuidPrefix([v0, v1, h0, h1, p0, p1, p2, p3, c0, c1, c2, c3]))
}

/// Entropy for a state machine.
pub(crate) fn seed() -> Result<u64, getrandom::Error> {
    getrandom::u64()
}

/// What a participant's goodbye proves itself with.
pub(crate) fn goodbye_secret() -> Result<GoodbyeSecret, getrandom::Error> {
    let mut secret = GoodbyeSecret::default();
    getrandom::fill(&mut secret)?;
    Ok(secret)
}

/// A child of fork has another one than its parent.
fn process() -> Result<u32, getrandom::Error> {
    static NUMBER: Mutex<Option<(u32, u32)>> = Mutex::new(None);
    let generation = dunlin_udp::process_generation();
    let mut known = NUMBER.lock().unwrap_or_else(PoisonError::into_inner);
    match *known {
        Some((of, number)) if of == generation => Ok(number),
        _ => {
            let number = getrandom::u32()?;
            *known = Some((generation, number));
            Ok(number)
        }
    }
}

/// The same number for all processes of a host, most likely another one for another host.
fn host() -> u16 {
    static NUMBER: OnceLock<u16> = OnceLock::new();
    *NUMBER.get_or_init(|| {
        let sources = ["/etc/machine-id", "/proc/sys/kernel/hostname"];
        let texts = sources.iter().filter_map(|path| std::fs::read_to_string(path).ok());
        let hash = texts.flat_map(String::into_bytes).fold(0xcbf2_9ce4_8422_2325, fnv_step);
        (hash ^ hash >> 16 ^ hash >> 32 ^ hash >> 48) as u16
    })
}

fn fnv_step(hash: u64, octet: u8) -> u64 {
    (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_one_process_differ_in_the_last_part_only() {
        let (one, two) = (next_prefix().unwrap(), next_prefix().unwrap());
        assert_ne!(one, two);
        assert_eq!(one.0[..8], two.0[..8]);
        assert_eq!(one.0[..2], VendorId::DUNLIN.0);
        assert_ne!(seed().unwrap(), seed().unwrap());
        assert_ne!(goodbye_secret().unwrap(), goodbye_secret().unwrap());
    }
}
