//! Programs beside this one: `dunlin NAME` starts `dunlin-NAME` where there is no such command, so that services with heavy
//! dependencies stay out of this program. `dunlin bridge NAME` starts `dunlin-NAME-bridge`.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// The first word of commands that start a bridge.
const BRIDGE: &str = "bridge";

/// A program beside this one, and how many arguments name it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Beside {
    program: PathBuf,
    words: usize,
}

/// Beside the running program, the one for the first arguments, if they are no command of this one.
pub fn program(arguments: &[OsString], is_command: impl Fn(&str) -> bool) -> Option<Beside> {
    let (name, words) = named(arguments, is_command)?;
    let program = find(std::env::current_exe().ok()?.parent()?, &name)?;
    Some(Beside { program, words })
}

/// What comes after `dunlin-` in the name of the program that arguments mean, and how many they are.
fn named(arguments: &[OsString], is_command: impl Fn(&str) -> bool) -> Option<(String, usize)> {
    let word = |at: usize| arguments.get(at).and_then(|word| word.to_str()).filter(|word| is_plain(word));
    let name = word(0)?;
    if is_command(name) {
        return None;
    }
    match word(1).filter(|_| name == BRIDGE) {
        Some(kind) => Some((format!("{kind}-{BRIDGE}"), 2)),
        None => Some((name.to_owned(), 1)),
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|octet| octet.is_ascii_lowercase() || octet.is_ascii_digit() || octet == b'-')
        && !name.starts_with('-')
}

fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    Some(folder.join(format!("dunlin-{name}"))).filter(|program| program.is_file())
}

/// Becomes that program: signals, standard streams and the exit code are its own.
pub fn become_it(beside: &Beside, arguments: &[OsString]) -> Result<Infallible> {
    let rest = arguments.iter().map(OsString::as_os_str).skip(beside.words);
    let error = Command::new(&beside.program).args(rest).exec();
    Err(error).with_context(|| format!("cannot start {}", beside.program.display()))
}

/// The programs beside this one, by the names of their commands.
pub fn names() -> Vec<String> {
    let folder = std::env::current_exe().ok().and_then(|program| program.parent().map(Path::to_owned));
    let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten();
    let mut names: Vec<String> = entries.flatten().filter_map(|entry| name_of(&entry.file_name())).collect();
    names.sort_unstable();
    names
}

fn name_of(file: &OsStr) -> Option<String> {
    let name = file.to_str()?.strip_prefix("dunlin-")?;
    let plain = name.bytes().all(|octet| octet.is_ascii_lowercase() || octet == b'-');
    let name = match name.strip_suffix("-bridge") {
        Some(kind) => format!("{BRIDGE} {kind}"),
        None => name.to_owned(),
    };
    // Made for `dunlin bench` alone.
    (plain && name != "adapter").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_beside_this_one_are_started() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("dunlin-route"), "").unwrap();
        assert!(find(folder.path(), "route").is_some() && find(folder.path(), "rout").is_none());
        let own = |name: &str| name == "ls";
        for name in ["ls", "--help", "../x", "", "Route", "nothing-of-this-name"] {
            assert_eq!(program(&[name.into()], own), None, "{name}");
        }
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let meant = |given: &[&str]| named(&words(given), own);
        assert_eq!(meant(&["route", "gate.toml"]), Some(("route".to_owned(), 1)));
        assert_eq!(meant(&["bridge", "zenoh", "site.toml"]), Some(("zenoh-bridge".to_owned(), 2)));
        assert_eq!(meant(&["bridge", "--help"]), Some(("bridge".to_owned(), 1)));
        assert_eq!(meant(&["ls", "zenoh"]), None);
        assert_eq!(name_of(OsStr::new("dunlin-zenoh-bridge")).as_deref(), Some("bridge zenoh"));
        assert_eq!(name_of(OsStr::new("dunlin-route")).as_deref(), Some("route"));
        assert_eq!(name_of(OsStr::new("dunlin-route.d")), None);
    }
}
