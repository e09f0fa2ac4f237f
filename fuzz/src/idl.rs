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

/// Takes the input for a ROS 2 interface, which may refer to itself.
fn ros(data: &[u8]) {
    let limits = Limits { tokens: 50_000, diagnostics: 20, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    for path in ["p/msg/A.msg", "p/action/A.action"] {
        let result = compile(path, &options, &Memory::default().with(path, data));
        assert!(result.model.is_some() || !result.diagnostics.is_empty());
        let _ = result.render(true);
        let Some(model) = &result.model else { continue };
        let _ = dump(model);
        assert_eq!(diff(model, model), []);
        code(&result);
    }
}

/// Compiles a file and does everything with the result that can be done.
pub fn idl(data: &[u8]) {
    ros(data);
    let result = compiled(data);
    assert!(result.model.is_some() || !result.diagnostics.is_empty());
    let _ = result.render(true);
    let text = String::from_utf8_lossy(data);
    let formatted = format("a.idl", &text);
    let Some(model) = &result.model else { return };
    let printed = dump(model);
    // What has no type objects, because of labels beyond 32 bits, is compared part by part, up to a depth.
    assert!(diff(model, model).iter().all(|change| format!("{change:?}").contains("to be compared")));
    code(&result);
    if let Ok(formatted) = formatted
        && text.as_bytes() == data
        && !text.contains("__LINE__")
    {
        let again = compiled(formatted.as_bytes());
        assert_eq!(again.model.as_ref().map(dump), Some(printed));
    }
}
