//! The seeds of the fuzz targets, damaged copies of them and what once failed, as ordinary tests.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use dunlin_core::Rng;
use dunlin_fuzz::seeds::{self, Seed};
use dunlin_fuzz::{
    cdr_value, configuration, discovery_data, durable, dynamic, endpoint_cores, filter, idl,
    live_participant, parameter_list, recordings, routes, types, wire_message, xml_types,
};
use dunlin_wire::{Message, ParameterList};

fn run(target: &str, bytes: &[u8]) {
    match target {
        "wire_message" => wire_message(bytes),
        "parameter_list" => parameter_list(bytes),
        "cdr_value" => cdr_value(bytes),
        "configuration" => configuration(bytes),
        "routes" => routes(bytes),
        "durable" => durable(bytes),
        "recordings" => recordings(bytes),
        "discovery_data" => discovery_data(bytes),
        "endpoint_cores" => endpoint_cores(bytes),
        "live_participant" => live_participant(bytes),
        "filter" => filter(bytes),
        "idl" => idl(bytes),
        "types" => types(bytes),
        "dynamic" => dynamic(bytes),
        "xml_types" => xml_types(bytes),
        other => panic!("no fuzz target {other}"),
    }
}

/// A seed that is refused at once would start nothing.
fn is_accepted(seed: &Seed) -> bool {
    match seed.target.as_str() {
        "idl" => {
            let files = dunlin_idl::Memory::default().with("a.idl", seed.bytes.clone());
            dunlin_idl::compile("a.idl", &dunlin_idl::Options::default(), &files).model.is_some()
        }
        "xml_types" => {
            let files = dunlin_idl::Memory::default().with("a.xml", seed.bytes.clone());
            dunlin_idl::compile("a.xml", &dunlin_idl::Options::default(), &files).model.is_some()
        }
        "dynamic" => dunlin_fuzz::value_of(&seed.bytes).is_some(),
        "wire_message" => Message::parse(&seed.bytes).unwrap().submessages().all(|parsed| parsed.is_ok()),
        "parameter_list" => {
            ParameterList::parse(&seed.bytes[1..], dunlin_wire::Endianness::from_flags(seed.bytes[0])).is_ok()
        }
        _ => true,
    }
}

#[test]
fn seeds_are_valid() {
    let seeds = seeds::all();
    assert!(seeds.len() > 50);
    for seed in &seeds {
        assert!(is_accepted(seed), "{}/{}", seed.target, seed.name);
        run(&seed.target, &seed.bytes);
    }
}

/// How many damaged copies of each seed are tried: RUNS, where it is set.
fn damaged_copies() -> u32 {
    std::env::var("RUNS").map_or(50, |text| text.parse().expect("RUNS is a number"))
}

fn truncated_and_damaged_seeds_do_no_harm(target: &str) {
    let mut rng = Rng::new(1);
    let seeds: Vec<Seed> = seeds::all().into_iter().filter(|seed| seed.target == target).collect();
    assert!(!seeds.is_empty());
    for seed in seeds {
        for len in 0..seed.bytes.len() {
            run(&seed.target, &seed.bytes[..len]);
        }
        for _ in 0..damaged_copies() {
            let mut bytes = seed.bytes.clone();
            for _ in 0..=rng.below(4) {
                let place = rng.below(bytes.len() as u64) as usize;
                bytes[place] = rng.next_u64() as u8;
            }
            run(&seed.target, &bytes);
        }
    }
}

macro_rules! damaged {
    ($($target:ident)*) => {
        mod damaged {
            $(#[test]
            fn $target() {
                super::truncated_and_damaged_seeds_do_no_harm(stringify!($target));
            })*
        }
    };
}
damaged! {
    wire_message parameter_list cdr_value configuration routes durable recordings discovery_data endpoint_cores live_participant filter idl types dynamic
    xml_types
}

/// The inputs in a folder of `fuzz/`, by target and name.
fn stored(folder: &str) -> BTreeMap<(OsString, OsString), Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(folder);
    let mut stored = BTreeMap::new();
    for target in fs::read_dir(&root).unwrap() {
        let target = target.unwrap();
        for file in fs::read_dir(target.path()).unwrap() {
            let file = file.unwrap();
            stored.insert((target.file_name(), file.file_name()), fs::read(file.path()).unwrap());
        }
    }
    stored
}

#[test]
fn earlier_fuzz_findings_pass() {
    let findings = stored("findings");
    assert!(!findings.is_empty());
    for ((target, _), bytes) in &findings {
        run(target.to_str().unwrap(), bytes);
    }
}

#[test]
fn the_stored_seeds_are_the_current_ones() {
    let current: BTreeMap<_, _> =
        seeds::all().into_iter().map(|seed| ((seed.target.into(), seed.name.into()), seed.bytes)).collect();
    assert!(stored("seeds") == current, "run `cargo run --example seeds` in fuzz/");
}
