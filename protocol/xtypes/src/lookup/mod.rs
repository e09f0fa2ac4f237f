//! The TypeLookup service (DDS-XTypes 1.3 §7.6.3.3): messages, and a library of type objects that answers requests and
//! takes replies. Who carries the messages, and which peers are trusted with them, is not decided here.

mod component;
pub mod message;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use message::{
    Call, GetTypeDependenciesIn, GetTypeDependenciesOut, GetTypeDependenciesResult, GetTypesIn, GetTypesOut,
    GetTypesResult, Reply, Request, Return, TypeIdentifierPair, TypeIdentifierTypeObjectPair,
    remote_exception,
};

use crate::build::{TypeObjects, name_of};
use crate::identifier::kind;
use crate::load::{LoadError, from_objects};
use crate::object::{TypeObject, to_octets};
use crate::{TypeGraph, TypeIdentifier, TypeIdentifierWithSize, TypeIndex};

/// Bytes of type objects in one reply; what does not fit is left out, and the client asks again. An object that is larger
/// alone, or types that depend on each other that are larger together, have a reply for themselves.
pub const MAX_REPLY_OCTETS: usize = 60_000;
/// Bytes of a type object, or of those of types that depend on each other, up to which a reply tells them, unless
/// [`TypeLibrary::with_max_object`] says otherwise. A type of 5,000 members has about as many.
pub const MAX_OBJECT_OCTETS: usize = 256 * 1024;
/// Identifiers of one request that are looked at.
pub const MAX_REQUEST_IDS: usize = 256;
/// Dependencies in one reply; more follow on request.
const DEPENDENCIES_PER_REPLY: usize = 128;

/// The name of the service of a participant: requests carry it, so that one participant answers (§7.6.3.3.4).
#[must_use]
pub fn instance_name(participant: &[u8; 16]) -> String {
    let digits: Vec<String> = participant.iter().map(|octet| format!("{octet:02x}")).collect();
    format!("dds.builtin.TOS.{}", digits.concat())
}

#[derive(Clone, Debug)]
struct Entry {
    object: Arc<TypeObject>,
    size: usize,
    /// The minimal identifier of a complete one.
    minimal: Option<TypeIdentifier>,
    /// A peer has told it.
    learned: bool,
}

/// Type objects by identifier, of local types and of those that peers have told.
#[derive(Clone, Debug)]
pub struct TypeLibrary {
    entries: BTreeMap<TypeIdentifier, Entry>,
    /// Bytes of those that peers have told.
    learned_octets: usize,
    max_learned_octets: usize,
    max_object_octets: usize,
}

impl Default for TypeLibrary {
    fn default() -> Self {
        Self::new(0)
    }
}

/// What became of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Learned {
    /// Objects that were new.
    pub new: usize,
    /// Objects whose hash is not that of their identifier, that are not all of their component, or that
    /// nobody asked for.
    pub refused: usize,
    /// Objects for which there was no room.
    pub over_quota: usize,
    /// Bytes of those that were new.
    pub octets: usize,
}

impl TypeLibrary {
    /// An empty library that keeps up to so many bytes of serialized type objects of peers.
    #[must_use]
    pub fn new(max_learned_octets: usize) -> Self {
        Self {
            entries: BTreeMap::new(),
            learned_octets: 0,
            max_learned_octets,
            max_object_octets: MAX_OBJECT_OCTETS,
        }
    }

    /// Tells objects of up to so many bytes.
    #[must_use]
    pub fn with_max_object(mut self, octets: usize) -> Self {
        self.max_object_octets = octets;
        self
    }

