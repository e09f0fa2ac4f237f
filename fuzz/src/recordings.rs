//! Recordings: what a player and the tools for files read of them.

use std::io::Cursor;

use dunlin_recorder::event::{Event, EventKind};
use dunlin_recorder::file::{Compression, Ending, Recording, RecordingWriter, Schema, Selection, rewrite};
use dunlin_recorder::{Source, type_of_schema};

/// Reads the octets as a recording, with its types, policies and events, and repairs it. What repair makes is whole.
pub fn recordings(data: &[u8]) {
    let Ok(mut recording) = Recording::new(Cursor::new(data)) else { return };
    for channel in recording.contents().channels.values() {
        if let Some(schema) = recording.contents().schemas.get(&channel.schema) {
            let _ = type_of_schema(&schema.name, &schema.data);
        }
        if let Some(source) = &channel.source {
            let _ = source.policies();
        }
    }
    let _ = recording.for_each(0, |_, message| {
        let _ = Event::from_octets(message.data);
        true
    });
    let mut out = Vec::new();
    if rewrite(&mut Cursor::new(data), &mut out, Compression::None, &Selection::default()).is_ok() {
        let repaired = Recording::new(Cursor::new(&out)).expect("it is a recording");
        assert_eq!(*repaired.ending(), Ending::Whole);
    }
}

fn recording(compression: Compression) -> Vec<u8> {
    let mut guid = [1; 16];
    guid[15] = 2;
    let source = Source {
        writer: dunlin_core::Guid::from_bytes(guid),
        topic: "Square".into(),
        type_name: "ShapeType".into(),
        vendor: dunlin_core::VendorId([1, 16]),
        qos: "[profile.recorded.writer]\nhistory.kind = \"keep_all\"\n[profile.recorded.publisher]\n".into(),
    };
    let text = b"struct ShapeType { @key string color; long x; };".to_vec();
    let schema = Schema { name: "ShapeType".into(), encoding: "omgidl".into(), text };
    let mut octets = Vec::new();
    let mut write = || -> Result<(), dunlin_recorder::file::RecordingError> {
        let mut writer = RecordingWriter::new(&mut octets, compression)?;
        let channel = writer.add(&source, Some(&schema))?;
        for n in 0..3 {
            writer.message(
                channel,
                n,
                (u64::from(n), 1),
                &[0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0],
            )?;
        }
        writer.event((4, 4), &Event { kind: EventKind::Dispose, number: 4, ..Event::default() })?;
        writer.finish()
    };
    write().expect("memory takes it");
    octets
}

pub(crate) fn seeds() -> Vec<(String, Vec<u8>)> {
    let all = [("plain", Compression::None), ("lz4", Compression::Lz4), ("zstd", Compression::Zstd)];
    all.map(|(name, compression)| (name.to_owned(), recording(compression))).into()
}
