//! SIGBUS on mapped files: what the kernel sends to a process that touches a page of a file that was cut short.
//!
//! The handler puts memory of this process, all zeros, in the place of such a mapping and notes that it is lost. So the access
//! that failed goes on, and whoever uses the mapping finds out with [`Watch::is_lost`]. A fault anywhere else goes to the handler
//! that was there before. All that the handler does is safe in a signal handler: atomics, `mmap`, `sigaction`.
#![expect(unsafe_code, reason = "a signal handler, and a mapping in the place of another")]

mod table;

use std::cell::Cell;
use std::io;
use std::mem::{MaybeUninit, transmute};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, OnceLock, PoisonError};

use libc::{c_int, c_void, sigaction, siginfo_t};

pub(crate) use table::Watch;
use table::{TABLE, Verdict};

/// What was there before.
static PREVIOUS: OnceLock<sigaction> = OnceLock::new();
/// What was there before has been called once and is not to be called again (`SA_RESETHAND`).
static SPENT: AtomicBool = AtomicBool::new(false);

/// Installs the handler, once in a process.
///
/// # Errors
/// Of the system.
pub(crate) fn install() -> io::Result<()> {
    static INSTALLED: Mutex<bool> = Mutex::new(false);
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if *installed {
        return Ok(());
    }
    let previous = exchange(None)?;
    // The handler needs it from its first call on.
    let previous = PREVIOUS.get_or_init(|| previous);
    let kept = libc::SA_NODEFER | libc::SA_RESTART;
    let mut new = *previous;
    new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | (previous.sa_flags & kept);
    new.sa_sigaction = on_sigbus as *const () as usize;
    exchange(Some(&new))?;
    *installed = true;
    Ok(())
}

/// Whether a handler that the application has installed since then has taken its place.
pub(crate) fn is_replaced() -> bool {
    exchange(None).is_ok_and(|now| now.sa_sigaction != on_sigbus as *const () as usize)
}

/// Has children of `fork` lose the mappings of this process.
pub(crate) fn keep_from_children() {
    static WATCHED: Once = Once::new();
    // SAFETY: a function without arguments that does nothing but what is allowed after `fork`, which is there as long as the code of
    // this library is. Where the system has no room for it children share the memory.
    WATCHED.call_once(|| _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) });
}

extern "C" fn in_child() {
    TABLE.lose_all(map_zeros);
}

thread_local! {
    static UNBLOCKED: Cell<bool> = const { Cell::new(false) };
}

/// Lets this thread be told of faults: the kernel ends a process at a fault in a thread that blocks the signal. Only the first
/// call in a thread does something.
#[inline]
pub(crate) fn unblock_here() {
    // A thread that ends does not begin to send.
    if PREVIOUS.get().is_some() && UNBLOCKED.try_with(|done| !done.replace(true)).unwrap_or(false) {
        unblock();
    }
}

#[cold]
fn unblock() {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the set is initialised by the first call; the others read it, and write nothing but the mask of this thread.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGBUS);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), ptr::null_mut());
    }
}

/// The action for SIGBUS, and another one instead if that is asked for.
fn exchange(new: Option<&sigaction>) -> io::Result<sigaction> {
    let mut old = MaybeUninit::uninit();
    let new = new.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the new action is one that came from the system, or such a one with the handler of this module; the old one is written.
    match unsafe { libc::sigaction(libc::SIGBUS, new, old.as_mut_ptr()) } {
        // SAFETY: the call succeeded, so it has written all of it.
        0 => Ok(unsafe { old.assume_init() }),
        _ => Err(io::Error::last_os_error()),
    }
}

extern "C" fn on_sigbus(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel hands over what belongs to this signal; the place is that of the calling thread.
    let (code, at, errno) =
        unsafe { ((*info).si_code, (*info).si_addr() as usize, *libc::__errno_location()) };
    let is_ours = code == libc::BUS_ADRERR && replace(at);
    // SAFETY: as above. Whoever was interrupted may be about to look at it.
    unsafe { *libc::__errno_location() = errno };
    if !is_ours {
        pass_on(signal, code, info, context);
    }
}

/// Puts zeros in the place of the mapping that this address is in; false if it is in none, or that failed.
fn replace(at: usize) -> bool {
    match TABLE.lose(at) {
        Verdict::Elsewhere => false,
        // Another thread does it or has done it: the access is tried again until it is done.
        Verdict::Known => true,
        Verdict::Lost(lost) => {
            let (start, len) = lost.range();
            let done = map_zeros(start, len);
            lost.conclude(done);
            done
        }
    }
}

fn map_zeros(start: usize, len: usize) -> bool {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    // SAFETY: the range is that of a mapping of this crate, which is there until its entry is taken out of the table, and a thread
    // that uses it is in this very handler. All that is done with that memory takes any octets at any time.
    let new = unsafe { libc::mmap(start as *mut c_void, len, protection, flags, -1, 0) };
    new != libc::MAP_FAILED
}

/// Does what would have been done without this handler.
fn pass_on(signal: c_int, code: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let Some(previous) = PREVIOUS.get() else { return by_default(signal, code) };
    let once = previous.sa_flags & libc::SA_RESETHAND != 0;
    match previous.sa_sigaction {
        // Sent by somebody; a fault is not ignored by any system.
        libc::SIG_IGN if code <= 0 => {}
        libc::SIG_DFL | libc::SIG_IGN => by_default(signal, code),
        _ if once && SPENT.swap(true, Ordering::Relaxed) => by_default(signal, code),
        handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: whoever installed it said that it takes these three.
            let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                unsafe { transmute(handler as *const ()) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: whoever installed it said that it takes the number alone.
            let handler: extern "C" fn(c_int) = unsafe { transmute(handler as *const ()) };
            handler(signal);
        }
    }
}

/// Ends the process as the signal does without any handler: a fault happens again, with the registers it had, and what was sent
/// is sent again.
fn by_default(signal: c_int, code: c_int) {
    // SAFETY: zeros are an action with no flags and an empty mask; the handler is set next.
    let mut action: sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    action.sa_sigaction = libc::SIG_DFL;
    // Nothing is left to be done if it fails.
    let _ = exchange(Some(&action));
    if code <= 0 {
        // SAFETY: it takes a number. The signal waits until the handler returns.
        unsafe { libc::raise(signal) };
    }
}

#[cfg(test)]
mod tests;
