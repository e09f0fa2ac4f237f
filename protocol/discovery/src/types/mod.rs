//! Type information of endpoints, and whether types fit each other: DDS-XTypes 1.3 §7.6.3.2, §7.6.3.3 (TypeLookup) and
//! §7.6.3.7 (TYPE_CONSISTENCY_ENFORCEMENT).
//!
//! Everything about a type of another participant is either in the library of type objects, each of which has the hash
//! that names it, or can be made of that again: what else is kept here are caches, emptied when they are full.

mod line;
mod lookup;
mod service;
mod waiting;

use alloc::{collections::BTreeMap, format, string::String, string::ToString, sync::Arc, vec::Vec};

use dunlin_core::{GuidPrefix, MonoTime};
use dunlin_qos::{DataRepresentationId, TypeConsistencyEnforcement, TypeConsistencyKind};
use dunlin_xtypes::{
    Mismatch, TypeIdentifier, TypeIn, TypeInformation, assignable,
    cdr::{Limits, Representation},
    lookup::{
        TypeLibrary, is_hashed,
        message::{GetTypesOut, Reply, Request},
    },
};
use lookup::Lookups;
pub(crate) use lookup::{LookupKey, first_of};
pub(crate) use service::{Service, Way};

use crate::{
    config::Quotas,
    data::{DiscoveredReader, DiscoveredWriter},
    local_type::{ENCAPSULATION, KnownType, LocalType, TypeDiscovery},
};

/// Announcements that are kept in the form in which they are compared.
const MAX_ANNOUNCED: usize = 1024;
/// Types of others that are kept in the form in which they are compared.
const MAX_LOADED: usize = 16;
/// Comparisons that are remembered.
const MAX_VERDICTS: usize = 256;

/// The identifiers of a type as they were announced.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Announced {
    minimal: Option<TypeIdentifier>,
    complete: Option<TypeIdentifier>,
}

impl Announced {
    fn parse(octets: &[u8]) -> Option<Self> {
        let TypeInformation { minimal, complete } = parse(octets)?;
        let usable = |id: TypeIdentifier| {
            let hash = matches!(
                id,
                TypeIdentifier::Minimal(_) | TypeIdentifier::Complete(_) | TypeIdentifier::Component(_)
            );
            (hash && is_hashed(&id)).then_some(id)
        };
        let announced = Self {
            minimal: usable(minimal.typeid_with_size.type_id),
            complete: usable(complete.typeid_with_size.type_id),
        };
        (announced.minimal.is_some() || announced.complete.is_some()).then_some(announced)
    }

    /// The identifier that says most.
    fn root(&self) -> Option<&TypeIdentifier> {
        self.complete.as_ref().or(self.minimal.as_ref())
    }

    /// Equal hashes are equal types. If they are of several types, which one is meant goes by names.
    fn same(&self, other: &Self, same_name: bool) -> bool {
        let same = |one: &Option<TypeIdentifier>, other: &Option<TypeIdentifier>| {
            let (Some(one), Some(other)) = (one, other) else { return false };
            let open = one.is_of_several() || other.is_of_several();
            if open { same_name && one.lookup_id() == other.lookup_id() } else { one == other }
        };
        same(&self.minimal, &other.minimal) || same(&self.complete, &other.complete)
    }

    /// Whether it leaves open which of several types is meant.
    fn is_of_several(&self) -> bool {
        [&self.minimal, &self.complete].into_iter().flatten().any(TypeIdentifier::is_of_several)
    }
}

/// TypeInformation as it was announced, without encapsulation header; octets behind it are padding.
fn parse(octets: &[u8]) -> Option<TypeInformation> {
    const PL_CDR2_LE: [u8; ENCAPSULATION] = [0, 0x0b, 0, 0];
    let payload = [PL_CDR2_LE.as_slice(), octets].concat();
    let limits = Limits { max_bytes: 1 << 20, ..dunlin_xtypes::object::LIMITS };
    dunlin_xtypes::cdr::from_payload(&payload, &limits).ok()
}

/// Whether the type of a reader can read what a writer writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fit {
    /// It can.
    Fits,
    /// It cannot.
    Differs(Arc<[Mismatch]>),
    /// One of the types cannot be known, and why: names decide.
    Unknown(Arc<str>),
    /// Nobody was asked for one of the types.
    NotAsked,
    /// Somebody is being asked.
    Pending(LookupKey),
}

/// A type of an endpoint, as far as it is known.
enum Resolved {
    Known(KnownType),
    Failed(Arc<str>),
    NotAsked,
    Pending(LookupKey),
}

/// The types of a comparison, and what else decides it.
type Question = (TypeIdentifier, TypeIdentifier, u8);

