//! Bytes in memory of another kind than buffers of this process.

use core::any::Any;

/// Memory that is given back when the value is dropped: a chunk that several processes map, for example.
pub trait Memory: Any + Send + Sync {
    /// The bytes, the same each time.
    fn octets(&self) -> &[u8];

    /// Whether it lies where other processes can have it without a copy. A loan may also be memory of this process alone.
    fn is_shared(&self) -> bool {
        false
    }

    /// Whether the bytes that were read before this was asked are those that were put there. Memory in a file that somebody has cut
    /// short has others.
    fn is_intact(&self) -> bool {
        true
    }
}
