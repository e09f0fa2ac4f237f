//! Length and count overflows: CVE-2021-38445 (OpenDDS), CVE-2023-39945 to -39949 and CVE-2023-50257 (Fast DDS),
//! CVE-2020-18734 (Cyclone DDS), RustDDS#277 to #289.

use dunlin_core::{EntityId, SequenceNumber, SequenceNumberSet};
use dunlin_wire::{AckNack, DataSpec, Gap, PayloadSpec};

use crate::target::Target;

/// Octets of a message header, and of a submessage header.
const HEADER: usize = 20;
const SUBMESSAGE: usize = 4;

impl Target {
    fn acknack(&self) -> Vec<u8> {
        self.forge(|message| {
            message.acknack(&AckNack {
                reader_id: self.peer_reader.guid().entity_id,
                writer_id: self.writer.guid().entity_id,
                reader_sn_state: SequenceNumberSet::empty(SequenceNumber(1)),
                count: 1000,
                final_flag: false,
            });
        })
    }

    fn gap(&self) -> Vec<u8> {
        self.forge(|message| {
            message.gap(&Gap {
                reader_id: EntityId::UNKNOWN,
                writer_id: self.peer_writer.guid().entity_id,
                gap_start: self.next_sn(),
                gap_list: SequenceNumberSet::empty(self.next_sn().next()),
                group: None,
                filtered_count: None,
            });
        })
    }

    fn data(&self) -> Vec<u8> {
        self.forge(|message| {
            message.data(&DataSpec {
                reader_id: EntityId::UNKNOWN,
                writer_id: self.peer_writer.guid().entity_id,
                writer_sn: self.next_sn(),
                inline_qos: &[0x71, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0],
                payload: PayloadSpec::Data(vec![0, 1, 0, 0, 1, 0, 0, 0].into()),
            });
        })
    }
}

#[test]
fn a_submessage_longer_than_its_datagram_ends_the_message() {
    let mut target = Target::new();
    for length in [0xffff_u16, 0x7fff, 200] {
        let mut bytes = target.data();
        bytes[HEADER + 2..HEADER + 4].copy_from_slice(&length.to_le_bytes());
        let before = target.stats().malformed;
        target.attack(&bytes).is_nothing();
        assert_eq!(target.stats().malformed, before + 1, "{length}");
    }
    assert!(target.reader.is_empty());
    target.still_talks();
}

#[test]
fn every_truncation_is_harmless() {
    let mut target = Target::new();
    for bytes in [target.data(), target.gap(), target.acknack()] {
        for len in 0..bytes.len() {
            target.attack(&bytes[..len]).is_nothing();
        }
    }
    assert!(target.reader.is_empty());
    target.still_talks();
}

#[test]
fn inline_qos_that_begins_behind_the_submessage_is_malformed() {
    let mut target = Target::new();
    for offset in [0xffff_u16, 0x7ffc, 64, 1] {
        let mut bytes = target.data();
        let at = HEADER + SUBMESSAGE + 2;
        bytes[at..at + 2].copy_from_slice(&offset.to_le_bytes());
        target.attack(&bytes).is_nothing();
    }
    assert!(target.reader.is_empty() && target.stats().malformed >= 3);
    target.still_talks();
}

#[test]
fn a_bitmap_of_more_than_256_bits_is_malformed() {
    let mut target = Target::new();
    // Where numBits is: behind the entity ids and the base, in GAP also behind the start.
    for (bytes, at) in [(target.acknack(), 16), (target.gap(), 24)] {
        for bits in [257_u32, 0x7fff_ffff, u32::MAX] {
            let mut bytes = bytes.clone();
            let at = HEADER + SUBMESSAGE + at;
            bytes[at..at + 4].copy_from_slice(&bits.to_le_bytes());
            let before = target.stats().malformed;
            target.attack(&bytes).is_nothing();
            assert_eq!(target.stats().malformed, before + 1);
        }
    }
    target.still_talks();
}

#[test]
fn a_list_of_locators_is_bounded_by_the_octets_present() {
    let mut target = Target::new();
    for count in [1_u32, 0xffff, u32::MAX / 24 + 1, u32::MAX] {
        let mut bytes = target.forge(|message| {
            message.info_reply(&[], None);
        });
        let at = HEADER + SUBMESSAGE;
        bytes[at..at + 4].copy_from_slice(&count.to_le_bytes());
        target.attack(&bytes).is_nothing();
    }
    assert_eq!(target.stats().malformed, 4);
    target.still_talks();
}

/// A key that is shorter than the type says must not be read beyond its end.
#[test]
fn a_payload_without_its_key_is_dropped_and_the_stream_goes_on() {
    let mut target = Target::new();
    for len in [0, 1, 4, 7] {
        let payload = PayloadSpec::Data([0_u8, 1, 0, 0, 1, 0, 0, 0][..len].to_vec().into());
        let (writer_id, writer_sn) = (target.peer_writer.guid().entity_id, target.next_sn());
        let bytes = target.forge(|message| {
            let reader_id = EntityId::UNKNOWN;
            message.data(&DataSpec { reader_id, writer_id, writer_sn, inline_qos: &[], payload });
        });
        target.attack(&bytes).is_small();
    }
    assert!(target.reader.is_empty());
    // The sample of that number was taken for delivered; those behind it arrive.
    target.net.write(1, &std::sync::Arc::clone(&target.peer_writer), 9, b"lost").expect("no limits");
    target.still_talks();
}
