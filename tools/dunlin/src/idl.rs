//! `dunlin idl`: checks, formats and compares IDL and types in XML, makes code of them, and writes one as the other.

use std::collections::BTreeMap;
use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use dunlin::xtypes::{TypeGraph, TypeIndex};
use dunlin_idl::backend::{Backend, Input};
use dunlin_idl::cpp::Cpp;
use dunlin_idl::python::Python;
use dunlin_idl::rust::Rust;
use dunlin_idl::xtypes::type_graph;
use dunlin_idl::{
    Compilation, Disk, Extensibility, Notation, Options, Severity, convert_all, diff, diff_text, dump, format,
};

use crate::{names, output};

/// What is said without `--rust`, `--cpp`, `--python`, `--xml`, `--format` or `--diff`: whether the files are correct.
#[derive(Args)]
pub struct Arguments {
    /// IDL files, types in XML (.xml), or interfaces of ROS 2: .msg, .srv, .action
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    compiled: IdlOptions,
    /// Make Rust code: NAME.rs of each NAME.idl
    #[arg(long, group = "mode")]
    rust: bool,
    /// Make C++ types: NAME.hpp of each NAME.idl, and dunlin/cdr.hpp
    #[arg(long, group = "mode")]
    cpp: bool,
    /// Make Python types: NAME.py of each NAME.idl, and dunlin_cdr.py
    #[arg(long, group = "mode")]
    python: bool,
    /// Put generated code here instead of next to the input
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Generate no code for included files
    #[arg(long)]
    no_includes: bool,
    /// Print the types with all names, ids and defaults worked out
    #[arg(long, group = "mode")]
    dump: bool,
    /// Print the files that the input consists of, as a rule for make: of NAME.rs, or with --cpp or --python of their files
    #[arg(long, conflicts_with_all = ["dump", "format", "diff", "xml"])]
    deps: bool,
    /// Print the types in XML (DDS-XTypes 1.3 §7.3.2), with those of included files; several files as one document
    #[arg(long, group = "mode")]
    xml: bool,
    /// Print the files in canonical layout; of XML, the types as IDL
    #[arg(long, group = "mode")]
    format: bool,
    /// With --format: change the files
    #[arg(long, conflicts_with = "check")]
    write: bool,
    /// With --format: only say whether files would change
    #[arg(long)]
    check: bool,
    /// Compare two files: what changed, and who can still read whom (XCDR2)
    #[arg(long, group = "mode")]
    diff: bool,
}

/// How IDL is compiled, whoever needs it.
#[derive(Args)]
pub struct IdlOptions {
    /// Search this folder for include files, and for packages of ROS 2
    #[arg(short = 'I', long, value_name = "DIR")]
    include: Vec<String>,
    /// Define a macro: NAME or NAME=VALUE
    #[arg(short = 'D', long, value_name = "MACRO")]
    define: Vec<String>,
    /// The extensibility of types that do not say one, otherwise appendable
    #[arg(long, value_enum, value_name = "KIND")]
    default_extensibility: Option<DefaultExtensibility>,
    /// Give types of .idl files the names under which ROS 2 announces them: pkg::msg::dds_::Foo_, final
    #[arg(long)]
    ros2: bool,
    /// Take comments like //@key behind members for annotations
    #[arg(long)]
    comment_annotations: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum DefaultExtensibility {
    Final,
    Appendable,
    Mutable,
}

/// Runs the command. Failure means that something is wrong with the input, which has been said.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    ensure!(
        arguments.format || !(arguments.write || arguments.check),
        "--write and --check are about the layout that --format makes; --xml and the like print to standard output"
    );
    if backend(arguments).is_none() {
        if arguments.out.is_some() && !arguments.deps {
            bail!("--out says where generated code goes: add --rust, --cpp or --python");
        }
        if arguments.no_includes {
            bail!("--no-includes is about generated code: add --rust, --cpp or --python");
        }
    }
    if arguments.format {
        return format_files(arguments);
    }
    let options = arguments.compiled.options();
    if arguments.xml {
        return Ok(code(print_as(&arguments.files, Notation::Xml, &options)?));
    }
    if arguments.diff {
        return compare(arguments, &options);
    }
    refuse_same_output(arguments)?;
    let mut correct = true;
    for file in &arguments.files {
        let result = compile(file, &options);
        if result.model.is_none() {
            correct = false;
            continue;
        }
        correct &= use_model(arguments, file, &result)?;
    }
    Ok(code(correct))
}

