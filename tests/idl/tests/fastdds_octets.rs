//! Random values of the types of the comparison with Fast DDS 3 (`tests/interop/tests/fastdds3_types.rs`) have the octets that
//! code of fastddsgen gives them, in both representations, and are read from its octets.

mod line_peer;
mod random;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use dunlin_cdr::{Endianness, Representation, Scope};
use dunlin_dynamic::{DynamicData, DynamicType};
use dunlin_idl::{Disk, Extensibility, Options, compile};
use line_peer::{LinePeer, body, hex, octets, peers, tame};

const FORMS: [Representation; 2] = [Representation::Xcdr1, Representation::Xcdr2];

/// A program of `tests/interop/peers/fastdds3`.
struct Peer(LinePeer);

impl Peer {
    fn start(program: &str, domain: u32) -> Self {
        // Lengths that it takes from the wrong place make it ask for gigabytes.
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -v 6000000 && exec \"$0\" types \"$1\""]);
        command.arg(peers().join("fastdds3").join(program)).arg(domain.to_string());
        let mut peer = LinePeer::start(&mut command, "tests/interop/build-fastdds3.sh");
        while peer.line("start") != "ready" {}
        Self(peer)
    }

    /// The payloads in [`FORMS`] and the key hash of what the peer reads of a payload, or that it refuses it.
    fn octets(&mut self, name: &str, payload: &[u8]) -> Result<Vec<String>, String> {
        let answer = self.0.ask(&format!("octets {name} {}", hex(payload)));
        if answer.starts_with("error") {
            return Err(answer);
        }
        assert_eq!(self.0.line(name), "ok");
        Ok(answer.split(' ').skip(1).map(str::to_owned).collect())
    }

    fn has(&mut self, name: &str) -> bool {
        self.octets(name, &[]).err().as_deref() != Some("error no such type")
    }
}

/// What became of the values of a type that was read in one form and written in one, the worse counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// The octets are Dunlin's.
    Equal,
    /// They are others, which Dunlin reads as the same value.
    Read,
    /// Some are refused, or become another value.
    Lost,
}
use Outcome::{Equal, Lost, Read};

/// From XCDR1 to both, from XCDR2 to both.
type Outcomes = [[Outcome; 2]; 2];

/// What is not equal in every form; `docs/type-comparisons.md` has the table.
const DIFFERENCES: [(&[&str], Outcomes, &str); 5] = [
    (
        &[
            "P::Mutable",
            "P::MutableKeyed",
            "P::Nested",
            "P::NestedA",
            "S::OfStructs",
            "A::OfStructs",
            "I::BaseM",
            "I::DerivedM",
            "O::Optionals",
            "O::OptionalTypes",
            "O::External",
            "O::Hashed",
            "O::AutoHash",
            "O::AutoBare",
            "D::Outer",
            "D::Derived",
        ],
        [[Read, Equal], [Read, Equal]],
        "parameters of XCDR1 have the long header here and the short one there; both are allowed",
    ),
    (
        &["O::MustUnderstand"],
        [[Lost, Lost], [Read, Read]],
        "Fast DDS does not say that members must be understood, and refuses the long header that does",
    ),
    (
        &["P::WideChars", "E::Collections"],
        [[Lost, Lost], [Lost, Lost]],
        "Fast DDS writes wide strings with a count of characters, and enumerations of 16 bits in 32",
    ),
    (
        &["A::SequenceOfArrays", "T::SequenceOfAliases"],
        [[Equal, Lost], [Lost, Lost]],
        "an array of arrays by another name has a length in XCDR2 (§7.4.3.5.3), which Fast DDS leaves out",
    ),
    (
        &["B::Collections", "T::OfTypes"],
        [[Equal, Lost], [Lost, Lost]],
        "lists of bitmasks and enumerations have a length in XCDR2 (§7.4.3.5.3), which Fast DDS leaves out",
    ),
];

/// Types whose key hash is another: for Fast DDS all of a union is key, not what is marked in it alone.
const OTHER_KEYS: [&str; 1] = ["U::ByKeyed"];

/// Types that the peer does not have (`docs/type-comparisons.md`).
const MISSING: [&str; 6] =
    ["A::OfSequences", "D::Choice", "E::All", "O::TryConstruct", "S::OfSequencesOfStructs", "U::Topic"];

fn outcome(data: &DynamicData, ours: &[u8], theirs: &str) -> Outcome {
    let theirs = octets(theirs.trim_start_matches('-'));
    match theirs.get(..4) {
        None => Lost,
        Some(header) if header[..2] == ours[..2] && body(&theirs) == body(ours) => Equal,
        Some(_) => match DynamicData::from_payload(data.dynamic_type(), &theirs) {
            Ok(read) if read.value() == data.value() => Read,
            _ => Lost,
        },
    }
}

