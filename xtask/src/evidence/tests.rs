use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::data::{Files, Proof, Record};
use super::history::History;
use super::judge::judge;
use super::{LIMIT, PAGE, PROOFS, RECORDS, check, fail, figures, findings, page, record};

fn proof(adds_up: bool, at_least: Option<u64>) -> Proof {
    Proof {
        name: "p".into(),
        group: "G".into(),
        run: "make p".into(),
        covers: vec!["src".into()],
        unit: at_least.map(|_| "rounds".into()),
        at_least,
        adds_up,
        ..Proof::default()
    }
}

fn seen(commit: &str, amount: Option<u64>) -> Record {
    Record { proof: "p".into(), commit: commit.into(), result: "fine".into(), amount, ..Record::default() }
}

/// What is complained of, where a commit's name is its age, and `x` is unknown.
fn complaint(proof: &Proof, records: &[Record]) -> Option<String> {
    let files = Files { records: records.to_vec(), ..Files::default() };
    judge(proof, &files, |record, _| Ok(record.commit.parse().ok())).unwrap().complaint
}

#[test]
fn rows_that_are_missing_or_too_old_are_found() {
    let p = proof(false, None);
    assert_eq!(complaint(&p, &[]).unwrap(), "never recorded");
    assert_eq!(complaint(&p, &[seen(&LIMIT.to_string(), None)]), None);
    let old = (LIMIT + 1).to_string();
    assert_eq!(
        complaint(&p, &[seen(&old, None)]).unwrap(),
        format!("{old} is {old} commits of its code old")
    );
    assert_eq!(complaint(&p, &[seen("x", None)]).unwrap(), "x is not in this history");
    let blank = Record { result: " ".into(), ..seen("1", None) };
    assert_eq!(complaint(&p, &[blank]).unwrap(), "1 has no result");
    let other = Record { proof: "q".into(), ..seen("1", None) };
    assert_eq!(complaint(&p, &[other]).unwrap(), "never recorded");
}

#[test]
fn rows_that_say_too_little_are_found() {
    let p = proof(false, Some(20));
    assert_eq!(complaint(&p, &[seen("1", Some(20))]), None);
    assert_eq!(complaint(&p, &[seen("1", Some(19))]).unwrap(), "19 rounds, 20 needed");
    assert_eq!(complaint(&p, &[seen("1", None)]).unwrap(), "0 rounds, 20 needed");
    let old = (LIMIT + 1).to_string();
    assert!(complaint(&p, &[seen(&old, Some(20))]).unwrap().contains("old"));
}

#[test]
fn proof_totals_count_only_recent_runs() {
    let (p, old) = (proof(true, Some(20)), (LIMIT + 1).to_string());
    let runs = [seen(&old, Some(15)), seen("3", Some(12)), seen("1", Some(8))];
    assert_eq!(complaint(&p, &runs), None);
    assert_eq!(complaint(&p, &runs[..2]).unwrap(), "12 rounds that are young, 20 needed");
    let blank = Record { result: String::new(), ..seen("1", Some(20)) };
    assert!(complaint(&p, &[blank]).is_some());
}

fn put(adds_up: bool, records: &[Record], new: Record) -> Vec<(String, Option<u64>)> {
    let proof = proof(adds_up, None);
    let mut files = Files { proofs: vec![proof.clone()], records: records.to_vec(), ..Files::default() };
    files.put(&proof, new, |record| record.commit != "old");
    files.records.into_iter().map(|record| (record.commit, record.amount)).collect()
}

#[test]
fn a_run_replaces_the_last_one_or_adds_to_it() {
    let both = [seen("old", Some(1)), seen("a", Some(2))];
    assert_eq!(put(false, &both[1..], seen("b", Some(3))), [("b".into(), Some(3))]);
    assert_eq!(put(true, &both, seen("b", Some(3))), [("a".into(), Some(2)), ("b".into(), Some(3))]);
    assert_eq!(put(true, &both, seen("a", Some(3))), [("a".into(), Some(5))]);
    let part = |commit: &str, part: &str| Record { part: Some(part.into()), ..seen(commit, Some(7)) };
    let parts = [part("a", "one"), part("a", "two")];
    assert_eq!(put(true, &parts, part("b", "one")), [("a".into(), Some(7)), ("b".into(), Some(7))]);
}

#[test]
fn short_runs_are_no_record() {
    assert_eq!(proof(false, Some(20)).too_short(Some(3)).unwrap(), "3 rounds, a record takes 20");
    assert_eq!(proof(false, Some(20)).too_short(Some(20)), None);
    assert_eq!(proof(false, None).too_short(None), None);
    assert_eq!(proof(true, Some(20)).too_short(Some(1)), None);
    let parts = Proof { part_at_least: Some(5), ..proof(true, Some(20)) };
    assert_eq!((parts.too_short(Some(5)), parts.too_short(Some(4)).is_some()), (None, true));
}

