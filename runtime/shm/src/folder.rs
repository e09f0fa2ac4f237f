//! The folder of the files: who shares it, what is in it.

use std::fs::{DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags};

use crate::segment;

/// Most entries looked at: a folder with more is not ours alone.
const MAX_ENTRIES: usize = 65_536;

/// How long a start takes to remove what others have left: somebody may have filled the folder.
const LONGEST_SWEEP: Duration = Duration::from_millis(100);

/// The name of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Name {
    /// What a receiver made.
    Inbox(u64),
    /// What a sender made: whose inbox it belongs to, the inbox of the sender, and which of its rings it is. A name is used
    /// once: who takes the old one out of the folder must not take the new one.
    Ring {
        /// Of the receiver.
        to: u64,
        /// Of the sender.
        from: u64,
        /// Counts the rings of the sender's process.
        number: u64,
    },
    /// What a writer lends: the inbox of its process, and which of the pools of that it is.
    Pool {
        /// Of the process that lends.
        owner: u64,
        /// Drawn by lot, so that nobody makes a file of that name before.
        number: u64,
    },
    /// What a reader has given back of a pool.
    Tally {
        /// The inbox of its process.
        reader: u64,
        /// Of the process that lends.
        owner: u64,
        /// Which pool.
        number: u64,
    },
}

impl Name {
    /// What the file says of its own name: who can move files in the folder cannot pass one off for another.
    pub(crate) fn words(self) -> [u32; 7] {
        let (kind, ids) = match self {
            Self::Inbox(own) => (1, [own, 0, 0]),
            Self::Ring { to, from, number } => (2, [to, from, number]),
            Self::Pool { owner, number } => (3, [owner, number, 0]),
            Self::Tally { reader, owner, number } => (4, [reader, owner, number]),
        };
        let [a, b, c] = ids.map(|id| [id as u32, (id >> 32) as u32]);
        [kind, a[0], a[1], b[0], b[1], c[0], c[1]]
    }

    fn parse(text: &str) -> Option<Self> {
        let id =
            |text: &str| Some(text).filter(|text| text.len() == 16).map(|t| u64::from_str_radix(t, 16).ok());
        let (kind, ids) = text.split_once('-')?;
        let mut ids = ids.split('-').map(id);
        let mut next = || ids.next()??;
        let name = match kind {
            "inbox" => Self::Inbox(next()?),
            "ring" => Self::Ring { to: next()?, from: next()?, number: next()? },
            "pool" => Self::Pool { owner: next()?, number: next()? },
            "tally" => Self::Tally { reader: next()?, owner: next()?, number: next()? },
            _ => return None,
        };
        ids.next().is_none().then_some(name)
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Inbox(own) => write!(f, "inbox-{own:016x}"),
            Self::Ring { to, from, number } => write!(f, "ring-{to:016x}-{from:016x}-{number:016x}"),
            Self::Pool { owner, number } => write!(f, "pool-{owner:016x}-{number:016x}"),
            Self::Tally { reader, owner, number } => {
                write!(f, "tally-{reader:016x}-{owner:016x}-{number:016x}")
            }
        }
    }
}

/// A folder.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// What tells this folder of this host from all others: four octets of each.
    pub(crate) place: [u8; 8],
    /// Files that somebody has cut short while they were in use.
    cut: Arc<AtomicU64>,
}

