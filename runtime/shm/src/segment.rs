//! Files in memory: made, locked, mapped.
//!
//! The owner of a file holds a lock on it that the system gives back when the owner is gone, however it went. Whoever gets
//! the lock of another's file knows that it has no owner any more.
#![expect(unsafe_code, reason = "memory that another process writes at any time cannot be a Rust reference")]

use std::fs::{File, Metadata};
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use dunlin_udp::keep_from_children;
use rustix::fs::{CWD, FallocateFlags, FlockOperation, Mode, OFlags};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::config::MAX_RING;
use crate::sigbus::{self, Watch};

/// Octets before those of a ring: one page, with each word on a cache line of its own.
pub(crate) const HEAD: usize = 4096;

/// A file mapped into memory for reading and writing.
#[derive(Debug)]
pub(crate) struct Map {
    start: NonNull<u8>,
    len: usize,
    /// What is there is zeros of this process alone once the file was cut short and a page of it used that it has not any more, and
    /// in a child of `fork`.
    watch: Watch,
}

// SAFETY: the memory is used through atomics and through copies that stay inside, and it is there until the value is dropped.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    fn new(file: &File, len: usize, protection: ProtFlags) -> io::Result<Self> {
        sigbus::keep_from_children();
        keep_from_children(file.as_fd());
        // SAFETY: a new mapping at a place that the kernel chooses; nothing else in this process is there.
        let start = unsafe { mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED, file, 0)? };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        match Watch::new(start.as_ptr() as usize, len) {
            Some(watch) => Ok(Self { start, len, watch }),
            None => {
                // SAFETY: the mapping that was just made, of which nobody else knows.
                let _ = unsafe { munmap(start.as_ptr().cast(), len) };
                Err(other("this process maps too many files"))
            }
        }
    }

    /// Maps the file again where it was lost. It is one for reading and writing.
    fn map_again(&self, file: &File) -> io::Result<()> {
        self.watch.is_back();
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::FIXED);
        // SAFETY: in the place of a mapping of the same length, which lives as long as self. It is used through atomics, which take
        // any octets at any time.
        let mapped = unsafe { mmap(self.start.as_ptr().cast(), self.len, protection, flags, file, 0) };
        mapped.inspect_err(|_| self.watch.stays_lost())?;
        Ok(())
    }

    /// True once it does not show the file any more, because somebody has cut that short: it is zeros then, and what is written
    /// there reaches nobody. What was read before this says no was in the file.
    #[inline]
    pub(crate) fn is_lost(&self) -> bool {
        self.watch.is_lost()
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// True if the file was not cut short before this was asked, and so what was read before was in it. A file loses its last page
    /// first: that is looked at, because of the page in which it ends now only a part is zeros, without a fault.
    #[inline]
    pub(crate) fn is_whole(&self) -> bool {
        fence(Ordering::Acquire);
        // SAFETY: inside the mapping, which lives as long as self; the octet is of no interest.
        unsafe { self.start.as_ptr().add(self.len - 1).read_volatile() };
        !self.is_lost()
    }

    /// One word.
    ///
    /// # Panics
    /// If it does not lie inside, or not at a multiple of four: places are constants of this crate.
    pub(crate) fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at + 4 <= self.len, "a word inside");
        // SAFETY: inside the mapping, which lives as long as self; aligned, as the mapping begins at a page. Other processes
        // write the word too, with atomic accesses if they are honest; an atomic of any value is valid.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    /// Octets that nobody writes while the borrow lasts: a chunk, whose writer counts who uses it.
    ///
    /// # Panics
    /// If they do not lie inside: callers have checked.
    pub(crate) fn octets(&self, at: usize, len: usize) -> &[u8] {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.len), "octets inside");
        // SAFETY: inside the mapping, which lives as long as self. Only processes of the same user can write there
        // (`is_private`), and the one that made it uses a slot again only when all that were told of the chunk have given it
        // back or are gone (`lend`); whoever breaks that could as well write into this process by other means. Any octets are
        // valid.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(at), len) }
    }

    /// Octets for writing.
    ///
    /// # Safety
    /// Nobody else uses them while the borrow lasts, and the mapping is one for writing.
    ///
    /// # Panics
    /// If they do not lie inside: callers have checked.
    #[expect(clippy::mut_from_ref, reason = "slots of one mapping are used one by one")]
    pub(crate) unsafe fn octets_mut(&self, at: usize, len: usize) -> &mut [u8] {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.len), "octets inside");
        // SAFETY: inside the mapping, which lives as long as self; exclusive as the caller says.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(at), len) }
    }

    /// Copies octets there.
    ///
    /// # Panics
    /// If they do not lie inside: callers have checked.
    pub(crate) fn write(&self, at: usize, octets: &[u8]) {
        assert!(at.checked_add(octets.len()).is_some_and(|end| end <= self.len), "octets inside");
        // SAFETY: inside the mapping; no reference to that memory exists, so the two do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(octets.as_ptr(), self.start.as_ptr().add(at), octets.len()) };
    }

    /// Copies octets from there. If the other side writes them at the same time the copy has any octets, as any sender
    /// can send any octets; only the copy is looked at.
    ///
    /// # Panics
    /// If they do not lie inside: callers have checked.
    pub(crate) fn read(&self, at: usize, octets: &mut [u8]) {
        assert!(at.checked_add(octets.len()).is_some_and(|end| end <= self.len), "octets inside");
        // SAFETY: inside the mapping; the target is exclusive memory of this process.
        unsafe {
            std::ptr::copy_nonoverlapping(self.start.as_ptr().add(at), octets.as_mut_ptr(), octets.len());
        }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // Before the place may be another's.
        self.watch.leave();
        // SAFETY: the range is that of the mapping, and no borrow of it outlives self. A failure would leave it mapped.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// A file that this process may look into, not more.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) map: Map,
    file: File,
}