#[test]
fn figures_come_out_of_the_log() {
    let log = "running 4 tests\ntest result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\nlongest pause: 3 ms\n\
               test result: ok. 1200 passed; 0 failed; 0 ignored\n  longest pause: 5 ms\n";
    let of = |wanted: &[&str]| {
        let wanted: Vec<String> = wanted.iter().map(|wanted| (*wanted).into()).collect();
        figures::of_log(log, &wanted)
    };
    assert_eq!(of(&["tests"]).unwrap(), "1,203 tests passed, 1 left out");
    assert_eq!(of(&["longest", "tests"]).unwrap(), "longest pause: 5 ms; 1,203 tests passed, 1 left out");
    assert_eq!(of(&["longest*"]).unwrap(), "longest pause: 3 ms; longest pause: 5 ms");
    assert_eq!(
        of(&["widest", "tests"]).unwrap(),
        "1,203 tests passed, 1 left out; (nothing was printed of 'widest')"
    );
    assert!(of(&["shortest"]).unwrap_err().to_string().contains("shortest"));
    assert!(of(&[]).is_err());
    let nextest = "     Summary [   1.238s] 40 tests run: 40 passed (1 slow), 2 skipped\n";
    assert_eq!(figures::of_log(nextest, &["tests".into()]).unwrap(), "40 tests passed, 2 left out");
    assert!(figures::of_log("test result: ok. 0 passed; 0 failed", &["tests".into()]).is_err());
}

/// A repository of this test alone, with a proof of the folder `src`.
struct Repository(PathBuf);

impl Repository {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tmp");
        let folder = folder.join(format!("evidence-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("docs/evidence")).unwrap();
        let repository = Self(folder.canonicalize().unwrap());
        repository.write(
            PROOFS,
            "[[proof]]\nname = \"p\"\ngroup = \"G\"\nshows = \"that\"\nrun = \"make p\"\ncovers = [\"src\"]\n",
        );
        repository.write(RECORDS, "");
        repository.write("src", "1");
        repository.write(PAGE, "");
        repository.git(&["init"]);
        repository.commit();
        repository
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.current_dir(&self.0).args(["-c", "user.name=A", "-c", "user.email=a@example.org"]);
        let output = git.args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().into()
    }

    /// Commits all there is, and says its name.
    fn commit(&self) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--message=m"]);
        self.git(&["rev-parse", "--short=10", "HEAD"])
    }

