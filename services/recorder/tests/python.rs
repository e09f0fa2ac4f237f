//! Another reader opens what this recorder writes: that of MCAP for Python. `make recorder-python`.

use std::fs::File;
use std::process::Command;

use dunlin::{Guid, VendorId};
use dunlin_recorder::Source;
use dunlin_recorder::event::{Event, EventKind};
use dunlin_recorder::file::{Compression, RecordingWriter, Schema};

const READER: &str = r#"
import sys
from mcap.reader import make_reader
with open(sys.argv[1], "rb") as file:
    reader = make_reader(file, validate_crcs=True)
    summary = reader.get_summary()
    assert summary is not None and summary.statistics.message_count == 101, summary.statistics
    numbers = []
    for schema, channel, message in reader.iter_messages(topics=["Square"]):
        assert (schema.name, schema.encoding, channel.message_encoding) == ("M::Square", "omgidl", "cdr")
        assert channel.metadata["dunlin.type"] == "M::Square"
        assert message.log_time == 1000 + message.sequence and message.publish_time == message.sequence
        numbers.append(int.from_bytes(message.data[4:8], "little"))
    assert numbers == list(range(100)), numbers
    events = list(reader.iter_messages(topics=["dunlin/events"]))
    assert len(events) == 1 and "enum EventKind" in events[0][0].data.decode()
    print("read", len(numbers))
"#;

#[test]
#[ignore = "needs the package mcap of PyPI"]
fn the_reader_for_python_reads_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    for (name, compression) in
        [("none", Compression::None), ("lz4", Compression::Lz4), ("zstd", Compression::Zstd)]
    {
        let path = folder.path().join(name);
        let source = Source {
            writer: Guid::from_bytes([2; 16]),
            topic: "Square".into(),
            type_name: "M::Square".into(),
            vendor: VendorId([1, 16]),
            qos: String::new(),
        };
        let text = b"module M { struct Square { unsigned long n; }; };".to_vec();
        let schema = Schema { name: "M::Square".into(), encoding: "omgidl".into(), text };
        let mut writer = RecordingWriter::new(File::create(&path).unwrap(), compression).unwrap();
        let channel = writer.add(&source, Some(&schema)).unwrap();
        for n in 0..100_u32 {
            let payload = [&[0, 1, 0, 0][..], &n.to_le_bytes()].concat();
            writer.message(channel, n, (1000 + u64::from(n), u64::from(n)), &payload).unwrap();
            if n % 30 == 29 {
                writer.flush().unwrap();
            }
        }
        let event = Event { kind: EventKind::Dispose, number: 100, ..Event::default() };
        writer.event((1100, 100), &event).unwrap();
        writer.finish().unwrap();
        let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
        let output = Command::new(python).args(["-c", READER]).arg(&path).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