/// What is known of types.
#[derive(Debug)]
pub(crate) struct Types {
    library: TypeLibrary,
    /// By their announcement.
    locals: BTreeMap<Arc<[u8]>, Arc<LocalType>>,
    announced: BTreeMap<Arc<[u8]>, Option<Announced>>,
    loaded: BTreeMap<TypeIdentifier, KnownType>,
    /// Types that cannot be loaded, and why; forgotten when the library changes.
    failed: BTreeMap<TypeIdentifier, Arc<str>>,
    verdicts: BTreeMap<Question, Result<(), Arc<[Mismatch]>>>,
    pub(crate) lookups: Lookups,
}

/// Makes room in a cache.
fn make_room<K: Ord, V>(cache: &mut BTreeMap<K, V>, most: usize) {
    if cache.len() >= most {
        cache.clear();
    }
}

fn policy_bits(policy: &TypeConsistencyEnforcement, representation: Representation) -> u8 {
    let bits = [
        policy.kind == TypeConsistencyKind::AllowTypeCoercion,
        policy.ignore_sequence_bounds,
        policy.ignore_string_bounds,
        policy.ignore_member_names,
        policy.prevent_type_widening,
        representation == Representation::Xcdr2,
    ];
    bits.iter().fold(0, |all, bit| (all << 1) | u8::from(*bit))
}

/// How a writer writes; what is neither of the two is kept apart by its own policy.
fn representation(writer: &DiscoveredWriter) -> Representation {
    match writer.qos.representation.offered() {
        DataRepresentationId::Xcdr2 => Representation::Xcdr2,
        _ => Representation::Xcdr1,
    }
}

impl Types {
    pub(crate) fn new(own: GuidPrefix, quotas: &Quotas) -> Self {
        Self {
            library: TypeLibrary::new(quotas.max_type_object_octets)
                .with_max_object(quotas.max_told_type_octets),
            locals: BTreeMap::new(),
            announced: BTreeMap::new(),
            loaded: BTreeMap::new(),
            failed: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            lookups: Lookups::new(own, quotas.max_type_object_octets_per_participant),
        }
    }

    /// Takes up the type of a local endpoint.
    pub(crate) fn add_local(&mut self, ty: &Arc<LocalType>) {
        if !self.locals.contains_key(ty.octets()) {
            self.library.add(ty.objects());
            self.failed.clear();
            self.locals.insert(Arc::clone(ty.octets()), Arc::clone(ty));
        }
    }

    fn announced(&mut self, octets: &Arc<[u8]>) -> Option<Announced> {
        if let Some(known) = self.announced.get(octets) {
            return known.clone();
        }
        make_room(&mut self.announced, MAX_ANNOUNCED);
        let announced = Announced::parse(octets);
        self.announced.insert(Arc::clone(octets), announced.clone());
        announced
    }

    /// Whether the types of two endpoints fit. `ask` lets participants be asked for what is missing.
    pub(crate) fn fit(&mut self, writer: &DiscoveredWriter, reader: &DiscoveredReader, ask: bool) -> Fit {
        let (Some(w_octets), Some(r_octets)) = (&writer.type_information, &reader.type_information) else {
            let silent = if writer.type_information.is_none() { "writer" } else { "reader" };
            return Fit::Unknown(format!("the {silent} announces no type information").into());
        };
        let same_name = writer.type_name == reader.type_name;
        if w_octets == r_octets && same_name {
            return Fit::Fits;
        }
        let (w, r) = (self.announced(w_octets), self.announced(r_octets));
        if w_octets == r_octets && !w.as_ref().is_some_and(Announced::is_of_several) {
            return Fit::Fits;
        }
        let (Some(w), Some(r)) = (w, r) else {
            return Fit::Unknown("type information cannot be read".into());
        };
        if w.same(&r, same_name) {
            return Fit::Fits;
        }
        let (Some(w_root), Some(r_root)) = (w.root(), r.root()) else { return Fit::NotAsked };
        let (policy, representation) = (&reader.qos.type_consistency, representation(writer));
        let (r_one, w_one) = (self.one_of(r_root, &reader.type_name), self.one_of(w_root, &writer.type_name));
        let question = (r_one, w_one, policy_bits(policy, representation));
        if let Some(known) = self.verdicts.get(&question) {
            return known.clone().map_or_else(Fit::Differs, |()| Fit::Fits);
        }
        let writers = self.resolve((writer.guid.prefix, &writer.type_name), w_octets, w_root, ask);
        let readers = self.resolve((reader.guid.prefix, &reader.type_name), r_octets, r_root, ask);
        let (writers, readers) = match (writers, readers) {
            (Resolved::Known(writers), Resolved::Known(readers)) => (writers, readers),
            (Resolved::Failed(why), _) | (_, Resolved::Failed(why)) => return Fit::Unknown(why),
            (Resolved::Pending(key), _) | (_, Resolved::Pending(key)) => return Fit::Pending(key),
            _ => return Fit::NotAsked,
        };
        let side = |known: &KnownType| (Arc::clone(&known.graph), known.root);
        let ((r_graph, r_index), (w_graph, w_index)) = (side(&readers), side(&writers));
        let verdict = assignable(
            TypeIn { graph: &r_graph, index: r_index },
            TypeIn { graph: &w_graph, index: w_index },
            policy,
            representation,
        );
        let verdict = verdict.map_err(Arc::from);
        make_room(&mut self.verdicts, MAX_VERDICTS);
        self.verdicts.insert(question, verdict.clone());
        verdict.map_or_else(Fit::Differs, |()| Fit::Fits)
    }

