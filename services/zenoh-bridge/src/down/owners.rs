//! Which output has an instance of OWNERSHIP EXCLUSIVE. Its owner is chosen in the domain that it comes from: when that is another writer
//! there, the output of the former one gives the instance up here, or readers would keep to it.

use std::collections::BTreeMap;

use dunlin::InstanceHandle;

use crate::offer::Offer;

/// Instances that are remembered of a route.
const INSTANCES: usize = 1 << 16;

/// By instance and bridge.
#[derive(Default)]
pub(super) struct Owners(BTreeMap<(InstanceHandle, [u8; 12]), Offer>);

impl Owners {
    /// The output that has to give an instance up before a sample of it passes by another one.
    pub(super) fn former(
        &self,
        (instance, bridge): (InstanceHandle, [u8; 12]),
        offer: Offer,
    ) -> Option<Offer> {
        let former = *self.0.get(&(instance, bridge)).filter(|known| **known != offer)?;
        // Another bridge may bring the instance by the same output.
        let mut all = self.0.range((instance, [0; 12])..=(instance, [u8::MAX; 12]));
        let others = all.any(|((_, of), known)| *of != bridge && *known == former);
        (!others).then_some(former)
    }

    /// A sample has passed by an output.
    pub(super) fn passed(&mut self, of: (InstanceHandle, [u8; 12]), offer: Offer) {
        if self.0.len() < INSTANCES || self.0.contains_key(&of) {
            self.0.insert(of, offer);
        }
    }

    /// An output has given an instance up.
    pub(super) fn given_up(&mut self, of: (InstanceHandle, [u8; 12]), offer: Offer) {
        if self.0.get(&of) == Some(&offer) {
            self.0.remove(&of);
        }
    }

    /// Only these outputs are left.
    pub(super) fn retain(&mut self, is_there: impl Fn(&Offer) -> bool) {
        self.0.retain(|_, offer| is_there(offer));
    }
}

#[cfg(test)]
mod tests {
    use dunlin::qos::DataWriterQos;

    use super::*;

    fn strength(value: i32) -> Offer {
        let mut qos = DataWriterQos::default();
        qos.ownership_strength.value = value;
        Offer::of_writer(&qos, true)
    }

    #[test]
    fn an_owner_gives_up_its_instance_unless_another_bridge_has_it() {
        let (mut owners, instance) = (Owners::default(), InstanceHandle([4; 16]));
        let (one, other) = ((instance, [0; 12]), (instance, [u8::MAX; 12]));
        assert_eq!(owners.former(one, strength(1)), None);
        owners.passed(one, strength(2));
        assert_eq!(owners.former(one, strength(2)), None);
        assert_eq!(owners.former(one, strength(1)), Some(strength(2)));
        assert_eq!(owners.former(other, strength(1)), None);
        owners.passed(other, strength(2));
        assert_eq!(owners.former(one, strength(1)), None);
        owners.passed(one, strength(1));
        assert_eq!(owners.former(other, strength(1)), Some(strength(2)));
        owners.given_up(other, strength(1));
        assert_eq!(owners.former(other, strength(1)), Some(strength(2)));
        owners.given_up(other, strength(2));
        assert_eq!(owners.former(other, strength(1)), None);
        owners.retain(|offer| *offer != strength(1));
        assert_eq!(owners.former(one, strength(2)), None);
    }

    #[test]
    fn remembered_owners_are_bounded() {
        let mut owners = Owners::default();
        for n in 0..=INSTANCES as u32 {
            let mut instance = [0; 16];
            instance[..4].copy_from_slice(&n.to_le_bytes());
            owners.passed((InstanceHandle(instance), [1; 12]), strength(1));
        }
        assert_eq!(owners.0.len(), INSTANCES);
    }
}