    /// Takes up the objects of a local type.
    pub fn add(&mut self, objects: &TypeObjects) {
        // An enumeration may be here and among the types, of this or an earlier one, where its minimal identifier is known.
        for it in &objects.annotations {
            if self.entries.get(&it.id).is_some_and(|entry| !entry.learned) {
                continue;
            }
            let size = usize::try_from(it.size).unwrap_or(usize::MAX);
            let object = Arc::new(it.object.clone());
            self.forget(&it.id);
            self.entries.insert(it.id.clone(), Entry { object, size, minimal: None, learned: false });
        }
        for record in &objects.records {
            let minimal = Some(record.minimal.id.clone());
            for (it, minimal) in [(&record.minimal, None), (&record.complete, minimal)] {
                let size = usize::try_from(it.size).unwrap_or(usize::MAX);
                let object = Arc::new(it.object.clone());
                self.forget(&it.id);
                self.entries.insert(it.id.clone(), Entry { object, size, minimal, learned: false });
            }
        }
    }

    /// The object of an identifier.
    #[must_use]
    pub fn get(&self, id: &TypeIdentifier) -> Option<&Arc<TypeObject>> {
        self.entries.get(id).map(|entry| &entry.object)
    }

    /// Whether there is an object of an identifier; of types that depend on each other there are all or none.
    #[must_use]
    pub fn knows(&self, id: &TypeIdentifier) -> bool {
        self.entries_of(id).next().is_some()
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries of an identifier: all types of a component if its index is 0.
    fn entries_of<'a>(
        &'a self,
        id: &TypeIdentifier,
    ) -> impl Iterator<Item = (&'a TypeIdentifier, &'a Entry)> {
        let end = match id {
            TypeIdentifier::Component(component) if component.scc_index == 0 => {
                TypeIdentifier::Component(crate::identifier::StronglyConnectedComponentId {
                    scc_index: i32::MAX,
                    ..*component
                })
            }
            other => other.clone(),
        };
        self.entries.range(id.clone()..=end)
    }

    /// The reply to a request; `None` if another participant is asked. Costs at most [`MAX_REQUEST_IDS`] identifiers and
    /// [`MAX_REPLY_OCTETS`] of objects, or one object of at most what [`TypeLibrary::with_max_object`] says.
    #[must_use]
    pub fn answer(&self, request: &Request, participant: &[u8; 16]) -> Option<Reply> {
        // Fast DDS compares the prefix alone and fills in its own entity id.
        let name = instance_name(participant);
        let (asked, own) = (request.instance_name.as_bytes().get(..40)?, name.as_bytes().get(..40)?);
        // Cyclone DDS asks everybody by a name of zeros where the application asks: who knows answers.
        let anybody = instance_name(&[0; 16]);
        let of_anybody = anybody.as_bytes().get(..40) == Some(asked);
        if asked != own && !of_anybody {
            return None;
        }
        let (remote_ex, result) = match &request.call {
            Call::GetTypes(it) => (remote_exception::OK, Return::GetTypes(self.types(it))),
            Call::GetTypeDependencies(it) => {
                (remote_exception::OK, Return::GetTypeDependencies(self.dependencies(it)))
            }
            Call::Unknown { operation } => {
                (remote_exception::UNKNOWN_OPERATION, Return::Unknown { operation: *operation })
            }
        };
        let tells = match &result {
            Return::GetTypes(GetTypesResult::Ok(out)) => !out.types.is_empty(),
            Return::GetTypeDependencies(GetTypeDependenciesResult::Ok(out)) => {
                !out.dependent_typeids.is_empty()
            }
            _ => false,
        };
        let reply = Reply { related_request_id: request.request_id, remote_ex, result };
        Some(reply).filter(|_| tells || !of_anybody)
    }

