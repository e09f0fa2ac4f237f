//! The IDL compiler: every message can be shown, every model printed, compared and made code of; formatting keeps the meaning.

use dunlin_idl::backend::{Backend, Input};
use dunlin_idl::cpp::Cpp;
use dunlin_idl::python::Python;
use dunlin_idl::rust::Rust;
use dunlin_idl::{Compilation, Limits, Memory, Options, compile, diff, dump, format};

fn compiled(text: &[u8]) -> Compilation {
    let limits = Limits { tokens: 50_000, diagnostics: 20, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    // The file may include itself.
    compile("a.idl", &options, &Memory::default().with("a.idl", text))
}

/// Makes code of what is correct, in every language.
fn code(result: &Compilation) {
    let Some(model) = &result.model else { return };
    let input = Input { model, main: result.main, path: "a.idl", includes: true };
    for backend in [&Rust::default() as &dyn Backend, &Cpp, &Python] {
        let _ = backend.generate(&input);
    }
}

/// Which of the things that take long are done with an input.
#[derive(Clone, Copy)]
struct Share {
    /// Messages are shown as a person sees them.
    render: bool,
    /// Correct models become code, are compared with themselves, and are formatted and compiled again.
    make: bool,
}

impl Share {
    const ALL: Self = Self { render: true, make: true };

    /// By the octets of the input, so that a finding repeats.
    fn of(data: &[u8]) -> Self {
        let hash = data.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, octet| {
            (hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3)
        });
        let hash = (hash >> 32) as u32;
        Self { render: hash.is_multiple_of(64), make: (hash >> 8).is_multiple_of(16) }
    }
}

/// Takes the input for a ROS 2 interface, which may refer to itself.
fn ros(path: &str, data: &[u8], share: Share) {
    let limits = Limits { tokens: 50_000, diagnostics: 20, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let result = compile(path, &options, &Memory::default().with(path, data));
    assert!(result.model.is_some() || !result.diagnostics.is_empty());
    if share.render {
        let _ = result.render(true);
    }
    let Some(model) = &result.model else { return };
    let _ = dump(model);
    if share.make {
        assert_eq!(diff(model, model), []);
        code(&result);
    }
}

fn idl_text(data: &[u8], share: Share) {
    let result = compiled(data);
    assert!(result.model.is_some() || !result.diagnostics.is_empty());
    if share.render {
        let _ = result.render(true);
    }
    let text = String::from_utf8_lossy(data);
    let formatted = share.make.then(|| format("a.idl", &text));
    let Some(model) = &result.model else { return };
    let printed = dump(model);
    if !share.make {
        return;
    }
    // What has no type objects, because of labels beyond 32 bits, is compared part by part, up to a depth.
    assert!(diff(model, model).iter().all(|change| format!("{change:?}").contains("to be compared")));
    code(&result);
    if let Some(Ok(formatted)) = formatted
        && text.as_bytes() == data
        && !text.contains("__LINE__")
    {
        let again = compiled(formatted.as_bytes());
        assert_eq!(again.model.as_ref().map(dump), Some(printed));
    }
}

const MESSAGE: &str = "p/msg/A.msg";
const ACTION: &str = "p/action/A.action";

/// Compiles an input as its first octet says: 1 begins a message of ROS 2, 2 an action, and everything else is IDL.
fn one(data: &[u8], share: Share) {
    match data {
        [1, rest @ ..] => ros(MESSAGE, rest, share),
        [2, rest @ ..] => ros(ACTION, rest, share),
        _ => idl_text(data, share),
    }
}

/// Compiles a file in every way, and does everything with the result that can be done.
pub fn idl(data: &[u8]) {
    one(data, Share::ALL);
    ros(MESSAGE, data, Share::ALL);
    ros(ACTION, data, Share::ALL);
}

/// The same at the speed that fuzzing needs: an input is taken for one kind of file, and what takes long is done with a
/// share of them.
pub fn idl_quickly(data: &[u8]) {
    one(data, Share::of(data));
}
