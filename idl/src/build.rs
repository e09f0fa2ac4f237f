//! IDL, types in XML and interfaces of ROS 2 in build scripts: in `build.rs`
//!
//! ```text
//! fn main() {
//!     dunlin_idl::build::compile("idl/shapes.idl");
//! }
//! ```
//!
//! and where the types are wanted:
//!
//! ```ignore
//! mod shapes {
//!     include!(concat!(env!("OUT_DIR"), "/shapes.rs"));
//! }
//! ```

use std::path::{Path, PathBuf};

use crate::rust::{RustOptions, generate, with_header};
use crate::{Compilation, Disk, Options, Severity};

/// Makes `$OUT_DIR/name.rs` of `path/name.idl` (or `.xml`, `.msg` and so on), as [`Build`] does without options.
///
/// On errors it shows them and ends the build script.
pub fn compile(path: impl AsRef<Path>) {
    Build::new().compile(path);
}

/// A build step with options.
#[derive(Clone, Debug, Default)]
pub struct Build {
    options: Options,
    rust: RustOptions,
    out_dir: Option<PathBuf>,
}

impl Build {
    /// Without options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a folder in which include files are searched.
    #[must_use]
    pub fn include(mut self, folder: impl AsRef<Path>) -> Self {
        self.options.include_dirs.push(folder.as_ref().to_string_lossy().into_owned());
        self
    }

    /// Defines a macro; without value it is 1.
    #[must_use]
    pub fn define(mut self, name: &str, value: Option<&str>) -> Self {
        self.options.defines.push((name.to_owned(), value.map(str::to_owned)));
        self
    }

    /// Options of the front end.
    #[must_use]
    pub fn options(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    /// Options of the generated code.
    #[must_use]
    pub fn rust(mut self, change: impl FnOnce(&mut RustOptions)) -> Self {
        change(&mut self.rust);
        self
    }

    /// Where the code goes, instead of `OUT_DIR`.
    #[must_use]
    pub fn out_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(folder.into());
        self
    }

    /// Compiles a file. On errors it shows them and ends the build script.
    pub fn compile(&self, path: impl AsRef<Path>) {
        match self.try_compile(path.as_ref()) {
            Ok(made) => {
                for file in &made.files {
                    println!("cargo::rerun-if-changed={file}");
                }
                for warning in &made.warnings {
                    println!("cargo::warning={}", warning.replace('\n', " "));
                }
            }
            Err(errors) => {
                eprintln!("{errors}");
                std::process::exit(1);
            }
        }
    }

    /// Compiles a file.
    ///
    /// # Errors
    /// What is wrong with the input, ready to be shown, or why the result could not be written.
    pub fn try_compile(&self, path: &Path) -> Result<Made, String> {
        let name = path.to_string_lossy();
        let result = crate::compile(&name, &self.options, &Disk);
        let (code, mut diagnostics) = match &result.model {
            None => return Err(result.render(false)),
            Some(model) => match generate(model, result.main, &self.rust) {
                Ok(generated) => generated,
                Err(errors) => {
                    return Err(errors.iter().map(|error| error.render(&result.sources, false)).collect());
                }
            },
        };
        diagnostics.splice(0..0, result.diagnostics.iter().cloned());
        let folder = match (&self.out_dir, std::env::var_os("OUT_DIR")) {
            (Some(folder), _) => folder.clone(),
            (None, Some(folder)) => PathBuf::from(folder),
            (None, None) => return Err("OUT_DIR is not set: this is no build script".to_owned()),
        };
        let stem = path.file_stem().ok_or_else(|| format!("{name} is not a file"))?;
        let output = folder.join(stem).with_extension("rs");
        let failed = |error: std::io::Error| format!("{}: {error}", output.display());
        std::fs::create_dir_all(&folder).map_err(failed)?;
        std::fs::write(&output, with_header(&name, &code)).map_err(failed)?;
        Ok(Made { warnings: warnings(&result, &diagnostics), output, files: result.files })
    }
}

/// What a build step made.
#[derive(Clone, Debug)]
pub struct Made {
    /// The file with the code.
    pub output: PathBuf,
    /// The files that were read.
    pub files: Vec<String>,
    /// Warnings in one line each.
    pub warnings: Vec<String>,
}

fn warnings(result: &Compilation, diagnostics: &[crate::Diagnostic]) -> Vec<String> {
    let only = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Warning);
    only.map(|diagnostic| diagnostic.short(&result.sources)).collect()
}
