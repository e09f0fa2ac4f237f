//! A writer whose QoS changes (DDS 1.4 §2.2.3: the changeable policies).

use alloc::sync::Arc;

use dunlin_buf::SharedBytes;
use dunlin_core::Now;
use dunlin_qos::DataWriterQos;

use super::{WriterSlot, traffic_class};
use crate::output::Output;

impl WriterSlot {
    /// Applies a QoS of which only changeable policies differ; `for_readers` goes inline to those that ask for it.
    pub(crate) fn apply_qos(
        &self,
        now: Now,
        qos: Arc<DataWriterQos>,
        for_readers: SharedBytes,
        out: &mut Output,
    ) {
        let mut guard = self.turnstile.core();
        let core = &mut *guard;
        if core.qos.deadline != qos.deadline {
            core.cache.set_deadline(now, qos.deadline.period);
        }
        core.cache.set_lifespan(qos.lifespan.duration);
        core.writer.set_latency_budget(qos.latency_budget.duration);
        core.writer.set_traffic_class(traffic_class(qos.transport_priority));
        core.writer.set_reader_inline_qos(Some(for_readers));
        core.qos = qos;
        self.arm(core, out);
    }
}
