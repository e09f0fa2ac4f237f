//! What says that a peer leaves, from the peer and from others who have its name and its address.

use alloc::vec::Vec;

use dunlin_core::{Misbehaviour, SequenceNumber};
use dunlin_wire::{DataSpec, MessageBuilder, PayloadSpec};

use super::hostile::{inject, matched_with};
use super::net::*;
use crate::GoodbyeSecret;
use crate::codec::{encode_participant, goodbye_qos};

/// Two nodes that match, of which the second is examined, and the first leaves with this secret.
fn matched(secret: Option<GoodbyeSecret>) -> Net {
    matched_with(DiscoveryConfig { goodbye_secret: secret, ..config(0) })
}

/// What somebody says in the name and from the address of the first node, as its SPDP writer.
fn say(net: &mut Net, sn: i64, inline_qos: &[u8], payload: PayloadSpec) {
    inject(net, 1, |out| {
        let mut message = MessageBuilder::new(out, prefix(0));
        let (reader_id, writer_id) = (EntityId::UNKNOWN, EntityId::SPDP_WRITER);
        message.data(&DataSpec { reader_id, writer_id, writer_sn: SequenceNumber(sn), inline_qos, payload });
        message.finish(&[unicast(9, 1)]);
    });
}

fn goodbye(net: &mut Net, sn: i64, lease_ended: bool, secret: Option<GoodbyeSecret>) {
    say(net, sn, &goodbye_qos(prefix(0), lease_ended, secret.as_ref()), PayloadSpec::None);
}

fn refuted(net: &mut Net) -> usize {
    let refused = net.nodes[1].discovery.take_refused();
    refused.filter(|(of, what)| (*of, *what) == (prefix(0), Misbehaviour::RefutedGoodbye)).count()
}

fn goes(net: &mut Net) -> bool {
    let events = net.events(1);
    assert!(events.is_empty() || events == ["-writer 0", "-participant 0 Left"], "{events:?}");
    !events.is_empty()
}

/// A peer that leaves is missed at once; nobody asks it.
#[test]
fn a_goodbye_with_its_secret_is_believed_at_once() {
    let mut net = matched(Some([7; 16]));
    net.with(0, |d, now, out, _| d.shutdown(now, out));
    net.run_for(DELAY);
    assert!(goes(&mut net));
}

#[test]
fn a_forged_goodbye_of_a_peer_is_refuted_by_its_answer() {
    for (lease_ended, secret) in [(false, None), (false, Some([8; 16])), (true, None), (true, Some([7; 16]))]
    {
        let mut net = matched(Some([7; 16]));
        goodbye(&mut net, 1 << 40, lease_ended, secret);
        net.run_for(secs(3));
        assert!(!goes(&mut net) && refuted(&mut net) == 1, "{lease_ended} {secret:?}");
        // Its number counts for nothing: the peer announces itself as before, and leaves as before.
        net.run_for(secs(60));
        assert!(!goes(&mut net));
        net.with(0, |d, now, out, _| d.shutdown(now, out));
        net.run_for(DELAY);
        assert!(goes(&mut net));
    }
}

/// One that has announced no hash, and one whose goodbye somebody else has to say, are asked for 1.55 s.
#[test]
fn a_goodbye_without_a_secret_is_believed_when_the_peer_does_not_answer() {
    let mut net = matched(None);
    net.with(0, |d, now, out, _| d.shutdown(now, out));
    net.run_for(millis(1_500));
    assert!(!goes(&mut net));
    net.run_for(millis(60));
    assert!(goes(&mut net) && refuted(&mut net) == 0);
    net.nodes[0].discovery = Discovery::new(config(0), 99);
    net.with(0, |d, now, out, _| d.start(now, out));
    net.run_for(millis(600));
    assert_eq!(net.events(1), ["+participant 0"], "it comes again");
}

/// Else nobody would tell a reader what was written while its participant was said to be gone and could not answer.
#[test]
fn a_peer_that_could_not_answer_a_goodbye_goes_on_where_it_was() {
    for (secret, may_return) in [(None, true), (Some([7; 16]), false)] {
        let mut net = matched(Some([7; 16]));
        net.nodes[0].unheard = true;
        goodbye(&mut net, 1 << 40, false, secret);
        net.run_for(secs(2));
        let expired = net.nodes[1].fx.iter().find_map(|effect| match effect {
            DiscoveryEffect::WriterUnmatched { lease_expired, .. } => Some(*lease_expired),
            _ => None,
        });
        assert_eq!(expired, Some(may_return), "{secret:?}");
        assert!(goes(&mut net));
    }
}

