//! How many listeners run: the end of a process waits for them.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

thread_local! {
    /// The part of this thread in [`RUNNING`]; without a destructor, so that it can be read at the end of the process.
    static RUNNING_HERE: Cell<usize> = const { Cell::new(0) };
}

/// Listeners that run, on all threads.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// A listener that runs, as long as this lives.
pub(crate) struct RunningListener;

impl RunningListener {
    pub(crate) fn begin() -> Self {
        RUNNING.fetch_add(1, SeqCst);
        RUNNING_HERE.set(RUNNING_HERE.get() + 1);
        Self
    }
}

impl Drop for RunningListener {
    fn drop(&mut self) {
        RUNNING_HERE.set(RUNNING_HERE.get() - 1);
        RUNNING.fetch_sub(1, SeqCst);
    }
}

/// How many listeners run at this moment in the process.
#[must_use]
pub fn listeners_anywhere() -> usize {
    RUNNING.load(SeqCst)
}

/// How many of them called the present thread's code.
#[must_use]
pub fn listeners_here() -> usize {
    RUNNING_HERE.get()
}
