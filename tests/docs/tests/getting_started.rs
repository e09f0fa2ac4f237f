//! The programs of docs/getting-started.md, copied from the page into an empty folder, compiled there and run: each prints what
//! the page says. `DUNLIN_TUTORIAL_ROUNDS=50` runs the publisher and the subscriber so many times, `DUNLIN_TUTORIAL_LOAD=4` while
//! so many threads keep the processors busy: `make tutorial`.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use dunlin_docs::{Block, blocks};

/// What a round may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn page() -> String {
    fs::read_to_string(root().join("docs/getting-started.md")).unwrap()
}

/// What the page says that a program prints.
fn printed<'a>(blocks: &'a [Block<'_>], program: &str) -> &'a str {
    let of = blocks.iter().find(|block| block.value("output") == Some(program));
    of.map(|block| block.text.as_str())
        .unwrap_or_else(|| panic!("the page says nothing of the output of {program}"))
}

/// The folder of the project with its files, and the names of its programs.
fn project(blocks: &[Block<'_>]) -> (PathBuf, Vec<String>) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("getting-started");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("src/bin")).unwrap();
    let mut programs = Vec::new();
    for block in blocks {
        let Some(file) = block.value("file").or(block.value("project")) else { continue };
        if let Some(name) = file.strip_prefix("api/dunlin/examples/") {
            fs::write(folder.join("src/bin").join(name), &block.text).unwrap();
            programs.push(name.trim_end_matches(".rs").to_owned());
        } else if file == "Cargo.toml" {
            // The clone is where this test is compiled from, and artefacts are shared with the clone.
            let here = root().canonicalize().unwrap();
            let manifest = block.text.replace("../dunlin/", &format!("{}/", here.display()));
            assert_ne!(manifest, block.text, "the page takes dunlin from another place");
            // Which the page adds with `cargo add`.
            let tokio = "tokio = { version = \"1\", features = [\"macros\", \"rt\"] }\n[workspace]\n";
            fs::write(folder.join(file), manifest + tokio).unwrap();
        }
    }
    // The versions that everything else here is tested with, so that no registry is asked.
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    (folder, programs)
}

/// Compiles the project as whoever copies it does, but for debug information; a third of the processor time that it takes with
/// the optimisation of the workspace, although that would share more artefacts.
fn compile(folder: &Path) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let debug = std::env::var("CARGO_PROFILE_DEV_DEBUG").unwrap_or_else(|_| "line-tables-only".into());
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--offline", "--bins"]).current_dir(folder);
    cargo.env("CARGO_TARGET_DIR", target).env("CARGO_PROFILE_DEV_DEBUG", debug);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    target.join("debug")
}

/// A program in a domain of its own that does not leave this host.
fn start(programs: &Path, tag: &str, name: &str, arguments: &[&str]) -> Child {
    let mut command = Command::new(programs.join(name));
    command.args(arguments).env("DUNLIN_DOMAIN_TAG", tag).env("DUNLIN_NETWORK_INTERFACES", "127.0.0.1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What a program printed until it ended.
fn end(mut child: Child) -> Output {
    let (sender, receiver) = channel();
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    thread::spawn(move || {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let read = out.read_to_end(&mut stdout).and_then(|_| err.read_to_end(&mut stderr));
        let _ = sender.send(read.map(|_| (stdout, stderr)));
    });
    let Ok(read) = receiver.recv_timeout(PATIENCE) else {
        let _ = child.kill();
        let partial = receiver.recv().unwrap().unwrap();
        panic!("a program did not end: it printed {:?}", String::from_utf8_lossy(&partial.0));
    };
    let (stdout, stderr) = read.unwrap();
    Output { status: child.wait().unwrap(), stdout, stderr }
}

fn check(name: &str, output: &Output, expected: &str) {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(out, expected, "{name} prints something else; on standard error: {err}");
    assert!(output.status.success(), "{name}: {}; {err}", output.status);
    // A pair that does not match on purpose is logged.
    let is_expected =
        |line: &str| name == "qos" && line.starts_with("WARN dunlin::why: topic 'Temperature': ");
    assert!(err.lines().all(is_expected), "{name} complains: {err}");
}

/// A number that the environment may say.
fn number(name: &str, usual: u32) -> u32 {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

/// Threads that keep the processors busy until this is dropped.
struct Load(Arc<AtomicBool>, Vec<thread::JoinHandle<()>>);

impl Load {
    fn of(threads: u32) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let spin = |stop: Arc<AtomicBool>| move || while !stop.load(Relaxed) {};
        let threads = (0..threads).map(|_| thread::spawn(spin(Arc::clone(&stop)))).collect();
        Self(stop, threads)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
        self.1.drain(..).for_each(|it| it.join().unwrap());
    }
}

#[test]
fn the_programs_of_the_page_exchange_every_sample() {
    let page = page();
    let blocks = blocks(&page);
    let (folder, names) = project(&blocks);
    let programs = compile(&folder);
    let _load = Load::of(number("DUNLIN_TUTORIAL_LOAD", 0));
    for round in 0..number("DUNLIN_TUTORIAL_ROUNDS", 1) {
        let tag = format!("getting-started-{}-{round}", std::process::id());
        // Whoever is started first waits for the other.
        let mut pair = ["publisher", "subscriber"];
        if round % 2 == 1 {
            pair.reverse();
        }
        let children = pair.map(|name| (name, start(&programs, &tag, name, &[])));
        for (name, child) in children {
            check(name, &end(child), printed(&blocks, name));
        }
    }
    let tag = format!("getting-started-{}", std::process::id());
    let mut serving = start(&programs, &tag, "request_reply", &["serve"]);
    for name in names.iter().filter(|name| !["publisher", "subscriber"].contains(&name.as_str())) {
        check(name, &end(start(&programs, &tag, name, &[])), printed(&blocks, name));
    }
    serving.kill().unwrap();
    serving.wait().unwrap();
    assert_eq!(names.len(), 10, "{names:?}");
}
