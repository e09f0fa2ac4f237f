//! Recorder and player of DDS: topics of any vendor as MCAP files, with what makes a replay equal to the original.
//!
//! A [`Recorder`] records what [`Options`] ask for until it is [finished](Recorder::finish). [`file`] reads, repairs and cuts
//! recordings. `dunlin record` and `dunlin replay` are programs around it; `docs/recorder.md` says what is kept and what is not.
//!
//! ```no_run
//! use dunlin_recorder::{StorageOptions, Options, Recorder};
//!
//! let recorder = Recorder::start(Options::new(0, StorageOptions::in_file("run.mcap".into())))?;
//! std::thread::sleep(std::time::Duration::from_secs(10));
//! let counts = recorder.finish();
//! assert!(counts.is_complete(), "{counts:?}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]

pub mod event;
pub mod file;
mod group;
mod latest;
mod ledger;
mod medium;
mod names;
mod player;
mod qos_text;
mod queue;
mod recorder;
mod source;
mod store;
pub mod text;
mod type_text;

pub use group::WhenFull;
pub use latest::Latest;
pub use ledger::{Counts, TopicCounts};
pub use medium::{Medium, Open, numbered, open_files};
pub use names::Names;
pub use player::{Control, Identity, PlayError, Played, Player, PlayerOptions, SourceTime};
pub use recorder::{Options, Recorder, RecorderError};
pub use source::Source;
pub use store::{Kept, StorageOptions};
pub use type_text::from_text as type_of_schema;
