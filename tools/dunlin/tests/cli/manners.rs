//! How every command behaves where its output goes nowhere, and how it says what is wrong.

use std::collections::BTreeSet;
use std::fs::File;
use std::process::{Child, Output, Stdio};
use std::time::Instant;

use crate::common::{Background, PATIENCE, in_environment, more_domain, program, run, text};

const DDS_XML: &str = "<CycloneDDS><Domain Id='3'/></CycloneDDS>";
const IDL: &str = "struct Shape { @key string<128> color; long x; long y; long shapesize; };\n";

/// A benchmark without peers that takes no time.
const SHORTEST: &str = "short --only udp --kinds latency --payloads 64 --set-ups inter-process --repetitions 1 --count 20 \
                        --no-system-calls";

/// Its results.
fn measured(folder: &tempfile::TempDir) -> String {
    let results = folder.path().join("results.json").to_str().unwrap().to_owned();
    let words: Vec<_> = SHORTEST.split(' ').collect();
    text(&[&["bench", "run"], &words[..], &["--out", &results]].concat());
    results
}

/// Every command with words that make it print something.
fn commands(domain: &str, folder: &tempfile::TempDir) -> Vec<Vec<String>> {
    let file = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let (xml, idl) = (file("cyclonedds.xml", DDS_XML), file("shape.idl", IDL));
    let (other, out) = (file("other.idl", "struct Shape { long x; };\n"), folder.path().to_str().unwrap());
    let (results, measured) = (measured(folder), format!("{out}/again.json"));
    let value = "{\"color\": \"RED\"}";
    let lines = [
        format!("ls --wait 0.1 -d {domain}"),
        format!("ls --wait 0.1 --json -d {domain}"),
        format!("echo Square -d {domain} --wait 60"),
        format!("why Square -d {domain} --wait 0.1 --domains none"),
        format!("doctor -d {domain}"),
        format!("top --once --wait 0.1 -d {domain}"),
        format!("hz Square -d {domain} --wait 60 -i 0.1"),
        format!("bw Square -d {domain} --wait 60 -i 0.1"),
        format!("latency Square -d {domain} --wait 60 -i 0.1"),
        format!("ping --answer -d {domain}"),
        format!("type Square -d {domain} --wait 1"),
        format!("graph --wait 0.1 -d {domain}"),
        "config".to_owned(),
        "config --reference".to_owned(),
        format!("config import {xml}"),
        format!("idl {idl}"),
        format!("idl --dump {idl}"),
        format!("idl --deps {idl}"),
        format!("idl --xml {idl}"),
        format!("idl --format {idl}"),
        format!("idl --diff {idl} {other}"),
        format!("idl --rust {idl} --out {out}"),
        format!("shapes --web 0 --seconds 60 -d {domain}"),
        "bench list".to_owned(),
        format!("bench run {SHORTEST} --out {measured}"),
        format!("bench compare {results}"),
        format!("bench report {results} --out {out}/page.html"),
        format!("bench report {results} --markdown"),
        format!("bench report {results} --pictures {out}"),
        "completions bash".to_owned(),
        "help".to_owned(),
        "--version".to_owned(),
        "ls --help".to_owned(),
    ];
    let words = |line: &String| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut all: Vec<_> = lines.iter().map(words).collect();
    let publish = ["pub", "Square", value, "-d", domain, "--wait", "60"];
    all.push(publish.map(str::to_owned).to_vec());
    all
}

/// A pipe that nobody reads.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// The end of a command, which comes soon.
fn ended(mut child: Child, words: &[&str]) -> Output {
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() >= deadline {
            child.kill().unwrap();
            panic!("{words:?} does not end");
        }
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

#[test]
fn every_command_ends_quietly_at_a_closed_pipe_and_names_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let domain = &more_domain(8);
    let _shapes =
        Background::start(&["shapes", "--web", "0", "-d", domain, "-p", "Square:RED", "-s", "Square"]);
    let all = commands(domain, &folder);
    let tried: BTreeSet<&str> = all.iter().map(|words| words[0].as_str()).collect();
    let help = text(&["--help"]);
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let listed: Vec<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(listed.len() > 15 && listed.iter().all(|name| tried.contains(name)), "{listed:?}");
    for words in &all {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // As in `dunlin … | head -1` and `dunlin … 2>&1 | head -1`, when head has gone.
        let quiet = program(&words).stdout(closed()).stderr(Stdio::piped()).spawn().unwrap();
        let output = ended(quiet, &words);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{words:?}: {told}");
        assert!(!told.contains("panicked") && !told.contains("pipe"), "{words:?}: {told}");
        let quiet = program(&words).stdout(closed()).stderr(closed()).spawn().unwrap();
        assert!(ended(quiet, &words).status.success(), "{words:?}");
        let full = File::options().write(true).open("/dev/full").unwrap();
        let full = program(&words).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
        let output = ended(full, &words);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{words:?}: {told}");
        assert_eq!(
            told.matches("dunlin: standard output: No space left on device").count(),
            1,
            "{words:?}: {told}"
        );
        assert!(!told.contains("panicked"), "{words:?}: {told}");
    }
}

#[test]
fn commands_survive_a_full_standard_error() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.idl");
    std::fs::write(&broken, "struct {").unwrap();
    let broken = broken.to_str().unwrap();
    for words in [
        &["ls", "--set", "x=1"][..],
        &["idl", broken],
        &["config", "import", "/nowhere"],
        &["bench", "run", "none"],
    ] {
        let child = program(words).stdout(Stdio::null()).stderr(full()).spawn().unwrap();
        assert!(matches!(ended(child, words).status.code(), Some(1 | 2)), "{words:?}");
    }
    let mut adapter = std::process::Command::new(env!("CARGO_BIN_EXE_dunlin-adapter"));
    let child = adapter.stdin(Stdio::null()).stdout(Stdio::null()).stderr(full()).spawn().unwrap();
    assert_eq!(ended(child, &["adapter"]).status.code(), Some(1));
}

fn told(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn an_error_is_printed_once_with_a_suggestion() {
    let domain = &more_domain(9);
    let _shapes =
        Background::start(&["shapes", "--web", "0", "-d", domain, "-p", "Square:RED", "-s", "Circle"]);
    let misspelt = told(&run(&["echo", "Sqaure", "-d", domain, "--wait", "3"]));
    assert!(misspelt.contains(&format!("in domain {domain} (did you mean 'Square'?): ")), "{misspelt}");
    let misspelt = told(&run(&["pub", "Circel", "{}", "-d", domain, "--wait", "3"]));
    assert!(misspelt.contains("(did you mean 'Circle'?)"), "{misspelt}");
    let json = told(&run(&["pub", "Circle", "{\"color\": \"RED\" \"x\": 3}", "-d", domain, "--wait", "60"]));
    assert!(json.contains("this is not JSON: expected `,` or `}` at line 1 column 17"), "{json}");
    // A cause that the error names already is not told again.
    let wrong = [("DUNLIN_NETWORK_INTERFACES", "nosuch0")];
    let error = String::from_utf8(in_environment(&["ls", "--wait", "0"], &wrong).stderr).unwrap();
    assert_eq!(error.matches("nosuch0").count(), 1, "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn help_has_examples_for_every_command() {
    let help = text(&["--help"]);
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let listed: Vec<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(listed[..4], ["ls", "echo", "pub", "why"], "in the order of use");
    for command in listed.iter().filter(|name| **name != "help") {
        let page = text(&[command, "--help"]);
        assert!(page.contains(&format!("\n  dunlin {command}")), "{command}: {page}");
    }
}