fn fnv(octets: impl IntoIterator<Item = u8>) -> u32 {
    let hash = octets.into_iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, octet| {
        (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash ^ hash >> 32) as u32
}

/// One number for each start of a host's kernel, the same in all its containers.
fn host() -> io::Result<u32> {
    Ok(fnv(std::fs::read("/proc/sys/kernel/random/boot_id")?))
}

impl Folder {
    /// Octets that files in it may still take.
    pub(crate) fn free(&self) -> io::Result<u64> {
        let all = rustix::fs::statvfs(&self.path)?;
        Ok(all.f_bavail.saturating_mul(all.f_frsize))
    }

    /// Opens the folder, and makes it if it is not there: for all users, who cannot remove each other's files.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        match DirBuilder::new().mode(0o700).create(path) {
            // The bits that the process masks out are wanted here.
            Ok(()) => std::fs::set_permissions(path, Permissions::from_mode(0o1777))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let metadata = File::from(rustix::fs::openat(CWD, path, flags, Mode::empty())?).metadata()?;
        let folder = fnv(metadata.dev().to_be_bytes().into_iter().chain(metadata.ino().to_be_bytes()));
        let mut place = [0; 8];
        place[..4].copy_from_slice(&host()?.to_be_bytes());
        place[4..].copy_from_slice(&folder.to_be_bytes());
        Ok(Self { path: path.to_owned(), place, cut: Arc::default() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self, name: Name) -> PathBuf {
        self.path.join(name.to_string())
    }

    /// Notes that a file in use was cut short.
    pub(crate) fn count_cut(&self) {
        self.cut.fetch_add(1, Ordering::Relaxed);
    }

    /// How many were.
    pub(crate) fn cut(&self) -> u64 {
        self.cut.load(Ordering::Relaxed)
    }

    /// The files that have names of ours.
    pub(crate) fn names(&self) -> Vec<Name> {
        let Ok(entries) = std::fs::read_dir(&self.path) else { return Vec::new() };
        let names =
            entries.take(MAX_ENTRIES).flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| Name::parse(&name)).collect()
    }

    /// Removes what is left of processes that ended without doing so; how many files that were. A ring that has a
    /// receiver is left to that, which may want what is in it. What it has no time for is left to the next process.
    pub(crate) fn sweep(&self) -> usize {
        self.sweep_within(LONGEST_SWEEP)
    }

    fn sweep_within(&self, longest: Duration) -> usize {
        let begin = Instant::now();
        let in_time = |_: &&Name| begin.elapsed() < longest;
        let (inboxes, rings): (Vec<_>, Vec<_>) =
            self.names().into_iter().partition(|name| matches!(name, Name::Inbox(_)));
        let dead = inboxes.iter().take_while(in_time).filter(|name| self.remove_if_abandoned(**name)).count();
        let orphans = rings.iter().take_while(in_time).filter(|name| match name {
            Name::Ring { to, .. } => {
                !self.file(Name::Inbox(*to)).exists() && self.remove_if_abandoned(**name)
            }
            Name::Inbox(_) => false,
            Name::Pool { .. } | Name::Tally { .. } => self.remove_if_abandoned(**name),
        });
        dead + orphans.count()
    }

    /// Removes a file whose owner is gone; whether it did.
    pub(crate) fn remove_if_abandoned(&self, name: Name) -> bool {
        segment::remove_if_abandoned(&self.file(name))
    }

    pub(crate) fn remove(&self, name: Name) {
        // Somebody else may have found it first.
        let _ = std::fs::remove_file(self.file(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let pool = Name::Pool { owner: 3, number: 4 };
        let tally = Name::Tally { reader: 5, owner: 3, number: 4 };
        for name in
            [Name::Inbox(0), Name::Inbox(u64::MAX), Name::Ring { to: 1, from: 0xABC, number: 2 }, pool, tally]
        {
            assert_eq!(Name::parse(&name.to_string()), Some(name));
        }
        for text in [
            "inbox-",
            "inbox-1",
            "inbox-00000000000000000",
            "ring-0000000000000001",
            "x",
            "ring--",
            "inbox-zzzzzzzzzzzzzzzz",
        ] {
            assert_eq!(Name::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_folder_is_the_same_by_any_path_and_differs_from_others() {
        let [one, two] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let place = |path: &Path| Folder::open(path).unwrap().place;
        let again = one.path().join("..").join(one.path().file_name().unwrap());
        assert_eq!(place(one.path()), place(&again));
        assert_ne!(place(one.path()), place(two.path()));
        assert_eq!(place(one.path())[..4], place(two.path())[..4], "one host");
    }

    #[test]
    fn the_sweep_of_stale_files_is_bounded_in_time() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        (0..20).for_each(|inbox| std::fs::write(folder.file(Name::Inbox(inbox)), []).unwrap());
        assert_eq!(folder.sweep_within(Duration::ZERO), 0);
        assert_eq!(folder.sweep_within(Duration::MAX), 20);
    }

    #[test]
    fn a_new_folder_is_for_all_users_and_a_link_is_refused() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("dunlin");
        Folder::open(&inner).unwrap();
        assert_eq!(std::fs::metadata(&inner).unwrap().mode() & 0o7777, 0o1777);
        let link = outer.path().join("link");
        std::os::unix::fs::symlink(&inner, &link).unwrap();
        assert!(Folder::open(&link).is_err());
        assert!(Folder::open(&outer.path().join("no").join("parent")).is_err());
    }
}
