//! Participants that come, stay and go.

use alloc::{string::ToString, vec, vec::Vec};

use dunlin_core::Duration;
use dunlin_qos::Property;

use super::net::*;
use crate::DiscoveryProblem;

#[test]
fn two_participants_discover_each_other_at_once() {
    let mut net = Net::new([config(0), config(1)]);
    net.with(0, |d, now, out, _| d.start(now, out));
    net.run_for(millis(1550));
    // The second one starts between two announcements of the first and need not wait for the next.
    net.with(1, |d, now, out, _| d.start(now, out));
    net.run_for(3 * DELAY);
    assert_eq!(
        (net.events(0), net.events(1)),
        (vec!["+participant 1".into()], vec!["+participant 0".into()])
    );
    net.run_for(secs(60));
    assert_eq!((net.events(0).len(), net.events(1).len()), (0, 0));
    let data = net.nodes[0].discovery.participant(prefix(1)).unwrap();
    assert_eq!(data.locators.metatraffic_unicast, [unicast(1, 7410)]);
    assert_eq!(net.nodes[0].discovery.participants().count(), 1);
}

#[test]
fn spdp_announcements_are_frequent_at_the_start() {
    let mut net = Net::new([config(0)]);
    net.start();
    net.run_for(millis(450));
    assert_eq!(net.nodes[0].discovery.stats().announcements_sent, 5);
    net.run_for(secs(30));
    let sent = net.nodes[0].discovery.stats().announcements_sent;
    assert!((14..=17).contains(&sent), "{sent}");
}

#[test]
fn announcements_survive_loss() {
    let mut net = Net::new([patient(0), patient(1), patient(2)]);
    net.loss = 400;
    net.start();
    net.run_for(secs(20));
    for node in 0..3 {
        assert_eq!(net.nodes[node].discovery.participants().count(), 2);
    }
}

#[test]
fn a_peer_without_multicast_is_kept() {
    // Only the first knows of the second.
    let knowing = DiscoveryConfig { initial_peers: vec![unicast(1, 7410)], ..config(0) };
    let mut net = Net::new([knowing, config(1)]);
    net.nodes[0].joined = false;
    net.nodes[1].joined = false;
    net.start();
    net.run_for(secs(120));
    assert_eq!(net.events(0), ["+participant 1"]);
    assert_eq!(net.events(1), ["+participant 0"]);
}

/// Groups of a peer that is heard by unicast alone are used no more, and again once it is heard there.
#[test]
fn groups_that_stay_silent_are_not_used() {
    let data_group = Locator::udp_v4([239, 255, 0, 1].into(), 7401);
    let with_groups = |node| {
        let mut config = patient(node);
        config.locators.default_multicast = vec![data_group];
        config
    };
    let knowing = DiscoveryConfig { initial_peers: vec![unicast(1, 7410)], ..with_groups(0) };
    let mut net = Net::new([knowing, with_groups(1)]);
    net.nodes[1].joined = false;
    net.add_writer(0, Default::default());
    net.add_reader(1, Default::default());
    net.start();
    let groups = |net: &mut Net| {
        let survey = net.nodes[0].discovery.survey(|_, _| true);
        let reader = survey.readers.first().expect("it is known");
        (survey.participants[0].groups_silent, reader.unicast.to_vec(), reader.multicast.to_vec())
    };
    net.run_for(secs(2));
    assert_eq!(groups(&mut net), (false, vec![unicast(1, 7411)], vec![data_group]), "it may just be late");
    net.run_for(secs(30));
    assert_eq!(groups(&mut net), (true, vec![unicast(1, 7411)], vec![]));
    let told = |net: &Net| {
        let troubles = net.nodes[0].fx.iter();
        troubles
            .filter(|fx| matches!(fx, DiscoveryEffect::DiscoveryProblem(DiscoveryProblem::GroupsSilent(_))))
            .count()
    };
    assert_eq!(told(&net), 1, "and once");
    net.nodes[1].joined = true;
    net.run_for(secs(30));
    assert_eq!(groups(&mut net), (false, vec![unicast(1, 7411)], vec![data_group]));
    // A path that fails after it has worked is noticed too.
    net.nodes[1].joined = false;
    net.run_for(secs(300));
    assert_eq!(groups(&mut net), (true, vec![unicast(1, 7411)], vec![]));
    assert_eq!(told(&net), 1);
}

