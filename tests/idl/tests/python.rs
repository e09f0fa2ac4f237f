//! Python types of IDL have the octets of Rust's, and no octets make them do anything but refuse.

mod languages;

use std::process::Command;

use dunlin_idl::backend::{Backend, Input};
use dunlin_idl::python::Python;
use dunlin_idl::{Memory, Options, compile};

const MAIN: &str = r#"
import sys

import all
import closed
import special
import dunlin_cdr as cdr

TYPES = {}
for module in (all, closed, special):
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
    let types =
        languages::generate(&Python, &[languages::ALL, languages::CLOSED, languages::SPECIAL], folder.path());
    std::fs::write(folder.path().join("main.py"), MAIN).unwrap();
    let mut program = Command::new("python3");
    program.args(["-B", "-W", "error", "main.py"]).current_dir(folder.path());
    // More than 10,000 values.
    languages::compare(&mut program, &types, 80);
}

const LIMITS: &str = r#"
import sys

import dunlin_cdr as cdr
from special import Clashes, Costs

def refused(read, why):
    try:
        read()
    except cdr.CdrError as error:
        assert why in str(error), error
    else:
        raise AssertionError(why)

def rows(count):
    octets = count.to_bytes(4, 'little') + bytes(4 * count)
    return b'\0\7\0\0' + len(octets).to_bytes(4, 'little') + octets

cdr.MAX_BYTES = 1 << 20
assert Costs.Rows.deserialize(rows(3)).rows == [Costs.Row()] * 3
refused(lambda: Costs.Rows.deserialize(rows(2000)), 'memory')

chain = Costs.Chain()
for _ in range(60):
    chain = Costs.Chain(next=chain)
octets = chain.serialize(cdr.Representation.XCDR2)
assert Costs.Chain.deserialize(octets) == chain
sys.setrecursionlimit(100)
refused(lambda: Costs.Chain.deserialize(octets), 'nested')
refused(lambda: chain.serialize(cdr.Representation.XCDR2), 'nested')
sys.setrecursionlimit(1000)

wide = cdr.Map(cdr.WString(), cdr.OCTET)
e = cdr.Encoder(cdr.Representation.XCDR2, False, cdr.Scope.SAMPLE)
wide.write(e, {'\uffff': 1, '\U00010000': 2})
assert e.out[-1] == 1, e.out
assert Clashes.M(1) == Clashes.M.FIRST
"#;

/// Defaults are paid for; what the interpreter cannot nest is an error like any other; keys ascend as in Rust.
#[test]
fn limits_hold() {
    let folder = tempfile::tempdir().unwrap();
    languages::generate(&Python, &[languages::SPECIAL], folder.path());
    std::fs::write(folder.path().join("limits.py"), LIMITS).unwrap();
    let mut program = Command::new("python3");
    program.args(["-B", "-W", "error", "limits.py"]).current_dir(folder.path());
    let output = program.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Exceptions are raised, and their members may have the name of what Python's own have.
#[test]
fn exceptions_have_members_of_any_name() {
    const MAIN: &str = r#"
import dunlin_cdr as cdr
from bad import Bad

bad = Bad(args=5, why=['x'])
assert Bad.deserialize(bad.serialize(cdr.Representation.XCDR2)) == bad
try:
    raise bad
except Bad as caught:
    assert (caught.args, caught.why) == (5, ['x'])
"#;
    let folder = tempfile::tempdir().unwrap();
    let text = "exception Bad { long args; sequence<string> why; };";
    let compiled = compile("bad.idl", &Options::default(), &Memory::default().with("bad.idl", text));
    let input = Input {
        model: compiled.model.as_ref().unwrap(),
        main: compiled.main,
        path: "bad.idl",
        includes: true,
    };
    for (name, text) in Python.generate(&input).unwrap().files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    std::fs::write(folder.path().join("main.py"), MAIN).unwrap();
    let output = Command::new("python3").args(["-B", "main.py"]).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