/// What lost answers cost a doubted peer is one of four.
#[test]
fn a_peer_is_asked_several_times_before_a_goodbye_is_believed() {
    let mut net = matched(Some([7; 16]));
    goodbye(&mut net, 1 << 40, false, None);
    net.nodes[0].unheard = true;
    net.run_for(millis(600));
    net.nodes[0].unheard = false;
    net.run_for(secs(3));
    assert!(!goes(&mut net) && refuted(&mut net) == 1);
}

/// Somebody announces the hash of a secret of his own in the name of the peer, before it leaves.
#[test]
fn a_goodbye_hash_that_changes_proves_nothing() {
    let mut net = matched(Some([7; 16]));
    let forged = DiscoveryConfig { goodbye_secret: Some([8; 16]), ..config(0) };
    for secret in [[8; 16], [7; 16]] {
        say(&mut net, 2, &[], PayloadSpec::Data(encode_participant(&forged).into()));
        goodbye(&mut net, 1 << 40, false, Some(secret));
        net.run_for(secs(3));
        assert!(!goes(&mut net) && refuted(&mut net) == 1);
    }
    let silent = DiscoveryConfig { goodbye_secret: None, ..config(0) };
    let mut net = matched(Some([7; 16]));
    say(&mut net, 2, &[], PayloadSpec::Data(encode_participant(&silent).into()));
    net.with(0, |d, now, out, _| d.shutdown(now, out));
    net.run_for(DELAY);
    assert!(goes(&mut net), "who announces no hash takes none away");
}

/// A goodbye that was recorded ends no later life of the same name.
#[test]
fn a_goodbye_of_an_earlier_life_does_not_end_the_next_one() {
    let mut net = matched(Some([7; 16]));
    net.with(0, |d, now, out, _| d.shutdown(now, out));
    net.run_for(secs(11));
    assert!(goes(&mut net));
    net.nodes[0].discovery =
        Discovery::new(DiscoveryConfig { goodbye_secret: Some([9; 16]), ..config(0) }, 99);
    net.with(0, |d, now, out, _| d.start(now, out));
    net.run_for(secs(1));
    assert_eq!(net.events(1), ["+participant 0"]);
    goodbye(&mut net, 1 << 40, false, Some([7; 16]));
    net.run_for(secs(3));
    assert!(!goes(&mut net) && refuted(&mut net) == 1);
}

/// However often it is said, a peer is asked no more than twice in a second, and a true goodbye is believed meanwhile.
#[test]
fn forged_goodbyes_cause_few_questions() {
    let mut net = matched(Some([7; 16]));
    net.run_for(secs(5));
    let before = net.sent;
    net.run_for(secs(20));
    let (peace, before) = (net.sent - before, net.sent);
    for n in 0..2_000 {
        goodbye(&mut net, (1 << 40) + n, n % 2 == 0, None);
        net.run_for(millis(10));
        assert!(!goes(&mut net), "{n}");
    }
    let more = (net.sent - before).saturating_sub(peace);
    assert!((20..200).contains(&more), "{more} datagrams more in 20 s");
    assert!((10..40).contains(&refuted(&mut net)));
    net.with(0, |d, now, out, _| d.shutdown(now, out));
    net.run_for(DELAY);
    assert!(goes(&mut net));
}

#[test]
fn goodbye_hashes_differ_by_name_and_secret() {
    let hash = |node: usize, secret: u8| crate::codec::goodbye_hash(prefix(node), &[secret; 16]);
    let all: Vec<_> = [(0, 1), (1, 1), (0, 2)].map(|(node, secret)| hash(node, secret)).to_vec();
    assert!(all[0] != all[1] && all[0] != all[2] && all[1] != all[2]);
    assert_eq!(all[0], hash(0, 1));
    // SHA-256 of "Dunlin goodbye", the prefix and the secret.
    let expected =
        [0xb2, 0x1f, 0xd9, 0xf9, 0x30, 0xc7, 0x28, 0x2e, 0xd3, 0x9c, 0x45, 0x31, 0xc9, 0xfc, 0x8b, 0xf5];
    assert_eq!(all[0], expected);
}
