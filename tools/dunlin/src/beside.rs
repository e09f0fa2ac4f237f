//! Programs beside this one: `dunlin NAME` starts `dunlin-NAME` where there is no such command, so that services with heavy
//! dependencies stay out of this program.

use anyhow::{Context, Result};
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Beside the running program, the one for the first argument, if that is no command of this one.
pub fn program(arguments: &[OsString], is_command: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let name = arguments.first()?.to_str()?;
    let plain = !name.is_empty()
        && name.bytes().all(|octet| octet.is_ascii_lowercase() || octet.is_ascii_digit() || octet == b'-')
        && !name.starts_with('-');
    if !plain || is_command(name) {
        return None;
    }
    find(std::env::current_exe().ok()?.parent()?, name)
}

fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    Some(folder.join(format!("dunlin-{name}"))).filter(|program| program.is_file())
}

/// Becomes that program: signals, standard streams and the exit code are its own.
pub fn become_it(program: &Path, arguments: &[OsString]) -> Result<Infallible> {
    let error = Command::new(program).args(arguments.iter().map(OsString::as_os_str).skip(1)).exec();
    Err(error).with_context(|| format!("cannot start {}", program.display()))
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
    // Made for `dunlin bench` alone.
    (plain && name != "adapter").then(|| name.to_owned())
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
        assert_eq!(name_of(OsStr::new("dunlin-route")).as_deref(), Some("route"));
        assert_eq!(name_of(OsStr::new("dunlin-route.d")), None);
    }
}