    /// The one type that an endpoint with this type name means, if that is known.
    fn one_of(&self, root: &TypeIdentifier, type_name: &str) -> TypeIdentifier {
        self.library.one_of(root, type_name).unwrap_or_else(|| root.clone())
    }

    /// The type of an endpoint of a participant, by the name that it has there.
    fn resolve(
        &mut self,
        (prefix, type_name): (GuidPrefix, &str),
        octets: &Arc<[u8]>,
        root: &TypeIdentifier,
        ask: bool,
    ) -> Resolved {
        if let Some(local) = self.locals.get(octets) {
            return Resolved::Known(local.known().clone());
        }
        let one = self.one_of(root, type_name);
        if let Some(known) = self.loaded.get(&one) {
            return Resolved::Known(known.clone());
        }
        if let Some(why) = self.failed.get(&one) {
            return Resolved::Failed(Arc::clone(why));
        }
        if self.library.missing(root).is_empty() {
            return match self.library.load(&one) {
                Ok((graph, index)) => {
                    let known = KnownType { graph: Arc::new(graph), root: index };
                    make_room(&mut self.loaded, MAX_LOADED);
                    self.loaded.insert(one, known.clone());
                    Resolved::Known(known)
                }
                Err(error) => {
                    let why: Arc<str> = error.to_string().into();
                    make_room(&mut self.failed, MAX_VERDICTS);
                    self.failed.insert(one, Arc::clone(&why));
                    Resolved::Failed(why)
                }
            };
        }
        let key = (prefix, root.clone());
        if let Some(why) = self.lookups.failure(&key) {
            return Resolved::Failed(Arc::clone(why));
        }
        match self.lookups.state(&key) {
            Some(_) => Resolved::Pending(key),
            None if !ask => Resolved::NotAsked,
            None => match self.lookups.want(key.clone(), dependencies(octets)) {
                Ok(()) => Resolved::Pending(key),
                Err(why) => Resolved::Failed(why.into()),
            },
        }
    }

    /// The reply to a request.
    pub(crate) fn answer(&self, request: &Request, participant: &[u8; 16]) -> Option<Reply> {
        self.library.answer(request, participant)
    }

    /// Takes an answer; `None` stands for one that tells nothing.
    pub(crate) fn on_answer(&mut self, now: MonoTime, key: &LookupKey, told: Option<&GetTypesOut>) {
        self.lookups.on_answer(now, key, told, &mut self.library);
        self.failed.clear();
    }

    /// The next question to send, and to whom.
    pub(crate) fn next_question(&mut self, now: MonoTime) -> Option<(GuidPrefix, Request)> {
        self.lookups.next_question(now, &self.library)
    }

    /// A participant is gone.
    pub(crate) fn remove_peer(&mut self, prefix: GuidPrefix) {
        self.lookups.remove_peer(prefix, &mut self.library);
        self.failed.clear();
        self.loaded.retain(|root, _| self.library.missing(root).is_empty());
        self.verdicts.retain(|(reader, writer, _), _| {
            self.library.missing(reader).is_empty() && self.library.missing(writer).is_empty()
        });
        // What no endpoint announces any more.
        self.announced.retain(|octets, _| Arc::strong_count(octets) > 1);
    }

    /// Octets of what others have told.
    pub(crate) fn learned_octets(&self) -> usize {
        self.library.learned_octets()
    }

    /// The type of an endpoint of a participant, by its type name, that announced this, for whoever asks; its participant is
    /// asked.
    pub(crate) fn discover(&mut self, of: (GuidPrefix, &str), octets: Option<&Arc<[u8]>>) -> TypeDiscovery {
        let Some(octets) = octets else { return TypeDiscovery::NotAnnounced };
        let Some(announced) = self.announced(octets) else {
            return TypeDiscovery::Refused(String::from("its type information cannot be read"));
        };
        let Some(root) = announced.root() else { return TypeDiscovery::NotAnnounced };
        match self.resolve(of, octets, root, true) {
            Resolved::Known(known) => TypeDiscovery::Known(known),
            Resolved::Pending(_) | Resolved::NotAsked => TypeDiscovery::Pending,
            Resolved::Failed(why) => TypeDiscovery::Refused(why.to_string()),
        }
    }
}

/// The identifiers that were announced together with a type.
fn dependencies(octets: &[u8]) -> Vec<TypeIdentifier> {
    let Some(information) = parse(octets) else { return Vec::new() };
    let side = if information.complete.typeid_with_size.type_id.is_none() {
        information.minimal
    } else {
        information.complete
    };
    side.dependent_typeids.into_iter().map(|dependency| dependency.type_id).collect()
}

#[cfg(test)]
pub(crate) mod tests;
