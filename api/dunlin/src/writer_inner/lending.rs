//! Where the loans of a writer come from that are octets, of any length up to one that is settled once.

use dunlin_buf::SharedBytes;
use dunlin_transport::{Lender, Loan};

/// Payloads are multiples of so many octets.
pub(crate) const UNIT: usize = 4;

/// Where the payloads of one writer come from.
pub(crate) struct PayloadLender {
    /// Octets of the longest.
    pub(crate) longest: usize,
    /// None where there is no shared memory, or not so much of it.
    pool: Option<Box<dyn Lender>>,
}

impl PayloadLender {
    pub(super) fn new(longest: usize, pool: impl FnOnce(usize) -> Option<Box<dyn Lender>>) -> Self {
        Self { longest, pool: pool(longest.next_multiple_of(UNIT)) }
    }

    /// Zeros for a payload of so many octets and its padding, and whether other processes can have them where they are.
    pub(crate) fn lend(&self, len: usize) -> (Box<dyn Loan>, bool) {
        let len = len.next_multiple_of(UNIT);
        match self.pool.as_ref().and_then(|pool| pool.lend(len)) {
            Some(mut memory) => {
                // An older sample may be in it.
                memory.octets_mut().fill(0);
                (memory, true)
            }
            None => (Box::new(Ordinary(vec![0; len])), false),
        }
    }
}

/// A buffer of this process alone, which counts as what any other sample lies in.
struct Ordinary(Vec<u8>);

impl Loan for Ordinary {
    fn octets(&self) -> &[u8] {
        &self.0
    }

    fn octets_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }

    fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    fn share(mut self: Box<Self>) -> SharedBytes {
        // The history may keep it for long.
        self.0.shrink_to_fit();
        SharedBytes::from(self.0)
    }
}
