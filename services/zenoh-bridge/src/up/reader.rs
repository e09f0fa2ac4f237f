//! The reader of a route to zenoh.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dunlin::qos::{DataReaderQos, DestinationOrderKind, OwnershipKind, SubscriberQos};
use dunlin::{DataReader, DataReaderListener, Guid, SerializedData, StatusMask};

use super::UpKey;
use crate::bridge::Shared;
use crate::types::{self, NoTopic};

struct Arrivals {
    ready: Arc<AtomicBool>,
    shared: Arc<Shared>,
}

impl DataReaderListener<SerializedData> for Arrivals {
    fn on_data_available(&self, _: &DataReader<SerializedData>) {
        self.ready.store(true, Ordering::SeqCst);
        self.shared.up_wake.wake();
    }
}

/// A reader, and whether nothing is known of the type but its name.
pub(super) struct Made {
    pub(super) reader: DataReader<SerializedData>,
    pub(super) opaque: bool,
}

/// Reads what the writers of a route write.
pub(super) fn make(
    shared: &Arc<Shared>,
    key: &UpKey,
    separation: dunlin::Duration,
    writer: Guid,
    ready: &Arc<AtomicBool>,
) -> Result<Made, NoTopic> {
    let names = (key.topic.as_str(), key.type_name.as_str());
    let found = types::topic(&shared.participant, names, writer, key.offer.keyed)?;
    let partition = (!key.partition.is_empty()).then(|| key.partition.clone());
    let subscriber = shared
        .participant
        .create_subscriber(&SubscriberQos::default().partition(partition))
        .map_err(|error| NoTopic::Because(format!("its subscriber cannot be created: {error}")))?;
    let listener = Arrivals { ready: Arc::clone(ready), shared: Arc::clone(shared) };
    let qos = shared.marked_reader(qos(shared, key, separation));
    let reader = subscriber
        .create_datareader_with_listener(&found.topic, &qos, listener, StatusMask::DATA_AVAILABLE)
        .map_err(|error| NoTopic::Because(format!("the input cannot be created: {error}")))?;
    Ok(Made { reader, opaque: found.opaque })
}

fn qos(shared: &Shared, key: &UpKey, separation: dunlin::Duration) -> DataReaderQos {
    let samples = i32::try_from(shared.config.limits.samples).unwrap_or(i32::MAX);
    let mut qos = DataReaderQos::default()
        .keep_all()
        .resource_limits(samples, -1, -1)
        .destination_order(DestinationOrderKind::ByReceptionTimestamp)
        .remove_duplicates(false)
        .show_every_change();
    if key.offer.reliable {
        qos = qos.reliable();
    }
    if key.offer.kept {
        qos = qos.transient_local();
    }
    if key.offer.exclusive {
        qos.ownership.kind = OwnershipKind::Exclusive;
    }
    qos.time_based_filter.minimum_separation = separation;
    qos
}
