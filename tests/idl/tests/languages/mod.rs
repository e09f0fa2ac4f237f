//! Types of IDL in another language: a program reads values and writes them in every form, and the octets have to be
//! those of values known at run time, which `dynamic.rs` compares with those of Rust types.

#[path = "../random/mod.rs"]
mod random;

use dunlin_cdr::{Endianness, Representation, Scope};
use dunlin_dynamic::{DynamicData, DynamicType};
use dunlin_idl::backend::{Backend, Input};
use dunlin_idl::{Compilation, Disk, Extensibility, LoadError, Loader, Options, compile};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

const FORMS: [(Representation, Endianness); 4] = [
    (Representation::Xcdr1, Endianness::Little),
    (Representation::Xcdr1, Endianness::Big),
    (Representation::Xcdr2, Endianness::Little),
    (Representation::Xcdr2, Endianness::Big),
];

/// Octets up to which a value is tried in every form, and damaged; larger ones are tried once.
const LARGE: usize = 2000;

/// All types of the tests, each file in a module of its own; those of Cyclone's comparison are 77 of them.
const FILES: [(&str, Extensibility, &str); 2] = [
    (
        "all.idl",
        Extensibility::Appendable,
        "module Kinds {\n#include \"kinds.idl\"\n};\nmodule Names {\n#include \"names.idl\"\n};\n\
         module Recursive {\n#include \"recursive.idl\"\n};\nmodule Video {\n#include \"video.idl\"\n};\n\
         module Evolution {\n#include \"evolution.idl\"\n};\nmodule Open {\n#include \"appendable.idl\"\n};\n",
    ),
    ("closed.idl", Extensibility::Final, "module Closed {\n#include \"final.idl\"\n};\n"),
];

/// The files, of which the outermost are in memory.
struct Files;

impl Loader for Files {
    fn load(&self, path: &str, limit: usize) -> Result<Vec<u8>, LoadError> {
        match FILES.iter().find(|file| file.0 == path) {
            Some(file) => Ok(file.2.into()),
            None => Disk.load(path, limit),
        }
    }
}

/// A topic type, or one that could be.
pub struct Tested {
    pub name: String,
    ty: DynamicType,
}

/// Compiles everything and puts the code into a folder; the types that programs have to know.
pub fn generate(backend: &dyn Backend, folder: &Path) -> Vec<Tested> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["idl", "idl/common", "../../protocol/xtypes/tests/cyclone"];
    let include_dirs: Vec<String> = folders.iter().map(|dir| root.join(dir).display().to_string()).collect();
    let mut types = Vec::new();
    for (path, default_extensibility, _) in FILES {
        let options =
            Options { include_dirs: include_dirs.clone(), default_extensibility, ..Options::default() };
        let result = compile(path, &options, &Files);
        let model = result.model.as_ref().unwrap_or_else(|| panic!("{}", result.render(false)));
        let input = Input { model, main: result.main, path, includes: true };
        let generated = backend.generate(&input).unwrap_or_else(|errors| panic!("{errors:?}"));
        for (name, text) in generated.files {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        types.extend(types_of(&result));
    }
    assert!(types.len() >= 100, "{}", types.len());
    types
}

fn types_of(result: &Compilation) -> Vec<Tested> {
    let (graph, _) = dunlin_idl::xtypes::type_graph(result.model.as_ref().unwrap());
    let graph = std::sync::Arc::new(graph);
    let topics = graph.iter().filter(|(_, definition)| {
        use dunlin_xtypes::model::Kind;
        matches!(definition.kind, Kind::Structure(_) | Kind::Union(_))
    });
    topics
        .map(|(index, definition)| {
            let ty = DynamicType::new(graph.clone(), index);
            let ty = ty.unwrap_or_else(|error| panic!("{}: {error}", definition.name));
            Tested { name: definition.name.clone(), ty }
        })
        .collect()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |mut text, octet| {
        write!(text, "{octet:02x}").unwrap();
        text
    })
}

