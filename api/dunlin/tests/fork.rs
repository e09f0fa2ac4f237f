//! What a child of fork has of its parent. The only test of this program: what other threads of the parent hold at that moment, the
//! child never gets.
#![cfg(target_os = "linux")]

mod common;

use common::eventually;
use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{Config, DataReader, DataWriter, DdsType, DomainParticipant, InstanceState, WriteError};

#[derive(DdsType, Clone, Debug, Default)]
struct Reading {
    #[dds(key)]
    id: u32,
    n: u32,
}

/// With a lease so long that its end cannot be what others notice.
fn joined(domain: u32) -> DomainParticipant {
    let mut config = Config::default();
    config.set("network.interfaces", "lo").unwrap();
    config.set("discovery.lease_duration", "60s").unwrap();
    DomainParticipant::builder(domain).config(config).build().unwrap()
}

fn writing(participant: &DomainParticipant) -> DataWriter<Reading> {
    let topic = participant.create_topic::<Reading>("Fork", &TopicQos::default()).unwrap();
    let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
    publisher.create_datawriter(&topic, &DataWriterQos::default().keep_all()).unwrap()
}

fn reading(participant: &DomainParticipant) -> DataReader<Reading> {
    let topic = participant.create_topic::<Reading>("Fork", &TopicQos::default()).unwrap();
    let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
    subscriber.create_datareader(&topic, &DataReaderQos::default().reliable().keep_all()).unwrap()
}

/// What a child of fork does with what its parent has, and with a participant of its own: its exit code.
fn child(domain: u32, writer: DataWriter<Reading>, parent: DomainParticipant) -> i32 {
    let refused = writer.write(&Reading { id: 1, n: 100 });
    if !matches!(refused, Err(WriteError::AlreadyDeleted)) {
        return 2;
    }
    let other_process = parent.guid().prefix;
    // The last handles that this process has.
    drop((writer, parent));
    let own = joined(domain);
    if own.guid().prefix.0[..8] == other_process.0[..8] {
        return 3;
    }
    let reader = reading(&own);
    eventually("a sample of the parent", || !reader.take(1).unwrap().is_empty());
    0
}

/// A child of fork inherits the handles of its parent, and neither its threads nor its part in the domain.
#[test]
fn a_child_of_fork_does_not_speak_for_its_parent() {
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};
    let domain = common::domain();
    let (parent, other) = (joined(domain), joined(domain));
    let (writer, reader) = (writing(&parent), reading(&other));
    eventually("the match", || !reader.matched_publications().is_empty());
    eventually("the match", || !writer.matched_subscriptions().is_empty());
    // SAFETY: the child uses nothing but this library, whose locks nobody holds now, and the allocator, which forks well. It
    // ends without running what the test program would do at its end.
    let pid = match unsafe { fork() }.unwrap() {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            let work = std::panic::AssertUnwindSafe(|| child(domain, writer, parent));
            let code = std::panic::catch_unwind(work).unwrap_or(1);
            // SAFETY: the process ends here.
            unsafe { nix::libc::_exit(code) }
        }
    };
    eventually("the child's reader", || writer.matched_subscriptions().len() == 2);
    writer.write(&Reading { id: 1, n: 1 }).unwrap();
    assert_eq!(waitpid(pid, None).unwrap(), WaitStatus::Exited(pid, 0));
    // It had goodbyes, disposals and sequence numbers of the parent within reach.
    writer.write(&Reading { id: 1, n: 2 }).unwrap();
    let mut seen = Vec::new();
    eventually("both samples", || {
        seen.extend(reader.take(10).unwrap());
        seen.len() >= 2
    });
    let seen: Vec<_> =
        seen.iter().map(|it| (it.info.instance_state, it.data.as_ref().map(|it| it.n))).collect();
    assert_eq!(seen, [(InstanceState::Alive, Some(1)), (InstanceState::Alive, Some(2))]);
    assert_eq!(reader.matched_publications().len(), 1);
}