/// A participant that multicast does not reach names its peers: what these send to the group of all is sent to it as well.
#[test]
fn a_participant_out_of_reach_of_multicast_discovers_endpoints() {
    for meets_by_multicast in [false, true] {
        let unaware =
            DiscoveryConfig { initial_peers: vec![unicast(0, 7410), unicast(2, 7410)], ..config(1) };
        let mut net = Net::new([config(0), unaware, config(2)]);
        net.nodes[1].joined = meets_by_multicast;
        net.start();
        net.run_for(secs(1));
        net.nodes[1].joined = false;
        net.run_for(secs(60));
        let survey = net.nodes[0].discovery.survey(|_, _| true);
        assert!(
            survey.participants.iter().any(|standing| standing.groups_silent),
            "{:?}",
            survey.participants
        );
        // Sooner than a HEARTBEAT that repeats itself could mend it.
        net.add_reader(0, Default::default());
        net.run_for(millis(20));
        assert_eq!(net.nodes[1].discovery.readers().count(), 1, "met by multicast: {meets_by_multicast}");
    }
}

#[test]
fn a_lease_expires_in_silence_and_any_message_renews_it() {
    let mut net = Net::new([config(0), config(1)]);
    net.add_writer(0, Default::default());
    net.add_reader(1, Default::default());
    net.start();
    net.run_for(secs(5));
    net.nodes[1].cut_off = true;
    net.forget_events();
    net.run_for(secs(6));
    net.with(1, |d, now, _, _| d.on_traffic(now.mono, prefix(0)));
    net.run_for(secs(5));
    assert_eq!(net.events(0), ["-reader 1", "-participant 1 LeaseExpired"]);
    assert_eq!(net.events(1), [""; 0], "traffic is a sign of life");
    net.run_for(secs(6));
    assert_eq!(net.events(1), ["-writer 0", "-participant 0 LeaseExpired"]);
    assert_eq!(net.nodes[1].discovery.stats().leases_expired, 1);
    net.nodes[1].cut_off = false;
    net.run_for(secs(5));
    assert_eq!(net.events(0), ["+participant 1", "+reader 1"]);
    assert_eq!(net.events(1), ["+participant 0", "+writer 0"]);
}

/// A timer that is late again and again, because its thread is busy, is no stop of the whole process each time.
#[test]
fn a_participant_is_lost_after_its_lease_however_late_timers_are() {
    let mut net = Net::new([config(0), config(1)]);
    // Something is due every second.
    net.add_writer(1, DataWriterQos::default().liveliness(LivelinessKind::Automatic, Duration::from_secs(3)));
    net.start();
    net.run_for(secs(5));
    assert_eq!(net.events(1), ["+participant 0"]);
    net.nodes[0].cut_off = true;
    net.nodes[1].cut_off = true;
    // Each comes half a minute after it was due.
    for _ in 0..4 {
        let due = net.nodes[1].discovery.next_deadline().expect("a lease ends");
        net.now = due.0 + secs(30);
        net.with(1, Discovery::on_timer);
    }
    assert_eq!(net.events(1), ["-participant 0 LeaseExpired"], "a lease is 10 s, two minutes have passed");
}

/// The lease ends on one side alone: the other one still hears, and has more of what there is than a newcomer, yet less
/// than all.
#[test]
fn a_peer_lost_on_one_side_alone_is_verified_where_it_was() {
    let mut net = Net::new([config(0), config(1)]);
    net.start();
    net.run_for(secs(5));
    let announce = |net: &mut Net, keys: core::ops::Range<u8>| {
        for key in keys {
            let id = EntityId([0, 0, key, 2]);
            let writer = LocalWriter { entity_id: id, ..local_writer(DataWriterQos::default()) };
            net.with(0, |d, now, out, fx| d.add_writer(now, writer, out, fx)).expect("valid names");
            net.run_for(millis(10));
        }
    };
    net.nodes[1].unheard = true;
    announce(&mut net, 1..31);
    assert_eq!(net.nodes[1].discovery.writers().count(), 30, "they arrive, and no answer comes");
    net.forget_events();
    net.run_for(secs(12));
    assert_eq!(net.events(0), ["-participant 1 LeaseExpired"]);
    announce(&mut net, 31..61);
    assert_eq!((net.nodes[1].discovery.writers().count(), net.events(1).len()), (30, 0));
    net.nodes[1].unheard = false;
    net.run_for(secs(10));
    assert_eq!(net.events(0), ["+participant 1"]);
    assert_eq!(net.nodes[1].discovery.writers().count(), 60);
    assert_eq!(net.nodes[0].discovery.stats().participants_unverified, 0);
}

