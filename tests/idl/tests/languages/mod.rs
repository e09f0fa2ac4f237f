//! Types of IDL in another language: a program reads values and writes them in every form, and the octets have to be
//! those of values known at run time, which `dynamic.rs` compares with those of Rust types.

#[path = "../random/mod.rs"]
mod random;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use dunlin_cdr::{DecodeOptions, Endianness, Limits, Representation, Scope};
use dunlin_dynamic::{DynamicData, DynamicType};
use dunlin_idl::backend::{Backend, Input};
use dunlin_idl::{Compilation, Disk, Extensibility, LoadError, Loader, Options, compile};

const FORMS: [(Representation, Endianness); 4] = [
    (Representation::Xcdr1, Endianness::Little),
    (Representation::Xcdr1, Endianness::Big),
    (Representation::Xcdr2, Endianness::Little),
    (Representation::Xcdr2, Endianness::Big),
];

/// Octets up to which a value is tried in every form, and damaged; larger ones are tried once.
const LARGE: usize = 2000;

/// A file in memory, with the extensibility of its types.
pub type File = (&'static str, Extensibility, &'static str);

/// All types of the tests, each file in a module of its own; those of Cyclone's comparison are 77 of them.
pub const ALL: File = (
    "all.idl",
    Extensibility::Appendable,
    "module Kinds {\n#include \"kinds.idl\"\n};\nmodule Names {\n#include \"names.idl\"\n};\n\
     module Recursive {\n#include \"recursive.idl\"\n};\nmodule Video {\n#include \"video.idl\"\n};\n\
     module Evolution {\n#include \"evolution.idl\"\n};\nmodule Open {\n#include \"appendable.idl\"\n};\n",
);

/// Names that generated code could have for itself, and values that do not fit their types.
pub const SPECIAL: File = (
    "special.idl",
    Extensibility::Final,
    "module Clashes {
        union U switch(long) { case 1: long select; case 2: long check; case 3: string index_of; case 4: long d_;
            case 5: octet value_; case 6: short d; case 7: long value; default: long index; };
        bitset B { bitfield<3> bits; bitfield<5> field; bitfield<7> value; };
        bitmask M { FIRST }; struct M_bits { M x; B y; };
    };
    module Tried {
        @bit_bound(8) enum Grade { @value(5) FIRST, @value(6) SECOND };
        typedef Grade Grades[2];
        struct Inside { @try_construct(USE_DEFAULT) Grade grade; };
        struct Each { sequence<@try_construct(USE_DEFAULT) Grade> list; };
        struct Maybe { @optional @try_construct(USE_DEFAULT) Grade grade; };
        struct Table { map<octet, @try_construct(USE_DEFAULT) Grade> table; };
        struct Pairs { sequence<@try_construct(USE_DEFAULT) Grades> pairs; };
        struct Insides { sequence<Inside> insides; };
        @mutable struct Absent { Grade grade; Grades grades; @external Grade boxed; };
        @mutable union Choice switch(octet) { case 1: Grades grades; default: Grade grade; };
        @appendable struct Item { @key long a; @default(9) @key long b; };
        @mutable struct Loose { @id(1) @key long a; @id(2) @default(9) @key long b; };
        @appendable union Held switch(@key octet) { case 1: Item item; };
        @final struct Items { @key Loose first; Item second; @optional Item third; sequence<Loose> rest; Held held; };
        @final struct Keyless { Item item; Loose loose; };
        @appendable union Other switch(octet) { case 1: @default(4) long four; case 2: Item item; };
        @mutable union Must switch(octet) { case 1: @must_understand long a; case 2: long b; default: @must_understand string c; };
        struct Texts { sequence<@try_construct(TRIM) string<2>, 3> list; };
        struct Fewer { @try_construct(TRIM) sequence<@try_construct(USE_DEFAULT) Grade, 2> list; };
        struct One { @try_construct(TRIM) sequence<string<2>, 1> list; };
        struct Dict { map<@try_construct(USE_DEFAULT) Grade, @try_construct(TRIM) string<2>> pairs; };
        struct Deep { sequence<@try_construct(TRIM) sequence<@try_construct(USE_DEFAULT) Grade, 1>> list; };
    };
    module Tables {
        enum Colour { RED, @value(-3) GREEN, BLUE };
        struct Keys { map<char, octet> a; map<wchar, octet> b; map<int8, string> c; map<octet, long> d; map<boolean, short> e;
            map<long long, double> f; map<unsigned long long, octet> g; map<Colour, octet> h; map<string<4>, char, 3> i;
            map<wstring, octet> j; map<short, map<char, long>> k; };
    };
    module Costs {
        @mutable struct Row { octet first; long numbers[100]; };
        struct Rows { sequence<Row> rows; };
        struct Chain { long value; @optional Chain next; };
    };",
);

