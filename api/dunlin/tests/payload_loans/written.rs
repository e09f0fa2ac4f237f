//! What readers get of a loan, and when its memory comes back.

use dunlin::cdr::representation_id;
use dunlin::qos::{DataReaderQos, SubscriberQos, TopicQos};
use dunlin::{Config, DataReader, DomainParticipant, Duration, SerializedData, WriteError, WriteParams};

use crate::common::processes::participant_with;
use crate::common::{self, eventually};
use crate::{Frame, HEAD, Two, decoded, lend_all, name, reader_of, take, topic, writer_of};

/// A loan of a frame of that many octets, all alike.
fn lent(writer: &dunlin::AnyDataWriter, camera: u32, octet: u8, len: usize) -> dunlin::PayloadLoan {
    let mut loan = writer.loan_payload(HEAD + len).unwrap();
    loan[4..8].copy_from_slice(&camera.to_le_bytes());
    loan[12..HEAD].copy_from_slice(&(len as u32).to_le_bytes());
    loan[HEAD..].fill(octet);
    loan
}

const LEN: usize = 30_000;

#[test]
fn what_a_program_leaves_unfilled_reaches_readers_as_zeros() {
    let two = Two::new();
    let mut dirty = lend_all(&two.writer, HEAD + LEN);
    let all = dirty.len();
    assert!(all >= 16, "{all}");
    dirty.iter_mut().for_each(|loan| loan[4..].fill(0xff));
    dirty.truncate(all - 4);
    // Memory that was abandoned and memory that was written.
    drop(dirty);
    (0..4).for_each(|_| two.writer.write_loaned_payload(lent(&two.writer, 1, 0xff, LEN)).unwrap());
    drop(take(&two.reader, 4));
    two.writer.wait_for_acknowledgments(Duration::from_secs(30)).unwrap();
    eventually("every piece is back, and zero", || {
        let again = lend_all(&two.writer, HEAD + LEN);
        assert!(again.iter().all(|loan| loan[4..].iter().all(|octet| *octet == 0)));
        again.len() == all
    });
    let mut loan = two.writer.loan_payload(HEAD + LEN).unwrap();
    loan[12..HEAD].copy_from_slice(&(LEN as u32).to_le_bytes());
    loan[HEAD] = 9;
    two.writer.write_loaned_payload(loan).unwrap();
    let taken = take(&two.reader, 1);
    assert!(taken[0].is_shared());
    let got = decoded(taken[0].payload.as_ref().unwrap());
    assert!(got.octets[0] == 9 && got.octets[1..] == [0; LEN - 1]);
}

#[test]
fn loans_return_when_they_are_abandoned_and_when_readers_drop_them() {
    let two = Two::new();
    let (writer, reader) = (&two.writer, &two.reader);
    let free = || lend_all(writer, HEAD + LEN).len();
    let all = free();
    assert!(all >= 16 && free() == all, "abandoned loans are free again");
    for number in 0..5 {
        writer.write_loaned_payload(lent(writer, number, number as u8, LEN)).unwrap();
    }
    let kept = take(reader, 5);
    assert!(kept.iter().all(|sample| sample.is_shared()));
    writer.wait_for_acknowledgments(Duration::from_secs(30)).unwrap();
    eventually("the history is empty", || free() == all - 5);
    for sample in &kept {
        let got = decoded(sample.payload.as_ref().unwrap());
        assert_eq!(got.octets, [got.camera as u8; LEN], "not written again while it is in use");
    }
    drop(kept);
    assert_eq!(free(), all, "return_loan is the end of the sample");
}

