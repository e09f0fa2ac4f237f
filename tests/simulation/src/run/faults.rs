//! Faults begin and end.

use std::net::Ipv4Addr;

use dunlin_core::{Duration, Locator};
use dunlin_sim::{Burst, Identity, NodeId, PathConfig};

use super::agenda::Action;
use super::{MS, Run, router};
use crate::scenario::{Fault, PathFault};

/// The standard's groups of domain 0: that of discovery and that of samples.
pub(super) fn groups() -> [Locator; 2] {
    let group = Ipv4Addr::new(239, 255, 0, 1);
    let [meta, _, user, _] = dunlin_core::domain_ports(0, 0).expect("domain 0 has ports");
    [Locator::udp_v4(group, meta), Locator::udp_v4(group, user)]
}

fn low(number: usize) -> u8 {
    u8::try_from(number % 256).unwrap_or(0)
}

fn suffer(path: &mut PathConfig, fault: &PathFault) {
    match *fault {
        PathFault::Loss(ppm) => path.loss_ppm = ppm,
        PathFault::Burst(begin_ppm, length) => {
            path.burst = Some(Burst { begin_ppm, end_ppm: 1_000_000 / length, loss_ppm: 950_000 });
        }
        PathFault::Duplicate(ppm) => path.duplicate_ppm = ppm,
        PathFault::Reorder(ppm, by) => {
            (path.reorder_ppm, path.reorder_by) = (ppm, Duration::from_millis(by));
        }
        PathFault::Delay(delay) => path.delay = delay,
        PathFault::Rate(rate, queue) => (path.rate, path.queue) = (Some(rate), queue),
        PathFault::Mtu(mtu) => path.mtu = mtu,
        PathFault::Corrupt(ppm) => path.corrupt_ppm = ppm,
    }
}

