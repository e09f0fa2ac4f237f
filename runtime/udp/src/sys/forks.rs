//! Children of `fork`: they are told from their parent, and do not get its sockets.

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

static FORKS: AtomicU32 = AtomicU32::new(0);

/// Descriptors from here on are not kept from children.
const DESCRIPTORS: usize = 16_384;
/// What the descriptor of this number was when it was to be kept from children; zero of all others.
static KEPT: [AtomicU64; DESCRIPTORS] = [const { AtomicU64::new(0) }; DESCRIPTORS];
/// No descriptor from this one on was ever kept.
static END: AtomicUsize = AtomicUsize::new(0);

/// Which process this is of those that `fork` has made of one: another number in each child, and the same as long as it lives.
#[must_use]
pub fn process_generation() -> u32 {
    watch();
    FORKS.load(Relaxed)
}

/// Lets no child of `fork` have this socket or file: in the child its descriptor becomes one that nothing can be done with. So the
/// child keeps no port, no connection and no lock of a parent that has ended.
///
/// It holds as long as the descriptor is open, and for descriptors below 16,384.
pub fn keep_from_children(descriptor: BorrowedFd<'_>) {
    watch();
    let number = descriptor.as_raw_fd();
    let Some(kept) = usize::try_from(number).ok().and_then(|index| KEPT.get(index)) else { return };
    kept.store(identity(number).unwrap_or(0), Relaxed);
    END.fetch_max(number as usize + 1, Relaxed);
}

fn watch() {
    static WATCHED: Once = Once::new();
    // SAFETY: a function without arguments that does nothing but what is allowed after `fork`, which is there as long as the code of
    // this library is. Where the system has no room for it a child of fork is taken for its parent.
    WATCHED.call_once(|| _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) });
}

/// Of what is open under this number: a number that was closed and is another's now has another one.
fn identity(number: RawFd) -> Option<u64> {
    let mut found = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the place is one for what is written. A number under which nothing is open is an error.
    let found = unsafe {
        match libc::fstat(number, found.as_mut_ptr()) {
            0 => found.assume_init(),
            _ => return None,
        }
    };
    // Types differ from system to system.
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "types of other systems")]
    let (file, device) = (found.st_ino as u64, found.st_dev as u64);
    Some((file.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ device) | 1)
}

/// Runs in each child before `fork` returns there. Other threads of the parent may have held any lock, so it takes none.
extern "C" fn in_child() {
    FORKS.fetch_add(1, Relaxed);
    let mut stand_in = None;
    for (number, kept) in (0..).zip(&KEPT[..END.load(Relaxed)]) {
        let kept = kept.load(Relaxed);
        if kept != 0 && identity(number) == Some(kept) {
            stand_in = stand_in.or_else(closed_pipe);
            stand_in.into_iter().for_each(|of| replace(number, of));
        }
    }
    if let Some(number) = stand_in {
        // SAFETY: it was opened here, and nobody else knows it.
        unsafe { libc::close(number) };
    }
}

/// The end for reading of a pipe without another one: it is always at its end.
fn closed_pipe() -> Option<RawFd> {
    let mut ends = [0; 2];
    // SAFETY: the place has room for two numbers. The second one is closed by who has just got it.
    unsafe {
        if libc::pipe(ends.as_mut_ptr()) != 0 {
            return None;
        }
        libc::close(ends[1]);
    }
    Some(ends[0])
}

/// Puts `of` in the place of a descriptor, not to be had by other programs.
fn replace(number: RawFd, of: RawFd) {
    // SAFETY: both numbers are open. What was there is closed in this process alone, where nobody uses it any more.
    unsafe {
        if libc::dup2(of, number) == number {
            libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
}