#[test]
fn readers_of_the_process_get_the_lent_memory_itself() {
    let two = Two::new();
    let own = reader_of(&two.writing, &topic(&two.writing));
    eventually("both readers", || two.writer.matched_subscriptions().len() == 2);
    let loan = lent(&two.writer, 1, 7, LEN);
    let at = loan.as_ptr();
    two.writer.write_loaned_payload(loan).unwrap();
    let [here, there] = [&own, &two.reader].map(|reader| take(reader, 1).remove(0));
    assert!(here.is_shared() && here.payload.as_ref().unwrap().as_ptr() == at);
    assert!(there.is_shared() && there.payload.as_ref().unwrap().as_ptr() != at, "mapped a second time");
    assert_eq!(here.payload, there.payload);
    // As a sample without type it is the same memory.
    two.writer.write_loaned_payload(lent(&two.writer, 1, 8, LEN)).unwrap();
    let mut samples = Vec::new();
    eventually("the sample", || {
        samples.extend(own.take(1).unwrap());
        !samples.is_empty()
    });
    assert!(samples[0].data.as_ref().unwrap().payload().memory().is_some());
}

/// The loan is of a length that the program does not know before.
#[test]
fn a_truncated_loan_is_padded_as_its_header_says() {
    let two = Two::new();
    let mut loan = lent(&two.writer, 5, 0xff, LEN);
    loan[12..HEAD].copy_from_slice(&5_u32.to_le_bytes());
    loan.truncate(HEAD + 5);
    loan.truncate(HEAD + 100);
    assert_eq!(loan.len(), HEAD + 5);
    two.writer.write_loaned_payload(loan).unwrap();
    let taken = take(&two.reader, 1);
    let payload = taken[0].payload.as_ref().unwrap();
    assert_eq!((payload[3] & 3, &payload[HEAD..]), (3, &[0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0][..]));
    assert!(taken[0].is_shared());
    assert_eq!(decoded(payload), Frame { camera: 5, number: 0, octets: vec![0xff; 5] });
}

#[test]
fn instances_of_loans_are_found_in_their_octets_or_by_the_key_hash() {
    let two = Two::new();
    let knowing = participant_with(two.domain, two.folder.path(), "1MiB");
    let typed: DataReader<Frame> = {
        let topic = knowing.create_topic::<Frame>(&name(), &TopicQos::default()).unwrap();
        let subscriber = knowing.create_subscriber(&SubscriberQos::default()).unwrap();
        subscriber.create_datareader(&topic, &DataReaderQos::default().reliable().keep_all()).unwrap()
    };
    eventually("both readers", || two.writer.matched_subscriptions().len() == 2);
    let params = WriteParams::default();
    let write = |camera| two.writer.write_loaned_payload_with(lent(&two.writer, camera, 1, 9), &params);
    let written: Vec<_> = [4, 5, 4].into_iter().map(|camera| write(camera).unwrap()).collect();
    let mut taken = take(&two.reader, 3);
    let mut frames = Vec::new();
    eventually("the frames", || {
        frames.extend(typed.take(10).unwrap());
        frames.len() == 3
    });
    // Samples are taken instance by instance.
    taken.sort_by_key(|sample| sample.info.sequence_number);
    frames.sort_by_key(|sample| sample.info.sequence_number);
    for (sample, frame) in taken.iter().zip(&frames) {
        let camera = frame.data.as_ref().unwrap().camera;
        assert_eq!(decoded(sample.payload.as_ref().unwrap()).camera, camera);
        assert_eq!(sample.info.instance_handle, frame.info.instance_handle);
        let number = written.iter().position(|identity| *identity == sample.info.identity()).unwrap();
        assert_eq!([4, 5, 4][number], camera);
    }
    // The writer has the keys: it can end the instances without a sample.
    two.writer.dispose(&SerializedData::new([&[0, 1, 0, 0][..], &[4, 0, 0, 0], &[0; 8]].concat())).unwrap();
    assert_eq!(take(&two.reader, 1)[0].info.instance_handle, frames[0].info.instance_handle);
    let named = |it: &DomainParticipant| {
        it.create_serialized_topic(&format!("Named{}", name()), "Unknown", true, &TopicQos::default())
            .unwrap()
    };
    let (writer, reader) =
        (writer_of(&two.writing, &named(&two.writing)), reader_of(&two.reading, &named(&two.reading)));
    eventually("the reader", || !writer.matched_subscriptions().is_empty());
    let all = lend_all(&writer, 100).len();
    let refused = writer.write_loaned_payload(writer.loan_payload(100).unwrap());
    assert!(matches!(refused, Err(WriteError::Serialize(dunlin::cdr::CdrError::NoKeyHash))), "{refused:?}");
    assert_eq!(lend_all(&writer, 100).len(), all, "given back");
    writer.write_loaned_payload(writer.loan_payload(100).unwrap().with_key_hash([7; 16])).unwrap();
    let taken = take(&reader, 1);
    let again = writer.loan_payload(100).unwrap().of_instance(taken[0].info.instance_handle);
    writer.write_loaned_payload(again).unwrap();
    assert!(taken[0].is_shared());
    assert_eq!(take(&reader, 1)[0].info.instance_handle, taken[0].info.instance_handle);
}

