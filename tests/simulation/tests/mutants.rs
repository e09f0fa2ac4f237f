//! That the deliberate bugs of `mutants/` still fit the sources, and those of the hub. Whether the checkers find them say `make mutants`
//! and `make hub-mutants`, which build each of them.

use std::fs;
use std::path::Path;

/// A part of a patch: the lines that must stand in the file, and those that replace them.
#[derive(Default)]
struct Hunk {
    before: Vec<String>,
    after: Vec<String>,
    /// Lines that stay, before the first and behind the last that changes.
    leading: usize,
    trailing: usize,
}

impl Hunk {
    fn add(&mut self, line: &str) {
        let (sign, text) = line.split_at(usize::from(!line.is_empty()));
        if sign != "+" {
            self.before.push(text.to_owned());
        }
        if sign != "-" {
            self.after.push(text.to_owned());
        }
        match sign {
            "+" | "-" => self.trailing = 0,
            _ => self.trailing += 1,
        }
        if self.before == self.after {
            self.leading = self.before.len();
        }
    }
}

/// The files that a patch changes, and how.
fn parse(patch: &str) -> Vec<(String, Vec<Hunk>)> {
    let mut files: Vec<(String, Vec<Hunk>)> = Vec::new();
    for line in patch.lines() {
        if let Some(file) = line.strip_prefix("+++ b/") {
            files.push((file.to_owned(), Vec::new()));
            continue;
        }
        let Some((_, hunks)) = files.last_mut() else { continue };
        if line.starts_with("@@") {
            hunks.push(Hunk::default());
            continue;
        }
        // What follows the hunks of a file is the head of the next one.
        let Some(hunk) = hunks.last_mut().filter(|_| !line.starts_with("--- a/")) else { continue };
        hunk.add(line);
    }
    files
}

/// In how many places of a text these lines follow each other.
fn places(text: &str, lines: &[String]) -> usize {
    let all: Vec<&str> = text.lines().collect();
    all.windows(lines.len()).filter(|window| *window == lines).count()
}

#[test]
fn every_deliberate_bug_fits_the_sources() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = own.join("../..");
    let mut count = 0;
    let folders = ["mutants", "mutants/checks", "../../services/hub/mutants"];
    let folders = folders.map(|name| fs::read_dir(own.join(name)).expect("there are some"));
    let paths = folders.into_iter().flatten().map(|entry| entry.expect("it can be read").path());
    for path in paths.filter(|path| path.is_file()) {
        let name = path.display();
        let patch = fs::read_to_string(&path).expect("it can be read");
        assert!(!patch.lines().next().unwrap_or("").is_empty(), "{name} does not say what is wrong");
        let files = parse(&patch);
        assert!(!files.is_empty(), "{name} changes nothing");
        for (file, hunks) in files {
            let text = fs::read_to_string(root.join(&file)).unwrap_or_default();
            assert!(!hunks.is_empty(), "{name} changes nothing in {file}");
            for hunk in hunks {
                assert_ne!(hunk.before, hunk.after, "{name} changes nothing in {file}");
                // Else `patch` looks for it at the beginning or the end of the file alone.
                assert_eq!(hunk.leading, hunk.trailing, "{name}: as many lines before as behind in {file}");
                let found = places(&text, &hunk.before);
                let lines = hunk.before.join("\n");
                assert_eq!(
                    found, 1,
                    "{name}: {file} has these lines in {found} places, not in one:\n{lines}"
                );
            }
        }
        count += 1;
    }
    assert!(count >= 20, "{count} bugs");
}