    fn records(&self) -> Vec<Record> {
        Files::read(&self.0).unwrap().records
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_run_of_a_commit_is_recorded_and_the_page_shows_it() {
    let repository = Repository::new("record");
    let root = &repository.0;
    assert!(check(root).unwrap_err().to_string().contains("p: never recorded; run: make p"));
    let head = repository.git(&["rev-parse", "--short=10", "HEAD"]);
    record(root, "p", &["--result", "12 tests\n passed", "--seconds", "61"]).unwrap();
    let records = repository.records();
    assert_eq!((records.len(), &*records[0].commit, &*records[0].result), (1, &*head, "12 tests passed"));
    assert!(fs::read_to_string(root.join(PAGE)).unwrap().contains("12 tests passed (61 s) | `"));
    check(root).unwrap();
    // What a record has changed keeps nobody from the next.
    record(root, "p", &["--result", "13 tests passed"]).unwrap();
    assert_eq!(repository.records()[0].result, "13 tests passed");
    assert!(record(root, "q", &["--result", "x"]).is_err());
    assert!(record(root, "p", &[]).is_err(), "a run without a result");
    assert!(record(root, "p", &["--what", "x"]).is_err());
}

#[test]
fn sources_that_differ_from_a_commit_are_not_recorded() {
    let repository = Repository::new("dirty");
    let begin = repository.git(&["rev-parse", "HEAD"]);
    let tried = |options: &[&str]| {
        record(&repository.0, "p", &[options, &["--result", "x"]].concat()).unwrap();
        repository.records().len()
    };
    assert_eq!(tried(&["--begin", "dirty"]), 0);
    repository.write("beside", "");
    assert_eq!(tried(&[]), 0, "something else has changed");
    assert_eq!(tried(&["--begin", &begin]), 1, "not before it was over");
    repository.write(RECORDS, "");
    repository.write("src", "2");
    assert_eq!(tried(&["--begin", &begin]), 0);
    repository.commit();
    assert_eq!(tried(&["--begin", &begin]), 0, "what was checked out has changed meanwhile");
    assert_eq!(tried(&[]), 1);
}

#[test]
fn a_failed_run_stands_until_a_later_one_passes() {
    let repository = Repository::new("failed");
    let root = &repository.0;
    fail(root, "p", &["--begin", "dirty"]).unwrap();
    assert_eq!(Files::read(root).unwrap().failures.len(), 0);
    record(root, "p", &["--result", "fine"]).unwrap();
    fail(root, "p", &[]).unwrap();
    let head = repository.git(&["rev-parse", "--short=10", "HEAD"]);
    let told = check(root).unwrap_err().to_string();
    assert!(told.contains(&format!("p: failed at {head}; run: make p")), "{told}");
    let page = fs::read_to_string(root.join(PAGE)).unwrap();
    assert!(page.contains(&format!("**failed** at `{head}`")) && page.contains("before: fine"), "{page}");
    record(root, "p", &["--result", "fine"]).unwrap();
    check(root).unwrap();
    let sums = "adds_up = true\n";
    repository.write(PROOFS, &(fs::read_to_string(root.join(PROOFS)).unwrap() + sums));
    let head = repository.commit();
    fail(root, "p", &[]).unwrap();
    record(root, "p", &["--result", "others hold", "--part", "others"]).unwrap();
    assert!(check(root).unwrap_err().to_string().contains(&head), "the same commit");
    repository.write("src", "mended");
    repository.commit();
    record(root, "p", &["--result", "all hold", "--part", "others"]).unwrap();
    check(root).unwrap();
}

#[test]
fn ages_count_the_commits_of_the_code() {
    let repository = Repository::new("ages");
    let first = repository.git(&["rev-parse", "HEAD"]);
    for round in 0..3 {
        repository.write("src", &format!("round {round}"));
        repository.commit();
        repository.write("beside", &format!("round {round}"));
        repository.commit();
    }
    let history = History::open(&repository.0).unwrap();
    let age = |commit: &str, covers: &str| history.age(commit, &[covers.into()]).unwrap();
    assert_eq!((age(&first, "src"), age(&first, "beside"), age("HEAD", "src")), (Some(3), Some(3), Some(0)));
    let elsewhere = repository.git(&["commit-tree", "HEAD^{tree}", "-m", "elsewhere"]);
    assert_eq!((age(&elsewhere, "src"), age("12345678", "src")), (None, None));
}

#[test]
fn evidence_check_reports_a_shallow_clone() {
    let repository = Repository::new("shallow");
    repository.write("src", "2");
    repository.commit();
    let shallow = repository.0.with_extension("clone");
    let (from, to) = (format!("file://{}", repository.0.display()), shallow.display().to_string());
    repository.git(&["clone", "--depth", "1", &from, &to]);
    let told = check(&shallow).unwrap_err().to_string();
    fs::remove_dir_all(&shallow).unwrap();
    assert!(told.contains("shallow"), "{told}");
}

#[test]
fn mistakes_in_the_files_and_an_old_page_are_found() {
    let repository = Repository::new("mistakes");
    let root = &repository.0;
    let told = |text: &str| findings(root).unwrap().iter().any(|finding| finding.contains(text));
    assert!(told("docs/evidence.md is out of date"));
    repository.write(PAGE, &page::render(&Files::read(root).unwrap()));
    assert_eq!(findings(root).unwrap(), [""; 0]);
    let stray = "[[record]]\nproof = \"q\"\ncommit = \"1\"\ndate = \"\"\nmachine = \"\"\nresult = \"x\"\n";
    repository.write(RECORDS, stray);
    assert!(told("there is no proof q"));
    repository.write(RECORDS, &stray.replace("\"q\"", "\"p\"").repeat(2));
    assert!(told("p does not add up, and has several records") && told("out of date"));
    repository.write(
        PROOFS,
        &fs::read_to_string(root.join(PROOFS)).unwrap().replace("\"src\"", "\"nowhere\"").repeat(2),
    );
    assert!(told("p covers nowhere, which does not exist") && told("two proofs p"));
    repository.write(RECORDS, "nonsense");
    assert!(findings(root).is_err());
}

#[test]
fn missing_results_are_shown() {
    let files = Files { proofs: vec![proof(false, None)], ..Files::default() };
    assert!(page::render(&files).contains("| p |  | **missing** |"));
    let records = vec![seen("a", Some(1_234_567)), seen("b", Some(1))];
    let files = Files { proofs: vec![proof(true, Some(5))], records, ..Files::default() };
    let page = page::render(&files);
    assert!(page.contains("together 1,234,568 rounds<br>1,234,567 rounds: fine<br>1 rounds: fine"), "{page}");
}
