//! Random values of the types of the comparison with Cyclone DDS (`protocol/xtypes/tests/cyclone`) have the octets that its C
//! library gives them, in both representations and byte orders, and are read from its octets.

mod line_peer;
mod random;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use dunlin_cdr::{Endianness, Representation, Scope};
use dunlin_dynamic::{DynamicData, DynamicType};
use dunlin_idl::{Disk, Extensibility, Options, compile};
use line_peer::{LinePeer, body, hex, octets, peers, tame};

const FORMS: [(Representation, Endianness); 4] = [
    (Representation::Xcdr1, Endianness::Little),
    (Representation::Xcdr1, Endianness::Big),
    (Representation::Xcdr2, Endianness::Little),
    (Representation::Xcdr2, Endianness::Big),
];

/// Octets of a payload from which on values of a type are few.
const LARGE: usize = 4000;

fn start() -> LinePeer {
    let network = "<General><Interfaces><NetworkInterface name=\"lo\"/></Interfaces></General>";
    let mut command = Command::new(peers().join("cyclone-native/octets"));
    LinePeer::start(command.env("CYCLONEDDS_URI", network), "tests/interop/build-peers.sh")
}

/// A topic type of the comparison.
struct Tested {
    name: String,
    ty: DynamicType,
    /// What Cyclone's compiler made of it.
    described: String,
}

fn types_of(file: &str, default_extensibility: Extensibility) -> Vec<Tested> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../protocol/xtypes/tests/cyclone");
    let operations = std::fs::read_to_string(folder.join(format!("{file}.ops"))).unwrap();
    let options = Options { default_extensibility, ..Options::default() };
    let path = folder.join(format!("{file}.idl")).display().to_string();
    let result = compile(&path, &options, &Disk);
    let model = result.model.as_ref().unwrap();
    let tested = |line: &str| {
        let (name, _) = line.split_once(' ').unwrap();
        let (graph, index) = dunlin_idl::xtypes::type_graph_of(model, name).unwrap();
        let ty = DynamicType::new(graph, index).unwrap();
        Tested { described: format!("type {file}/{line}"), name: format!("{file}/{name}"), ty }
    };
    operations.lines().map(tested).collect()
}

fn payload(data: &DynamicData, form: (Representation, Endianness)) -> Vec<u8> {
    let mut out = Vec::new();
    data.to_payload_as(form.0, form.1, Scope::Sample, &mut out).unwrap();
    out
}

/// Cyclone's compiler knows nothing of negative literals.
fn no_negative(literal: i32) -> i32 {
    if literal < 0 { 3 } else { literal }
}

/// What Cyclone's octets differ in, and in which forms of which types.
struct Difference {
    types: &'static [&'static str],
    forms: &'static [usize],
    /// Whether Cyclone reads all that Dunlin writes.
    read: bool,
    /// Whether Dunlin reads what Cyclone writes.
    understood: bool,
    why: &'static str,
}

const DIFFERENCES: [Difference; 5] = [
    Difference {
        types: &["final/U::ByShort"],
        forms: &[0, 1, 2, 3],
        read: false,
        understood: true,
        why: "Cyclone does not find the case of a negative discriminator of 16 bits",
    },
    Difference {
        types: &["final/P::Nested", "final/P::NestedA", "final/S::OfStructs", "final/A::OfStructs"],
        forms: &[2, 3],
        read: true,
        understood: true,
        why: "a member of a mutable structure that begins with its length has no second length (DDS-XTypes 1.3 §7.4.3.4.2, LC 5); \
              Cyclone writes one (LC 4) except for strings and lists",
    },
    Difference {
        types: &["final/P::Mutable", "final/P::MutableKeyed", "final/O::AutoHash"],
        forms: &[0, 1],
        read: true,
        understood: true,
        why: "the length of a member of a mutable structure in XCDR1 is that of the member; Cyclone counts what fills the last word",
    },
    Difference {
        types: &["final/P::WideChars"],
        forms: &[1, 3],
        read: true,
        understood: false,
        why: "Cyclone writes wide strings in big endian as in little endian, and reads them in big endian",
    },
    Difference {
        types: &["final/A::SequenceOfArrays", "final/T::SequenceOfAliases"],
        forms: &[2, 3],
        read: false,
        understood: false,
        why: "an array whose elements are an array by another name has elements that are not primitive, and so a length in front \
              (§7.4.3.5.3); Cyclone takes it for one array of more dimensions",
    },
];

fn difference(name: &str, form: usize) -> Option<usize> {
    DIFFERENCES.iter().position(|it| it.types.contains(&name) && it.forms.contains(&form))
}

