//! DomainParticipantFactory (DDS 1.4 §2.2.2.2.2).

use std::sync::Arc;

use dunlin_core::DomainId;
use dunlin_driver::machine;
use dunlin_qos::{DomainParticipantFactoryQos, DomainParticipantQos};

use crate::entity::EntityError;
use crate::error::{CreateParticipantError, SetQosError};
use crate::participant::{DomainParticipant, DomainParticipantBuilder, ParticipantInner, registry};

/// Makes and finds the participants of this process. There is one; [`DomainParticipant::builder`] begins with its settings too.
#[derive(Debug)]
pub struct DomainParticipantFactory(());

static FACTORY: DomainParticipantFactory = DomainParticipantFactory(());
/// Whether a participant lives on the machine of this thread: a node of a simulation does not find those of others.
fn is_here(participant: &ParticipantInner) -> bool {
    match (participant.machine(), machine::entered()) {
        (None, None) => true,
        (Some(one), Some(other)) => Arc::ptr_eq(one, &other),
        _ => false,
    }
}

impl DomainParticipantFactory {
    /// get_instance.
    #[must_use]
    pub fn instance() -> &'static Self {
        &FACTORY
    }

    /// create_participant with the default QoS of the factory.
    ///
    /// # Errors
    /// As [`DomainParticipantBuilder::build`].
    pub fn create_participant(&self, domain: DomainId) -> Result<DomainParticipant, CreateParticipantError> {
        self.builder(domain).build()
    }

    /// Settings for a participant, beginning with the default QoS of the factory, and enabled as its ENTITY_FACTORY says.
    #[must_use]
    pub fn builder(&self, domain: DomainId) -> DomainParticipantBuilder {
        DomainParticipant::builder(domain)
    }

    /// lookup_participant: one of this process in the domain, if there is any.
    #[must_use]
    pub fn lookup_participant(&self, domain: DomainId) -> Option<DomainParticipant> {
        // Taken out first: dropping the last handle to one of them must not happen under the lock.
        let all = registry::participants();
        let mut here = all.into_iter().map(DomainParticipant::from_inner).filter(|participant| {
            let inner = participant.inner();
            participant.domain_id() == domain && !inner.entity.is_deleted() && is_here(inner)
        });
        here.next()
    }

    /// delete_participant: it leaves the domain although there are handles to it. Before that it waits, for one second at most,
    /// for the readers of writers that were deleted; called in a listener it does not wait, but leaves later. The last participant
    /// of its kind in the process also waits for a listener that runs: hold no lock that a listener takes.
    ///
    /// # Errors
    /// [`EntityError::InUse`] while it contains entities; [`EntityError::AlreadyDeleted`].
    pub fn delete_participant(&self, participant: &DomainParticipant) -> Result<(), EntityError> {
        participant.inner().entity.check()?;
        if !participant.is_empty() {
            return Err(EntityError::InUse);
        }
        participant.inner().close();
        Ok(())
    }

    /// get_qos.
    #[must_use]
    pub fn qos(&self) -> DomainParticipantFactoryQos {
        registry::factory_qos()
    }

    /// set_qos: for participants made from now on, by this factory, [`DomainParticipant::new`] or a new
    /// [`DomainParticipant::builder`].
    pub fn set_qos(&self, qos: &DomainParticipantFactoryQos) {
        registry::set_factory_qos(*qos);
    }

    /// get_default_participant_qos.
    #[must_use]
    pub fn default_participant_qos(&self) -> DomainParticipantQos {
        registry::default_qos()
    }

    /// set_default_participant_qos: for participants made from now on, by this factory, [`DomainParticipant::new`] or a new
    /// [`DomainParticipant::builder`].
    ///
    /// # Errors
    /// When the QoS is inconsistent or unsupported.
    pub fn set_default_participant_qos(&self, qos: &DomainParticipantQos) -> Result<(), SetQosError> {
        qos.check_consistency()?;
        qos.check_supported()?;
        registry::set_default_qos(qos.clone());
        Ok(())
    }
}
