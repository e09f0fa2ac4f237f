//! Threads of which exactly one runs: each has its turn from when the simulation hands it over until it waits.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex};
use std::task::Waker;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::mutex::lock;
use crate::sim::failure::{Error, panic_text};

/// Real time for one turn; a thread that takes longer waits for something that is not simulated.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a thread runs.
pub(crate) type Program = Box<dyn FnOnce() -> Result<(), Error> + Send>;

/// How a thread or task ended.
pub(crate) enum Ending {
    Done,
    Failed(Error),
    Panicked(String),
    Killed,
}

/// Why a thread gave its turn back.
pub(crate) enum Pause {
    Waits,
    Ended(Ending),
    /// It did not.
    Stuck,
}

enum TurnOwner {
    Simulation,
    Thread,
    Nobody(Option<Ending>),
}

struct State {
    owner: TurnOwner,
    killed: bool,
}

/// The turn of one thread.
struct Turn {
    state: Mutex<State>,
    changed: Condvar,
}

/// What unwinds a thread whose node has crashed.
struct Killed;

impl Turn {
    fn give(&self, owner: TurnOwner) {
        lock(&self.state).owner = owner;
        self.changed.notify_all();
    }

    /// Waits for the turn; false if the thread is to end.
    fn wait(&self) -> bool {
        let mut state = lock(&self.state);
        while !matches!(state.owner, TurnOwner::Thread) {
            state = self.changed.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        !state.killed
    }

    fn is_killed(&self) -> bool {
        lock(&self.state).killed
    }
}

thread_local! {
    static PRESENT: RefCell<Option<(Arc<Turn>, Waker)>> = const { RefCell::new(None) };
}

/// The waker of the present thread, if the simulation runs it and it is to go on.
pub(crate) fn waker_of_thread() -> Option<Waker> {
    let (turn, waker) = PRESENT.with(|present| present.borrow().clone())?;
    if !turn.is_killed() {
        return Some(waker);
    }
    end_unless_ending();
    None
}

/// Gives the turn back and waits for the next one. False if the thread is to end and does so already; the first time
/// it is to end, this unwinds it.
pub(crate) fn hand_back() -> bool {
    let Some((turn, _)) = PRESENT.with(|present| present.borrow().clone()) else { return false };
    turn.give(TurnOwner::Simulation);
    if turn.wait() {
        return true;
    }
    end_unless_ending();
    false
}

fn end_unless_ending() {
    if !std::thread::panicking() {
        resume_unwind(Box::new(Killed));
    }
}

/// A thread, and the right to give it its turn.
pub(crate) struct Baton {
    turn: Arc<Turn>,
    thread: JoinHandle<()>,
}

impl Baton {
    /// Makes a thread that waits for its first turn.
    pub(crate) fn start(name: &str, waker: Waker, program: Program) -> std::io::Result<Self> {
        let state = Mutex::new(State { owner: TurnOwner::Simulation, killed: false });
        let turn = Arc::new(Turn { state, changed: Condvar::new() });
        let own = Arc::clone(&turn);
        let thread = Builder::new().name(name.into()).spawn(move || {
            let ending = if own.wait() { run(&own, waker, program) } else { Ending::Killed };
            own.give(TurnOwner::Nobody(Some(ending)));
        })?;
        Ok(Self { turn, thread })
    }

    /// Gives the thread its turn, until it waits or ends.
    pub(crate) fn resume(&self) -> Pause {
        self.resume_within(PATIENCE)
    }

    fn resume_within(&self, patience: Duration) -> Pause {
        let mut state = lock(&self.turn.state);
        // A thread that was stuck may have ended meanwhile.
        if !matches!(state.owner, TurnOwner::Nobody(_)) {
            state.owner = TurnOwner::Thread;
            self.turn.changed.notify_all();
        }
        let thread_runs = |state: &mut State| matches!(state.owner, TurnOwner::Thread);
        let waited = self.turn.changed.wait_timeout_while(state, patience, thread_runs);
        let (mut state, _) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        match &mut state.owner {
            TurnOwner::Thread => Pause::Stuck,
            TurnOwner::Simulation => Pause::Waits,
            TurnOwner::Nobody(ending) => Pause::Ended(ending.take().unwrap_or(Ending::Killed)),
        }
    }