/// A value in both forms; the hashes of its key are equal unless they are known not to be.
fn compare(peer: &mut Peer, name: &str, data: &DynamicData, outcomes: &mut Outcomes) {
    let ours = FORMS.map(|form| {
        let mut out = Vec::new();
        data.to_payload_as(form, Endianness::Little, Scope::Sample, &mut out).unwrap();
        out
    });
    for (payload, outcomes) in ours.iter().zip(outcomes) {
        let Ok(answer) = peer.octets(name, payload) else {
            *outcomes = [Lost, Lost];
            continue;
        };
        for (to, outcome_so_far) in outcomes.iter_mut().enumerate() {
            *outcome_so_far = outcome(data, &ours[to], &answer[to]).max(*outcome_so_far);
        }
        let hash = hex(&data.key_hash(&mut Vec::new()).unwrap());
        if answer[2] != "-" && outcomes[0] == Equal {
            assert_eq!(answer[2] == hash, !OTHER_KEYS.contains(&name), "{name}: {} and {hash}", answer[2]);
        }
    }
}

/// Of each type so many values; `SEED` is that of the first.
const VALUES: u64 = 160;
/// Octets of a payload from which on values of a type are few.
const LARGE: usize = 4000;

/// The topic types of a file; returns the number of values, and what is not equal or missing.
fn compare_file(
    file: &str,
    extensibility: Extensibility,
    domain: u32,
    seen: &mut BTreeMap<String, Option<Outcomes>>,
) -> usize {
    let first: u64 = std::env::var("SEED").map_or(1, |seed| seed.parse().unwrap());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../protocol/xtypes/tests/cyclone");
    let options = Options { default_extensibility: extensibility, ..Options::default() };
    let model =
        compile(&folder.join(format!("{file}.idl")).display().to_string(), &options, &Disk).model.unwrap();
    let graph = Arc::new(dunlin_idl::xtypes::type_graph(&model).0);
    let golden = std::fs::read_to_string(folder.join(format!("{file}.golden"))).unwrap();
    let topics: BTreeSet<&str> =
        golden.lines().filter_map(|line| line.strip_prefix("info ")?.split(' ').next()).collect();
    let mut peer = Peer::start(&format!("types-{file}"), domain);
    let mut values = 0;
    for (index, definition) in graph.iter().filter(|(_, it)| topics.contains(&*it.name.replace("::", "_"))) {
        let name = &definition.name;
        if !peer.has(name) {
            seen.insert(name.clone(), None);
            continue;
        }
        let ty = DynamicType::new(Arc::clone(&graph), index).unwrap();
        let mut outcomes = [[Equal; 2]; 2];
        for seed in first..first + VALUES {
            let mut bits = random::bits(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let value = tame(random::without_nan(random::value(ty.view(), &mut bits, 4)), |literal| literal);
            let data = DynamicData::from_value(&ty, value).unwrap();
            compare(&mut peer, name, &data, &mut outcomes);
            values += 1;
            let mut out = Vec::new();
            data.to_payload_as(FORMS[1], Endianness::Little, Scope::Sample, &mut out).unwrap();
            if out.len() > LARGE && seed - first > 3 {
                break;
            }
        }
        seen.insert(name.clone(), Some(outcomes));
    }
    peer.0.end();
    values
}

#[test]
#[ignore = "needs Fast DDS 3: make interop-fastdds3"]
fn octets_are_those_of_fast_dds3() {
    let mut seen = BTreeMap::new();
    let values = compare_file("appendable", Extensibility::Appendable, 128, &mut seen)
        + compare_file("final", Extensibility::Final, 127, &mut seen);
    let expected = |name: &str| {
        let known = DIFFERENCES.iter().find(|(types, ..)| types.contains(&name));
        let outcomes = known.map_or([[Equal; 2]; 2], |(_, outcomes, _)| *outcomes);
        (!MISSING.contains(&name)).then_some(outcomes)
    };
    let wrong: Vec<_> = seen.iter().filter(|(name, outcomes)| expected(name) != **outcomes).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let listed = DIFFERENCES.iter().flat_map(|(types, ..)| *types).chain(&MISSING);
    assert!(listed.clone().all(|name| seen.contains_key(*name)), "a type that is listed was not compared");
    let equal = seen.values().filter(|outcomes| **outcomes == Some([[Equal; 2]; 2])).count();
    println!("{} types, {equal} equal in every form, {values} values", seen.len() - MISSING.len());
    assert!(seen.len() >= 76 && values >= 10_000, "{} types, {values} values", seen.len());
}
