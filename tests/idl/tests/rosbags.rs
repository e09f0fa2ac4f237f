//! Messages of ROS 2 have the octets that the Python package rosbags gives them, in both directions.

mod random;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dunlin_cdr::{Endianness, Representation, Scope};
use dunlin_dynamic::{DynamicData, DynamicType};
use dunlin_idl::{Disk, Options, compile};

fn peer(words: &[&str], input: Vec<u8>) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let peers = std::env::var_os("INTEROP_PEERS").map_or_else(|| root.join(".cache/peers"), PathBuf::from);
    let mut child = Command::new(peers.join("rosbags/bin/python"))
        .arg(root.join("tests/interop/peers/rosbags/rosbags_peer.py"))
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the peer is there: tests/interop/build-peers.sh");
    let mut stdin = child.stdin.take().unwrap();
    let writing = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

fn octets(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// The type of `pkg/msg/Name`, from its file.
fn type_of(folder: &Path, name: &str) -> DynamicType {
    let path = folder.join(format!("{name}.msg")).display().to_string();
    let result = compile(&path, &Options::default(), &Disk);
    let model = result.model.as_ref().unwrap_or_else(|| panic!("{}", result.render(false)));
    assert!(result.diagnostics.is_empty(), "{}", result.render(false));
    let (package, plain) = name.split_once("/msg/").unwrap();
    let dds = format!("{package}::msg::dds_::{plain}_");
    let (graph, index) = dunlin_idl::xtypes::type_graph_of(model, &dds).unwrap();
    let ty = DynamicType::new(graph, index).unwrap();
    assert_eq!(ty.default_representation(), Representation::Xcdr1, "{name}");
    ty
}

/// What was written, without the octets that fill the last word and what the header says of them.
fn payload(data: &DynamicData, endianness: Endianness) -> Vec<u8> {
    let mut out = Vec::new();
    data.to_payload_as(Representation::Xcdr1, endianness, Scope::Sample, &mut out).unwrap();
    out.truncate(out.len() - usize::from(out[3] & 3));
    out[3] = 0;
    out
}

#[test]
#[ignore = "needs the peers: make interop"]
fn messages_are_those_of_rosbags() {
    let folder = tempfile::tempdir().unwrap();
    let theirs = peer(&["messages", &folder.path().display().to_string()], Vec::new());
    let mut types: BTreeMap<&str, DynamicType> = BTreeMap::new();
    let mut count = 0;
    for line in theirs.lines() {
        let (name, value) = line.split_once(' ').unwrap();
        let ty = types.entry(name).or_insert_with(|| type_of(folder.path(), name));
        let value = octets(value);
        let endianness = if value[1] == 1 { Endianness::Little } else { Endianness::Big };
        let data = DynamicData::from_payload(ty, &value).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(hex(&payload(&data, endianness)), hex(&value), "{name}");
        count += 1;
    }
    let (mut ours, mut input) = (Vec::new(), Vec::new());
    for (seed, (name, ty)) in types.iter().enumerate() {
        let mut bits = random::bits(seed as u64 * 2_654_435_761 + 99);
        for endianness in [Endianness::Little, Endianness::Big, Endianness::Little] {
            let value = random::without_nan(random::value(ty.view(), &mut bits, 4));
            let data = DynamicData::from_value(ty, value).unwrap();
            let octets = hex(&payload(&data, endianness));
            writeln!(input, "{name} {octets}").unwrap();
            ours.push((*name, octets));
        }
    }
    let again = peer(&["again"], input);
    assert_eq!(again.lines().count(), ours.len());
    for ((name, ours), theirs) in ours.iter().zip(again.lines()) {
        assert_eq!(ours, theirs, "{name}");
    }
    assert!(types.len() >= 100, "{} types", types.len());
    println!("{} types, {count} values of rosbags, {} of Dunlin", types.len(), ours.len());
}