/// Types whose values are larger than a stack, or allocate much by themselves.
pub const COSTLY: File = (
    "costly.idl",
    Extensibility::Final,
    "module Costly {
        struct Large { long numbers[4000000]; };
        enum Level { LOW, HIGH };
        typedef Level Levels[4000000];
        struct Larges { sequence<Large> list; @optional Large maybe; map<octet, Large> table;
            @try_construct(USE_DEFAULT) Levels levels; };
        @mutable struct Hollow { @external long numbers[100000]; };
        struct Hollows { sequence<Hollow> list; };
        struct Table { map<octet, Hollow> table; };
        struct Maybe { @optional Hollow one; @optional Hollow other; @optional Hollow third; };
        union Choice switch(octet) { case 1: Hollow hollow; };
        struct Choices { sequence<Choice> list; };
    };",
);

pub const CLOSED: File =
    ("closed.idl", Extensibility::Final, "module Closed {\n#include \"final.idl\"\n};\n");

/// Values with something wrong that has to become a default, or that is missing.
const REPAIRED: [(&str, &str); 17] = [
    ("Tried::Each", "00070000 06000000 02000000 0906"),
    ("Tried::Maybe", "00070000 0109"),
    ("Tried::Table", "00070000 06000000 01000000 0709"),
    ("Tried::Pairs", "00070000 0a000000 01000000 02000000 0609"),
    ("Tried::Pairs", "00070000 0a000000 01000000 02000000 0606"),
    ("Tried::Insides", "00070000 06000000 02000000 0609"),
    ("Tried::Absent", "000b0000 00000000"),
    ("Tried::Choice", "000b0000 08000000 00000000 01000000"),
    // Key members of what is no key.
    (
        "Tried::Items",
        "00070000 10000000 01000020 01000000 02000020 02000000 04000000 03000000 01000000 04000000 04000000 \
         10000000 01000000 08000000 01000020 05000000 0c000000 01000000 04000000 06000000",
    ),
    ("Tried::Keyless", "00070000 04000000 01000000 08000000 01000020 02000000"),
    ("Tried::Other", "00090000 0c000000 02000000 04000000 07000000"),
    // Elements are tried before the collection around them is shortened; what that does not help against is the default.
    ("Tried::Texts", "00070000 0e000000 01000000 06000000 68656c6c 6f00"),
    ("Tried::Fewer", "00070000 07000000 03000000 090609"),
    ("Tried::One", "00070000 0e000000 01000000 06000000 68656c6c 6f00"),
    ("Tried::One", "00070000 16000000 02000000 02000000 61000000 06000000 68656c6c 6f00"),
    ("Tried::Dict", "00070000 12000000 01000000 09000000 06000000 68656c6c 6f00"),
    ("Tried::Deep", "00070000 0e000000 01000000 06000000 02000000 0906"),
];

/// The files, of which the outermost are in memory.
struct Files;