/// Who stands still knows its peers still when it wakes up, however long ago they have lost it. What was removed meanwhile is
/// not the first that it was told of, so what is left does not show that it is gone.
#[test]
fn a_participant_lost_for_long_learns_of_disposals_meanwhile() {
    let mut net = Net::new([config(0), config(1), config(2)]);
    let ids = [1, 2, 3].map(|key| EntityId([0, 0, key, 2]));
    for id in ids {
        let writer = LocalWriter { entity_id: id, ..local_writer(DataWriterQos::default()) };
        net.with(0, |d, now, out, fx| d.add_writer(now, writer, out, fx)).expect("valid names");
    }
    net.start();
    net.run_for(secs(5));
    net.nodes[1].unheard = true;
    net.run_for(secs(12));
    let [_, removed, changed] = ids;
    net.with(0, |d, now, out, fx| d.remove_writer(now, removed, out, fx));
    // Two leases and more, and something that lets go of what is old.
    net.run_for(secs(30));
    net.with(0, |d, now, out, fx| d.remove_writer(now, changed, out, fx));
    net.run_for(secs(1));
    assert_eq!(net.nodes[1].discovery.writers().count(), 3, "nobody has told it");
    net.nodes[1].unheard = false;
    net.run_for(secs(10));
    for node in [1, 2] {
        let known: Vec<EntityId> = net.nodes[node].discovery.writers().map(|it| it.guid.entity_id).collect();
        assert_eq!(known, ids[..1], "node {node}");
    }
}

#[test]
fn shutdown_is_announced() {
    let mut net = Net::new([config(0), config(1)]);
    net.add_writer(0, Default::default());
    net.add_reader(1, Default::default());
    net.start();
    net.run_for(secs(5));
    net.events(1);
    net.with(0, |d, now, out, _| d.shutdown(now, out));
    net.run_for(2 * DELAY);
    assert_eq!(net.events(1), ["-writer 0", "-participant 0 Left"]);
    net.run_for(secs(30));
    assert_eq!(net.events(1), [""; 0]);
    assert_eq!(net.nodes[1].discovery.writers().count(), 0);
}

/// Whoever was only not heard for its lease announces its endpoints by the same samples again. A program that starts again under
/// its name does not, even if it numbers its announcements as before or has no other time.
#[test]
fn endpoints_of_a_program_that_starts_again_have_another_life() {
    let lives = |net: &Net| {
        let discovery = &net.nodes[1].discovery;
        let (writer, reader) = (discovery.writer(guid(0, WRITER)), discovery.reader(guid(0, READER)));
        [writer.expect("known").life.expect("with a time"), reader.expect("known").life.expect("with a time")]
    };
    let add_endpoints = |net: &mut Net| {
        net.add_writer(0, Default::default());
        net.add_reader(0, Default::default());
    };
    let mut net = Net::new([config(0), config(1)]);
    net.start();
    add_endpoints(&mut net);
    net.run_for(secs(5));
    let first = lives(&net);
    net.nodes[0].cut_off = true;
    net.run_for(secs(60));
    assert!(net.nodes[1].discovery.writer(guid(0, WRITER)).is_none());
    net.nodes[0].cut_off = false;
    net.run_for(secs(10));
    assert_eq!(lives(&net), first, "the same");
    // With the seed that it had, and with another one.
    for seed in [0, 7] {
        net.nodes[0].discovery = Discovery::new(config(0), seed);
        net.run_for(secs(60));
        assert!(net.nodes[1].discovery.writer(guid(0, WRITER)).is_none());
        net.with(0, |d, now, out, _| d.start(now, out));
        add_endpoints(&mut net);
        net.run_for(secs(10));
        let again = lives(&net);
        assert!(again.iter().zip(&first).all(|(again, first)| again.time > first.time));
        assert_eq!(again[0].number == first[0].number, seed == 0);
    }
}