    fn types(&self, request: &GetTypesIn) -> GetTypesResult {
        let (mut out, mut room) = (GetTypesOut::default(), MAX_REPLY_OCTETS);
        let (mut asked, mut told) = (BTreeSet::new(), BTreeSet::new());
        for id in request.type_ids.iter().take(MAX_REQUEST_IDS) {
            // Who asks for one type many times gets it once.
            if !asked.insert(id) {
                continue;
            }
            let untold = || self.entries_of(id).filter(|(id, _)| !told.contains(id));
            // A part of a component is of no use, as it has no hash of its own. What is smaller may still find room.
            let size = untold().fold(0_usize, |sum, (_, entry)| sum.saturating_add(entry.size));
            match room.checked_sub(size) {
                _ if size > self.max_object_octets => continue,
                Some(left) => room = left,
                None if out.types.is_empty() => room = 0,
                None => continue,
            }
            let entries: Vec<_> = untold().collect();
            for (id, entry) in entries {
                told.insert(id);
                out.tell(id, entry);
            }
        }
        self.tell_annotations(&mut out, &mut told, room);
        GetTypesResult::Ok(out)
    }

    /// Adds the annotations that are applied in what is told, as far as there is room. They are told unasked: who does not
    /// know what an annotation is asks for nothing that it could not read, and nobody waits for one that is not told.
    fn tell_annotations<'a>(
        &'a self,
        out: &mut GetTypesOut,
        told: &mut BTreeSet<&'a TypeIdentifier>,
        mut room: usize,
    ) {
        let mut at = 0_usize;
        while let Some(pair) = out.types.get(at) {
            at = at.saturating_add(1);
            let mut mentioned = BTreeSet::new();
            pair.type_object.visit_annotations(&mut |id| {
                mentioned.extend((!told.contains(id)).then(|| id.clone()));
            });
            for id in mentioned {
                let Some((id, entry)) = self.entries.get_key_value(&id) else { continue };
                if let Some(left) = room.checked_sub(entry.size) {
                    room = left;
                    told.insert(id);
                    out.tell(id, entry);
                }
            }
        }
    }

    fn dependencies(&self, request: &GetTypeDependenciesIn) -> GetTypeDependenciesResult {
        const BAD_PARAMETER: i32 = 3;
        let skip = match request.continuation_point.as_slice() {
            [] => 0,
            [a, b, c, d] => usize::try_from(u32::from_be_bytes([*a, *b, *c, *d])).unwrap_or(usize::MAX),
            _ => return GetTypeDependenciesResult::Error { code: BAD_PARAMETER },
        };
        let roots: Vec<&TypeIdentifier> = request.type_ids.iter().take(MAX_REQUEST_IDS).collect();
        let all = self.reachable(&roots).known;
        let some = all.iter().skip(skip).take(DEPENDENCIES_PER_REPLY).cloned().collect();
        let next = skip.saturating_add(DEPENDENCIES_PER_REPLY);
        let more = all.len() > next;
        let point = u32::try_from(next).ok().filter(|_| more);
        GetTypeDependenciesResult::Ok(GetTypeDependenciesOut {
            dependent_typeids: some,
            continuation_point: point.map_or_else(Vec::new, |next| next.to_be_bytes().to_vec()),
        })
    }

    /// What types depend on, without themselves.
    fn reachable(&self, roots: &[&TypeIdentifier]) -> Reachable {
        // Types that depend on each other are asked for and told together.
        let roots: BTreeSet<TypeIdentifier> = roots.iter().map(|id| id.lookup_id()).collect();
        let mut seen = roots.clone();
        let mut open: Vec<TypeIdentifier> = seen.iter().cloned().collect();
        let mut result = Reachable::default();
        while let Some(id) = open.pop() {
            let is_root = roots.contains(&id);
            let mut size = None;
            for (_, entry) in self.entries_of(&id) {
                size = Some(size.unwrap_or(0_usize).saturating_add(entry.size));
                entry.object.visit_identifiers(&mut |mentioned| {
                    mentioned.visit_hashed(&mut |hashed| {
                        // A library is bounded, and each of its objects is looked at once.
                        let hashed = hashed.lookup_id();
                        if seen.len() <= MAX_REACHABLE && seen.insert(hashed.clone()) {
                            open.push(hashed);
                        }
                    });
                });
            }
            match size {
                None => result.missing.push(id),
                Some(_) if is_root => {}
                Some(size) => result.known.push(TypeIdentifierWithSize {
                    type_id: id,
                    typeobject_serialized_size: u32::try_from(size).unwrap_or(u32::MAX),
                }),
            }
        }
        result.known.sort();
        result
    }

    /// The identifiers whose objects are needed for a type and not there: what to ask its announcer for.
    #[must_use]
    pub fn missing(&self, id: &TypeIdentifier) -> Vec<TypeIdentifier> {
        let mut hashed = Vec::new();
        id.visit_hashed(&mut |id| hashed.push(id.clone()));
        self.reachable(&hashed.iter().collect::<Vec<_>>()).missing
    }

    /// Takes the objects of a reply, each of which has to have the hash of its identifier. Types that depend on each
    /// other have one hash together, so they are taken if the reply has all of them.
    pub fn learn(&mut self, reply: &GetTypesOut) -> Learned {
        let all: Vec<TypeIdentifier> = reply.types.iter().map(|pair| pair.type_identifier.clone()).collect();
        self.learn_within(reply, &all, usize::MAX, &mut Vec::new())
    }

    /// The same with a limit of bytes for this reply, of what is wanted and of what that depends on; the identifiers of
    /// what is new are added to `taken`, so that it can be [forgotten](Self::forget) with the peer that told it.
    pub fn learn_within(
        &mut self,
        reply: &GetTypesOut,
        wanted: &[TypeIdentifier],
        mut room: usize,
        taken: &mut Vec<TypeIdentifier>,
    ) -> Learned {
        let mut learned = Learned::default();
        let mut told: BTreeMap<TypeIdentifier, Vec<&TypeIdentifierTypeObjectPair>> = BTreeMap::new();
        for pair in reply.types.iter().filter(|pair| !self.entries.contains_key(&pair.type_identifier)) {
            told.entry(pair.type_identifier.lookup_id()).or_default().push(pair);
        }
        let mut open: Vec<TypeIdentifier> = wanted.iter().map(TypeIdentifier::lookup_id).collect();
        while let Some(id) = open.pop() {
            // Each is looked at once.
            let Some(pairs) = told.remove(&id) else { continue };
            for pair in self.learn_one(&id, pairs, &mut room, &mut learned, taken) {
                pair.type_object.visit_all_identifiers(&mut |mentioned| {
                    mentioned.visit_hashed(&mut |hashed| {
                        let hashed = hashed.lookup_id();
                        if told.contains_key(&hashed) {
                            open.push(hashed);
                        }
                    });
                });
            }
        }
        let unwanted = told.values().fold(0_usize, |sum, pairs| sum.saturating_add(pairs.len()));
        learned.refused = learned.refused.saturating_add(unwanted);
        learned
    }

    /// Takes the objects that were told of one identifier, and returns those that are what they are called.
    fn learn_one<'a>(
        &mut self,
        id: &TypeIdentifier,
        mut pairs: Vec<&'a TypeIdentifierTypeObjectPair>,
        room: &mut usize,
        learned: &mut Learned,
        taken: &mut Vec<TypeIdentifier>,
    ) -> Vec<&'a TypeIdentifierTypeObjectPair> {
        let told = pairs.len();
        let mut right: Vec<(&TypeIdentifierTypeObjectPair, usize)> = Vec::new();
        if matches!(id, TypeIdentifier::Component(_)) {
            pairs.sort_by(|a, b| a.type_identifier.cmp(&b.type_identifier));
            right.extend(
                component::sizes(&pairs).into_iter().flat_map(|sizes| pairs.iter().copied().zip(sizes)),
            );
        } else {
            right.extend(pairs.iter().filter_map(|pair| {
                let octets = to_octets(&pair.type_object).ok()?;
                (pair.type_object.identifier_of(&octets) == *id).then_some((*pair, octets.len()))
            }));
        }
        learned.refused = learned.refused.saturating_add(told.saturating_sub(right.len()));
        if !matches!(id, TypeIdentifier::Component(_)) {
            // Who tells it twice tells nothing new.
            right.truncate(1);
        }
        if !right.is_empty() {
            self.keep(&right, room, learned, taken);
        }
        right.into_iter().map(|(pair, _)| pair).collect()
    }

    /// Keeps objects that are what they are called, all of them or none.
    fn keep(
        &mut self,
        objects: &[(&TypeIdentifierTypeObjectPair, usize)],
        room: &mut usize,
        learned: &mut Learned,
        taken: &mut Vec<TypeIdentifier>,
    ) {
        let octets = objects.iter().fold(0_usize, |sum, (_, size)| sum.saturating_add(*size));
        let total = self.learned_octets.saturating_add(octets);
        let left = room.checked_sub(octets).filter(|_| total <= self.max_learned_octets);
        let Some(left) = left else {
            learned.over_quota = learned.over_quota.saturating_add(objects.len());
            return;
        };
        (*room, self.learned_octets) = (left, total);
        learned.new = learned.new.saturating_add(objects.len());
        learned.octets = learned.octets.saturating_add(octets);
        for (pair, size) in objects {
            let object = Arc::new(pair.type_object.clone());
            let entry = Entry { object, size: *size, minimal: None, learned: true };
            self.entries.insert(pair.type_identifier.clone(), entry);
            taken.push(pair.type_identifier.clone());
        }
    }

    /// Forgets what a peer has told; objects of local types stay.
    pub fn forget(&mut self, id: &TypeIdentifier) {
        if let Some(size) = self.entries.get(id).filter(|entry| entry.learned).map(|entry| entry.size) {
            self.entries.remove(id);
            self.learned_octets = self.learned_octets.saturating_sub(size);
        }
    }

    /// Bytes of what peers have told.
    #[must_use]
    pub fn learned_octets(&self) -> usize {
        self.learned_octets
    }

    /// The one type that an announced identifier means. That of several types that depend on each other, as a whole
    /// (index 0), leaves it open (§7.3.4.9): it is the one of this name, with or without `::` before it. `None` if there is
    /// no such object, or none with a name.
    #[must_use]
    pub fn one_of(&self, id: &TypeIdentifier, type_name: &str) -> Option<TypeIdentifier> {
        if !id.is_of_several() {
            return Some(id.clone());
        }
        let type_name = type_name.strip_prefix("::").unwrap_or(type_name);
        let mut named = self.entries_of(id).filter(|(_, entry)| match &*entry.object {
            TypeObject::Complete(object) => !type_name.is_empty() && name_of(object) == type_name,
            TypeObject::Minimal(_) => false,
        });
        let (found, None) = (named.next()?.0, named.next()) else { return None };
        Some(found.clone())
    }

    /// The type of an identifier with all that it depends on.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn load(&self, id: &TypeIdentifier) -> Result<(TypeGraph, TypeIndex), LoadError> {
        from_objects(id, &|id| self.get(id).map(|object| (**object).clone()))
    }
}

impl GetTypesOut {
    fn tell(&mut self, id: &TypeIdentifier, entry: &Entry) {
        let type_object = (*entry.object).clone();
        self.types.push(TypeIdentifierTypeObjectPair { type_identifier: id.clone(), type_object });
        self.complete_to_minimal.extend(entry.minimal.iter().map(|minimal| TypeIdentifierPair {
            type_identifier1: id.clone(),
            type_identifier2: minimal.clone(),
        }));
    }
}

/// Identifiers that one question looks at.
const MAX_REACHABLE: usize = 4096;

#[derive(Default)]
struct Reachable {
    known: Vec<TypeIdentifierWithSize>,
    missing: Vec<TypeIdentifier>,
}

/// Whether an identifier names type objects, so that they can be asked for.
#[must_use]
pub fn is_hashed(id: &TypeIdentifier) -> bool {
    id.equivalence().value() != kind::EK_BOTH
}
