//! How files begin: what they are, by which rules, and under which name they were made.

use std::io;
use std::sync::atomic::Ordering;

use crate::folder::Name;
use crate::segment::Map;

/// All files begin with this, and with the number of the layout.
pub(crate) const MAGIC: u32 = u32::from_be_bytes(*b"DnLn");
/// Counted up when processes of before could not make sense of the files, or would read them wrongly: 3 since chunks are
/// lent and files say their names.
pub(crate) const LAYOUT: u32 = 3;

/// Words of the head of a file.
pub(crate) mod place {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const LAYOUT: usize = 4;
    /// Octets of a ring.
    pub(crate) const CAPACITY: usize = 8;
    /// Of a pool: how many slots, and octets of each.
    pub(crate) const SLOTS: usize = 8;
    pub(crate) const SLOT: usize = 12;
    /// Seven words: under which name the file was made.
    pub(crate) const NAME: usize = 16;
    /// Of an inbox.
    pub(crate) const BELL: usize = 64;
    pub(crate) const SLEEPING: usize = 128;
    /// Counted up with each new ring.
    pub(crate) const GENERATION: usize = 192;
    /// Of a ring; of a tally, what was given back altogether.
    pub(crate) const TAIL: usize = 64;
    pub(crate) const HEAD: usize = 128;
    /// 1 while the producer waits for room.
    pub(crate) const WAITING: usize = 192;
    /// Not 0 once the consumer has given the ring up. It writes this into the file, which it may have lost from memory.
    pub(crate) const REFUSED: usize = 256;
}

/// Ends the making of a file: from now on others may use it.
pub(crate) fn sign(map: &Map, name: Name) {
    for (index, word) in name.words().into_iter().enumerate() {
        map.word(place::NAME + 4 * index).store(word, Ordering::Relaxed);
    }
    map.word(place::LAYOUT).store(LAYOUT, Ordering::Relaxed);
    map.word(place::MAGIC).store(MAGIC, Ordering::Release);
}

/// Whether this is a file of ours that was made under this name.
///
/// # Errors
/// What it is instead.
pub(crate) fn check(map: &Map, name: Name) -> io::Result<()> {
    if map.word(place::MAGIC).load(Ordering::Acquire) != MAGIC {
        return Err(io::Error::other("it is no file of Dunlin, or not made yet"));
    }
    let layout = map.word(place::LAYOUT).load(Ordering::Relaxed);
    if layout != LAYOUT {
        let text = format!("it is of another version: layout {layout} instead of {LAYOUT}");
        return Err(io::Error::other(text));
    }
    let word = |index: usize| map.word(place::NAME + 4 * index).load(Ordering::Relaxed);
    if name.words().into_iter().enumerate().any(|(index, expected)| word(index) != expected) {
        return Err(io::Error::other("it was made under another name"));
    }
    Ok(())
}
