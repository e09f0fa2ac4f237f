//! Readers whose participant is not heard for longer than its lease, and writes that wait for them.

use dunlin_sim::NodeConfig;

use super::*;

/// Everything as it is unless set: the lease of the participants, and when a reader is inactive.
fn defaults(seed: u64, durable: bool, history: i32) -> Scene {
    let (offered, requested) = (keep_all_writer(), keep_all_reader());
    let offered = if history == 0 { offered } else { offered.resource_limits(history, 1, history) };
    let (offered, requested) =
        if durable { (offered.transient_local(), requested.transient_local()) } else { (offered, requested) };
    Scene::with(seed, &NodeConfig::default(), offered, &requested)
}

impl Scene {
    fn until_met_again(&mut self) {
        let (writer, reader) = (&self.writer, &self.readers[2]);
        let both = |_: &mut World| writer.matched_readers().len() == 3 && reader.matched_writers().len() == 1;
        self.world.run_until(both, secs(30)).expect("they meet again");
    }
}

/// SIGSTOP for three times the lease: the writer forgets the reader, which returns as the same, gets what is left, and SAMPLE_LOST
/// for the rest. One that was stopped has not forgotten the writer, so that it is given nothing twice.
fn stopped(seed: u64) {
    for (durable, history, nothing_waits) in
        [(false, 1_000, false), (false, 0, false), (true, 0, false), (true, 0, true), (false, 1_000, true)]
    {
        let mut scene = defaults(seed, durable, history);
        scene.ticks(1_000);
        if nothing_waits {
            // Its sockets have no room, also not for announcements.
            let others = [scene.nodes[0], scene.nodes[1], scene.nodes[2]];
            scene.world.partition(&others, &[scene.nodes[3]]);
            scene.world.run_for(ms(1));
        }
        scene.stop(2);
        scene.ticks(3_500);
        assert_eq!(scene.writer.stats().readers_inactive, 1);
        let before = (scene.refused, scene.blocked.len());
        scene.ticks(26_500);
        assert_eq!((scene.refused, scene.blocked.len()), before, "no write waits for it");
        assert_eq!(scene.writer.matched_readers().len(), 2, "its lease is over");
        scene.world.heal();
        scene.go_on(2);
        // Too soon for anything to come from the writer.
        scene.world.run_for(Duration::from_micros(10));
        let known = scene.readers[2].matched_writers().len();
        assert_eq!(known, 1, "it blames the writer for its own silence");
        scene.until_met_again();
        scene.ticks(1_000);
        until_acked(&mut scene.world, &scene.writer, secs(5));
        scene.others_have_everything();
        let missing = scene.third_knows_what_it_missed();
        if durable {
            assert_eq!(missing, 0, "it has the history");
        } else {
            assert!(missing > 25_000, "{missing}");
        }
    }
}
scenario!(stopped_beyond_the_lease, 1, stopped);

/// Both sides forget each other: a volatile reader counts what it missed when it meets the same writer again. Another one is given the
/// history again, like a late joiner, and counts what is not there any more.
fn cut_off(seed: u64) {
    for history in [1_000, 0] {
        let mut scene = defaults(seed, false, history);
        scene.ticks(1_000);
        let others = [scene.nodes[0], scene.nodes[1], scene.nodes[2]];
        let third = scene.nodes[3];
        scene.world.partition(&others, &[third]);
        scene.ticks(20_000);
        let known = (scene.writer.matched_readers().len(), scene.readers[2].matched_writers().len());
        assert_eq!(known, (2, 0));
        scene.world.heal();
        scene.until_met_again();
        scene.ticks(1_000);
        until_acked(&mut scene.world, &scene.writer, secs(5));
        scene.others_have_everything();
        assert!(scene.third_knows_what_it_missed() > 15_000);
    }
}
scenario!(cut_off_beyond_the_lease, 2, cut_off);

/// Only the reader forgets: the writer hears it all the time.
fn one_sided(seed: u64) {
    let mut scene = defaults(seed, false, 1_000);
    scene.ticks(1_000);
    let (writer, third) = (scene.nodes[0], scene.nodes[3]);
    scene.world.cut(writer, third);
    scene.ticks(20_000);
    let known = (scene.writer.matched_readers().len(), scene.readers[2].matched_writers().len());
    assert_eq!(known, (3, 0));
    scene.world.mend(writer, third);
    scene.until_met_again();
    scene.ticks(3_000);
    until_acked(&mut scene.world, &scene.writer, secs(5));
    scene.others_have_everything();
    assert!(scene.third_knows_what_it_missed() > 15_000);
}
scenario!(unheard_beyond_the_lease, 2, one_sided);

/// DDS 1.4 §2.2.2.4.2.11: a write that waits for a reader goes on when that is deleted, or its lease is over.
fn blocked(seed: u64) {
    for deleted in [true, false] {
        let mut config = NodeConfig::default();
        config.participant.lease_duration = secs(4);
        config.participant.announcement_period = secs(1);
        config.participant.tuning.inactive_after = Duration::ZERO;
        let offered = keep_all_writer().max_blocking_time(secs(60)).resource_limits(10, 1, 10);
        let mut scene = Scene::with(seed, &config, offered, &keep_all_reader());
        scene.ticks(20);
        let third = scene.nodes[3];
        if deleted {
            // It answers nothing, but says goodbye.
            let full = keep_all_reader().resource_limits(1, 1, 1);
            let full = reader(&mut scene.world, third, "Slow", full);
            scene.world.run_until(|_| scene.writer.matched_readers().len() == 4, secs(5)).expect("matched");
            scene.ticks(10);
            let request = scene.filling.request(1, scene.next, LEN);
            let refused = scene.world.write(scene.nodes[0], &scene.writer, request.clone());
            let (written, reader) = (scene.next, full.guid());
            let is_full = |result| matches!(result, Err(WriteError::Full { .. }));
            assert!(refused.is_ok() || is_full(refused));
            scene.next += u64::from(refused.is_ok());
            let request = scene.filling.request(1, scene.next, LEN);
            assert!(is_full(scene.world.write(scene.nodes[0], &scene.writer, request.clone())), "{written}");
            events(&mut scene.world, scene.nodes[0]);
            scene.world.with(third, |participant, now, out| participant.delete_reader(now, &full, out));
            let gone = |_: &mut World| scene.writer.matched_readers().len() == 3;
            scene.world.run_until(gone, secs(1)).expect("it is unmatched");
            let told = events(&mut scene.world, scene.nodes[0]);
            let freed = told.iter().any(|event| matches!(event, Event::SpaceFreed { .. }));
            assert!(freed, "the write wakes at once");
            assert!(scene.writer.is_inactive(reader).is_none());
            scene.world.write(scene.nodes[0], &scene.writer, request).expect("room");
            scene.next += 1;
        } else {
            scene.stop(2);
            for _ in 0..12 {
                scene.tick();
            }
            assert_eq!((scene.refused, scene.blocked.len()), (0, 1));
            let (_, took) = scene.blocked[0];
            assert!(took > secs(1) && took < secs(5), "{took:?}");
            assert_eq!(scene.writer.matched_readers().len(), 2);
        }
    }
}
scenario!(blocked_write_wakes, 2, blocked);
