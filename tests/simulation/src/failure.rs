//! Why a run fails.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

/// Something that must hold and does not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Which checker says so, and of what kind it is: without numbers and names, so that the same failure of another run
    /// has the same kind. Of a panic it is the place in the sources.
    pub kind: Cow<'static, str>,
    /// What it is.
    pub text: String,
}

impl Violation {
    /// What a checker found.
    #[must_use]
    pub fn new(kind: &'static str, text: String) -> Self {
        Self { kind: kind.into(), text }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}", self.kind, self.text)
    }
}

/// Why a run fails.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// What must hold and does not; several of them often have one cause.
    pub violations: Vec<Violation>,
}

impl Failure {
    /// What it is known by: the kind of the first violation.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.violations.first().map_or("", |violation| &violation.kind)
    }

    /// Whether a violation of this kind is among the others.
    #[must_use]
    pub fn has(&self, kind: &str) -> bool {
        self.violations.iter().any(|violation| violation.kind == kind)
    }
}

thread_local! {
    /// Whether a panic of this thread is a finding.
    static CATCHES: Cell<bool> = const { Cell::new(false) };
    /// Where the last one was.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Makes a failure of a panic. It is not printed besides; its backtrace is if RUST_BACKTRACE asks for it.
///
/// # Errors
/// What `run` fails with, or a violation whose kind is the place of the panic.
pub fn catching<T>(run: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let other = take_hook();
        set_hook(Box::new(move |info| {
            if !CATCHES.get() {
                return other(info);
            }
            let place = info.location().map(|place| format!("{}:{}", place.file(), place.line()));
            PLACE.set(place.unwrap_or_default());
            let backtrace = Backtrace::capture();
            if backtrace.status() == BacktraceStatus::Captured {
                eprintln!("{backtrace}");
            }
        }));
    });
    let outer = CATCHES.replace(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    CATCHES.set(outer);
    result.unwrap_or_else(|cause| {
        let owned = cause.downcast_ref::<String>().map(String::as_str);
        let text =
            owned.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("for no reason in words");
        let kind = format!("panic at {}", PLACE.take()).into();
        Err(Failure { violations: vec![Violation { kind, text: text.to_owned() }] })
    })
}
