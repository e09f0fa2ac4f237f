//! The readers of the topics that a multi-topic joins, behind the reader of its rows (DDS 1.4 §2.2.2.3.4).

use std::sync::Arc;

use dunlin_qos::{DataReaderQos, TimeBasedFilter};

use super::ReaderInner;

impl ReaderInner {
    /// Those behind this reader; none of one that is not of a multi-topic, or not enabled.
    pub(super) fn readers_behind(&self) -> &[Arc<Self>] {
        self.behind.get().map(Vec::as_slice).unwrap_or_default()
    }

    /// The QoS of those behind it: rows are held back, not what they are made of.
    pub(super) fn qos_behind(&self) -> DataReaderQos {
        DataReaderQos { time_based_filter: TimeBasedFilter::default(), ..self.qos() }
    }

    /// Gives those behind it its QoS, and that of its subscriber and of their topics.
    pub(super) fn refresh_behind(&self) {
        let behind = self.readers_behind();
        while !behind.is_empty() {
            let qos = self.qos_behind();
            for reader in behind {
                // It changes nothing that is immutable, as the reader of rows could not change that either.
                let _ = reader.set_qos(&qos);
            }
            // Otherwise another thread has changed it meanwhile, and may have come to the readers before this one.
            if self.qos_behind() == qos {
                return;
            }
        }
    }
}
