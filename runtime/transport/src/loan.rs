//! Memory for samples that need not be copied on the way to other processes of the host.

use dunlin_buf::SharedBytes;

/// Octets to fill that nobody else sees yet; given back when dropped.
pub trait Loan: Send {
    /// The octets: any at first.
    fn octets(&self) -> &[u8];
    /// The same, for writing.
    fn octets_mut(&mut self) -> &mut [u8];
    /// Gives up what is behind so many octets. Nothing happens if there are no more.
    fn truncate(&mut self, len: usize);
    /// Ends the writing.
    fn share(self: Box<Self>) -> SharedBytes;
}

/// Where loans of one size come from.
pub trait Lender: Send + Sync {
    /// `len` octets, at most as many as were asked for when the lender was made. The fifth octet is aligned to a cache line,
    /// for the value behind an encapsulation header. `None` if all are in use.
    fn lend(&self, len: usize) -> Option<Box<dyn Loan>>;
}
