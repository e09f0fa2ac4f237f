//! Tests of whole systems in a deterministic simulator: the same code as in production, a network that loses, delays
//! and partitions, machines that crash, virtual time, and one seed that decides everything.
//!
//! Needs the feature `sim`, best as a development dependency: `dunlin = { version = "…", features = ["sim"] }`.
//!
//! ```
//! use dunlin::sim::{self, Context, Sim};
//! use dunlin::{DdsType, Duration, qos::*};
//!
//! #[derive(DdsType, Clone, Debug, Default)]
//! struct Count {
//!     n: u32,
//! }
//!
//! async fn counter(cx: Context) -> sim::Result {
//!     let participant = cx.participant(0)?;
//!     let topic = participant.create_topic::<Count>("Count", &TopicQos::default())?;
//!     let qos = DataWriterQos::default().reliable().keep_all().transient_local();
//!     let writer = participant.create_publisher(&PublisherQos::default())?.create_datawriter(&topic, &qos)?;
//!     for n in 0..100 {
//!         writer.write_async(&Count { n }).await?;
//!         cx.sleep(Duration::from_millis(10)).await;
//!     }
//!     cx.sleep(Duration::from_secs(60)).await;
//!     Ok(())
//! }
//!
//! async fn display(cx: Context) -> sim::Result<Vec<u32>> {
//!     let participant = cx.participant(0)?;
//!     let topic = participant.create_topic::<Count>("Count", &TopicQos::default())?;
//!     let qos = DataReaderQos::default().reliable().keep_all().transient_local();
//!     let reader = participant.create_subscriber(&SubscriberQos::default())?.create_datareader(&topic, &qos)?;
//!     let (mut stream, mut seen) = (reader.stream(), vec![]);
//!     while seen.len() < 100 {
//!         seen.extend(stream.next().await.and_then(|sample| sample.data).map(|count| count.n));
//!     }
//!     Ok(seen)
//! }
//!
//! Sim::builder().loss(0.2).seeds(0..10, |sim| {
//!     let (a, b) = (sim.node("a"), sim.node("b"));
//!     a.spawn(counter);
//!     let seen = b.spawn(display);
//!     assert_eq!(sim.join(&seen, Duration::from_secs(30))?, (0..100).collect::<Vec<_>>());
//!     Ok(())
//! });
//! ```
//!
//! # What runs where
//!
//! A [`Node`] is a machine with an address, a clock and one process. On it runs, with the types of production:
//!
//! * [`Node::spawn`]: async tasks, on the executor of the simulation;
//! * [`Node::spawn_thread`]: threads with blocking calls, of which exactly one runs at a time: it goes on until it
//!   waits;
//! * [`Node::run`]: something at once, such as making entities that the test keeps in hand;
//! * listeners, called by what arrives, as in production.
//!
//! Which participants a thread makes depends on where it works: [`DomainParticipant::new`](crate::DomainParticipant::new)
//! on a node joins the simulated network. So the code of a node need not know that it is simulated.
//!
//! Calls that wait do so in virtual time in threads, and only there. Where they would have to wait in a task they fail
//! with `InTask`, as the one thread that runs all tasks would wait for itself: await
//! [`DataWriter::write_async`](crate::DataWriter::write_async),
//! [`wait_for_acknowledgments_async`](crate::DataWriter::wait_for_acknowledgments_async),
//! [`wait_for_historical_data_async`](crate::DataReader::wait_for_historical_data_async),
//! [`WaitSet::wait_async`](crate::WaitSet::wait_async) or [`DataReader::stream`](crate::DataReader::stream) instead. In
//! a listener they fail as in production, and with `InSimulation` on the thread of the test.
//!
//! # Time and chance
//!
//! Time stands still while anything runs, then jumps to the next event: an hour of waiting costs nothing, and a program
//! that computes takes no virtual time. All timers of the library and all time-outs use it, and so does
//! [`Context::sleep`]; each node has its own wall clock, from which source timestamps come. Which of several tasks goes
//! on first, what the network loses and every name and jitter in the library come from the seed. [`Sim::trace_hash`]
//! shows that two runs were the same.
//!
//! What the simulation cannot see breaks this: real clocks and sleeps (`std::time::Instant`, timers of other async
//! runtimes), threads of your own (a participant made there is a real one), `HashMap`s whose order shows, and global
//! variables that survive a [`Node::crash`].

mod agenda;
mod baton;
mod context;
mod failure;
mod machine;
mod node;
mod peers;
mod port;
mod run;
mod seeds;
mod shared;
mod simulation;

pub use context::{Context, Elapsed, Sleep};
pub use dunlin_driver::CannotWait;
pub use dunlin_sim::{Burst, Delay, NetworkStats, PathConfig, Traffic};
pub use failure::{Cause, Error, Failure, Result};
pub use node::{Node, Task};
pub use seeds::seeds;
pub use simulation::{Sim, SimBuilder};