#[test]
fn announcements_of_other_domains_and_tags_are_ignored() {
    let other = DiscoveryConfig { domain_id: 1, ..config(1) };
    let tagged = DiscoveryConfig { domain_tag: "x".to_string(), ..config(2) };
    let mut net = Net::new([config(0), other, tagged]);
    net.start();
    net.run_for(secs(5));
    for node in 0..3 {
        assert_eq!(net.nodes[node].discovery.participants().count(), 0);
        assert!(net.nodes[node].discovery.stats().other_domain > 0);
    }
}

#[test]
fn participants_beyond_the_quota_are_refused() {
    let mut small = config(0);
    small.quotas.max_participants = 1;
    let mut net = Net::new([small, config(1), config(2)]);
    net.start();
    net.run_for(secs(5));
    assert_eq!(net.nodes[0].discovery.participants().count(), 1);
    assert!(net.nodes[0].discovery.stats().participants_refused > 0);
    assert_eq!(net.nodes[1].discovery.participants().count(), 2);
}

#[test]
fn ignored_participants_do_not_come_back() {
    let mut net = Net::new([config(0), config(1)]);
    net.add_writer(0, Default::default());
    net.add_reader(1, Default::default());
    net.start();
    net.run_for(secs(5));
    net.events(0);
    net.with(0, |d, _, _, fx| d.ignore_participant(prefix(1), fx));
    net.run_for(secs(30));
    assert_eq!(net.events(0), ["-reader 1", "-participant 1 Ignored"]);
}

/// Who asks for an endless lease is sent nothing for ever only because it has done so once.
#[test]
#[cfg_attr(miri, ignore = "an hour")]
fn an_infinite_lease_ends_without_a_sign_of_life() {
    let endless = DiscoveryConfig { lease_duration: Duration::INFINITE, ..config(1) };
    let mut net = Net::new([config(0), endless]);
    net.start();
    net.run_for(secs(5));
    net.nodes[1].cut_off = true;
    net.events(0);
    net.run_for(secs(3_590));
    assert_eq!(net.events(0), [""; 0]);
    net.run_for(secs(20));
    assert_eq!(net.events(0), ["-participant 1 LeaseExpired"]);
}

#[test]
fn changes_of_a_participant_are_announced() {
    let mut net = Net::new([config(0), config(1)]);
    net.start();
    net.run_for(secs(5));
    net.nodes[1].fx.clear();
    net.with(0, |d, now, out, _| d.set_policies(now, UserData(vec![1, 2]), Property::default(), out));
    net.run_for(2 * DELAY);
    let [DiscoveryEffect::ParticipantUpdated(data)] = &net.nodes[1].fx[..] else { panic!() };
    assert_eq!(data.user_data.0, [1, 2]);
}

#[test]
fn changed_locators_move_proxies_and_matches() {
    let mut net = Net::new([config(0), config(1)]);
    net.add_writer(0, Default::default());
    net.add_reader(1, Default::default());
    net.start();
    net.run_for(secs(5));
    net.nodes[0].fx.clear();
    let moved = Locators {
        metatraffic_unicast: vec![unicast(7, 7412)],
        default_unicast: vec![unicast(7, 7413)],
        ..config(1).locators
    };
    net.with(1, |d, now, out, fx| d.set_locators(now, moved, out, fx));
    // It is asked at the new place, and answers.
    net.run_for(4 * DELAY);
    let updated = net.nodes[0].fx.iter().find_map(|effect| match effect {
        DiscoveryEffect::MatchedReaderUpdated { remote, .. } => Some(remote.unicast.clone()),
        _ => None,
    });
    assert_eq!(updated.as_deref(), Some(&[unicast(7, 7413)][..]));
    // What is announced after the move arrives at the new place.
    net.with(0, |d, now, out, fx| d.remove_writer(now, WRITER, out, fx));
    net.events(1);
    net.run_for(secs(1));
    assert_eq!(net.events(1), ["-writer 0"]);
}

