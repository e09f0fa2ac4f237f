//! Children of a side, made by `fork` whenever the attacker says so, in the middle of what its threads do.
#![expect(unsafe_code, reason = "fork")]

use std::io::stdin;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};

/// How long a child may take to end that is to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often is looked whether something has happened.
const LOOK: Duration = Duration::from_millis(20);

/// What a child does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Nothing, until the pair has ended: it outlives its parent.
    Idles,
    /// It ends as a program does whose `main` returns: everything is dropped, and what was to be done at the end is done.
    Exits,
    /// It uses the entities of its parent, and then ends at once.
    Uses,
}

impl Way {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Idles => "idles",
            Self::Exits => "exits",
            Self::Uses => "uses",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::Idles, Self::Exits, Self::Uses].into_iter().find(|way| way.word() == word.trim())
    }
}

/// This is a child, which ends without an error.
#[derive(Debug, thiserror::Error)]
#[error("a child of fork")]
pub struct IsChild;

/// The children of this process.
#[derive(Debug)]
pub struct Children {
    asked: Receiver<Way>,
    folder: PathBuf,
    running: Vec<Pid>,
    forks: u64,
}

impl Children {
    /// Makes one for each word that arrives on the standard input. Those that idle live as long as the folder.
    pub fn as_asked(folder: &Path) -> Self {
        let (asks, asked) = channel();
        std::thread::spawn(move || {
            stdin()
                .lines()
                .map_while(Result::ok)
                .filter_map(|line| Way::parse(&line))
                .try_for_each(|way| asks.send(way))
        });
        Self { asked, folder: folder.to_owned(), running: Vec::new(), forks: 0 }
    }

    /// Makes those that were asked for. `uses` does what a child does that uses entities, and says whether it was refused.
    ///
    /// # Errors
    /// [`IsChild`] in a child that exits.
    pub fn make(&mut self, uses: impl Fn() -> bool) -> Result<(), IsChild> {
        while let Ok(way) = self.asked.try_recv() {
            // SAFETY: that this is safe although there are other threads is what is tested: what a child calls is this library, the
            // allocator, which forks well, and what ends the process.
            match unsafe { fork() } {
                Ok(ForkResult::Child) => return self.child(way, uses),
                Ok(ForkResult::Parent { child }) => {
                    self.forks += 1;
                    if way != Way::Idles {
                        self.running.push(child);
                    }
                }
                // It is not counted.
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn child(&self, way: Way, uses: impl Fn() -> bool) -> Result<(), IsChild> {
        let code = match way {
            Way::Exits => return Err(IsChild),
            Way::Uses => i32::from(!uses()),
            Way::Idles => {
                while self.folder.exists() {
                    std::thread::park_timeout(LOOK);
                }
                0
            }
        };
        // SAFETY: the process ends here.
        unsafe { nix::libc::_exit(code) }
    }

    /// How many were made, and how many of those that were to end have not ended well.
    pub fn finish(self) -> (u64, u64) {
        let deadline = Instant::now() + PATIENCE;
        let failed = self.running.into_iter().filter(|child| !ends_well(*child, deadline)).count();
        (self.forks, failed as u64)
    }
}

fn ends_well(child: Pid, deadline: Instant) -> bool {
    loop {
        match waitpid(child, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) if Instant::now() < deadline => std::thread::park_timeout(LOOK),
            Ok(WaitStatus::StillAlive) => {
                _ = kill(child, Signal::SIGKILL);
                _ = waitpid(child, None);
                return false;
            }
            ended => return ended == Ok(WaitStatus::Exited(child, 0)),
        }
    }
}