    /// Ends the thread, which waits, by unwinding it.
    pub(crate) fn kill(self) -> Pause {
        lock(&self.turn.state).killed = true;
        loop {
            match self.resume() {
                // A destructor has waited: it is told that the time is over.
                Pause::Waits => {}
                Pause::Stuck => return Pause::Stuck,
                ended @ Pause::Ended(_) => {
                    self.join();
                    return ended;
                }
            }
        }
    }

    /// Waits for the rest of a thread that has ended.
    pub(crate) fn join(self) {
        // How it ended was told before.
        let _ = self.thread.join();
    }
}

fn run(turn: &Arc<Turn>, waker: Waker, program: Program) -> Ending {
    PRESENT.set(Some((Arc::clone(turn), waker)));
    let ended = catch_unwind(AssertUnwindSafe(program));
    PRESENT.set(None);
    ending(ended)
}

/// What a program returned, or threw.
pub(crate) fn ending(ended: Result<Result<(), Error>, Box<dyn Any + Send>>) -> Ending {
    match ended {
        Ok(Ok(())) => Ending::Done,
        Ok(Err(error)) => Ending::Failed(error),
        Err(cause) if cause.is::<Killed>() => Ending::Killed,
        Err(cause) => Ending::Panicked(panic_text(&*cause)),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use super::*;

    fn thread(program: impl FnOnce() -> Result<(), Error> + Send + 'static) -> Baton {
        Baton::start("test", Waker::noop().clone(), Box::new(program)).unwrap()
    }

    #[test]
    fn a_thread_runs_in_its_turns_only_and_tells_how_it_ended() {
        let steps = Arc::new(AtomicU32::new(0));
        let own = Arc::clone(&steps);
        let baton = thread(move || {
            own.fetch_add(1, SeqCst);
            assert!(hand_back());
            own.fetch_add(1, SeqCst);
            Err("enough".into())
        });
        assert_eq!(steps.load(SeqCst), 0);
        assert!(matches!(baton.resume(), Pause::Waits));
        assert_eq!(steps.load(SeqCst), 1);
        let Pause::Ended(Ending::Failed(error)) = baton.resume() else { panic!("it ends") };
        assert_eq!((error.to_string().as_str(), steps.load(SeqCst)), ("enough", 2));
        baton.join();
        let Pause::Ended(Ending::Panicked(text)) = thread(|| panic!("oh")).resume() else {
            panic!("it ends")
        };
        assert_eq!(text, "oh");
    }

    #[test]
    fn a_thread_that_waits_for_the_real_world_is_stuck() {
        let (release, released) = std::sync::mpsc::channel();
        let baton = thread(move || Ok(released.recv()?));
        assert!(matches!(baton.resume_within(Duration::from_millis(1)), Pause::Stuck));
        release.send(()).unwrap();
        // It ends before anybody looks.
        while !baton.thread.is_finished() {
            std::thread::yield_now();
        }
        assert!(matches!(baton.resume(), Pause::Ended(Ending::Done)));
        baton.join();
    }

    #[test]
    fn a_killed_thread_unwinds_and_its_destructors_cannot_wait() {
        struct Waits(Arc<AtomicU32>);
        impl Drop for Waits {
            fn drop(&mut self) {
                assert!(waker_of_thread().is_none());
                assert!(!hand_back());
                self.0.fetch_add(1, SeqCst);
            }
        }
        let dropped = Arc::new(AtomicU32::new(0));
        let own = Waits(Arc::clone(&dropped));
        let baton = thread(move || {
            let _own = own;
            hand_back();
            unreachable!("it is killed while it waits");
        });
        assert!(matches!(baton.resume(), Pause::Waits));
        assert!(matches!(baton.kill(), Pause::Ended(Ending::Killed)));
        assert_eq!(dropped.load(SeqCst), 1);
        // One that never had its turn.
        assert!(matches!(thread(|| panic!("never")).kill(), Pause::Ended(Ending::Killed)));
    }
}
