//! Somebody who sends from the address and the port of a node, as root on its host can: nothing in the source of his datagrams tells them
//! from those of the node.

use dunlin_core::{EntityId, Guid, Locator, SequenceNumber, StatusInfo, WallTime, domain_ports};
use dunlin_sim::NodeId;
use dunlin_wire::{DataSpec, ParameterListBuilder, PayloadSpec, pid};

use super::Run;
use super::hostile::message;
use crate::data;
use crate::scenario::Role;

/// So many numbers ahead of the writer at most. Readers remember 64 (docs/hostile-input.md, forged samples).
const AHEAD: u64 = 8;

/// Where a node gets samples, by where it gets announcements.
fn place_of_samples(discovery: Locator) -> Locator {
    let [_, meta, _, user] = domain_ports(0, 0).expect("domain 0 has ports");
    Locator { port: discovery.port + u32::from(user) - u32::from(meta), ..discovery }
}

impl Run<'_> {
    /// A node is told from the place of another one that the other leaves: without a secret, with a wrong one, or as its lease ended.
    pub(super) fn bid_goodbye(&mut self, named: usize, at: usize) {
        let (Some((id, source)), Some((target, _))) = (self.prefix_of(named), self.prefix_of(at)) else {
            return;
        };
        let wall = self.world.now(id).wall;
        let dice = &mut self.stranger().dice;
        let (kind, secret) = (dice.index(4), dice.within(0, 255) as u8);
        let number = if dice.percent(50) { 1 << 40 } else { dice.small(1, 300) as i64 };
        let timestamp = dice.percent(50).then_some(wall);
        let mut list = ParameterListBuilder::new();
        list.put_bytes(pid::KEY_HASH, &Guid::new(source, EntityId::PARTICIPANT).to_bytes());
        list.put_status_info(StatusInfo(StatusInfo::DISPOSED | StatusInfo::UNREGISTERED));
        if kind % 2 == 1 {
            list.put_bytes(pid::vendor::GOODBYE_SECRET, &[secret; 16]);
        }
        if kind >= 2 {
            list.put_bytes(pid::vendor::LEASE_ENDED, &[]);
        }
        let inline_qos = list.finish();
        let bytes = message(source, |message| {
            message.info_ts(timestamp);
            message.data(&DataSpec {
                reader_id: EntityId::UNKNOWN,
                writer_id: EntityId::SPDP_WRITER,
                writer_sn: SequenceNumber(number),
                inline_qos: &inline_qos,
                payload: PayloadSpec::None,
            });
        });
        self.send_from(id, self.world.source(target), bytes);
    }

    /// A node gets samples with the next numbers of a writer.
    pub(super) fn replace_samples(&mut self, endpoint: usize, at: usize) {
        let plan = &self.scenario.endpoints[endpoint];
        let (Some((id, source)), Some((target, _))) = (self.prefix_of(plan.node), self.prefix_of(at)) else {
            return;
        };
        let (Role::Writer { first_key, .. }, Some(number)) = (plan.role, self.living[endpoint]) else {
            return;
        };
        let wall = self.world.now(id).wall;
        let now = self.age();
        let next = self.log.writers[number].changes.len() as u64 + 1;
        let writer_id = self.log.writers[number].guid.entity_id;
        let dice = &mut self.stranger().dice;
        // Some have been written, and perhaps are on their way.
        let first = (next + dice.within(0, 3)).saturating_sub(1).max(1);
        let count = dice.small(1, AHEAD - 2);
        // No application writes at such a time.
        let timestamp = WallTime(wall.0 - 500_000 - dice.within(1, 499_999) as i64);
        let timed = dice.percent(80);
        for forged in first..first + count {
            self.log.writers[number].forged.push((now, at, forged));
            let bytes = message(source, |message| {
                message.info_ts(timed.then_some(timestamp));
                message.data(&DataSpec {
                    reader_id: EntityId::UNKNOWN,
                    writer_id,
                    writer_sn: SequenceNumber(forged as i64),
                    inline_qos: &[],
                    payload: PayloadSpec::Data(data::forged(1 + first_key, forged)),
                });
            });
            self.send_from(id, place_of_samples(self.world.source(target)), bytes);
        }
    }

    /// Whoever sends it is nowhere on the paths of the node: all of it arrives.
    fn send_from(&mut self, node: NodeId, to: Locator, bytes: dunlin_buf::SharedBytes) {
        let from = self.world.source(node);
        let sender = self.stranger().id;
        self.world.inject(sender, from, to, bytes);
    }
}
