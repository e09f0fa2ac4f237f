//! The data representations that a type allows (DDS-XTypes 1.3 §7.3.1.2.1.12 `@data_representation`, §7.6.3.1).

use dunlin_cdr::{Representation, TopicType, TypeSupport};
use dunlin_qos::{DataReaderQos, DataRepresentationId, DataWriterQos, InconsistentPolicy, PolicyId};

const fn id_of(representation: Representation) -> DataRepresentationId {
    match representation {
        Representation::Xcdr1 => DataRepresentationId::Xcdr1,
        Representation::Xcdr2 => DataRepresentationId::Xcdr2,
    }
}

fn allows(support: &dyn TypeSupport, id: DataRepresentationId) -> bool {
    support.representations().iter().any(|allowed| id_of(*allowed) == id)
}

const fn refused(reason: &'static str) -> InconsistentPolicy {
    InconsistentPolicy { policy: PolicyId::DataRepresentation, reason }
}

/// A writer offers one representation; where the QoS names none, it is the type's.
pub(crate) fn of_writer<T: TopicType>(
    qos: &DataWriterQos,
    support: &dyn TypeSupport,
) -> Result<DataWriterQos, InconsistentPolicy> {
    let mut qos = qos.clone();
    match qos.representation.ids.first() {
        None => qos.representation.ids.push(id_of(T::default_representation(support))),
        // What no type allows is refused as unsupported.
        Some(id @ (DataRepresentationId::Xcdr1 | DataRepresentationId::Xcdr2)) if !allows(support, *id) => {
            return Err(refused("the type allows the other encoding alone (`@data_representation`)"));
        }
        Some(_) => {}
    }
    Ok(qos)
}

/// A reader accepts what its QoS names and its type allows.
pub(crate) fn of_reader(
    qos: &DataReaderQos,
    support: &dyn TypeSupport,
) -> Result<DataReaderQos, InconsistentPolicy> {
    let mut qos = qos.clone();
    let ids = &mut qos.representation.ids;
    if ids.is_empty() {
        // None stands for XCDR1 (§7.6.3.1.1), unless the type says otherwise.
        if !allows(support, DataRepresentationId::Xcdr1) {
            ids.extend(support.representations().iter().copied().map(id_of));
        }
        return Ok(qos);
    }
    let known =
        |id: &DataRepresentationId| matches!(id, DataRepresentationId::Xcdr1 | DataRepresentationId::Xcdr2);
    ids.retain(|id| !known(id) || allows(support, *id));
    if ids.is_empty() {
        return Err(refused("the type allows the other encoding alone (`@data_representation`)"));
    }
    Ok(qos)
}