impl Loader for Files {
    fn load(&self, path: &str, limit: usize) -> Result<Vec<u8>, LoadError> {
        match [ALL, SPECIAL, COSTLY, CLOSED].iter().find(|file| file.0 == path) {
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

/// Compiles files and puts the code into a folder; the types that programs have to know.
pub fn generate(backend: &dyn Backend, files: &[File], folder: &Path) -> Vec<Tested> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["idl", "idl/common", "../../protocol/xtypes/tests/cyclone"];
    let include_dirs: Vec<String> = folders.iter().map(|dir| root.join(dir).display().to_string()).collect();
    let mut types = Vec::new();
    for (path, default_extensibility, _) in files.iter().copied() {
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

/// What a key alone makes of a type: members that are no key have their defaults.
fn of_key(data: &DynamicData) -> DynamicData {
    let (ty, mut key) = (data.dynamic_type(), Vec::new());
    data.key_payload(Representation::Xcdr2, &mut key).unwrap();
    DynamicData::from_key_payload(ty, &key, &Limits::default(), DecodeOptions::default()).unwrap()
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

/// What a program is asked, and what it has to answer; without that, damaged octets may be refused.
#[derive(Default)]
struct Questions<'a> {
    input: String,
    expected: Vec<(&'a str, String, Option<String>)>,
}

impl<'a> Questions<'a> {
    fn ask(&mut self, tested: &'a Tested, scope: &str, octets: String, answer: Option<String>) {
        writeln!(self.input, "{} {scope} {octets}", tested.name).unwrap();
        self.expected.push((&tested.name, octets, answer));
    }

    /// Values with something wrong whose repair is known: as Rust repairs them.
    fn repaired(&mut self, types: &'a [Tested]) {
        for (name, text) in REPAIRED {
            let tested = types.iter().find(|tested| tested.name == name).unwrap();
            let octets = octets(&text.replace(' ', ""));
            let data = DynamicData::from_payload(&tested.ty, &octets)
                .unwrap_or_else(|error| panic!("{name} {text}: {error}"));
            self.ask(tested, "sample", hex(&octets), Some(forms(&data)));
        }
    }

    /// A value in every form; large ones are tried once.
    fn value(&mut self, tested: &'a Tested, data: &DynamicData) -> bool {
        let all = forms(data);
        let large = all.len() > 14 * LARGE;
        for (at, form) in all.split(' ').take(if large { 1 } else { 6 }).enumerate() {
            let (scope, answer) = match at {
                0..4 => ("sample", all.clone()),
                _ => ("key", forms(&of_key(data))),
            };
            self.ask(tested, scope, form.to_owned(), Some(answer));
        }
        !large
    }
}

fn octets(hex: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

/// Gives values to a program, which answers each line `TYPE SCOPE HEX` with [`forms`] or `error …`;
/// so many of each type.
pub fn compare(program: &mut Command, types: &[Tested], values: u64) {
    let mut questions = Questions::default();
    questions.repaired(types);
    let mut hostile = 0;
    for (seed, tested) in types.iter().enumerate() {
        let mut bits = random::bits(seed as u64 * 7_919 + 1);
        for _ in 0..values {
            let value = random::without_nan(random::value(tested.ty.view(), &mut bits, 4));
            let data = DynamicData::from_value(&tested.ty, value).unwrap();
            if !questions.value(tested, &data) {
                break;
            }
            let (mut octets, form) = (Vec::new(), FORMS[usize::try_from(bits() % 4).unwrap()]);
            data.to_payload_as(form.0, form.1, Scope::Sample, &mut octets).unwrap();
            for _ in 0..8 {
                questions.ask(tested, "sample", hex(&damaged(&octets, &mut bits)), None);
                hostile += 1;
            }
        }
    }
    let Questions { input, expected } = questions;
    let output = run(program, input);
    assert_eq!(output.lines().count(), expected.len());
    let (mut compared, mut refused) = (0, 0);
    for ((name, octets, wanted), found) in expected.iter().zip(output.lines()) {
        match wanted {
            Some(wanted) => {
                assert_eq!(found.split(' ').count(), 7, "{name} {octets}: {found}");
                let skipped = 7 - wanted.split(' ').count();
                let found = found.split(' ').skip(skipped).collect::<Vec<_>>().join(" ");
                assert_eq!(&found, wanted, "{name} {octets}");
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
