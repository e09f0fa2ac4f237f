//! Python types of IDL have the octets of Rust's, and no octets make them do anything but refuse.

mod languages;

use dunlin_idl::python::Python;
use std::process::Command;

const MAIN: &str = r#"
import sys

import all
import closed
import dunlin_cdr as cdr

TYPES = {}
for module in (all, closed):
    for thing in vars(module).values():
        if isinstance(thing, type) and issubclass(thing, cdr.Base):
            TYPES[thing._type_name] = thing

for line in sys.stdin:
    name, scope, octets = line.rstrip('\n').split(' ')
    scope = cdr.Scope.KEY if scope == 'key' else cdr.Scope.SAMPLE
    try:
        value = TYPES[name].deserialize(bytes.fromhex(octets), scope)
        forms = [value.serialize(form, big) for form in cdr.Representation for big in (False, True)]
        forms += [value.serialize_key(form) for form in cdr.Representation]
        print(' '.join(form.hex() for form in [*forms, value.key_hash_octets()]))
    except cdr.CdrError as error:
        print('error', str(error).encode('unicode_escape').decode())
"#;

#[test]
fn octets_are_those_of_rust() {
    let folder = tempfile::tempdir().unwrap();
    let types = languages::generate(&Python, folder.path());
    std::fs::write(folder.path().join("main.py"), MAIN).unwrap();
    let mut program = Command::new("python3");
    program.args(["-B", "-W", "error", "main.py"]).current_dir(folder.path());
    languages::compare(&mut program, &types, 3);
}
