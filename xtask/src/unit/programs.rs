//! The test programs of the workspace, and how each is run.

use std::ffi::{OsStr, OsString};
use std::io::{BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use cargo_metadata::{Artifact, Message, MetadataCommand, Package};

use super::namespace;

/// Those that take longest begin first, so that no long one is alone at the end.
const LONGEST: [&str; 8] =
    ["getting_started", "cli", "cpp", "short", "zero_alloc", "system", "sim", "python"];

/// It needs an interface that can multicast over IPv6, which a namespace that has only the loopback interface lacks.
const IN_NETWORK_OF_HOST: (&str, &str) = ("dunlin-udp", "conformance");

/// What runs tests: a program that Cargo has built, or Cargo itself for the examples of the docs.
pub struct Program {
    /// As `cargo test` writes it.
    pub title: String,
    arguments: Vec<OsString>,
    folder: PathBuf,
    environment: Vec<(&'static str, OsString)>,
    isolated: bool,
}

impl Program {
    /// The examples in the documentation of all crates, which rustdoc compiles and runs.
    pub fn examples_of_docs(root: &Path) -> Self {
        let arguments = ["cargo", "test", "--quiet", "--workspace", "--doc"].map(OsString::from).to_vec();
        let title = "Doc-tests of the workspace".to_owned();
        Self { title, arguments, folder: root.to_owned(), environment: Vec::new(), isolated: false }
    }

    fn new(package: &Package, artifact: &Artifact, libraries: &OsStr) -> Result<Self> {
        let executable = artifact.executable.as_ref().context("a test without a program")?;
        let folder = package.manifest_path.parent().context("a package without a folder")?;
        let source = artifact.target.src_path.strip_prefix(folder).unwrap_or(&artifact.target.src_path);
        let kind = if artifact.target.is_test() { "" } else { "unittests " };
        let environment = vec![
            ("CARGO_MANIFEST_DIR", folder.as_os_str().to_owned()),
            ("CARGO_PKG_NAME", OsString::from(package.name.as_str())),
            ("LD_LIBRARY_PATH", libraries.to_owned()),
        ];
        let place = (package.name.as_str(), artifact.target.name.as_str());
        Ok(Self {
            title: format!("Running {kind}{source} ({executable})"),
            arguments: vec![executable.into()],
            folder: folder.into(),
            environment,
            isolated: place != IN_NETWORK_OF_HOST,
        })
    }

    /// How it is started; in a network namespace of its own if `isolated`.
    pub fn command(&self, isolated: bool) -> Command {
        let program = &self.arguments[0];
        let mut command =
            if isolated && self.isolated { namespace::inside(program) } else { Command::new(program) };
        forget_own_package(&mut command, own_variables());
        command.args(&self.arguments[1..]).current_dir(&self.folder).stdin(Stdio::null());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Builds all of them.
pub fn build(root: &Path) -> Result<Vec<Program>> {
    let mut cargo = Command::new("cargo");
    forget_own_package(&mut cargo, own_variables());
    cargo.args(["test", "--workspace", "--no-run", "--message-format=json-render-diagnostics"]);
    // In a file nobody looks at progress.
    if !std::io::stderr().is_terminal() {
        cargo.arg("--quiet");
    }
    let mut cargo =
        cargo.current_dir(root).stdout(Stdio::piped()).spawn().context("cargo cannot be started")?;
    let output = BufReader::new(cargo.stdout.take().context("cargo without an output")?);
    let mut tests = Vec::new();
    for message in Message::parse_stream(output) {
        match message.context("the messages of cargo cannot be read")? {
            Message::CompilerArtifact(artifact) if artifact.profile.test && artifact.executable.is_some() => {
                tests.push(artifact);
            }
            _ => {}
        }
    }
    if !cargo.wait()?.success() {
        bail!("unit: the tests cannot be built");
    }
    let (packages, libraries) =
        (MetadataCommand::new().no_deps().current_dir(root).exec()?.packages, libraries()?);
    tests.sort_by_key(|test| {
        LONGEST.iter().position(|name| test.target.name == *name).unwrap_or(LONGEST.len())
    });
    let program = |artifact: &Artifact| {
        let package = packages.iter().find(|package| package.id == artifact.package_id);
        Program::new(package.context("a test of no package")?, artifact, &libraries)
    };
    tests.iter().map(program).collect()
}

/// `cargo run` has told this program of its package. Build scripts that ask for the same variables, as that of `ring` does, would take
/// that for a change, and everything above them would be built once more.
fn forget_own_package(command: &mut Command, variables: impl IntoIterator<Item = OsString>) {
    for name in variables {
        let of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if name.to_str().is_some_and(of_package) {
            command.env_remove(name);
        }
    }
}

fn own_variables() -> impl Iterator<Item = OsString> {
    std::env::vars_os().map(|(name, _)| name)
}

/// Where the standard library is, which tests of procedural macros load.
fn libraries() -> Result<OsString> {
    let output = Command::new("rustc")
        .args(["--print", "target-libdir"])
        .output()
        .context("rustc cannot be started")?;
    Ok(OsString::from(String::from_utf8_lossy(&output.stdout).trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_is_not_told_of_this_package() {
        let mut command = Command::new("cargo");
        let variables = ["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR", "CARGO_HOME", "PATH"];
        forget_own_package(&mut command, variables.map(OsString::from));
        let mut forgotten: Vec<_> =
            command.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        forgotten.sort_unstable();
        assert_eq!(forgotten, ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME"]);
    }
}
