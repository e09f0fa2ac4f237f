//! The table of all attacks, by class.

mod datagrams;
mod discovery;
mod flood;
mod forks;
mod memory;
mod names;
mod places;
mod repairs;
mod resources;

use anyhow::Result;
use dunlin_buf::SharedBytes;

use crate::bound::{Bound, Loss};
use crate::field::Field;
use crate::pair::check;
use crate::places::{Side, Speaks, Way};
use crate::streams;

/// An attack.
#[derive(Clone, Copy, Debug)]
pub struct Attack {
    /// What it is called.
    pub name: &'static str,
    /// How the pair talks meanwhile.
    pub way: Way,
    /// What it does, until the field says that it is over.
    pub run: fn(&mut Field) -> Result<()>,
    /// From where what is not a peer's own comes.
    pub speaks: Speaks,
    /// What it may do at most.
    pub bound: Bound,
    /// How long, in seconds of the pair's samples.
    pub seconds: u64,
    /// Whether it belongs to the short test.
    pub short: bool,
    /// What shows that it arrived where it should: counters of a side, and how much they are at least.
    pub reaches: Reaches,
}

impl Attack {
    /// Whether it is one on pairs of other makes too, whose processes do not fork when they are told to.
    pub fn is_for_all(&self) -> bool {
        matches!(self.way, Way::Udp) && !self.name.starts_with("fork")
    }
}

const fn udp(name: &'static str, run: fn(&mut Field) -> Result<()>) -> Attack {
    Attack {
        name,
        way: Way::Udp,
        run,
        speaks: Speaks::Elsewhere,
        bound: Bound::USUAL,
        seconds: 3,
        short: false,
        reaches: &[],
    }
}

const fn flood(name: &'static str, run: fn(&mut Field) -> Result<()>) -> Attack {
    Attack { bound: Bound::FLOOD, ..udp(name, run) }
}

const fn asking(name: &'static str, run: fn(&mut Field) -> Result<()>) -> Attack {
    near(Attack { bound: Bound::READER, ..udp(name, run) })
}

const fn by(way: Way, attack: Attack) -> Attack {
    Attack { way, ..attack }
}

/// What is said in somebody's name comes from another socket at his address.
const fn beside(attack: Attack) -> Attack {
    Attack { speaks: Speaks::BesideThePair, ..attack }
}

/// What is said in somebody's name comes from his socket, as far as anybody can tell.
const fn near(attack: Attack) -> Attack {
    Attack { speaks: Speaks::AsThePair, ..attack }
}

const fn short(attack: Attack) -> Attack {
    Attack { short: true, ..attack }
}

const fn reaching(reaches: Reaches, attack: Attack) -> Attack {
    Attack { reaches, ..attack }
}

/// Which counters have to rise: of which side, and to what at least.
type Reaches = &'static [(Side, &'static str, u64)];

/// The writer, or the reader, takes it for what does not come from the other one.
const DROPPED_BY_WRITER: Reaches = &[(Side::Writer, "misplaced", 10)];
const DROPPED_BY_READER: Reaches = &[(Side::Reader, "misplaced", 10)];
/// The same, of discovery.
const UNHEARD_BY_WRITER: Reaches = &[(Side::Writer, "discovery_misplaced", 10)];
const UNHEARD_BY_READER: Reaches = &[(Side::Reader, "discovery_misplaced", 10)];

/// Both used a file that was cut short.
const CUT: Reaches = &[(Side::Writer, "shared_cut", 1), (Side::Reader, "shared_cut", 1)];

/// Both are told that forged samples were taken for real: the reader when the real ones come, the writer when those are acknowledged
/// that it has not written.
const TOLD_OF_FORGERIES: Reaches =
    &[(Side::Reader, "contradictory_duplicates", 100), (Side::Writer, "acknowledged_unsent", 1)];

