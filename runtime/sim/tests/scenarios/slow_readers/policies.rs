//! What waits for slow readers under other policies than VOLATILE and KEEP_ALL.

use dunlin_qos::{DurabilityService, HistoryKind};

use super::*;

/// Nodes that keep each other for long, and soon have enough of readers that do not answer.
fn hasty(inactive_after: Duration) -> NodeConfig {
    let mut config = NodeConfig::default();
    config.participant.lease_duration = secs(300);
    config.participant.tuning.inactive_after = inactive_after;
    config.participant.tuning.inactive_backlog = 500;
    config
}

fn service(history_kind: HistoryKind, max_samples: i32) -> DurabilityService {
    DurabilityService { history_kind, history_depth: 50, max_samples, ..DurabilityService::default() }
}

impl Scene {
    /// Nothing was written while a reader was inactive that had to wait.
    fn waits_no_more(&mut self, writes: impl Fn(&mut Self)) {
        let before = (self.refused, self.blocked.len());
        writes(self);
        assert_eq!((self.refused, self.blocked.len()), before, "refused and blocked");
    }
}

/// With a DURABILITY_SERVICE, what only an inactive reader lacks passes to the store: nobody waits, and the reader gets from the
/// store what that has kept.
fn stored(seed: u64) {
    let stores = [(HistoryKind::KeepLast, -1), (HistoryKind::KeepAll, 700), (HistoryKind::KeepAll, 0)];
    for (kind, kept) in stores {
        for limited in [true, false] {
            let store = service(kind, if kept == 0 { -1 } else { kept });
            let qos =
                keep_all_writer().transient_local().max_blocking_time(ms(100)).durability_service(store);
            let qos = if limited { qos.resource_limits(200, 1, 200) } else { qos };
            let requested = keep_all_reader().transient_local();
            let mut scene = Scene::with(seed, &hasty(INACTIVE_AFTER), qos, &requested);
            scene.ticks(500);
            scene.stop(2);
            scene.ticks(700);
            assert!(scene.is_inactive(2));
            assert_eq!(scene.refused > 0, limited, "until the rule acts, writes wait");
            scene.waits_no_more(|scene| scene.ticks(3_000));
            scene.go_on(2);
            scene.ticks(1_000);
            assert!(!scene.is_inactive(2));
            until_acked(&mut scene.world, &scene.writer, secs(5));
            scene.others_have_everything();
            let missing = scene.third_knows_what_it_missed();
            match (kind, kept, limited) {
                (HistoryKind::KeepAll, 0, _) => assert_eq!(missing, 0, "the store keeps all"),
                (HistoryKind::KeepAll, ..) => assert!((2_200..=3_200).contains(&missing), "{missing}"),
                _ => assert!(missing > 2_000, "{missing}"),
            }
        }
    }
}
scenario!(service_takes_over, 1, stored);

/// Under TRANSIENT_LOCAL and KEEP_ALL what was disposed and unregistered leaves the history once all have acknowledged it: an
/// inactive reader is not waited for. What is kept for late joiners blocks as ever.
fn ended(seed: u64) {
    for (limits, kind) in [
        ((60, -1, -1), ChangeKind::DisposedUnregistered),
        ((-1, 20, -1), ChangeKind::DisposedUnregistered),
        ((-1, 20, -1), ChangeKind::Unregistered),
        ((60, -1, -1), ChangeKind::Disposed),
    ] {
        let qos = keep_all_writer().transient_local().max_blocking_time(ms(5));
        let qos = qos.resource_limits(limits.0, limits.1, limits.2);
        let requested = keep_all_reader().transient_local();
        let mut scene = Scene::with(seed, &hasty(INACTIVE_AFTER), qos, &requested);
        let lives = |scene: &mut Scene, keys: std::ops::Range<u32>| {
            for key in keys {
                scene.tick_of(key);
                scene.tick_of(key);
                scene.end(kind, key);
            }
        };
        lives(&mut scene, 0..100);
        assert_eq!(scene.refused, 0, "{kind:?} {limits:?}");
        scene.stop(2);
        lives(&mut scene, 100..300);
        assert!(scene.is_inactive(2) && scene.refused > 0, "{kind:?} {limits:?}: {}", scene.refused);
        scene.waits_no_more(|scene| lives(scene, 300..500));
        assert!(scene.writer.stats().released_unacknowledged > 0);
        scene.go_on(2);
        lives(&mut scene, 500..600);
        assert!(!scene.is_inactive(2));
        until_acked(&mut scene.world, &scene.writer, secs(5));
        scene.others_have_everything();
    }
    // What is there for late joiners is full with or without a reader that is inactive.
    let qos = keep_all_writer().transient_local().resource_limits(60, 1, 60);
    let requested = keep_all_reader().transient_local();
    let mut scene = Scene::with(seed, &hasty(INACTIVE_AFTER), qos, &requested);
    scene.ticks(60);
    scene.stop(2);
    let request = scene.filling.request(1, 60, LEN);
    let result = scene.world.write_blocking(scene.nodes[0], &scene.writer, request);
    assert_eq!(result, Err(WriteError::OutOfResources));
}
scenario!(ended_instances_give_way, 1, ended);

/// KEEP_LAST writers wait where RESOURCE_LIMITS leave no room for another instance; not for who is inactive.
fn keep_last(seed: u64) {
    for (durable, limits, ends) in [(false, (20, -1), false), (false, (-1, 20), true), (true, (-1, 20), true)]
    {
        let (offered, requested) = (DataWriterQos::default().reliable().keep_last(1), keep_all_reader());
        let offered = offered.max_blocking_time(ms(5)).resource_limits(limits.0, limits.1, -1);
        let (offered, requested) = if durable {
            (offered.transient_local(), requested.transient_local())
        } else {
            (offered, requested)
        };
        let mut scene = Scene::with(seed, &hasty(INACTIVE_AFTER), offered, &requested);
        let lives = |scene: &mut Scene, keys: std::ops::Range<u32>| {
            for key in keys {
                let result = scene.world.with(scene.nodes[0], |_, now, out| {
                    scene.writer.register_instance(now, instance(key), None, None, out)
                });
                scene.refused += u64::from(matches!(result, Err(WriteError::Full { .. })));
                scene.tick_of(key);
                if ends && result.is_ok() {
                    scene.end(ChangeKind::DisposedUnregistered, key);
                }
            }
        };
        lives(&mut scene, 0..100);
        assert_eq!(scene.refused, 0, "{durable} {limits:?}");
        scene.stop(2);
        lives(&mut scene, 100..700);
        assert!(scene.is_inactive(2) && scene.refused > 0, "{durable} {limits:?}: {}", scene.refused);
        scene.waits_no_more(|scene| lives(scene, 700..1_000));
        scene.go_on(2);
        scene.ticks(200);
        assert!(!scene.is_inactive(2));
        until_acked(&mut scene.world, &scene.writer, secs(5));
        scene.take(2);
        let last = scene.next - 1;
        assert_eq!(scene.got[2].last(), Some(&last));
    }
}
scenario!(keep_last_with_limits, 1, keep_last);
