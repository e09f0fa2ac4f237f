//! Files: cut anywhere, damaged anywhere, and files that lie. Nothing of it panics, takes much memory, or loses what was whole.

use std::io::Cursor;

use dunlin::{Guid, VendorId};
use dunlin_recorder::event::{Event, EventKind};
use dunlin_recorder::file::{
    Compression, Contents, Ending, Message, Recording, RecordingError, RecordingWriter, Selection, rewrite,
};
use dunlin_recorder::{Names, Source};

const ALL: [Compression; 3] = [Compression::None, Compression::Lz4, Compression::Zstd];
/// Messages of a chunk.
const OF_CHUNK: u64 = 20;

fn source(n: u8) -> Source {
    let mut guid = [n; 16];
    guid[15] = 0x03;
    Source {
        writer: Guid::from_bytes(guid),
        topic: format!("Topic{n}"),
        type_name: "T".into(),
        vendor: VendorId([1, 16]),
        qos: "[profile.recorded.writer]\n[profile.recorded.publisher]\n".into(),
    }
}

/// Two topics; the n-th message has time n + 1 and n as its first octets. Every tenth is followed by an event.
fn recording(chunks: u64, compression: Compression) -> Vec<u8> {
    let mut octets = Vec::new();
    let mut writer = RecordingWriter::new(&mut octets, compression).unwrap();
    let channels = [1, 2].map(|n| writer.add(&source(n), None).unwrap());
    for n in 0..chunks * OF_CHUNK {
        let mut payload = n.to_le_bytes().to_vec();
        payload.resize(8 + usize::try_from(n % 50).unwrap(), 7);
        let channel = channels[usize::try_from(n % 2).unwrap()];
        writer.message(channel, u32::try_from(n).unwrap(), (n + 1, n), &payload).unwrap();
        if n % 10 == 9 {
            let event = Event { kind: EventKind::Dispose, number: 5, ..Event::default() };
            writer.event((n + 1, n), &event).unwrap();
        }
        if n % OF_CHUNK == OF_CHUNK - 1 {
            writer.flush().unwrap();
        }
    }
    writer.finish().unwrap();
    octets
}

/// The numbers of the messages in their order.
fn numbers(octets: &[u8], from: u64) -> Result<Vec<u64>, RecordingError> {
    let mut found = Vec::new();
    let mut recording = Recording::new(Cursor::new(octets))?;
    recording.for_each(from, |contents: &Contents, message: Message<'_>| {
        if !contents.channels[&message.channel].is_events() {
            found.push(u64::from_le_bytes(message.data[..8].try_into().unwrap()));
        }
        true
    })?;
    Ok(found)
}

fn rewritten(octets: &[u8], selection: &Selection) -> Result<(Vec<u8>, Ending), RecordingError> {
    let mut out = Vec::new();
    let done = rewrite(&mut Cursor::new(octets), &mut out, Compression::Lz4, selection)?;
    Ok((out, done.ending))
}

#[test]
fn a_recording_is_read_from_any_time_on() {
    for compression in ALL {
        let octets = recording(10, compression);
        let opened = Recording::new(Cursor::new(&octets)).unwrap();
        assert_eq!(*opened.ending(), Ending::Whole);
        assert_eq!(opened.span(), Some((1, 200)));
        let found: Vec<_> = opened.contents().channels.values().filter_map(|it| it.source.clone()).collect();
        assert_eq!(found, [source(1), source(2)]);
        for from in [0, 1, 19, 20, 21, 150, 200, 201] {
            let wanted: Vec<u64> = (from.max(1) - 1..200).collect();
            assert_eq!(numbers(&octets, from).unwrap(), wanted, "{from}");
        }
    }
}

#[test]
fn a_part_is_cut_by_time_and_topic() {
    let octets = recording(10, Compression::Lz4);
    let topics = Names { allow: vec!["*1".into()], deny: Vec::new() };
    let (part, _) = rewritten(&octets, &Selection { topics, from: 51, to: 101 }).unwrap();
    let wanted: Vec<u64> = (50..=100).filter(|n| n % 2 == 0).collect();
    assert_eq!(numbers(&part, 0).unwrap(), wanted);
    assert_eq!(*Recording::new(Cursor::new(&part)).unwrap().ending(), Ending::Whole);
}

/// Cuts at a share of all octets. Of each cut file the chunks that are whole are read, and repair makes a whole recording of them.
fn cut_at(cuts: usize) {
    for compression in ALL {
        let octets = recording(10, compression);
        let whole = Recording::new(Cursor::new(&octets)).unwrap();
        let ends: Vec<u64> = whole.contents().chunks.iter().map(|it| it.offset + it.length).collect();
        for n in 0..cuts {
            let cut = octets.len() * n / cuts;
            let part = &octets[..cut];
            if cut < 8 {
                assert!(matches!(numbers(part, 0), Err(RecordingError::NotMcap)));
                continue;
            }
            let chunks = ends.iter().filter(|end| **end <= cut as u64).count() as u64;
            // Each recorder begins with a chunk that says what channels there are.
            let wanted: Vec<u64> = (0..chunks * OF_CHUNK).collect();
            assert_eq!(numbers(part, 0).unwrap(), wanted, "cut at {cut} of {}", octets.len());
            let (repaired, _) = rewritten(part, &Selection::default()).unwrap();
            assert_eq!(numbers(&repaired, 0).unwrap(), wanted);
            assert_eq!(*Recording::new(Cursor::new(&repaired)).unwrap().ending(), Ending::Whole);
        }
    }
}

