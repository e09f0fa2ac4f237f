//! The IDL compiler: every message can be shown, every model printed, compared and made code of; formatting keeps the meaning.

use dunlin_idl::rust::{RustOptions, generate};
use dunlin_idl::{Compilation, Limits, Memory, Options, compile, diff, dump, format};

fn compiled(text: &[u8]) -> Compilation {
    let limits = Limits { tokens: 50_000, diagnostics: 20, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    // The file may include itself.
    compile("a.idl", &options, &Memory::default().with("a.idl", text))
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
        let _ = generate(model, result.main, &RustOptions::default());
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
    assert_eq!(diff(model, model), []);
    let _ = generate(model, result.main, &RustOptions::default());
    if let Ok(formatted) = formatted
        && text.as_bytes() == data
        && !text.contains("__LINE__")
    {
        let again = compiled(formatted.as_bytes());
        assert_eq!(again.model.as_ref().map(dump), Some(printed));
    }
}