/// The back end that was asked for.
fn backend(arguments: &Arguments) -> Option<Box<dyn Backend>> {
    match arguments {
        Arguments { rust: true, .. } => Some(Box::new(Rust::default())),
        Arguments { cpp: true, .. } => Some(Box::new(Cpp)),
        Arguments { python: true, .. } => Some(Box::new(Python)),
        _ => None,
    }
}

fn code(success: bool) -> ExitCode {
    if success { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl IdlOptions {
    /// As the compiler has them. Packages of a ROS 2 installation are found without -I.
    pub fn options(&self) -> Options {
        let define = |text: &String| match text.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (text.clone(), None),
        };
        let ament = std::env::var("AMENT_PREFIX_PATH").unwrap_or_default();
        Options {
            include_dirs: self.include.iter().cloned().chain(dunlin_idl::share_folders(&ament)).collect(),
            defines: self.define.iter().map(define).collect(),
            default_extensibility: match self.default_extensibility {
                Some(DefaultExtensibility::Final) => Extensibility::Final,
                Some(DefaultExtensibility::Appendable) | None => Extensibility::Appendable,
                Some(DefaultExtensibility::Mutable) => Extensibility::Mutable,
            },
            ros2_names: self.ros2,
            comment_annotations: self.comment_annotations,
            ..Options::default()
        }
    }

    /// Refuses them where there is no file that they could be about.
    pub fn only_with(&self, file: Option<&Path>, option: &str) -> Result<()> {
        let given = !self.include.is_empty()
            || !self.define.is_empty()
            || self.default_extensibility.is_some()
            || self.ros2
            || self.comment_annotations;
        ensure!(
            file.is_some() || !given,
            "-I, -D, --default-extensibility, --ros2 and --comment-annotations say how IDL is compiled: add {option} FILE"
        );
        Ok(())
    }
}

/// Compiles a file and shows what there is to say about it.
fn compile(file: &Path, options: &Options) -> Compilation {
    let result = dunlin_idl::compile(&file.to_string_lossy(), options, &Disk);
    output::show(format_args!("{}", result.render(std::io::stderr().is_terminal())));
    result
}

/// A type of a file, by its name in IDL or in ROS 2; `option` is what names another one.
pub fn type_of(file: &Path, options: &Options, name: &str, option: &str) -> Result<(TypeGraph, TypeIndex)> {
    let model = compile(file, options).model;
    let (graph, _) = type_graph(&model.with_context(|| format!("{} has errors", file.display()))?);
    let found = names::idl_types(name).iter().find_map(|name| graph.find(name));
    let index = found.with_context(|| {
        let known: Vec<&str> = graph.iter().map(|(_, definition)| definition.name.as_str()).collect();
        let file = file.display();
        format!("{file} has no type {name} (name one with {option}); it has {}", known.join(", "))
    })?;
    Ok((graph, index))
}

/// Prints or generates what was asked for.
fn use_model(arguments: &Arguments, file: &Path, result: &Compilation) -> Result<bool> {
    let Some(model) = &result.model else { return Ok(false) };
    let mut out = output::stdout();
    if arguments.dump {
        write!(out, "{}", dump(model))?;
    } else if arguments.deps {
        let chosen = backend(arguments).unwrap_or_else(|| Box::new(Rust::default()));
        let target = folder(arguments, file).join(chosen.file_name(&stem(file)?.to_string_lossy()));
        let files: Vec<String> = result.files.iter().map(|file| in_make(file)).collect();
        writeln!(out, "{}: {}", in_make(&target.to_string_lossy()), files.join(" "))?;
    } else if let Some(backend) = backend(arguments) {
        return generate(arguments, backend.as_ref(), file, result);
    } else {
        let warnings = result.diagnostics.iter().filter(|d| d.severity == Severity::Warning).count();
        let remark =
            if warnings == 0 { String::new() } else { format!(", {}", output::counted(warnings, "warning")) };
        writeln!(out, "{}: correct{remark}", file.display())?;
    }
    Ok(true)
}

/// A file name as make reads it in a rule.
fn in_make(file: &str) -> String {
    file.replace('$', "$$").replace('#', "\\#").replace(' ', "\\ ")
}

/// Code of two inputs cannot go to the same file: the second would replace the first.
fn refuse_same_output(arguments: &Arguments) -> Result<()> {
    if backend(arguments).is_none() {
        return Ok(());
    }
    let mut outputs: BTreeMap<PathBuf, &Path> = BTreeMap::new();
    for file in &arguments.files {
        let Some(other) = outputs.insert(folder(arguments, file).join(stem(file)?), file) else { continue };
        let (other, file) = (other.display(), file.display());
        bail!("the code of {other} and {file} would have the same name: use different folders (--out)");
    }
    Ok(())
}

fn stem(file: &Path) -> Result<&std::ffi::OsStr> {
    file.file_stem().with_context(|| format!("{} is not a file", file.display()))
}

/// Where the code of a file goes.
fn folder(arguments: &Arguments, file: &Path) -> PathBuf {
    arguments.out.clone().unwrap_or_else(|| file.parent().unwrap_or(Path::new("")).to_owned())
}

fn generate(arguments: &Arguments, backend: &dyn Backend, file: &Path, result: &Compilation) -> Result<bool> {
    let Some(model) = &result.model else { return Ok(false) };
    let path = file.to_string_lossy();
    let input = Input { model, main: result.main, path: &path, includes: !arguments.no_includes };
    let styled = std::io::stderr().is_terminal();
    let (generated, diagnostics) = match backend.generate(&input) {
        Ok(generated) => (Some(generated.files), generated.diagnostics),
        Err(errors) => (None, errors),
    };
    for diagnostic in &diagnostics {
        output::show(format_args!("{}", diagnostic.render(&result.sources, styled)));
    }
    let Some(files) = generated else { return Ok(false) };
    for (name, text) in files {
        let file = folder(arguments, file).join(name);
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        fs::write(&file, text).with_context(|| file.display().to_string())?;
        writeln!(output::stdout(), "{}", file.display())?;
    }
    Ok(true)
}

fn format_files(arguments: &Arguments) -> Result<ExitCode> {
    let mut clean = true;
    for file in &arguments.files {
        let name = file.to_string_lossy();
        if dunlin_idl::is_ros_interface(&name) {
            bail!("{name}: --format is for IDL and XML");
        }
        if dunlin_idl::is_xml(&name) {
            ensure!(
                !arguments.write && !arguments.check,
                "{name}: --format prints XML as IDL and changes no file"
            );
            clean &= print_as(std::slice::from_ref(file), Notation::Idl, &arguments.compiled.options())?;
            continue;
        }
        let text = fs::read_to_string(file).with_context(|| name.to_string())?;
        let formatted = match format(&name, &text) {
            Ok(formatted) => formatted,
            Err(errors) => {
                output::show(format_args!("{errors}"));
                clean = false;
                continue;
            }
        };
        if arguments.write {
            if formatted != text {
                fs::write(file, formatted).with_context(|| name.to_string())?;
            }
        } else if arguments.check {
            if formatted != text {
                writeln!(output::stdout(), "{name}: would change")?;
                clean = false;
            }
        } else {
            write!(output::stdout(), "{formatted}")?;
        }
    }
    Ok(code(clean))
}

/// Prints the types of files as one text; false if something is wrong with them, which has been said.
fn print_as(files: &[PathBuf], notation: Notation, options: &Options) -> Result<bool> {
    let names: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    let made = convert_all(&names, notation, options, &Disk);
    output::show(format_args!("{}", made.render(std::io::stderr().is_terminal())));
    if let Some(text) = &made.text {
        write!(output::stdout(), "{text}")?;
    }
    Ok(made.text.is_some())
}

/// Fails if data no longer goes both ways.
fn compare(arguments: &Arguments, options: &Options) -> Result<ExitCode> {
    let [old, new] = arguments.files.as_slice() else { bail!("--diff compares two files: --diff OLD NEW") };
    let (before, after) = (compile(old, options), compile(new, options));
    let (Some(before), Some(after)) = (&before.model, &after.model) else { return Ok(ExitCode::FAILURE) };
    let changes = diff(before, after);
    if changes.is_empty() {
        writeln!(output::stdout(), "no differences")?;
    }
    write!(output::stdout(), "{}", diff_text(&changes, &old.to_string_lossy(), &new.to_string_lossy()))?;
    Ok(code(changes.iter().all(dunlin_idl::Change::is_compatible)))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn run_with(folder: &Path, words: &[&str]) -> Result<bool> {
        let words: Vec<String> =
            words.iter().map(|word| word.replace("DIR", &folder.to_string_lossy())).collect();
        let command = Command::try_parse_from(std::iter::once("idl".to_owned()).chain(words))?;
        Ok(run(&command.arguments)? == ExitCode::SUCCESS)
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("a.idl", "#include \"inc.idl\"\nstruct A { Inc x[N]; };\n"),
            ("b.idl", "struct A { long x; };\n"),
            ("c.idl", "struct A { long x; long y; };\n"),
            ("d.idl", "@final struct A { long x; };\n"),
            ("bad.idl", "struct A { lang x; };\n"),
            ("interface.idl", "interface I { struct Held { long x; }; };\n"),
            ("untidy.idl", "struct   A{long x;};"),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        fs::create_dir(folder.path().join("inc")).unwrap();
        fs::write(folder.path().join("inc/inc.idl"), "struct Inc { long x; };\n").unwrap();
        folder
    }

    #[test]
    fn files_are_checked() {
        let folder = folder();
        let run = |words: &[&str]| run_with(folder.path(), words).unwrap();
        assert!(run(&["DIR/a.idl", "-I", "DIR/inc", "-DN=3"]));
        assert!(!run(&["DIR/a.idl", "-DN=3"]));
        assert!(!run(&["DIR/a.idl", "-I", "DIR/inc"]));
        assert!(!run(&["DIR/b.idl", "DIR/bad.idl", "DIR/none.idl"]));
        assert!(run(&["--dump", "DIR/b.idl"]) && run(&["--deps", "DIR/b.idl"]));
    }

    #[test]
    fn code_is_written() {
        let folder = folder();
        let run = |words: &[&str]| run_with(folder.path(), words).unwrap();
        assert!(run(&["--rust", "--out", "DIR/out", "-I", "DIR/inc", "-D", "N=3", "DIR/a.idl", "DIR/b.idl"]));
        let code = fs::read_to_string(folder.path().join("out/a.rs")).unwrap();
        assert!(code.contains("pub struct Inc") && code.contains("[Inc; 3]"), "{code}");
        assert!(run(&["--rust", "--no-includes", "-I", "DIR/inc", "-D", "N=3", "DIR/a.idl"]));
        assert!(!fs::read_to_string(folder.path().join("a.rs")).unwrap().contains("pub struct Inc"));
        assert!(run(&["--cpp", "--out", "DIR/cpp", "DIR/b.idl"]));
        assert!(run(&["--python", "--out", "DIR/python", "DIR/b.idl"]));
        for (file, text) in [
            ("cpp/b.hpp", "struct A"),
            ("cpp/dunlin/cdr.hpp", "class Decoder"),
            ("python/b.py", "class A"),
            ("python/dunlin_cdr.py", "class Decoder"),
        ] {
            assert!(fs::read_to_string(folder.path().join(file)).unwrap().contains(text), "{file}");
        }
        // The types of an interface are made, the interface itself is left out with a warning.
        for (language, file) in
            [("--rust", "interface.rs"), ("--cpp", "interface.hpp"), ("--python", "interface.py")]
        {
            assert!(run(&[language, "--out", "DIR/out", "DIR/interface.idl"]));
            assert!(
                fs::read_to_string(folder.path().join("out").join(file)).unwrap().contains("Held"),
                "{file}"
            );
        }
    }

    #[test]
    fn files_are_formatted() {
        let folder = folder();
        let run = |words: &[&str]| run_with(folder.path(), words).unwrap();
        assert!(run(&["--format", "DIR/untidy.idl"]));
        assert!(!run(&["--format", "--check", "DIR/untidy.idl"]));
        assert!(run(&["--format", "--write", "DIR/untidy.idl"]));
        assert!(run(&["--format", "--check", "DIR/untidy.idl"]));
        assert_eq!(
            fs::read_to_string(folder.path().join("untidy.idl")).unwrap(),
            "struct A {\n    long x;\n};\n"
        );
    }

    #[test]
    fn versions_are_compared() {
        let folder = folder();
        let run = |words: &[&str]| run_with(folder.path(), words).unwrap();
        assert!(run(&["--diff", "DIR/b.idl", "DIR/b.idl"]));
        assert!(run(&["--diff", "DIR/b.idl", "DIR/c.idl"]));
        assert!(!run(&["--diff", "DIR/b.idl", "DIR/d.idl"]));
        assert!(run(&["--diff", "--default-extensibility", "final", "DIR/b.idl", "DIR/d.idl"]));
    }

    #[test]
    fn interfaces_of_ros_are_taken() {
        let folder = folder();
        let run = |words: &[&str]| run_with(folder.path(), words);
        for (path, text) in [
            ("ws/demo/msg/Pose.msg", "geo/Point position\nfloat64 angle 0.5\n"),
            ("ws/demo/srv/Reset.srv", "Pose to\n---\nbool success\n"),
            ("share/geo/msg/Point.msg", "float64 x\nfloat64 y\n"),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let (pose, reset) = ("DIR/ws/demo/msg/Pose.msg", "DIR/ws/demo/srv/Reset.srv");
        assert!(!run(&[pose]).unwrap());
        assert!(run(&["-I", "DIR/share", pose, reset]).unwrap());
        assert!(run(&["--rust", "--out", "DIR/out", "-I", "DIR/share", pose]).unwrap());
        let code = fs::read_to_string(folder.path().join("out/Pose.rs")).unwrap();
        assert!(code.contains("demo::msg::dds_::Pose_") && code.contains("pub angle: f64"), "{code}");
        let other = "DIR/share/geo/msg/Pose.msg";
        fs::write(folder.path().join("share/geo/msg/Pose.msg"), "float64 x\n").unwrap();
        let clash = run(&["--rust", "--out", "DIR/out", "-I", "DIR/share", pose, other]);
        assert!(clash.unwrap_err().to_string().contains("same name"));
        assert!(run(&["--rust", "-I", "DIR/share", pose, other]).unwrap());
        assert!(run(&["--diff", "-I", "DIR/share", pose, pose]).unwrap());
        assert!(run(&["--format", pose]).is_err());
    }

    #[test]
    fn idl_of_ros_has_its_names() {
        let folder = folder();
        let run = |words: &[&str]| run_with(folder.path(), words).unwrap();
        for (path, text) in [
            (
                "ws/demo/msg/Pose.idl",
                "#include \"geo/msg/Point.idl\"\nmodule demo { module msg { struct Pose { geo::msg::Point at; }; }; };\n",
            ),
            (
                "share/geo/msg/Point.idl",
                "module geo { module msg { struct Point { double x; double y; }; }; };\n",
            ),
            ("share/geo/msg/Point.msg", "float64 x\nfloat64 y\n"),
            ("ws/demo/msg/Pose.msg", "geo/Point at\n"),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let (idl, msg) = ("DIR/ws/demo/msg/Pose.idl", "DIR/ws/demo/msg/Pose.msg");
        let (same, other) =
            (["--ros2", "--diff", "-I", "DIR/share", idl, msg], ["--diff", "-I", "DIR/share", idl, msg]);
        assert!(run(&same));
        let differences = |words: &[&str]| {
            let words: Vec<String> =
                words.iter().map(|it| it.replace("DIR", &folder.path().to_string_lossy())).collect();
            let arguments =
                Command::try_parse_from(std::iter::once("idl".to_owned()).chain(words)).unwrap().arguments;
            let options = arguments.compiled.options();
            let model = |at: usize| super::compile(&arguments.files[at], &options).model.unwrap();
            diff(&model(0), &model(1)).len()
        };
        assert_eq!((differences(&same), differences(&other)), (0, 4));
        assert!(run(&["--rust", "--ros2", "--out", "DIR/out", "-I", "DIR/share", idl]));
        let code = fs::read_to_string(folder.path().join("out/Pose.rs")).unwrap();
        assert!(code.contains("demo::msg::dds_::Pose_") && code.contains("geo::msg::dds_::Point_"), "{code}");
    }

    #[test]
    fn types_in_xml_are_taken() {
        let folder = folder();
        let run = |words: &[&str]| run_with(folder.path(), words);
        let text = "<types><include file=\"inc.xml\"/><struct name=\"A\"><member name=\"x\" type=\"int32\"/></struct></types>";
        fs::write(folder.path().join("a.xml"), text).unwrap();
        fs::write(folder.path().join("inc/inc.xml"), "<types/>").unwrap();
        fs::write(folder.path().join("bad.xml"), "<types><strukt/></types>").unwrap();
        let xml = ["-I", "DIR/inc", "DIR/a.xml"];
        assert!(run(&xml).unwrap() && !run(&["DIR/a.xml"]).unwrap() && !run(&["DIR/bad.xml"]).unwrap());
        for mode in ["--xml", "--format", "--dump", "--deps"] {
            assert!(run(&[&[mode][..], &xml].concat()).unwrap(), "{mode}");
        }
        assert!(run(&["--xml", "DIR/b.idl"]).unwrap());
        assert!(
            !run(&["--xml", "DIR/interface.idl"]).unwrap() && !run(&["--format", "DIR/bad.xml"]).unwrap()
        );
        assert!(run(&["--diff", "-I", "DIR/inc", "DIR/b.idl", "DIR/a.xml"]).unwrap());
        assert!(!run(&["--diff", "-I", "DIR/inc", "DIR/d.idl", "DIR/a.xml"]).unwrap());
        for language in ["--rust", "--cpp", "--python"] {
            assert!(run(&[&[language, "--out", "DIR/out"][..], &xml].concat()).unwrap(), "{language}");
        }
        assert!(fs::read_to_string(folder.path().join("out/a.rs")).unwrap().contains("pub struct A"));
        for change in ["--write", "--check"] {
            assert!(run(&[&["--format", change][..], &xml].concat()).is_err(), "{change}");
        }
    }

    #[test]
    fn contradictory_idl_options_are_refused() {
        let folder = folder();
        for words in [
            &["DIR/a.idl", "--out", "x"][..],
            &["--rust", "--format", "DIR/a.idl"],
            &["--rust", "--cpp", "DIR/a.idl"],
            &["--no-includes", "DIR/a.idl"],
            &["--diff", "DIR/a.idl"],
            &["--write", "DIR/a.idl"],
            &[],
        ] {
            assert!(run_with(folder.path(), words).is_err(), "{words:?}");
        }
    }
}