fn other(text: &str) -> io::Error {
    io::Error::other(text)
}

/// Opens a file that somebody has made, neither following links nor waiting for anything.
fn open(path: &Path, access: OFlags) -> io::Result<File> {
    let flags = access | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::openat(CWD, path, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok(file) } else { Err(other("not a file")) }
}

impl Segment {
    /// Makes a file of `len` octets that nobody has, with memory set aside for all of it, and locks it. It has the permission
    /// bits `mode`.
    ///
    /// # Errors
    /// Of the system: no permission, no room.
    pub(crate) fn create(path: &Path, len: usize, mode: u32) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(CWD, path, flags, Mode::RUSR | Mode::WUSR)?);
        Self::set_up(path, file, len, mode)
    }

    fn set_up(path: &Path, file: File, len: usize, mode: u32) -> io::Result<Self> {
        // Who sweeps the folder may have opened it before this: then the file is theirs, and they remove it.
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let filled = (|| {
            // Without this a full file system would end the process at the first touch.
            rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, len as u64)?;
            if mode & GROUP != 0 {
                // A folder can give the files in it a group of its own, which whoever made the folder has chosen.
                rustix::fs::fchown(&file, None, Some(rustix::process::getegid()))?;
            }
            rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
            if file.metadata()?.nlink() == 0 {
                // Somebody who swept the folder was between making and locking; the name may be another's by now.
                return Err(other("removed while it was made"));
            }
            Map::new(&file, len, ProtFlags::READ | ProtFlags::WRITE)
        })();
        match filled {
            Ok(map) => Ok(Self { map, file }),
            Err(error) => {
                remove_same(path, &file);
                Err(error)
            }
        }
    }

    /// Maps a file that somebody else made: that `trusted` accepts, and at least of `least` octets.
    ///
    /// # Errors
    /// Of the system, and if it is not such a file.
    pub(crate) fn attach(path: &Path, least: usize, trusted: impl Fn(&Metadata) -> bool) -> io::Result<Self> {
        let file = open(path, OFlags::RDWR)?;
        let metadata = file.metadata()?;
        if !trusted(&metadata) {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "who may write to it is not trusted",
            ));
        }
        let len = usize::try_from(metadata.len()).map_err(|_| other("it is too large"))?;
        if len < least.max(HEAD) || len > HEAD + MAX_RING as usize {
            return Err(other("it has a strange size"));
        }
        Ok(Self { map: Map::new(&file, len, ProtFlags::READ | ProtFlags::WRITE)?, file })
    }

    /// Maps, for reading alone, a file that another process of the same user made and only that user may write to, of a
    /// length in `lengths`.
    ///
    /// # Errors
    /// Of the system, and if it is not such a file; `PermissionDenied` if it is not this user's alone.
    pub(crate) fn attach_to_read(path: &Path, lengths: RangeInclusive<usize>) -> io::Result<Self> {
        let file = open(path, OFlags::RDONLY)?;
        let metadata = file.metadata()?;
        let len = usize::try_from(metadata.len()).map_err(|_| other("it is too large"))?;
        if !is_private(&metadata) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "others may write to it"));
        }
        if !lengths.contains(&len) {
            return Err(other("it has a strange size"));
        }
        Ok(Self { map: Map::new(&file, len, ProtFlags::READ)?, file })
    }

    /// True if its owner is gone. Never call this for a file of one's own.
    pub(crate) fn is_abandoned(&self) -> bool {
        match rustix::fs::flock(&self.file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => {
                // The owner is gone for good: names are not used twice.
                let _ = rustix::fs::flock(&self.file, FlockOperation::Unlock);
                true
            }
            Err(_) => false,
        }
    }

    /// Its permission bits.
    pub(crate) fn mode(&self) -> io::Result<u32> {
        Ok(self.file.metadata()?.mode() & 0o777)
    }

    /// Whether only this user may write to it.
    pub(crate) fn is_private(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| is_private(&metadata))
    }

    /// True if somebody has cut the file short, whether or not that was noticed by using it.
    pub(crate) fn is_cut(&self) -> bool {
        self.map.is_lost() || self.file.metadata().is_ok_and(|file| file.len() < self.map.len() as u64)
    }

    /// Gives a file of one's own the length it had, and maps it again. What was cut off is zeros.
    ///
    /// # Errors
    /// Of the system: no room.
    pub(crate) fn restore(&self) -> io::Result<()> {
        rustix::fs::fallocate(&self.file, FallocateFlags::empty(), 0, self.map.len() as u64)?;
        self.map.map_again(&self.file)
    }

    /// Writes a word into the file, whatever is mapped.
    pub(crate) fn put_word(&self, at: usize, word: u32) -> io::Result<()> {
        self.file.write_all_at(&word.to_ne_bytes(), at as u64)
    }

    /// Takes it out of the folder, if it is what has this name.
    pub(crate) fn remove(&self, path: &Path) {
        remove_same(path, &self.file);
    }

    /// True if somebody has taken it out of the folder.
    pub(crate) fn is_removed(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.nlink() == 0)
    }
}

