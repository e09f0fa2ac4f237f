//! What a cache keeps alive.

use dunlin_buf::SharedBytes;
use dunlin_cache::WriterInfo;
use dunlin_core::{Identities, SequenceNumber};
use dunlin_qos::DataReaderQos;
use dunlin_rtps::{ChangeKind, Received};

use crate::fixture::{Fixture, guid, handle, keep_all};

/// Inserts the first `len` octets of a buffer of `buffer` octets; what is kept.
fn kept(len: usize, buffer: usize) -> SharedBytes {
    let mut f = Fixture::new(&keep_all());
    keep(&mut f, SharedBytes::from(vec![7; buffer]).slice(0..len))
}

/// Inserts a payload; what is kept.
fn keep(f: &mut Fixture, payload: Option<SharedBytes>) -> SharedBytes {
    let change = Received {
        writer: guid(1),
        sn: SequenceNumber(1),
        kind: ChangeKind::Alive,
        key_hash: None,
        source_timestamp: None,
        payload,
        key_only: false,
        inline_qos: None,
        identities: Identities::default(),
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

/// A datagram of `len` octets in a buffer of 64 KiB, as several are received in one call.
fn received(len: usize) -> SharedBytes {
    SharedBytes::from(vec![7; 65_536]).slice(0..len).unwrap()
}

#[test]
fn keep_all_samples_share_one_copy_of_their_datagram() {
    let mut f = Fixture::new(&keep_all());
    let copy = f.cache.keep_datagram(&received(1472)).expect("it keeps much more alive");
    assert_eq!((&*copy, copy.retained_len()), (&[7; 1472][..], 1472));
    assert_eq!(keep(&mut f, copy.slice(8..28)).retained_len(), 1472, "they go together");
    f.cache.end_of_datagram();
    let alone = keep(&mut f, copy.slice(8..28)).retained_len();
    assert!(alone <= 64, "nobody shares it with this one, which kept {alone} octets");
    assert!(f.cache.keep_datagram(&copy).is_none(), "it is of the right size");
    assert!(
        f.cache.keep_datagram(&received(4096)).is_none(),
        "samples of such a one are copied by themselves"
    );
    let elsewhere = received(1472).followed_by(received(9));
    assert!(f.cache.keep_datagram(&elsewhere).is_none(), "what follows it would be lost");
    let mut f = Fixture::new(&DataReaderQos::default());
    assert!(f.cache.keep_datagram(&received(1472)).is_none(), "the last sample would keep it all");
}
