//! What a cache keeps alive.

use crate::fixture::{Fixture, guid, handle, keep_all};
use dunlin_buf::SharedBytes;
use dunlin_cache::WriterInfo;
use dunlin_core::SequenceNumber;
use dunlin_rtps::{ChangeKind, Received};

/// Inserts the first `len` octets of a buffer of `buffer` octets; what is kept.
fn kept(len: usize, buffer: usize) -> SharedBytes {
    let mut f = Fixture::new(&keep_all());
    let payload = SharedBytes::from(vec![7; buffer]).slice(0..len);
    let change = Received {
        writer: guid(1),
        sn: SequenceNumber(1),
        kind: ChangeKind::Alive,
        key_hash: None,
        source_timestamp: None,
        payload,
        key_only: false,
        inline_qos: None,
        related: None,
        reassembled: false,
    };
    f.cache.insert(f.now, &change, handle(1), &WriterInfo::default());
    f.take_all().remove(0).payload.unwrap()
}

#[test]
fn small_payloads_do_not_keep_large_receive_buffers() {
    for len in [1, 64, 100, 1024] {
        let payload = kept(len, 65_536);
        assert_eq!(payload.len(), len);
        assert!(payload.iter().all(|octet| *octet == 7));
        assert!(payload.retained_len() <= 2 * len.max(64), "{payload:?}");
    }
}

#[test]
fn large_payloads_and_fitting_buffers_are_shared() {
    assert_eq!(kept(1025, 65_536).retained_len(), 65_536);
    assert_eq!(kept(1000, 1024).retained_len(), 1024);
    assert_eq!(kept(20, 512).retained_len(), 512);
}