#[test]
fn files_cut_at_a_hundred_places_keep_what_was_whole() {
    cut_at(100);
}

#[test]
#[ignore = "`make recorder-cuts`"]
fn files_cut_at_a_thousand_places_keep_what_was_whole() {
    cut_at(1000);
}

/// A reader ends with a recording or an error, whatever the octets are.
fn survives(octets: &[u8]) {
    let _ = numbers_of_any(octets);
    let _ = rewritten(octets, &Selection::default());
}

fn numbers_of_any(octets: &[u8]) -> Result<u64, RecordingError> {
    let mut found = 0;
    let mut recording = Recording::new(Cursor::new(octets))?;
    recording.for_each(0, |_, _| {
        found += 1;
        true
    })?;
    Ok(found)
}

#[test]
fn every_changed_octet_is_survived() {
    for compression in ALL {
        let octets = recording(2, compression);
        let step = (octets.len() / 400).max(1);
        for at in (0..octets.len()).step_by(step) {
            for value in [0, 0xff, octets[at] ^ 1] {
                let mut changed = octets.clone();
                changed[at] = value;
                survives(&changed);
            }
        }
    }
}

fn record(opcode: u8, length: u64, body: &[u8]) -> Vec<u8> {
    [&[opcode][..], &length.to_le_bytes(), body].concat()
}

/// A chunk that claims to unpack to so many octets.
fn chunk(claimed: u64, compression: &str, packed: &[u8]) -> Vec<u8> {
    let mut body = [1_u64.to_le_bytes(), 2_u64.to_le_bytes(), claimed.to_le_bytes()].concat();
    body.extend(0_u32.to_le_bytes());
    body.extend(u32::try_from(compression.len()).unwrap().to_le_bytes());
    body.extend(compression.as_bytes());
    body.extend((packed.len() as u64).to_le_bytes());
    body.extend(packed);
    record(6, body.len() as u64, &body)
}

fn file(parts: &[Vec<u8>]) -> Vec<u8> {
    let header = record(1, 8, &[0; 8]);
    [&b"\x89MCAP0\r\n"[..], &header, &parts.concat()].concat()
}

#[test]
fn false_lengths_in_a_recording_are_reported_without_allocation() {
    let huge = [
        record(6, u64::MAX, b""),
        record(6, 1 << 40, &[0; 100]),
        record(3, u64::MAX - 8, b""),
        record(0x80, 1 << 62, b""),
        record(0, 3, b"abc"),
    ];
    for part in huge {
        let octets = file(&[part]);
        let opened = Recording::new(Cursor::new(&octets)).unwrap();
        assert!(matches!(opened.ending(), Ending::Cut { offset: 25, .. }), "{:?}", opened.ending());
        survives(&octets);
    }
    // Strings and maps that claim more than there is.
    for part in [
        record(4, 12, &[1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]),
        record(3, 10, &[1, 0, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0]),
        record(4, 16, &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]),
    ] {
        let octets = file(&[part]);
        assert!(matches!(Recording::new(Cursor::new(&octets)).unwrap().ending(), Ending::Cut { .. }));
    }
}

#[test]
fn decompression_bombs_are_refused_and_the_rest_is_read() {
    let good = recording(1, Compression::None);
    let good = &good[8 + 9 + usize::from(good[9])..];
    let lies = [
        chunk(1 << 40, "lz4", b"abc"),
        chunk(u64::MAX, "zstd", b"abc"),
        chunk(1 << 30, "", b"abc"),
        chunk(10, "none-of-these", b"abc"),
    ];
    for lie in lies {
        let octets = file(&[lie, good.to_vec()]);
        let opened = Recording::new(Cursor::new(&octets)).unwrap();
        assert_eq!(opened.damaged_chunks(), 1);
        assert_eq!(numbers(&octets, 0).unwrap(), (0..OF_CHUNK).collect::<Vec<_>>());
    }
}

#[test]
fn a_false_index_of_a_recording_is_reported() {
    let octets = recording(3, Compression::None);
    let whole = Recording::new(Cursor::new(&octets)).unwrap();
    let place = whole.contents().chunks[1];
    // The index names the place once: its last octets say so.
    let named = place.offset.to_le_bytes();
    let at = octets.windows(8).rposition(|window| window == named).unwrap();
    let mut lying = octets.clone();
    lying[at] ^= 1;
    let error = numbers(&lying, 0).unwrap_err();
    assert!(matches!(error, RecordingError::Damaged { .. }), "{error}");
    assert_eq!(rewritten(&lying, &Selection::default()).unwrap().1, Ending::Whole);
}

#[test]
fn a_file_that_grows_is_read_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.mcap");
    let whole = recording(6, Compression::Lz4);
    for step in [97, 1000, whole.len() / 3, whole.len()] {
        std::fs::write(&path, &whole[..8]).unwrap();
        let mut growing = Recording::open(&path).unwrap();
        for end in (8 + step..whole.len()).step_by(step).chain([whole.len()]) {
            std::fs::write(&path, &whole[..end]).unwrap();
            growing.extend().unwrap();
        }
        let mut count = 0;
        growing
            .for_each(0, |contents, message| {
                count += u64::from(!contents.channels[&message.channel].is_events());
                true
            })
            .unwrap();
        assert_eq!((count, growing.ending()), (6 * OF_CHUNK, &Ending::Whole), "{step} octets at a time");
        growing.extend().unwrap();
        assert_eq!(growing.contents().chunks.len(), 6);
    }
}
