//! Which sources run: a seed alone repeats nothing when they have changed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::Command;

/// The commit that runs here, as far as git knows, and what the sources differ by.
#[must_use]
pub fn commit() -> String {
    commit_in(Path::new("."))
}

/// The commit that is checked out in a folder. Where files differ from it a hash of the differences follows, behind a
/// plus sign; of files that git does not know the names count.
#[must_use]
pub fn commit_in(folder: &Path) -> String {
    let git = |arguments: &[&str]| {
        let found = Command::new("git").current_dir(folder).args(arguments).output().ok();
        found.filter(|output| output.status.success()).map(|output| output.stdout)
    };
    let head = git(&["rev-parse", "--short", "HEAD"]).and_then(|text| String::from_utf8(text).ok());
    let Some(head) = head else { return "unknown".into() };
    let head = head.trim();
    let differences = git(&["diff", "HEAD"]).zip(git(&["ls-files", "--others", "--exclude-standard"]));
    match differences {
        Some((changed, new)) if changed.is_empty() && new.is_empty() => head.into(),
        differences => {
            let mut hasher = DefaultHasher::new();
            differences.hash(&mut hasher);
            format!("{head}+{:08x}", hasher.finish() >> 32)
        }
    }
}
