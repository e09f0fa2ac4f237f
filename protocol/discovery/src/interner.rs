//! One copy of what many endpoints announce alike: RTPS 2.5 §8.5.4.4 gives each of them names and a whole QoS.

use alloc::{collections::BTreeSet, sync::Arc, vec::Vec};

use dunlin_qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos};

use crate::data::{DiscoveredReader, DiscoveredWriter};

/// Different values of one kind of QoS that are looked through for an equal one.
const RECENT: usize = 16;
/// Names that may be kept although nobody uses them any more.
const SPARE: usize = 256;

/// Values that were met before, so that what is remembered of many endpoints is little more than their GUIDs.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    names: BTreeSet<Arc<str>>,
    types: BTreeSet<Arc<[u8]>>,
    /// Entries at which unused ones are looked for.
    purge_at: usize,
    writer_qos: Recent<DataWriterQos>,
    reader_qos: Recent<DataReaderQos>,
    publisher_qos: Recent<PublisherQos>,
    subscriber_qos: Recent<SubscriberQos>,
}

/// The values met last, the latest at the end.
#[derive(Debug)]
struct Recent<T>(Vec<Arc<T>>);

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: PartialEq> Recent<T> {
    fn share(&mut self, value: &mut Arc<T>) {
        if let Some(at) = self.0.iter().rposition(|known| **known == **value) {
            let known = self.0.remove(at);
            *value = Arc::clone(&known);
            self.0.push(known);
            return;
        }
        if self.0.len() >= RECENT {
            self.0.remove(0);
        }
        self.0.push(Arc::clone(value));
    }
}

fn share<T: ?Sized + Ord>(known: &mut BTreeSet<Arc<T>>, value: &mut Arc<T>) {
    match known.get(&**value) {
        Some(known) => *value = Arc::clone(known),
        None => {
            known.insert(Arc::clone(value));
        }
    }
}

impl Interner {
    pub(crate) fn writer(&mut self, writer: &mut DiscoveredWriter) {
        share(&mut self.names, &mut writer.topic_name);
        share(&mut self.names, &mut writer.type_name);
        if let Some(information) = &mut writer.type_information {
            share(&mut self.types, information);
        }
        self.writer_qos.share(&mut writer.qos);
        self.publisher_qos.share(&mut writer.publisher_qos);
        self.purge_if_due();
    }

    pub(crate) fn reader(&mut self, reader: &mut DiscoveredReader) {
        share(&mut self.names, &mut reader.topic_name);
        share(&mut self.names, &mut reader.type_name);
        if let Some(information) = &mut reader.type_information {
            share(&mut self.types, information);
        }
        self.reader_qos.share(&mut reader.qos);
        self.subscriber_qos.share(&mut reader.subscriber_qos);
        self.purge_if_due();
    }

    /// Forgets what nobody uses, whenever there may be as much of that as of the rest.
    fn purge_if_due(&mut self) {
        if self.names.len().saturating_add(self.types.len()) < self.purge_at.max(SPARE) {
            return;
        }
        self.names.retain(|name| Arc::strong_count(name) > 1);
        self.types.retain(|information| Arc::strong_count(information) > 1);
        self.purge_at = self.names.len().saturating_add(self.types.len()).saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn equal_values_are_one() {
        let mut interner = Interner::default();
        let mut qos: Vec<Arc<DataReaderQos>> = Vec::new();
        for _ in 0..3 {
            let mut value = Arc::new(DataReaderQos::default());
            interner.reader_qos.share(&mut value);
            qos.push(value);
        }
        assert!(Arc::ptr_eq(&qos[0], &qos[2]));
        let mut names: [Arc<str>; 2] = ["topic".into(), "topic".into()];
        names.iter_mut().for_each(|name| share(&mut interner.names, name));
        assert!(Arc::ptr_eq(&names[0], &names[1]));
    }

    #[test]
    fn unreferenced_values_are_removed_from_the_interner() {
        let mut interner = Interner::default();
        let mut kept: Arc<str> = "kept".into();
        share(&mut interner.names, &mut kept);
        for n in 0..10_000 {
            let mut name: Arc<str> = format!("topic {n}").into();
            share(&mut interner.names, &mut name);
            interner.purge_if_due();
            assert!(interner.names.len() <= SPARE);
        }
        assert!(interner.names.contains("kept"));
        for n in 0..100 {
            let mut qos = Arc::new(PublisherQos::default().partition([format!("{n}")]));
            interner.publisher_qos.share(&mut qos);
        }
        assert_eq!(interner.publisher_qos.0.len(), RECENT);
    }
}