/// Permission bits of the group.
const GROUP: u32 = 0o070;
/// Permission bits with which the group or everybody may write. An access control list shows in those of the group.
const OTHERS_WRITE: u32 = 0o022;

/// Whether only the user of this process may write to a file, and so cut it short or change what is read in place.
pub(crate) fn is_private(file: &Metadata) -> bool {
    is_private_to(rustix::process::geteuid().as_raw(), file.uid(), file.mode())
}

/// The same, of a process of the user `user`.
pub(crate) fn is_private_to(user: u32, owner: u32, mode: u32) -> bool {
    owner == user && mode & OTHERS_WRITE == 0
}

/// Removes a file under this name if it is the one that is open; whether it did. Its lock must be held, so that nobody
/// else who keeps to the rules takes it out in between.
fn remove_same(path: &Path, file: &File) -> bool {
    let id = |file: Metadata| (file.dev(), file.ino());
    let (Ok(opened), Ok(found)) = (file.metadata(), std::fs::symlink_metadata(path)) else { return false };
    id(opened) == id(found) && std::fs::remove_file(path).is_ok()
}

/// Removes a file whose owner is gone; false if it has one, or cannot be removed.
pub(crate) fn remove_if_abandoned(path: &Path) -> bool {
    let Ok(file) = open(path, OFlags::RDWR) else { return false };
    if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return false;
    }
    // The lock is given back when the file closes, behind this.
    remove_same(path, &file)
}

#[cfg(test)]
mod tests;
