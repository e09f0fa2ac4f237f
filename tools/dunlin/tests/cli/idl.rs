//! `dunlin idl` where what it prints matters to others.

use crate::common::{run, text};

#[test]
fn rules_for_make_name_the_file_that_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a shape-2.idl");
    std::fs::write(folder.path().join("inc.idl"), "struct Inc { long x; };\n").unwrap();
    std::fs::write(&file, "#include \"inc.idl\"\nstruct A { Inc x; };\n").unwrap();
    let path = file.to_str().unwrap();
    let deps = |options: &[&str]| text(&[&["idl", "--deps"], options, &[path]].concat());
    let dir = folder.path().display();
    let files = format!("{dir}/a\\ shape-2.idl {dir}/inc.idl\n");
    assert_eq!(deps(&[]), format!("{dir}/a\\ shape-2.rs: {files}"));
    assert_eq!(deps(&["--rust", "--out", "made"]), format!("made/a\\ shape-2.rs: {files}"));
    assert_eq!(deps(&["--cpp", "--out", "made"]), format!("made/a\\ shape-2.hpp: {files}"));
    // The name of a Python module is an identifier.
    let python = deps(&["--python", "--out", "made"]);
    let (target, _) = python.split_once(':').unwrap();
    let made = folder.path().join("made");
    let printed = text(&["idl", "--python", "--out", made.to_str().unwrap(), path]);
    let code = printed.lines().next().unwrap().strip_prefix(&format!("{dir}/")).unwrap();
    assert_eq!(target, code.replace(' ', "\\ "));
}

#[test]
fn idl_xml_of_several_files_is_one_document() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("inc.idl"), "#pragma once\nstruct Inc { long x; };\n").unwrap();
    std::fs::write(path("a.idl"), "#include \"inc.idl\"\nstruct A { Inc x; };\n").unwrap();
    std::fs::write(path("b.idl"), "#include \"inc.idl\"\nstruct B { Inc x; };\n").unwrap();
    let printed = text(&["idl", "--xml", &path("a.idl"), &path("b.idl")]);
    assert_eq!(printed.matches("<?xml").count(), 1, "{printed}");
    assert_eq!(printed.matches("<struct name=\"Inc\"").count(), 1, "{printed}");
    std::fs::write(path("all.xml"), &printed).unwrap();
    let dumped = text(&["idl", "--dump", &path("all.xml")]);
    assert!(dumped.contains("struct A") && dumped.contains("struct B"), "{dumped}");
    // What would be the same name twice is refused.
    std::fs::write(path("c.idl"), "struct A { string other; };\n").unwrap();
    let refused = run(&["idl", "--xml", &path("a.idl"), &path("c.idl")]);
    assert!(!refused.status.success() && refused.stdout.is_empty());
    let refused = run(&["idl", "--xml", "--write", &path("a.idl")]);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(
        !refused.status.success() && told.contains("--xml and the like print to standard output"),
        "{told}"
    );
}
