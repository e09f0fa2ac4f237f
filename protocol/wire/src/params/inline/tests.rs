//! RTPS 2.5 §9.6.4: what inline QoS says about a change.

use super::*;
use crate::params::{
    coherent_set, content_filter_passed, directed_write, group_coherent_set, group_sequence_number,
    original_writer_info, related_sample_identity, writer_group_info,
};
use crate::testing::hex;

fn with_list<T>(text: &str, read: impl FnOnce(&ParameterList<'_>) -> T) -> T {
    let bytes = hex(&alloc::format!("{text} 0100 0000"));
    read(&ParameterList::parse(&bytes, Endianness::Little).unwrap().0)
}

#[test]
fn status_is_read_big_endian_and_only_its_first_word() {
    assert_eq!(with_list("7100 0400 00000003", status_info), StatusInfo(3));
    assert_eq!(with_list("7100 0800 00000001 00000001", status_info), StatusInfo(1));
    assert_eq!(with_list("", status_info), StatusInfo::default());
}

#[test]
fn ready_made_lists() {
    let hash: [u8; 16] = core::array::from_fn(|index| index as u8);
    let both = inline_qos_for_status(StatusInfo(3), Some(&hash));
    let expected = "7000 1000 000102030405060708090a0b0c0d0e0f 7100 0400 00000003 0100 0000";
    assert_eq!(*both, *hex(expected));
    assert_eq!(*inline_qos_for_status(StatusInfo(1), None), *hex("7100 0400 00000001 0100 0000"));
    assert!(inline_qos_for_status(StatusInfo::default(), None).is_empty());
    let (list, consumed) = ParameterList::parse(&both, Endianness::Little).unwrap();
    assert_eq!(consumed, both.len());
    assert_eq!((status_info(&list), key_hash(&list)), (StatusInfo(3), Some(hash)));
}

#[test]
fn numbers_and_identities() {
    with_list("5600 0800 00000000 03000000", |list| assert_eq!(coherent_set(list), Some(SequenceNumber(3))));
    with_list("5600 0800 ffffffff 00000000", |list| {
        assert_eq!(coherent_set(list), Some(SequenceNumber::UNKNOWN));
        assert_eq!(group_coherent_set(list), None);
    });
    with_list("6300 0800 00000000 04000000 6400 0800 00000000 05000000", |list| {
        assert_eq!(group_coherent_set(list), Some(SequenceNumber(4)));
        assert_eq!(group_sequence_number(list), Some(SequenceNumber(5)));
        assert_eq!(writer_group_info(list), None);
    });
    with_list("6500 0400 c8802bef", |list| {
        assert_eq!(writer_group_info(list), Some(GroupDigest([0xc8, 0x80, 0x2b, 0xef])));
    });
    with_list("6500 0000", |list| assert_eq!(writer_group_info(list), None));
    let identity =
        OriginalWriterInfo { writer_guid: Guid::from_bytes([7; 16]), writer_sn: SequenceNumber(9) };
    let related = [pid::RELATED_SAMPLE_IDENTITY, pid::vendor::CUSTOM_RELATED_SAMPLE_IDENTITY];
    for pid in related.into_iter().chain([pid::ORIGINAL_WRITER_INFO]) {
        let mut builder = ParameterListBuilder::new();
        assert!(builder.put_identity(pid, &identity));
        let bytes = builder.finish();
        let (list, _) = ParameterList::parse(&bytes, Endianness::Little).unwrap();
        let is_original = pid == pid::ORIGINAL_WRITER_INFO;
        assert_eq!(original_writer_info(&list), is_original.then_some(identity));
        assert_eq!(related_sample_identity(&list), (!is_original).then_some(identity));
    }
}

#[test]
fn directed_write_has_exactly_one_guid() {
    let guid = "000102030405060708090a0b0c0d0e0f";
    with_list(&alloc::format!("5700 1000 {guid}"), |list| {
        assert_eq!(
            directed_write(list).map(Guid::to_bytes).as_ref().map(<[u8; 16]>::as_slice),
            Some(&*hex(guid))
        );
    });
    with_list(&alloc::format!("5700 1400 01000000 {guid}"), |list| assert_eq!(directed_write(list), None));
}

#[test]
fn content_filter_results() {
    let (a, b, c) = ("aa".repeat(16), "bb".repeat(16), [0xcc; 16]);
    let text = alloc::format!("5500 2c00 01000000 00000040 02000000 {a} {b}");
    with_list(&text, |list| {
        assert_eq!(content_filter_passed(list, &[0xaa; 16]), Some(false));
        assert_eq!(content_filter_passed(list, &[0xbb; 16]), Some(true));
        assert_eq!(content_filter_passed(list, &c), None);
    });
    // The number of words has to fit the number of signatures, and both the bytes present.
    let text = alloc::format!("5500 2800 00000000 02000000 {a} {b}");
    with_list(&text, |list| assert_eq!(content_filter_passed(list, &[0xaa; 16]), None));
    with_list("5500 0800 ffffffff ffffffff", |list| assert_eq!(content_filter_passed(list, &c), None));
    with_list("", |list| assert_eq!(content_filter_passed(list, &c), None));
}

#[test]
fn content_filter_info_is_written_and_read() {
    let signature = [0xab; 16];
    for (passed, word) in [(true, "00000080"), (false, "00000000")] {
        let text = alloc::format!("5500 1c00 01000000 {word} 01000000 {}", "ab".repeat(16));
        let octets = passed_filter(&signature, passed);
        assert_eq!(octets[..], hex(&text)[..]);
        with_list(&text, |list| {
            assert_eq!(content_filter_passed(list, &signature), Some(passed));
            assert_eq!(content_filter_passed(list, &[0; 16]), None);
        });
    }
}
