//! Writer and reader histories: instances and their states, HISTORY and RESOURCE_LIMITS, ownership, order and timing
//! (DDS 1.4 §2.2.2.5 and §2.2.3; RTPS 2.5 §8.2.3 HistoryCache).
//!
//! [`WriterCache`] holds what a writer has to be able to send again, [`ReaderCache`] what an application has not yet
//! taken. Both are plain `&mut self` values; time is an argument, and `next_deadline` says when `on_timer` has work.
//! Once warm, adding, inserting, reading and taking samples of known instances allocate nothing.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::panic
    )
)]

extern crate alloc;

mod handle;
mod limits;
mod list;
mod origins;
mod presentation;
mod quota;
mod reader;
mod slab;
mod timers;
mod writer;

pub use handle::{KEYLESS_INSTANCE, instance_handle, key_hash};
pub use origins::Origins;
pub use presentation::{Place, Presentation, Release, Source, Stream, Unit};
pub use quota::{OctetBudget, Quota};
pub use reader::{
    CachedSample, FilterReason, Insert, InstanceSelect, InstanceState, InstanceStateMask, ReaderCache,
    ReaderCacheConfig, ReaderTimerReport, RejectReason, Room, SampleData, SampleInfo, SampleState,
    SampleStateMask, Selection, UnknownInstance, ViewState, ViewStateMask, WriterInfo,
};
pub use timers::DeadlineMissed;
pub use writer::{AddError, NewChange, WriterCache, WriterCacheConfig};
