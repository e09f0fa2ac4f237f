//! Results of tests: the output of `cargo test`, in which every target has a line `Running tests/x.rs (…/deps/x-0123)` or
//! `Running unittests src/lib.rs (…/deps/name-0123)`, and every test a line `test path::of::it ... ok`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The tests that ran: of each target, under its source file and the name of its program, their results.
#[derive(Default)]
pub struct Results(BTreeMap<(String, String), BTreeMap<String, bool>>);

impl Results {
    /// Adds what a log says. Of tests of one name in targets that cannot be told apart all have to pass.
    pub fn read(&mut self, log: &str) {
        let mut target = None;
        for line in log.lines().map(str::trim) {
            if let Some(running) = line.strip_prefix("Running ") {
                target = parse_target(running);
            } else if line.starts_with("Doc-tests ") {
                target = None;
            } else if let (Some(target), Some((name, passed))) = (&target, parse_test(line)) {
                let tests = self.0.entry(target.clone()).or_default();
                tests.entry(name).and_modify(|all| *all &= passed).or_insert(passed);
            }
        }
    }

    /// What is wrong with a test that the table names: it failed, or did not run.
    pub fn complaint(&self, root: &Path, file: &str, test: &str) -> Option<String> {
        let place = Place::of(root, file);
        let targets = self.0.iter().filter(|((source, program), _)| place.is_in(source, program));
        let tests = targets.flat_map(|(_, tests)| tests).filter(|(name, _)| place.names(name, test));
        match tests.map(|(_, passed)| *passed).reduce(|all, passed| all && passed) {
            Some(true) => None,
            Some(false) => Some(format!("{file}: {test} failed")),
            None => Some(format!("{file}: {test} did not run")),
        }
    }
}

/// `tests/x.rs (…/deps/x-0123)`: the source file and the name of the program.
fn parse_target(running: &str) -> Option<(String, String)> {
    let (source, program) = running.rsplit_once(" (")?;
    let program = program.trim_end_matches(')').rsplit(['/', '\\']).next()?;
    let (name, _hash) = program.rsplit_once('-')?;
    Some((source.trim_start_matches("unittests ").to_owned(), name.to_owned()))
}

/// `test path::of::it ... ok`. Tests that are ignored do not count.
fn parse_test(line: &str) -> Option<(String, bool)> {
    let (name, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let name = name.trim_end_matches(" - should panic").to_owned();
    match result {
        "ok" => Some((name, true)),
        "FAILED" => Some((name, false)),
        _ => None,
    }
}

/// Where the tests of a source file are found.
#[derive(Debug, PartialEq)]
struct Place {
    /// The source file of the target, one of these.
    sources: Vec<String>,
    /// The name of the program, one of these: sources of all packages are called the same.
    programs: Vec<String>,
    /// The modules down to the file.
    modules: Vec<String>,
}

impl Place {
    fn of(root: &Path, file: &str) -> Self {
        let parts: Vec<&str> = file.trim_end_matches(".rs").split('/').collect();
        let at = parts.iter().position(|part| ["src", "tests"].contains(part)).unwrap_or(0);
        let (package, inside) = (parts[..at].join("/"), &parts[at..]);
        let own = |part: &&&str| !["main", "lib", "mod"].contains(*part);
        let modules =
            |from: usize| inside.iter().skip(from).filter(own).map(|part| (*part).to_owned()).collect();
        if inside.first() == Some(&"src") {
            let sources = ["src/lib.rs", "src/main.rs"].map(str::to_owned).to_vec();
            return Self { sources, programs: programs_of(root, &package), modules: modules(1) };
        }
        let target = inside.get(1).copied().unwrap_or_default();
        let sources = vec![format!("tests/{target}.rs"), format!("tests/{target}/main.rs")];
        Self { sources, programs: vec![target.to_owned()], modules: modules(2) }
    }

    fn is_in(&self, source: &str, program: &str) -> bool {
        // A path may be relative to the workspace or to the package.
        let ends = |own: &String| source == own || source.ends_with(&format!("/{own}"));
        self.sources.iter().any(ends) && self.programs.iter().any(|own| own == program)
    }

    /// Whether the full name of a test is that of a test of this file, where it may be in further modules.
    fn names(&self, full: &str, test: &str) -> bool {
        let parts: Vec<&str> = full.split("::").collect();
        parts.last() == Some(&test)
            && parts.starts_with(&self.modules.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// The names that programs of a package's unit tests have: that of the package, of its library and of its binaries.
fn programs_of(root: &Path, package: &str) -> Vec<String> {
    let manifest = fs::read_to_string(root.join(package).join("Cargo.toml")).unwrap_or_default();
    let names = manifest.lines().filter_map(|line| line.strip_prefix("name = \""));
    names.map(|name| name.trim_end_matches('"').replace('-', "_")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "   Compiling dunlin v0.1.0 (/x)
     Running unittests src/lib.rs (target/debug/deps/xtask-0a1b)
running 2 tests
test conformance::tests_of_the_table::passes ... ok
test conformance::fails ... FAILED
     Running tests/dcps/main.rs (/t/debug/deps/dcps-00e4)
test entities::good ... ok
test entities::inner::nested ... ok
test entities::panics - should panic ... ok
test entities::ignored ... ignored, for a reason
test top ... ok
     Running tests/exchange.rs (/t/debug/deps/exchange-11)
test twice ... ok
     Running tests/exchange.rs (/t/debug/deps/exchange-22)
test twice ... FAILED
test result: FAILED. 1 passed; 1 failed
   Doc-tests dunlin
test src/lib.rs - good (line 3) ... ok
     Running unittests src/main.rs (target/debug/deps/dunlin-33)
test why::tests::of_a_binary ... ok
";

    fn complaint(file: &str, test: &str) -> Option<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut results = Results::default();
        results.read(LOG);
        results.complaint(root, file, test)
    }

    #[test]
    fn tests_that_passed_are_found_in_their_file_and_module() {
        for (file, test) in [
            ("api/dunlin/tests/dcps/entities.rs", "good"),
            ("api/dunlin/tests/dcps/entities.rs", "nested"),
            ("api/dunlin/tests/dcps/entities.rs", "panics"),
            ("api/dunlin/tests/dcps/main.rs", "top"),
            ("xtask/src/conformance.rs", "passes"),
            ("tools/dunlin/src/why.rs", "of_a_binary"),
        ] {
            assert_eq!(complaint(file, test), None, "{file} {test}");
        }
    }

    #[test]
    fn tests_that_failed_or_did_not_run_are_reported() {
        for (file, test, what) in [
            ("xtask/src/conformance.rs", "fails", "failed"),
            ("api/dunlin/tests/exchange.rs", "twice", "failed"),
            ("api/dunlin/tests/dcps/entities.rs", "ignored", "did not run"),
            ("api/dunlin/tests/dcps/entities.rs", "top", "did not run"),
            ("api/dunlin/tests/dcps/reading.rs", "good", "did not run"),
            ("api/dunlin/tests/sim/entities.rs", "good", "did not run"),
            ("api/dunlin/src/conformance.rs", "passes", "did not run"),
        ] {
            assert_eq!(complaint(file, test), Some(format!("{file}: {test} {what}")));
        }
    }
}