/// The key in XCDR2, and what its hash is made of.
fn key(data: &DynamicData) -> [String; 2] {
    let (mut key, mut hashed) = (Vec::new(), Vec::new());
    data.key_payload(Representation::Xcdr2, &mut key).unwrap();
    data.key_hash(&mut hashed).unwrap();
    [hex(body(&key)), hex(&hashed)]
}

/// What was compared, and the differences that were seen: by type and form.
#[derive(Default)]
struct Tally {
    values: usize,
    equal: usize,
    keys: usize,
    seen: BTreeSet<(String, usize)>,
}

impl Tally {
    /// A value in every form that Cyclone has of it.
    fn value(&mut self, peer: &mut LinePeer, tested: &Tested, data: &DynamicData, first_form: usize) {
        let name = &*tested.name;
        let ours = FORMS.map(|form| payload(data, form));
        for (from, question) in ours.iter().enumerate().skip(first_form) {
            let answer = peer.ask(&format!("{} {}", tested.name, hex(question)));
            if answer.starts_with("error") && difference(name, from).is_some_and(|at| !DIFFERENCES[at].read) {
                self.seen.insert((name.to_owned(), from));
                continue;
            }
            let parts: Vec<&str> = answer.split(' ').collect();
            let [forms @ .., their_key, their_hashed] = &parts[..] else { panic!("{answer}") };
            assert_eq!(forms.len(), 4, "{answer}");
            for (to, theirs) in forms.iter().enumerate().skip(first_form) {
                self.form(tested, data, (&ours[to], theirs), to);
            }
            if *their_key != "-" {
                assert_eq!([*their_key, *their_hashed], key(data), "key");
                self.keys += 1;
            }
        }
        self.values += 1;
    }

    /// Octets of Cyclone in one form.
    fn form(&mut self, tested: &Tested, data: &DynamicData, (ours, theirs): (&[u8], &str), to: usize) {
        let theirs = octets(theirs.trim_start_matches('='));
        let known = difference(&tested.name, to);
        if body(ours) == theirs {
            self.equal += 1;
        } else if known.is_some() {
            self.seen.insert((tested.name.clone(), to));
        } else {
            panic!("form {to}: {} is {} for Cyclone", hex(body(ours)), hex(&theirs));
        }
        if known.is_none_or(|at| DIFFERENCES[at].understood) {
            let read =
                DynamicData::from_payload(&tested.ty, &[&[ours[0], ours[1], 0, 0], &theirs[..]].concat());
            assert_eq!(
                read.as_ref().map(DynamicData::value),
                Ok(data.value()),
                "form {to}: {}",
                hex(&theirs)
            );
        }
    }
}

/// Of each type so many values; `SEED` is that of the first.
const VALUES: u64 = 160;

#[test]
#[ignore = "needs the peers: make interop"]
fn octets_are_those_of_cyclone() {
    let first: u64 = std::env::var("SEED").map_or(1, |seed| seed.parse().unwrap());
    let mut types = types_of("final", Extensibility::Final);
    types.extend(types_of("appendable", Extensibility::Appendable));
    let (mut peer, mut tally) = (start(), Tally::default());
    for tested in &types {
        let answer = peer.ask(&tested.described);
        let first_form = match &*answer {
            "ok" => 0,
            "ok xcdr2" => 2,
            _ => panic!("{}: {answer}", tested.name),
        };
        for seed in first..first + VALUES {
            let mut bits = random::bits(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let value = tame(random::without_nan(random::value(tested.ty.view(), &mut bits, 4)), no_negative);
            let data = DynamicData::from_value(&tested.ty, value).unwrap();
            let compared = || tally.value(&mut peer, tested, &data, first_form);
            if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(compared)) {
                println!("{} with SEED={seed}: {:?}", tested.name, data.value());
                std::panic::resume_unwind(panic);
            }
            if payload(&data, FORMS[2]).len() > LARGE && seed - first > 3 {
                break;
            }
        }
    }
    peer.end();
    for it in &DIFFERENCES {
        for (name, form) in
            it.types.iter().flat_map(|name| it.forms.iter().map(|form| ((*name).to_owned(), *form)))
        {
            assert!(
                tally.seen.contains(&(name.clone(), form)),
                "{name} does not differ in form {form} any more: {}",
                it.why
            );
        }
    }
    let Tally { values, equal, keys, seen } = &tally;
    println!(
        "{} types, {values} values, {equal} times equal, {keys} keys, {} known differences",
        types.len(),
        seen.len()
    );
    assert!(types.len() >= 76 && *values >= 10_000, "{} types, {values} values", types.len());
}