impl Run<'_> {
    pub(super) fn id(&self, node: usize) -> Option<NodeId> {
        self.machines[node].as_ref().map(|machine| machine.id)
    }

    pub(super) fn begin(&mut self, index: usize) {
        self.active.push(index);
        self.effect_begins(index);
        self.turn(index, true);
    }

    pub(super) fn end(&mut self, index: usize) {
        if let Some(place) = self.active.iter().position(|active| *active == index) {
            self.active.swap_remove(place);
            self.effect_ends(index);
            self.turn(index, false);
        }
    }

    /// What happens half-way: the participant behind a router learns where it is to be found, and of two interfaces the
    /// first fails.
    pub(super) fn middle(&mut self, index: usize) {
        if let Fault::Nat(node) = self.scenario.faults[index].fault
            && let Some(id) = self.id(node)
        {
            self.world.set_nat(id, Some(router(node, 1)), true);
        }
        if let Fault::Interface(node) = self.scenario.faults[index].fault {
            self.set_interfaces(node, &[false]);
        }
    }

    fn turn(&mut self, index: usize, begins: bool) {
        match &self.scenario.faults[index].fault {
            Fault::Path(..) => self.set_paths(),
            Fault::Group(..) => self.set_groups(),
            Fault::Partition(_) | Fault::Cut(..) => self.set_cuts(),
            Fault::Address(node, back) => self.change_address(*node, begins, *back),
            Fault::Interface(node) => {
                self.set_interfaces(*node, if begins { &[true, false] } else { &[true] })
            }
            Fault::Nat(node) => {
                if let Some(id) = self.id(*node) {
                    self.world.set_nat(id, Some(router(*node, u16::from(begins))), !begins);
                }
            }
            Fault::Crash(node, same) => {
                let identity = if *same { Identity::Same } else { Identity::New };
                if begins { self.stop(*node, false) } else { self.start(*node, identity) }
            }
            Fault::Leave(node) => {
                if begins {
                    self.stop(*node, true);
                } else {
                    self.start(*node, Identity::New);
                }
            }
            Fault::Pause(node) => self.pause(*node, begins),
            Fault::Memory(from, to) if begins => {
                if let (Some(from), Some(to)) = (self.id(*from), self.id(*to)) {
                    self.world.cut_memory(from, to);
                }
            }
            Fault::Vanish(node, cleared) if begins => self.go(*node, *cleared),
            Fault::Takeover(from, to, both) => self.take_over((*from, *to), *both, begins),
            Fault::Jump(node, by) if begins => {
                if let Some(id) = self.id(*node) {
                    let ahead = self.world.wall_ahead(id).as_nanos();
                    let jumped = Duration::from_nanos(ahead.saturating_add(by * MS as i64));
                    self.world.set_wall_offset(id, jumped);
                }
            }
            Fault::Jump(..) | Fault::Memory(..) | Fault::Vanish(..) => {}
            Fault::Drift(node, ppm) => {
                if let Some(id) = self.id(*node) {
                    self.world.set_wall_drift(id, if begins { *ppm } else { 0 });
                }
            }
            Fault::Forger(..) | Fault::Liar(..) | Fault::Goodbyes(..) | Fault::Samples(..) => {
                self.attack(index)
            }
            Fault::Slow(endpoint) => {
                if begins {
                    self.slow.insert(*endpoint)
                } else {
                    self.slow.remove(endpoint)
                };
            }
        }
    }

    fn set_paths(&mut self) {
        let count = self.machines.len();
        for from in 0..count {
            for to in 0..count {
                let (Some(one), Some(other)) = (self.id(from), self.id(to)) else { continue };
                let mut path = self.scenario.base;
                for index in &self.active {
                    if let Fault::Path(of, at, fault) = &self.scenario.faults[*index].fault
                        && of.is_none_or(|of| of == from)
                        && at.is_none_or(|at| at == to)
                    {
                        suffer(&mut path, fault);
                    }
                }
                self.world.set_path(one, other, path);
            }
        }
    }

    fn set_cuts(&mut self) {
        self.world.heal();
        let count = self.machines.len();
        for index in &self.active {
            match &self.scenario.faults[*index].fault {
                Fault::Partition(side) => {
                    let ids = |inside: bool| -> Vec<NodeId> {
                        let nodes = (0..count).filter(|node| side.contains(node) == inside);
                        nodes.filter_map(|node| self.id(node)).collect()
                    };
                    let (one, other) = (ids(true), ids(false));
                    self.world.partition(&one, &other);
                }
                Fault::Cut(from, to) => {
                    if let (Some(from), Some(to)) = (self.id(*from), self.id(*to)) {
                        self.world.cut(from, to);
                    }
                }
                _ => {}
            }
        }
    }

    fn set_groups(&mut self) {
        let ids = (0..self.machines.len()).filter_map(|node| self.id(node));
        let receivers: Vec<Option<NodeId>> = ids.map(Some).chain([None]).collect();
        for (number, group) in groups().into_iter().enumerate() {
            receivers.iter().for_each(|receiver| self.world.mend_group(group, *receiver));
            for index in &self.active {
                let Fault::Group(node, which) = self.scenario.faults[*index].fault else { continue };
                let receiver = node.map(|node| self.id(node));
                if receiver != Some(None) && which.is_none_or(|which| which == number) {
                    self.world.break_group(group, receiver.flatten());
                }
            }
        }
    }

    fn change_address(&mut self, node: usize, begins: bool, back: bool) {
        let moves = self.moves.wrapping_add(1);
        let Some(machine) = &mut self.machines[node] else { return };
        let away = Ipv4Addr::new(172, 16, low(node), moves);
        if begins {
            self.moves = moves;
            machine.away = away;
            self.world.change_address(machine.id, away, false);
        } else {
            machine.home = if back { machine.home } else { machine.away };
            self.world.change_address(machine.id, machine.home, !back);
        }
    }

    /// The addresses of a node: its own, another one, or both.
    fn set_interfaces(&mut self, node: usize, own: &[bool]) {
        let Some(machine) = &self.machines[node] else { return };
        let other = Ipv4Addr::new(192, 168, low(node), 1);
        let addresses: Vec<_> = own.iter().map(|own| if *own { machine.home } else { other }).collect();
        self.world.set_addresses(machine.id, &addresses, true);
    }

    /// A node goes for good, perhaps after it has deleted its endpoints.
    fn go(&mut self, node: usize, cleared: bool) {
        if cleared && self.is_awake(node) {
            let plans = self.scenario.endpoints.iter().enumerate();
            let own: Vec<usize> =
                plans.filter(|(_, plan)| plan.node == node).map(|(index, _)| index).collect();
            own.into_iter().for_each(|index| self.vanish(index));
        }
        self.stop(node, false);
    }

    /// A node has the address of another one, which has a new one and does not know at first.
    fn take_over(&mut self, (from, to): (usize, usize), both: bool, begins: bool) {
        let moves = self.moves.wrapping_add(1);
        let Some((giver, taker)) = self.id(from).zip(self.id(to)) else { return };
        let home = |run: &mut Self, node: usize, address: Option<Ipv4Addr>| {
            let machine = run.machines[node].as_mut().expect("both are there");
            let before = machine.home;
            machine.home = address.unwrap_or(before);
            before
        };
        let own = home(self, to, None);
        if begins {
            self.moves = moves;
            let elsewhere = Ipv4Addr::new(172, 17, low(from), moves);
            let old = home(self, from, Some(elsewhere));
            self.world.change_address(giver, elsewhere, false);
            if both {
                self.world.set_addresses(taker, &[old, own], true);
            } else {
                home(self, to, Some(old));
                self.world.change_address(taker, old, true);
            }
        } else {
            let new = home(self, from, None);
            self.world.change_address(giver, new, true);
            if both {
                self.world.change_address(taker, own, true);
            }
        }
    }

    fn pause(&mut self, node: usize, begins: bool) {
        let Some(machine) = &mut self.machines[node] else { return };
        machine.paused = begins;
        let id = machine.id;
        if begins {
            self.world.pause(id);
        } else {
            self.world.resume(id);
        }
    }

    /// The program on a node ends, with a goodbye or without.
    fn stop(&mut self, node: usize, goodbye: bool) {
        self.poll(node);
        let now = self.age();
        let Some(machine) = &mut self.machines[node] else { return };
        machine.up = false;
        machine.entities.clear();
        let id = machine.id;
        self.forget_groups(node);
        if goodbye {
            self.world.leave(id);
        } else {
            self.world.crash(id);
        }
        for (index, plan) in self.scenario.endpoints.iter().enumerate().filter(|(_, plan)| plan.node == node)
        {
            let Some(number) = self.living[index].take() else { continue };
            if plan.is_writer() {
                self.log.writers[number].ended = Some(now);
            } else {
                self.log.readers[number].ended = Some(now);
            }
        }
    }

    fn start(&mut self, node: usize, identity: Identity) {
        let Some(machine) = &mut self.machines[node] else { return };
        machine.up = true;
        let id = machine.id;
        self.world.restart(id, identity);
        self.world.take_events(id);
        let now = self.age();
        for (index, plan) in self.scenario.endpoints.iter().enumerate() {
            if plan.on && plan.node == node && plan.appears * MS <= now {
                self.agenda.at(now, Action::Appear(index));
            }
        }
    }

    /// All faults end: those that have not yet, and all that they leave behind on the network.
    pub(super) fn heal(&mut self) {
        for index in self.active.clone() {
            self.end(index);
        }
        self.slow.clear();
        self.set_cuts();
        self.set_paths();
    }
}
