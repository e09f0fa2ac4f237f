//! Wait-sets and tasks beside the change that they wait for, in every interleaving; a wake-up that is lost is a
//! deadlock, which the checker reports.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use dunlin_core::{Duration, MonoTime};
use loom::sync::Mutex;
use loom::thread;

use crate::condition::{Condition, GuardCondition, WaitSet};
use crate::signal::{Registration, Signal, WaitCore};

/// Something that changes, behind a lock of its own as a cache is.
#[derive(Default)]
struct Entity {
    changed: Mutex<bool>,
    signal: Arc<Signal>,
}

impl Entity {
    fn change(&self) {
        *self.changed.lock().expect("no poison") = true;
        self.signal.raise();
    }

    fn has_changed(&self) -> bool {
        *self.changed.lock().expect("no poison")
    }

    fn condition(self: &Arc<Self>) -> Condition {
        let entity = Arc::clone(self);
        Condition::new(Arc::clone(&self.signal), move || entity.has_changed())
    }
}

#[test]
fn a_wait_set_wakes_for_either_of_two_entities() {
    loom::model(|| {
        let (one, other) = (Arc::new(Entity::default()), Arc::new(Entity::default()));
        let set = WaitSet::new();
        set.attach_condition(&one.condition());
        set.attach_condition(&other.condition());
        let thread = thread::spawn(move || other.change());
        assert_eq!(set.wait(Duration::INFINITE).map(|active| active.len()), Ok(1));
        thread.join().expect("no panic");
        drop(one);
    });
}

#[test]
fn a_waiting_thread_notices_what_is_attached_meanwhile() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    builder.check(|| {
        let entity = Arc::new(Entity::default());
        let set = Arc::new(WaitSet::new());
        let waiter = {
            let set = Arc::clone(&set);
            thread::spawn(move || set.wait(Duration::INFINITE).map(|active| active.len()))
        };
        let changer = {
            let entity = Arc::clone(&entity);
            thread::spawn(move || entity.change())
        };
        set.attach_condition(&entity.condition());
        assert_eq!(waiter.join().expect("no panic"), Ok(1));
        changer.join().expect("no panic");
    });
}

#[test]
fn a_guard_condition_wakes_and_detaching_beside_it_does_no_harm() {
    loom::model(|| {
        let (guard, other) = (GuardCondition::new(), Arc::new(Entity::default()));
        let set = WaitSet::new();
        let condition = other.condition();
        set.attach_condition(guard.condition());
        set.attach_condition(&condition);
        let thread = {
            let guard = guard.clone();
            thread::spawn(move || {
                other.signal.raise();
                guard.set_trigger_value(true);
            })
        };
        assert_eq!(set.detach_condition(&condition), Ok(()));
        assert_eq!(set.wait(Duration::INFINITE), Ok(vec![guard.condition().clone()]));
        thread.join().expect("no panic");
    });
}

/// An executor of one task.
#[derive(Default)]
struct Executor(WaitCore);

impl Wake for Executor {
    fn wake(self: Arc<Self>) {
        self.0.wake();
    }
}

/// Polls as a stream of samples does: look, register, look again.
fn poll(entity: &Entity, place: &mut Registration, waker: &Waker) -> bool {
    if entity.has_changed() {
        return true;
    }
    place.register(waker);
    entity.has_changed()
}

fn run_task(entity: &Entity) {
    let executor = Arc::new(Executor::default());
    let waker = Waker::from(Arc::clone(&executor));
    let mut place = Registration::new(Arc::clone(&entity.signal));
    loop {
        let seen = executor.0.generation();
        if poll(entity, &mut place, &waker) {
            return;
        }
        assert!(executor.0.wait_past(seen, MonoTime::MAX));
    }
}

#[test]
fn a_task_is_woken_whenever_the_change_comes() {
    loom::model(|| {
        let entity = Arc::new(Entity::default());
        let changer = {
            let entity = Arc::clone(&entity);
            thread::spawn(move || entity.change())
        };
        run_task(&entity);
        changer.join().expect("no panic");
    });
}

#[test]
fn a_task_that_awaits_a_wait_set_is_woken() {
    loom::model(|| {
        let entity = Arc::new(Entity::default());
        let set = WaitSet::new();
        set.attach_condition(&entity.condition());
        let changer = {
            let entity = Arc::clone(&entity);
            thread::spawn(move || entity.change())
        };
        let executor = Arc::new(Executor::default());
        let waker = Waker::from(Arc::clone(&executor));
        let mut wait = pin!(set.wait_async());
        let active = loop {
            let seen = executor.0.generation();
            if let Poll::Ready(active) = wait.as_mut().poll(&mut Context::from_waker(&waker)) {
                break active;
            }
            assert!(executor.0.wait_past(seen, MonoTime::MAX));
        };
        assert_eq!(active.map(|active| active.len()), Ok(1));
        changer.join().expect("no panic");
    });
}

#[test]
fn a_raise_that_takes_the_waker_of_another_task_loses_none() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(2);
    builder.check(|| {
        let entity = Arc::new(Entity::default());
        let raiser = {
            let entity = Arc::clone(&entity);
            // A change of something else about the entity, then the one that is waited for.
            thread::spawn(move || {
                entity.signal.raise();
                entity.change();
            })
        };
        let task = {
            let entity = Arc::clone(&entity);
            thread::spawn(move || run_task(&entity))
        };
        run_task(&entity);
        task.join().expect("no panic");
        raiser.join().expect("no panic");
    });
}