/// Both have forked.
const FORKED: Reaches = &[(Side::Reader, "forks", 5), (Side::Writer, "forks", 5)];
const FORKED_IN_A_FLOOD: Reaches =
    &[(Side::Reader, "forks", 5), (Side::Writer, "forks", 5), (Side::Reader, "malformed", 1_000)];

/// In a flood, with children of both sides.
const fn forking(name: &'static str, run: fn(&mut Field) -> Result<()>) -> Attack {
    reaching(
        FORKED_IN_A_FLOOD,
        Attack { bound: Bound { memory: 64 << 20, ..Bound::FLOOD }, ..udp(name, run) },
    )
}

/// All attacks. Those that begin with `host` come from the pair's own address, those with `near` also from its ports.
pub const ATTACKS: &[Attack] = &[
    udp("peer-moves-itself", places::peer_moves_itself),
    short(udp("peer-moves-and-stays", places::peer_moves_and_stays)),
    udp("peer-moves-its-reader", places::peer_moves_its_reader),
    udp("peer-names-a-bystander", places::peer_names_a_bystander),
    udp("peer-names-groups", places::peer_names_groups),
    udp("hundred-readers-elsewhere", places::hundred_readers_elsewhere),
    reaching(
        &[(Side::Writer, "discovery_entries_left_out", 100)],
        udp("places-without-limit", places::places_without_limit),
    ),
    short(reaching(
        &[(Side::Reader, "discovery_answers_withheld", 1)],
        udp("strangers-elsewhere", places::strangers_elsewhere),
    )),
    short(reaching(UNHEARD_BY_WRITER, udp("reader-is-said-to-move", places::reader_is_said_to_move))),
    reaching(UNHEARD_BY_READER, udp("writer-is-said-to-move", places::writer_is_said_to_move)),
    short(reaching(
        UNHEARD_BY_WRITER,
        udp("endpoint-is-said-to-move", places::readers_endpoint_is_said_to_move),
    )),
    reaching(DROPPED_BY_WRITER, udp("replies-elsewhere", places::replies_elsewhere)),
    near(reaching(
        &[(Side::Writer, "acknacks_received", 300)],
        udp("near-replies-elsewhere", places::replies_elsewhere),
    )),
    short(reaching(UNHEARD_BY_WRITER, udp("disposal-of-the-reader", names::disposal_of_the_reader))),
    reaching(UNHEARD_BY_READER, udp("disposal-of-the-writer", names::disposal_of_the_writer)),
    short(reaching(UNHEARD_BY_WRITER, udp("goodbye-of-the-reader", names::goodbye_of_the_reader))),
    reaching(UNHEARD_BY_READER, udp("goodbye-of-the-writer", names::goodbye_of_the_writer)),
    reaching(UNHEARD_BY_WRITER, udp("goodbye-with-a-far-number", names::goodbye_with_a_far_number)),
    reaching(UNHEARD_BY_WRITER, udp("lease-of-a-microsecond", names::lease_of_a_microsecond)),
    reaching(DROPPED_BY_WRITER, udp("acknack-counts-ahead", names::acknack_counts_ahead)),
    short(near(reaching(
        &[(Side::Writer, "requests_ignored", 50)],
        udp("near-acknack-counts-ahead", names::acknack_counts_ahead),
    ))),
    reaching(DROPPED_BY_WRITER, udp("everything-is-acknowledged", names::everything_is_acknowledged)),
    short(near(reaching(
        &[(Side::Writer, "acknacks_received", 50)],
        udp("near-all-is-acknowledged", names::everything_is_acknowledged),
    ))),
    reaching(DROPPED_BY_WRITER, udp("nothing-is-acknowledged", names::nothing_is_acknowledged)),
    near(reaching(
        &[(Side::Writer, "acknacks_received", 50)],
        udp("near-none-is-acknowledged", names::nothing_is_acknowledged),
    )),
    reaching(DROPPED_BY_READER, udp("heartbeat-counts-ahead", names::heartbeat_counts_ahead)),
    near(reaching(
        &[(Side::Reader, "heartbeats_ignored", 50)],
        udp("near-heartbeat-counts-ahead", names::heartbeat_counts_ahead),
    )),
    reaching(DROPPED_BY_READER, udp("heartbeat-ahead", names::heartbeat_ahead)),
    near(reaching(
        &[(Side::Reader, "heartbeats_ignored", 50)],
        udp("near-heartbeat-ahead", names::heartbeat_ahead),
    )),
    reaching(DROPPED_BY_READER, udp("heartbeat-a-little-ahead", names::heartbeat_a_little_ahead)),
    near(reaching(
        &[(Side::Reader, "heartbeats_ignored", 10)],
        udp("near-heartbeat-a-bit-ahead", names::heartbeat_a_little_ahead),
    )),
    reaching(DROPPED_BY_READER, udp("gap-ahead", names::gap_ahead)),
    near(reaching(&[(Side::Reader, "gaps_received", 50)], udp("near-gap-ahead", names::gap_ahead))),
    reaching(DROPPED_BY_READER, udp("gap-a-little-ahead", names::gap_a_little_ahead)),
    near(reaching(
        &[(Side::Reader, "gaps_received", 50)],
        udp("near-gap-a-little-ahead", names::gap_a_little_ahead),
    )),
    short(reaching(DROPPED_BY_READER, udp("samples-in-its-name", names::samples_in_the_writers_name))),
    Attack {
        bound: Bound { loss: Loss::Told, ..Bound::USUAL },
        ..near(reaching(
            TOLD_OF_FORGERIES,
            udp("near-samples-in-its-name", names::samples_in_the_writers_name),
        ))
    },
    reaching(DROPPED_BY_READER, udp("sample-far-ahead", names::sample_far_ahead)),
    near(udp("near-sample-far-ahead", names::sample_far_ahead)),
    reaching(UNHEARD_BY_WRITER, udp("reader-is-said-to-change", names::reader_is_said_to_change)),
    near(udp("near-reader-changes", names::reader_is_said_to_change)),
    reaching(UNHEARD_BY_WRITER, udp("discovery-is-said-to-skip", names::discovery_is_said_to_skip)),
    near(udp("near-discovery-skips", names::discovery_is_said_to_skip)),
    short(near(reaching(
        &[(Side::Writer, "refuted_goodbyes", 1)],
        udp("near-goodbye-of-the-reader", names::goodbye_of_the_reader),
    ))),
    near(reaching(
        &[(Side::Reader, "refuted_goodbyes", 1)],
        udp("near-goodbye-of-the-writer", names::goodbye_of_the_writer),
    )),
    near(udp("near-disposal-of-the-reader", names::disposal_of_the_reader)),
    near(udp("near-reader-moves", places::reader_is_said_to_move)),
    beside(reaching(DROPPED_BY_READER, udp("host-heartbeat-ahead", names::heartbeat_ahead))),
    beside(reaching(DROPPED_BY_READER, udp("host-heartbeat-a-bit-ahead", names::heartbeat_a_little_ahead))),
    short(beside(reaching(
        DROPPED_BY_READER,
        udp("host-samples-in-its-name", names::samples_in_the_writers_name),
    ))),
    beside(reaching(UNHEARD_BY_WRITER, udp("host-reader-changes", names::reader_is_said_to_change))),
    beside(reaching(UNHEARD_BY_WRITER, udp("host-discovery-skips", names::discovery_is_said_to_skip))),
    short(beside(reaching(
        UNHEARD_BY_WRITER,
        udp("host-goodbye-of-the-reader", names::goodbye_of_the_reader),
    ))),
    beside(reaching(UNHEARD_BY_WRITER, udp("host-disposal-of-the-reader", names::disposal_of_the_reader))),
    beside(reaching(DROPPED_BY_WRITER, udp("host-all-is-acknowledged", names::everything_is_acknowledged))),
    short(beside(reaching(DROPPED_BY_READER, udp("host-gap-ahead", names::gap_ahead)))),
    by(Way::Ipv6, beside(reaching(DROPPED_BY_READER, udp("ipv6-host-gap-ahead", names::gap_ahead)))),
    by(
        Way::Ipv6,
        beside(reaching(UNHEARD_BY_WRITER, udp("ipv6-host-goodbye", names::goodbye_of_the_reader))),
    ),
    udp("messages-in-the-own-name", names::messages_in_the_receivers_name),
    reaching(DROPPED_BY_WRITER, flood("acknacks-in-its-name", repairs::acknacks_in_the_readers_name)),
    reaching(
        &[(Side::Writer, "acknacks_received", 500)],
        asking("near-acknacks-in-its-name", repairs::acknacks_in_the_readers_name),
    ),
    reaching(
        &[(Side::Writer, "acknacks_received", 1000)],
        flood("acknacks-of-a-peer", repairs::acknacks_of_a_peer),
    ),
    reaching(DROPPED_BY_WRITER, flood("fragment-requests", repairs::fragment_requests)),
    near(reaching(
        &[(Side::Writer, "nack_frags_received", 500)],
        flood("near-fragment-requests", repairs::fragment_requests),
    )),
    Attack {
        bound: Bound { memory: 64 << 20, ..Bound::USUAL },
        ..udp("silent-reader", repairs::silent_reader)
    },
    reaching(
        &[(Side::Reader, "heartbeats_received", 1000)],
        flood("heartbeats-of-a-peer", repairs::heartbeats_of_a_peer),
    ),
    flood("reader-comes-and-goes", repairs::reader_comes_and_goes),
    reaching(DROPPED_BY_READER, flood("echo-requests", repairs::echo_requests)),
    near(reaching(
        &[(Side::Reader, "echoes_sent", 500)],
        flood("near-echo-requests", repairs::echo_requests),
    )),
    Attack {
        seconds: 6,
        ..reaching(
            &[(Side::Reader, "foreign", 5000)],
            flood("keys-without-limit", resources::keys_without_limit),
        )
    },
    Attack {
        bound: Bound { memory: 128 << 20, ..Bound::FLOOD },
        ..reaching(
            &[(Side::Reader, "partials_evicted", 1)],
            udp("fragments-never-completed", resources::fragments_never_completed),
        )
    },
    Attack {
        bound: Bound { memory: 64 << 20, ..Bound::FLOOD },
        ..reaching(
            &[(Side::Reader, "out_of_order_dropped", 10)],
            udp("samples-out-of-order", resources::samples_out_of_order),
        )
    },
    reaching(
        &[(Side::Writer, "filters_dropped", 1)],
        udp("filters-of-many-likes", resources::filters_of_many_likes),
    ),
    reaching(
        &[(Side::Reader, "discovery_endpoints_refused", 100)],
        flood("endpoints-without-limit", resources::endpoints_without_limit),
    ),
    reaching(
        &[(Side::Reader, "foreign", 100)],
        flood("inline-qos-without-limit", resources::inline_qos_without_limit),
    ),
    reaching(
        &[(Side::Reader, "discovery_endpoints_refused", 10)],
        flood("long-announcements", resources::long_announcements),
    ),
    reaching(&[(Side::Reader, "undecodable", 100)], flood("lengths-that-lie", resources::lengths_that_lie)),
    reaching(
        &[(Side::Reader, "discovery_participants_evicted", 10)],
        flood("participants-without-limit", discovery::participants_without_limit),
    ),
    reaching(
        &[(Side::Reader, "discovery_malformed", 100)],
        flood("damaged-parameter-lists", discovery::damaged_parameter_lists),
    ),
    reaching(
        &[(Side::Writer, "discovery_malformed", 100)],
        flood("damaged-endpoints", discovery::damaged_endpoints_of_a_peer),
    ),
    flood("wrong-vendors", discovery::wrong_vendors),
    reaching(&[(Side::Reader, "malformed", 100)], flood("noise", discovery::noise)),
    reaching(
        &[(Side::Reader, "discovery_type_answers", 1)],
        flood("type-questions", discovery::type_questions),
    ),
    flood("type-information", discovery::type_information_without_end),
    by(Way::Ipv6, udp("ipv6-peer-moves-itself", places::peer_moves_itself)),
    by(Way::Ipv6, udp("ipv6-strangers-elsewhere", places::strangers_elsewhere)),
    by(
        Way::Ipv6,
        reaching(UNHEARD_BY_WRITER, udp("ipv6-goodbye-of-the-reader", names::goodbye_of_the_reader)),
    ),
    by(Way::Ipv6, reaching(DROPPED_BY_READER, udp("ipv6-gap-ahead", names::gap_ahead))),
    by(
        Way::Ipv6,
        reaching(
            DROPPED_BY_WRITER,
            flood("ipv6-acknacks-in-its-name", repairs::acknacks_in_the_readers_name),
        ),
    ),
    by(
        Way::Ipv6,
        reaching(
            &[(Side::Writer, "acknacks_received", 500)],
            asking("ipv6-near-acknacks", repairs::acknacks_in_the_readers_name),
        ),
    ),
    by(Way::Ipv6, flood("ipv6-noise", discovery::noise)),
    reaching(
        &[(Side::Reader, "malformed", 1_000), (Side::Reader, "discovery_participants_unverified", 100)],
        Attack {
            bound: Bound { memory: 64 << 20, ..Bound::FLOOD },
            ..flood("flood-of-datagrams", flood::flood_of_datagrams)
        },
    ),
    by(Way::Tcp, udp("tcp-silent", streams::silent)),
    by(Way::Tcp, flood("tcp-slow", streams::slow)),
    by(Way::Tcp, flood("tcp-oversized-frames", streams::oversized_frames)),
    by(Way::Tcp, flood("tcp-connections", streams::connections)),
    by(Way::Tcp, flood("tcp-noise", streams::noise)),
    by(Way::Tcp, flood("tcp-never-reads", streams::never_reads)),
    by(Way::Tcp, flood("tcp-half-closed", streams::half_closed)),
    by(Way::SharedMemory, flood("memory-foreign-files", memory::foreign_files)),
    by(Way::SharedMemory, udp("memory-files-are-deleted", memory::files_are_deleted)),
    short(by(Way::SharedMemory, reaching(CUT, udp("memory-files-are-cut", memory::files_are_cut)))),
    by(Way::SharedMemory, reaching(CUT, udp("memory-files-are-cut-often", memory::files_are_cut_often))),
    forking("fork-idle-child", forks::children_idle),
    forking("fork-child-exits", forks::children_exit),
    short(forking("fork-child-uses-entities", forks::children_use_entities)),
    by(Way::Tcp, reaching(FORKED, flood("tcp-fork-child-exits", forks::children_exit))),
    by(Way::Tcp, reaching(FORKED, flood("tcp-fork-child-uses", forks::children_use_entities))),
    by(Way::SharedMemory, forking("memory-fork-idle-child", forks::children_idle)),
    by(Way::SharedMemory, forking("memory-fork-child-exits", forks::children_exit)),
    short(by(Way::SharedMemory, forking("memory-fork-child-uses", forks::children_use_entities))),
];

/// A sample of the pair's type; its check fits only real numbers.
fn tick(source: u32, number: u64) -> SharedBytes {
    let mut payload = vec![0, 1, 0, 0];
    payload.extend(source.to_le_bytes());
    payload.extend(check(number).to_le_bytes());
    payload.extend(number.to_le_bytes());
    payload.extend([4, 0, 0, 0, b'f', b'o', b'x', 0]);
    payload.into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_different_and_fit_the_table() {
        let names: BTreeSet<_> = ATTACKS.iter().map(|attack| attack.name).collect();
        assert_eq!(names.len(), ATTACKS.len());
        assert!(names.iter().all(|name| name.len() <= 27), "{names:?}");
        assert!(ATTACKS.len() >= 40);
    }
}
