//! Writers that send past the daemon of their host.

use dunlin_config::DirectWrite;
use dunlin_qos::{DataWriterQos, PolicyId, UnsupportedPolicy};

use super::ParticipantInner;

impl ParticipantInner {
    /// Whether a writer can send past the daemon if it shall.
    pub(crate) fn check_direct_write(&self, qos: &DataWriterQos) -> Result<(), UnsupportedPolicy> {
        if qos.writes_directly() == Some(true) && self.direct_write == Some(DirectWrite::Never) {
            let reason = "writing past the daemon needs daemon.direct_write = \"asked\": this program has no socket in the network";
            return Err(UnsupportedPolicy { policy: PolicyId::Property, reason });
        }
        Ok(())
    }

    /// The QoS of a writer with what the configuration says of all.
    pub(crate) fn with_direct_write(&self, qos: DataWriterQos) -> DataWriterQos {
        let always = self.direct_write == Some(DirectWrite::Always) && qos.writes_directly().is_none();
        if always { qos.direct_write(true) } else { qos }
    }
}
