//! The table of what implementations do names tests that are there.

use std::collections::BTreeSet;
use std::path::Path;

use dunlin_core::{Behaviour, ProtocolVersion, VENDORS, VendorId};

#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn vendor_table_rows_name_existing_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for row in &VENDORS {
        let (file, function) = row.evidence;
        let source =
            std::fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(source.contains(&format!("fn {function}()")), "{row:?}: no such test");
    }
}

#[test]
fn vendor_table_has_no_duplicate_rows() {
    let lines: BTreeSet<_> = VENDORS.iter().map(|row| (row.vendor, format!("{:?}", row.behaviour))).collect();
    assert_eq!(lines.len(), VENDORS.len());
}

/// What is looked up is what the lines say, whatever their number: no two behaviours share a bit.
#[test]
fn vendor_lookup_agrees_with_the_table() {
    for row in &VENDORS {
        let vendors = (0..=255).map(|second| VendorId([1, second]));
        for vendor in vendors {
            let mut lines = VENDORS.iter().filter(|it| it.vendor == vendor && it.behaviour == row.behaviour);
            let said = lines.any(|it| it.before.is_none());
            assert_eq!(vendor.does(row.behaviour), said, "{vendor} {:?}", row.behaviour);
        }
    }
}

#[test]
fn behaviour_follows_vendor_and_version() {
    let version = |minor| ProtocolVersion { major: 2, minor };
    let (fast, lease) = (VendorId::FAST_DDS, Behaviour::WritesNanosecondsInLease);
    assert!(
        fast.does(Behaviour::MisreadsShortKeys) && fast.does_in(version(2), Behaviour::MisreadsShortKeys)
    );
    assert!(!VendorId::DUNLIN.does(Behaviour::MisreadsShortKeys));
    let opendds = VendorId::OPENDDS;
    assert_eq!([2, 3, 4, 5].map(|minor| opendds.does_in(version(minor), lease)), [true, true, false, false]);
    assert!(!opendds.does(lease), "not in every version");
    assert!(!VendorId::UNKNOWN.does(Behaviour::SpeaksDunlin));
    let [_, second] = VendorId::DUNLIN.0;
    assert!(!VendorId([0, second]).does(Behaviour::SpeaksDunlin));
}
