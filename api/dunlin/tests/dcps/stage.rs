//! Where the tests take place: on nodes of the simulator. `own_transport` has another stage for some of them.

pub use dunlin::sim::{Node, Sim};
use dunlin::{CreateParticipantError, DomainParticipant};

/// A participant of the node that runs.
pub fn join(name: &str) -> Result<DomainParticipant, CreateParticipantError> {
    DomainParticipant::builder(0).name(name).build()
}
