//! What each thread keeps for itself: outputs for reuse, datagrams to itself, and whether it receives.

use crate::member::Member;
use dunlin_buf::SharedBytes;
use dunlin_engine::Output;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;

thread_local! {
    static RECEIVES: Cell<bool> = const { Cell::new(false) };
    static OUTPUTS: RefCell<Vec<Output>> = const { RefCell::new(Vec::new()) };
    static LOCAL: RefCell<VecDeque<(Arc<Member>, SharedBytes)>> = const { RefCell::new(VecDeque::new()) };
    static DRAINING: Cell<bool> = const { Cell::new(false) };
}

/// True on the library's own threads, on which a listener runs. They must not wait for what only they
/// can bring about: a write that would block fails there at once.
#[must_use]
pub fn on_receive_thread() -> bool {
    RECEIVES.get()
}

pub(crate) fn mark_receive_thread() {
    RECEIVES.set(true);
}

/// An empty output; give it back with [`put_output`]. Nested calls each get their own.
pub(crate) fn take_output() -> Output {
    OUTPUTS.with_borrow_mut(Vec::pop).unwrap_or_default()
}

pub(crate) fn put_output(mut output: Output) {
    output.clear();
    OUTPUTS.with_borrow_mut(|outputs| outputs.push(output));
}

/// Queues a datagram that a participant sent to itself.
pub(crate) fn queue_local(member: &Arc<Member>, packet: SharedBytes) {
    LOCAL.with_borrow_mut(|queue| queue.push_back((Arc::clone(member), packet)));
}

/// Hands the queued datagrams to `deliver`, in the outermost call only: what a listener causes while
/// one is delivered waits its turn, so that a ping-pong inside one participant cannot recurse.
pub(crate) fn drain_local(mut deliver: impl FnMut(&Arc<Member>, &SharedBytes)) {
    if DRAINING.get() || LOCAL.with_borrow(VecDeque::is_empty) {
        return;
    }
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            DRAINING.set(false);
        }
    }
    DRAINING.set(true);
    let _reset = Reset;
    while let Some((member, packet)) = LOCAL.with_borrow_mut(VecDeque::pop_front) {
        deliver(&member, &packet);
    }
}
