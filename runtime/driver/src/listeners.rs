//! How many listeners run: who ends a process waits for them.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

thread_local! {
    /// The part of this thread in [`TELLING`]; without a destructor, so that it can be read at the end of the process.
    static TELLS: Cell<usize> = const { Cell::new(0) };
}

/// Events that are being told, on all threads: their listeners run.
static TELLING: AtomicUsize = AtomicUsize::new(0);

/// An event that is being told.
pub(crate) struct Telling;

impl Telling {
    pub(crate) fn begin() -> Self {
        TELLING.fetch_add(1, SeqCst);
        TELLS.set(TELLS.get() + 1);
        Self
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        TELLS.set(TELLS.get() - 1);
        TELLING.fetch_sub(1, SeqCst);
    }
}

/// How many listeners run at this moment in the process.
#[must_use]
pub fn listeners_anywhere() -> usize {
    TELLING.load(SeqCst)
}

/// How many of them called the present thread's code.
#[must_use]
pub fn listeners_here() -> usize {
    TELLS.get()
}