/// A value in every form, its key in both representations, and what its key hash is made of.
fn forms(data: &DynamicData) -> String {
    let (mut octets, mut all) = (Vec::new(), Vec::new());
    for (representation, endianness) in FORMS {
        data.to_payload_as(representation, endianness, Scope::Sample, &mut octets).unwrap();
        all.push(hex(&octets));
    }
    for representation in [Representation::Xcdr1, Representation::Xcdr2] {
        data.key_payload(representation, &mut octets).unwrap();
        all.push(hex(&octets));
    }
    let mut scratch = Vec::new();
    data.key_hash(&mut scratch).unwrap();
    all.push(hex(&scratch));
    all.join(" ")
}

/// Damages octets: cuts them off, or changes some.
fn damaged(octets: &[u8], bits: &mut impl FnMut() -> u64) -> Vec<u8> {
    let mut octets = octets.to_vec();
    let at = usize::try_from(bits()).unwrap() % octets.len();
    match bits() % 4 {
        0 => octets.truncate(at),
        1 => octets[at] = 0xff,
        2 => octets[at] ^= 1 << (bits() % 8),
        _ => octets.iter_mut().skip(at).take(4).for_each(|octet| *octet = bits().to_le_bytes()[0]),
    }
    octets
}

/// Gives values to a program, which answers each line `TYPE SCOPE HEX` with [`forms`] or `error …`;
/// so many of each type.
pub fn compare(program: &mut Command, types: &[Tested], values: u64) {
    let (mut input, mut expected) = (String::new(), Vec::new());
    let mut hostile = 0;
    for (seed, tested) in types.iter().enumerate() {
        let mut bits = random::bits(seed as u64 * 7_919 + 1);
        for _ in 0..values {
            let value = random::without_nan(random::value(tested.ty.view(), &mut bits, 4));
            let data = DynamicData::from_value(&tested.ty, value).unwrap();
            let all = forms(&data);
            let tried = if all.len() > 14 * LARGE { 1 } else { 6 };
            for (at, form) in all.split(' ').take(tried).enumerate() {
                let (scope, wanted) = if at < 4 { ("sample", Some(all.clone())) } else { ("key", None) };
                writeln!(input, "{} {scope} {form}", tested.name).unwrap();
                let key =
                    (!scope.starts_with('s')).then(|| all.split(' ').skip(4).collect::<Vec<_>>().join(" "));
                expected.push((tested.name.as_str(), form.to_owned(), wanted.or(key)));
            }
            if tried == 1 {
                break;
            }
            let (mut octets, form) = (Vec::new(), FORMS[usize::try_from(bits() % 4).unwrap()]);
            data.to_payload_as(form.0, form.1, Scope::Sample, &mut octets).unwrap();
            for _ in 0..8 {
                let octets = hex(&damaged(&octets, &mut bits));
                writeln!(input, "{} sample {octets}", tested.name).unwrap();
                expected.push((tested.name.as_str(), octets, None));
                hostile += 1;
            }
        }
    }
    let output = run(program, input);
    assert_eq!(output.lines().count(), expected.len());
    let (mut compared, mut refused) = (0, 0);
    for ((name, octets, wanted), found) in expected.iter().zip(output.lines()) {
        match wanted {
            Some(wanted) if wanted.split(' ').count() == 3 => {
                assert!(found.ends_with(wanted.as_str()), "{name} key {octets}\n{found}\n{wanted}");
                compared += 1;
            }
            Some(wanted) => {
                assert_eq!(found, wanted, "{name} {octets}");
                compared += 1;
            }
            None => refused += usize::from(found.starts_with("error")),
        }
    }
    assert!(refused > hostile / 4, "{refused} of {hostile}");
    println!("{} types, {compared} values equal, {refused} of {hostile} damaged ones refused", types.len());
}

fn run(program: &mut Command, input: String) -> String {
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writing = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    writing.join().unwrap().unwrap();
    String::from_utf8(output.stdout).unwrap()
}
