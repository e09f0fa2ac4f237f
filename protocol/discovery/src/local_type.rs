//! Types of this participant, and what is known of those of others (DDS-XTypes 1.3 §7.6.3.2).

use alloc::{collections::BTreeMap, string::String, sync::Arc, vec::Vec};

use dunlin_xtypes::{
    BuildError, TypeGraph, TypeIdentifier, TypeIdentifierWithDependencies, TypeIndex, TypeInformation,
    TypeObjects, type_objects,
};

/// Types on which a type depends that are announced with it, of each kind of objects. Who needs more asks for what the
/// objects mention.
const MAX_ANNOUNCED_DEPENDENCIES: usize = 64;

/// A type that is known in full.
#[derive(Debug, Clone)]
pub struct KnownType {
    /// The type and what it depends on.
    pub graph: Arc<TypeGraph>,
    /// Which of them it is.
    pub root: TypeIndex,
}

/// The type of a local endpoint: what discovery announces of it, and the type objects that others may ask for (DDS-XTypes
/// 1.3 §7.6.3.2). One value serves all endpoints of a topic.
#[derive(Debug)]
pub struct LocalType {
    known: KnownType,
    objects: TypeObjects,
    octets: Arc<[u8]>,
}

impl LocalType {
    /// The type objects and the announcement of a type known at run time.
    ///
    /// # Errors
    /// [`BuildError`] for a type without type objects, or one that no topic can have.
    pub fn new(graph: impl Into<Arc<TypeGraph>>, root: TypeIndex) -> Result<Arc<Self>, BuildError> {
        let graph = graph.into();
        let objects = type_objects(&graph, root)?;
        let TypeInformation { minimal, complete } = objects.information()?;
        let information = TypeInformation { minimal: shortened(minimal), complete: shortened(complete) };
        Self::announced_as(graph, root, objects, &information)
    }

    fn announced_as(
        graph: Arc<TypeGraph>,
        root: TypeIndex,
        objects: TypeObjects,
        information: &TypeInformation,
    ) -> Result<Arc<Self>, BuildError> {
        let mut payload = Vec::new();
        dunlin_xtypes::cdr::to_payload(information, dunlin_xtypes::cdr::Representation::Xcdr2, &mut payload)?;
        // Parameters are padded, so that what others announce of an equal type is equal octet for octet.
        payload.resize(payload.len().next_multiple_of(4), 0);
        let octets = payload.get(ENCAPSULATION..).unwrap_or_default().into();
        Ok(Arc::new(Self { known: KnownType { graph, root }, objects, octets }))
    }

    /// The same type, announced as others may do it.
    #[cfg(test)]
    pub(crate) fn announced_otherwise(
        &self,
        change: impl Fn(&mut TypeIdentifierWithDependencies),
    ) -> Arc<Self> {
        let mut information = self.objects.information().expect("it is announced");
        change(&mut information.minimal);
        change(&mut information.complete);
        let KnownType { graph, root } = self.known.clone();
        Self::announced_as(graph, root, self.objects.clone(), &information).expect("it can be written")
    }

    /// The type.
    #[must_use]
    pub const fn known(&self) -> &KnownType {
        &self.known
    }

    pub(crate) const fn objects(&self) -> &TypeObjects {
        &self.objects
    }

    /// Octets of the largest type object that others ask for; types that depend on each other count as one.
    #[must_use]
    pub fn largest_object(&self) -> usize {
        let mut sizes: BTreeMap<TypeIdentifier, usize> = BTreeMap::new();
        for record in &self.objects.records {
            for it in [&record.minimal, &record.complete] {
                let size = sizes.entry(it.id.lookup_id()).or_default();
                *size = size.saturating_add(usize::try_from(it.size).unwrap_or(usize::MAX));
            }
        }
        // Annotations are told if there is room, and do not keep a type from being told.
        sizes.into_values().max().unwrap_or(0)
    }

    /// The TypeInformation as it is announced, without encapsulation header.
    #[must_use]
    pub const fn octets(&self) -> &Arc<[u8]> {
        &self.octets
    }
}

impl PartialEq for LocalType {
    /// Equal announcements have equal type objects.
    fn eq(&self, other: &Self) -> bool {
        self.octets == other.octets
    }
}

impl Eq for LocalType {}

/// Octets of an encapsulation header.
pub(crate) const ENCAPSULATION: usize = 4;

fn shortened(mut side: TypeIdentifierWithDependencies) -> TypeIdentifierWithDependencies {
    // The count still says how many there are.
    side.dependent_typeids.truncate(MAX_ANNOUNCED_DEPENDENCIES);
    side
}

/// What is known of the type of an endpoint.
#[derive(Debug, Clone)]
pub enum TypeDiscovery {
    /// All of it.
    Known(KnownType),
    /// Its participant is being asked.
    Pending,
    /// Its participant announces no type information, or there is no such endpoint.
    NotAnnounced,
    /// It cannot be known, and why.
    Refused(String),
}