/// Who hears no group sends to none; once it hears one, what others announced of theirs counts.
#[test]
fn own_locators_change_what_is_used_of_others() {
    let data_group = Locator::udp_v4([239, 255, 0, 1].into(), 7401);
    let of_group = |node| Locators { default_multicast: vec![data_group], ..config(node).locators };
    let mut net = Net::new([config(0), DiscoveryConfig { locators: of_group(1), ..config(1) }]);
    net.add_writer(0, Default::default());
    net.add_reader(1, Default::default());
    net.start();
    net.run_for(secs(5));
    let used = |net: &Net| {
        let data = net.nodes[0].discovery.participant(prefix(1)).unwrap();
        data.locators.default_multicast.clone()
    };
    assert_eq!(used(&net), []);
    net.nodes[0].fx.clear();
    net.with(0, |d, now, out, fx| d.set_locators(now, of_group(0), out, fx));
    assert_eq!(used(&net), [data_group]);
    let moved = |effect: &DiscoveryEffect| matches!(effect, DiscoveryEffect::MatchedReaderUpdated { .. });
    assert!(net.nodes[0].fx.iter().any(moved), "what is written goes to its reader there");
}

#[test]
fn ten_participants_all_meet() {
    const COUNT: usize = if cfg!(miri) { 3 } else { 10 };
    let mut net = Net::new((0..COUNT).map(patient));
    for node in 0..COUNT {
        net.add_writer(node, Default::default());
        net.add_reader(node, Default::default());
    }
    net.loss = 100;
    net.start();
    net.run_for(secs(20));
    for node in 0..COUNT {
        let events = net.events(node);
        let count = |word: &str| events.iter().filter(|event| event.starts_with(word)).count();
        // Each matches all, itself included.
        assert_eq!((count("+participant"), count("+writer"), count("+reader")), (COUNT - 1, COUNT, COUNT));
    }
    // Once everything is known, only announcements remain.
    net.loss = 0;
    net.run_for(secs(30));
    net.sent = 0;
    let announced =
        |net: &Net| net.nodes.iter().map(|node| node.discovery.stats().announcements_sent).sum::<u64>();
    let before = announced(&net);
    net.run_for(secs(60));
    assert_eq!(net.sent, announced(&net) - before);
}

#[test]
fn discovery_handles_only_its_own_entities() {
    let entities = [EntityId::SPDP_WRITER, EntityId::SEDP_SUBSCRIPTIONS_READER, WRITER, EntityId::UNKNOWN];
    let handled: Vec<bool> = entities.into_iter().map(Discovery::handles).collect();
    assert_eq!(handled, [true, true, false, false]);
}

/// NTP may set a clock back. What is announced then looks older than what was heard before.
#[test]
fn a_peer_whose_clock_was_set_back_stays_known() {
    let short = |node| DiscoveryConfig {
        lease_duration: Duration::from_secs(2),
        announcement_period: Duration::from_millis(500),
        ..config(node)
    };
    // The second one is found by unicast alone, and has to be answered in kind.
    let knowing = DiscoveryConfig { initial_peers: vec![unicast(0, 7410)], ..short(1) };
    let mut net = Net::new([short(0), knowing]);
    net.nodes[1].joined = false;
    net.start();
    net.run_for(secs(9));
    assert_eq!((net.events(0).len(), net.events(1).len()), (1, 1));
    net.nodes[1].set_back = secs(8);
    net.run_for(secs(6));
    assert_eq!((net.events(0), net.events(1)), (vec![], vec![]));
    assert_eq!(net.nodes[0].discovery.stats().overtaken, 0);
    // What it announces anew counts as later whatever the time.
    net.with(1, |d, now, out, fx| {
        let moved = Locators { metatraffic_unicast: vec![unicast(1, 7_500)], ..d.config().locators.clone() };
        d.set_locators(now, moved, out, fx);
    });
    net.run_for(secs(2));
    let known = net.nodes[0].discovery.participant(prefix(1)).expect("it is known");
    assert_eq!(known.locators.metatraffic_unicast, [unicast(1, 7_500)]);
}
