//! What a flow remembers of instances: which it has passed on, how many samples it has left out, and the last one.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};

use dunlin::InstanceHandle;

use crate::config::RouteConfig;
use crate::stats::Dropped;

/// Of each instance, as far as the route needs it; nothing if it does not.
pub(crate) struct Instances {
    one_of: u32,
    only_on_change: bool,
    exclusive: bool,
    most: usize,
    known: BTreeMap<InstanceHandle, Known>,
}

#[derive(Clone, Copy, Default)]
struct Known {
    /// The output has written it.
    registered: bool,
    /// Samples since one was passed on.
    since: u32,
    /// Of the octets that were passed on last.
    last: Option<u64>,
}

/// Whether a sample is passed on.
pub(crate) enum Verdict {
    Pass,
    LeaveOut(Dropped),
}

fn digest(octets: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(octets);
    hasher.finish()
}

impl Instances {
    pub(crate) fn new(route: &RouteConfig, exclusive: bool, most: usize) -> Self {
        let (one_of, only_on_change) = (route.one_of, route.only_on_change);
        Self { one_of, only_on_change, exclusive, most, known: BTreeMap::new() }
    }

    const fn remembers(&self) -> bool {
        self.one_of > 1 || self.only_on_change || self.exclusive
    }

    /// What is remembered of an instance; of the first ones only where there are too many.
    fn entry(&mut self, instance: InstanceHandle) -> Option<&mut Known> {
        if !self.known.contains_key(&instance) && self.known.len() >= self.most {
            return None;
        }
        Some(self.known.entry(instance).or_default())
    }

    pub(crate) fn judge(&mut self, instance: InstanceHandle, octets: &[u8]) -> Verdict {
        if self.one_of <= 1 && !self.only_on_change {
            return Verdict::Pass;
        }
        let (one_of, only_on_change) = (self.one_of, self.only_on_change);
        let Some(known) = self.entry(instance) else { return Verdict::LeaveOut(Dropped::NoRoom) };
        if only_on_change && known.last == Some(digest(octets)) {
            return Verdict::LeaveOut(Dropped::Unchanged);
        }
        if known.registered && known.since.saturating_add(1) < one_of {
            known.since += 1;
            return Verdict::LeaveOut(Dropped::Rate);
        }
        Verdict::Pass
    }

    pub(crate) fn passed(&mut self, instance: InstanceHandle, octets: &[u8]) {
        if !self.remembers() {
            return;
        }
        let only_on_change = self.only_on_change;
        if let Some(known) = self.entry(instance) {
            (known.registered, known.since) = (true, 0);
            known.last = only_on_change.then(|| digest(octets));
        }
    }

    /// Whether the instance has been passed on, and has another owner now.
    pub(crate) fn yields(&self, instance: InstanceHandle) -> bool {
        self.exclusive && self.known.get(&instance).is_some_and(|known| known.registered)
    }

    /// What follows a dispose makes the instance alive again, so it passes whatever it is. Only its owner has to be known on.
    pub(crate) fn disposed(&mut self, instance: InstanceHandle) {
        if !self.exclusive {
            self.known.remove(&instance);
        } else if let Some(known) = self.known.get_mut(&instance) {
            (known.since, known.last) = (u32::MAX, None);
        }
    }

    pub(crate) fn ended(&mut self, instance: InstanceHandle) {
        self.known.remove(&instance);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_that_were_disposed_take_no_room() {
        let text = "name = \"gate\"\nparticipant.a.domain = 0\nparticipant.b.domain = 1\n[[route]]\nfrom = \"a\"\n\
                    to = \"b\"\nonly_on_change = true\n";
        let config = crate::RouterConfig::from_toml("test.toml", text, None).unwrap();
        let mut instances = Instances::new(&config.routes[0], false, 2);
        for n in 0..10 {
            let instance = InstanceHandle([n; 16]);
            assert!(matches!(instances.judge(instance, b"same"), Verdict::Pass), "{n}");
            instances.passed(instance, b"same");
            assert!(matches!(instances.judge(instance, b"same"), Verdict::LeaveOut(Dropped::Unchanged)));
            instances.disposed(instance);
        }
    }
}
