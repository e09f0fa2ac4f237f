//! The participants of this process, and the QoS of those to come: what the factory has (DDS 1.4 §2.2.2.2.2).

use std::sync::{Arc, Mutex, Weak};

use dunlin_qos::{DomainParticipantFactoryQos, DomainParticipantQos};

use super::ParticipantInner;
use crate::mutex::lock;

static PARTICIPANTS: Mutex<Vec<Weak<ParticipantInner>>> = Mutex::new(Vec::new());
static DEFAULT_QOS: Mutex<Option<DomainParticipantQos>> = Mutex::new(None);
static FACTORY_QOS: Mutex<Option<DomainParticipantFactoryQos>> = Mutex::new(None);

/// Makes a participant known.
pub(super) fn register(participant: &Arc<ParticipantInner>) {
    let mut participants = lock(&PARTICIPANTS);
    participants.retain(|known| known.strong_count() > 0);
    participants.push(Arc::downgrade(participant));
}

/// Those that are there.
pub(crate) fn participants() -> Vec<Arc<ParticipantInner>> {
    lock(&PARTICIPANTS).iter().filter_map(Weak::upgrade).collect()
}

/// The QoS of the factory.
pub(crate) fn factory_qos() -> DomainParticipantFactoryQos {
    lock(&FACTORY_QOS).unwrap_or_default()
}

pub(crate) fn set_factory_qos(qos: DomainParticipantFactoryQos) {
    *lock(&FACTORY_QOS) = Some(qos);
}

/// The QoS of participants that are made without one.
pub(crate) fn default_qos() -> DomainParticipantQos {
    lock(&DEFAULT_QOS).clone().unwrap_or_default()
}

pub(crate) fn set_default_qos(qos: DomainParticipantQos) {
    *lock(&DEFAULT_QOS) = Some(qos);
}
