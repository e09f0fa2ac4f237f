//! Who a participant is: GUID prefix and entropy (RTPS 2.5 §9.3.1.5).

use dunlin_core::{GuidPrefix, VendorId};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

static PARTICIPANTS: AtomicU32 = AtomicU32::new(0);

/// Two octets that differ between most hosts and stay the same on one.
fn host() -> [u8; 2] {
    let machine_id = std::fs::read("/etc/machine-id").unwrap_or_default();
    let name = rustix::system::uname().nodename().to_bytes().to_vec();
    let octets = machine_id.iter().chain(&name);
    let hash = octets.fold(0x811c_9dc5_u32, |hash, octet| (hash ^ u32::from(*octet)).wrapping_mul(0x0100_0193));
    let [a, b, c, d] = hash.to_be_bytes();
    [a ^ c, b ^ d]
}

/// Entropy from the operating system.
pub(crate) fn seed() -> io::Result<u64> {
    getrandom::u64().map_err(|error| io::Error::other(format!("no random numbers: {error}")))
}

/// Vendor, host, process (at random, so that a restarted program is somebody else) and a counter.
pub(crate) fn guid_prefix() -> io::Result<GuidPrefix> {
    let [v0, v1] = VendorId::DUNLIN.0;
    let [h0, h1] = host();
    let process = (seed()? as u32).to_be_bytes();
    let count = PARTICIPANTS.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let mut prefix = [v0, v1, h0, h1, 0, 0, 0, 0, 0, 0, 0, 0];
    prefix[4..8].copy_from_slice(&process);
    prefix[8..12].copy_from_slice(&count);
    Ok(GuidPrefix(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_differ_and_begin_with_the_vendor() {
        let (a, b) = (guid_prefix().unwrap(), guid_prefix().unwrap());
        assert_ne!(a, b);
        assert_eq!(a.0[..4], b.0[..4]);
        assert_eq!(a.0[..2], VendorId::DUNLIN.0);
    }
}
