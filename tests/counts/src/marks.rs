//! Where counting begins and ends, for callgrind as functions, for strace as a system call that nothing else makes.

use rustix::process::getppid;

/// Samples before counting begins.
pub(crate) const WARM_UP: u64 = 10;
/// The system call at both marks.
pub(crate) const CALL: &str = "getppid";

/// The exchange has got going.
#[inline(never)]
pub(crate) fn begin() {
    std::hint::black_box(getppid());
}

/// The last sample is done. Not the same code as [`begin`], or the compiler would make one function of the two.
#[inline(never)]
pub(crate) fn end() {
    std::hint::black_box((getppid(), "end"));
}
