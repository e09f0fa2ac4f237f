//! Instances: what readers think of them agrees with what writers did to them.

use std::collections::BTreeMap;

use dunlin_cache::{InstanceState, instance_handle};
use dunlin_rtps::ChangeKind;

use crate::common::*;

/// What became of an instance.
#[derive(Clone, Default)]
struct Model {
    values: Vec<u64>,
    state: Option<InstanceState>,
    registered: bool,
}

impl Model {
    fn apply(&mut self, kind: ChangeKind, number: u64) {
        let disposed = self.state == Some(InstanceState::NotAliveDisposed);
        match kind {
            ChangeKind::Alive => {
                self.values.push(number);
                self.state = Some(InstanceState::Alive);
            }
            ChangeKind::Disposed | ChangeKind::DisposedUnregistered => {
                self.state = Some(InstanceState::NotAliveDisposed);
            }
            // Who disposed of it before has had the last word on it.
            ChangeKind::Unregistered if disposed => {}
            ChangeKind::Unregistered => self.state = Some(InstanceState::NotAliveNoWriters),
        }
        self.registered = !matches!(kind, ChangeKind::Unregistered | ChangeKind::DisposedUnregistered);
    }
}

fn life_cycles(seed: u64) {
    const KEYS: u64 = 6;
    let filling = Filling::new(200);
    let (mut world, nodes) = faulty_world(seed, 2, 250_000);
    let writer = writer(&mut world, nodes[0], "Life", keep_all_writer());
    let reader = reader(&mut world, nodes[1], "Life", keep_all_reader());
    until_matched(&mut world, &[&writer], &[&reader]);
    let mut models: BTreeMap<u32, Model> = BTreeMap::new();
    for number in 0..200 {
        let key = 1 + world.rng().below(KEYS) as u32;
        let model = models.entry(key).or_default();
        let kind = match world.rng().below(8) {
            5 if model.registered => ChangeKind::Disposed,
            6 if model.registered => ChangeKind::Unregistered,
            7 if model.registered => ChangeKind::DisposedUnregistered,
            _ => ChangeKind::Alive,
        };
        let request = match kind {
            ChangeKind::Alive => filling.request(key, number, 200),
            _ => life_cycle(kind, key),
        };
        world.write(nodes[0], &writer, request).expect("no limits");
        model.apply(kind, number);
        let pause = world.rng().below(2_000) as i64;
        world.run_for(dunlin_core::Duration::from_micros(pause));
    }
    until_acked(&mut world, &writer, secs(20));
    for (key, model) in &models {
        let state = reader.instance_state(instance_handle(instance(*key).0));
        assert_eq!(state, model.state, "instance {key}");
    }
    let mut values: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for sample in world.take(nodes[1], &reader).iter().filter(|sample| sample.info.valid_data) {
        let (key, number) = filling.open(sample);
        values.entry(key).or_default().push(number);
    }
    let written = models.into_iter().map(|(key, model)| (key, model.values)).collect();
    assert_eq!(values, written);
}
scenario!(cycles, 20, life_cycles);

/// An instance has no writers only when the last of several has left it, in whatever way.
fn several_writers(seed: u64) {
    let filling = Filling::new(100);
    let (mut world, nodes) = faulty_world(seed, 3, 250_000);
    let one = writer(&mut world, nodes[0], "Shared", keep_all_writer());
    let other = writer(&mut world, nodes[1], "Shared", keep_all_writer());
    let reader = reader(&mut world, nodes[2], "Shared", keep_all_reader());
    until_matched(&mut world, &[&one, &other], &[&reader]);
    let state = || reader.instance_state(instance_handle(instance(1).0));
    write_all(&mut world, nodes[0], &one, &filling, 0..10, 100);
    write_all(&mut world, nodes[1], &other, &filling, 10..20, 100);
    until_acked(&mut world, &one, secs(10));
    until_acked(&mut world, &other, secs(10));
    world.write(nodes[0], &one, life_cycle(ChangeKind::Unregistered, 1)).expect("registered");
    until_acked(&mut world, &one, secs(10));
    assert_eq!(state(), Some(InstanceState::Alive));
    match world.rng().below(3) {
        0 => {
            world.write(nodes[1], &other, life_cycle(ChangeKind::Unregistered, 1)).expect("registered");
        }
        1 => world.with(nodes[1], |participant, now, out| participant.delete_writer(now, &other, out)),
        _ => world.crash(nodes[1]),
    }
    let left = |_: &mut dunlin_sim::World| state() == Some(InstanceState::NotAliveNoWriters);
    world.run_until(left, secs(12)).expect("no writers are left");
}
scenario!(shared, 20, several_writers);

/// Nothing that waits to leave with more makes room for a change that is refused.
#[test]
fn a_refused_unregister_leaves_what_waits_where_it_is() {
    let budget = dunlin_core::Duration::from_secs(1);
    let filling = Filling::new(100);
    let (mut world, nodes) = faulty_world(1, 2, 0);
    let writer = writer(&mut world, nodes[0], "Life", keep_all_writer().keep_last(2).latency_budget(budget));
    let reader = reader(&mut world, nodes[1], "Life", keep_all_reader().latency_budget(budget));
    until_matched(&mut world, &[&writer], &[&reader]);
    let sent = world.sent_between(nodes[0], nodes[1]);
    world.write(nodes[0], &writer, filling.request(1, 0, 100)).expect("there is room");
    let end = || life_cycle(ChangeKind::Unregistered, 1);
    world.write(nodes[0], &writer, end()).expect("it is registered");
    world.write(nodes[0], &writer, end()).expect_err("it is not registered any more");
    assert_eq!(world.sent_between(nodes[0], nodes[1]), sent);
    until_acked(&mut world, &writer, secs(5));
    let state = reader.instance_state(instance_handle(instance(1).0));
    assert_eq!(state, Some(InstanceState::NotAliveNoWriters));
}