#[test]
fn a_loan_in_another_representation_is_converted() {
    let two = Two::new();
    let mut loan = two.writer.loan_payload(HEAD + 4).unwrap();
    let offered = [representation_id::CDR_LE, representation_id::CDR2_LE].map(u16::to_be_bytes);
    let at = offered.iter().position(|id| loan[..2] == *id).unwrap();
    // Big-endian, and in the other encoding version.
    let other = [representation_id::CDR2_BE, representation_id::CDR_BE][at];
    loan[..2].copy_from_slice(&other.to_be_bytes());
    for (place, word) in loan[4..].chunks_mut(4).zip([6_u32, 7, 4, 0x0102_0304]) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    two.writer.write_loaned_payload(loan).unwrap();
    let taken = take(&two.reader, 1);
    let payload = taken[0].payload.as_ref().unwrap();
    assert_ne!(payload[..2], other.to_be_bytes());
    assert_eq!(decoded(payload), Frame { camera: 6, number: 7, octets: vec![1, 2, 3, 4] });
    assert!(!taken[0].is_shared());
}

/// The reader would look for the memory among what the participant lends that writes. One that asks for nothing again would
/// miss the samples.
#[test]
fn a_loan_of_another_participants_writer_arrives() {
    let two = Two::new();
    let third = participant_with(two.domain, two.folder.path(), "1MiB");
    let subscriber = two.reading.create_subscriber(&SubscriberQos::default()).unwrap();
    let reader = subscriber.create_datareader(&topic(&two.reading), &DataReaderQos::default().keep_all());
    let reader = dunlin::AnyDataReader::from(&reader.unwrap());
    let writer = writer_of(&third, &topic(&third));
    eventually("both readers", || writer.matched_subscriptions().len() == 2);
    eventually("both writers", || reader.matched_publications().len() == 2);
    for number in 0..3 {
        let loan = lent(&two.writer, number, 3, LEN);
        assert!(loan.is_shared());
        writer.write_loaned_payload(loan).unwrap();
    }
    for sample in take(&reader, 3) {
        assert_eq!(decoded(sample.payload.as_ref().unwrap()).octets, [3; LEN]);
    }
    assert_eq!(two.reading.transport_stats().shared_broken, 0);
}

#[test]
fn without_shared_memory_loans_are_ordinary_buffers() {
    let mut config = Config::default();
    config.set("network.interfaces", "lo").unwrap();
    config.set("shared_memory.enabled", "false").unwrap();
    let domain = common::domain();
    let join = || DomainParticipant::builder(domain).config(config.clone()).build().unwrap();
    let (own, other) = (join(), join());
    let writer = writer_of(&own, &topic(&own));
    let readers = [&own, &other].map(|it| reader_of(it, &topic(it)));
    eventually("both readers", || writer.matched_subscriptions().len() == 2);
    let mut loan = lent(&writer, 1, 5, LEN);
    assert!(!loan.is_shared());
    loan.truncate(HEAD + LEN);
    let at = loan.as_ptr();
    writer.write_loaned_payload(loan).unwrap();
    let taken = readers.map(|reader| take(&reader, 1).remove(0));
    for sample in &taken {
        assert_eq!(decoded(sample.payload.as_ref().unwrap()).octets, [5; LEN]);
        assert!(!sample.is_shared());
    }
    assert_eq!(taken[0].payload.as_ref().unwrap().as_ptr(), at, "the buffer itself");
}
