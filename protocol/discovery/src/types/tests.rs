use alloc::vec;

use dunlin_core::{EntityId, Guid};
use dunlin_idl::{Memory, Options, compile};
use dunlin_xtypes::{
    lookup::message::{Call, SampleIdentity, TypeIdentifierTypeObjectPair},
    object::TypeObject,
};
use lookup::State;

use super::*;

const OWN: GuidPrefix = GuidPrefix([1; 12]);
const PEER: GuidPrefix = GuidPrefix([2; 12]);
const NOW: MonoTime = MonoTime(1_000_000_000);

fn local(idl: &str) -> Arc<LocalType> {
    let model = compile("a.idl", &Options::default(), &Memory::default().with("a.idl", idl)).model;
    let (graph, root) =
        dunlin_idl::xtypes::type_graph_of(&model.expect("it is correct"), "T").expect("it is there");
    LocalType::new(graph, root).expect("a structure")
}

fn types() -> Types {
    let mut types = Types::new(OWN, &Quotas::default());
    types.lookups.add_peer(PEER);
    types
}

/// Objects of a type as a peer tells them, each under the identifier that `name` makes of the right one.
fn told(ty: &LocalType, name: impl Fn(&TypeIdentifier) -> TypeIdentifier) -> GetTypesOut {
    let pair = |id: &TypeIdentifier, object: &TypeObject| TypeIdentifierTypeObjectPair {
        type_identifier: name(id),
        type_object: object.clone(),
    };
    let records = ty.objects().records.iter();
    let types = records.map(|record| pair(&record.complete.id, &record.complete.object)).collect();
    GetTypesOut { types, complete_to_minimal: vec![] }
}

fn state_of(types: &mut Types, ty: &LocalType) -> (LookupKey, Option<State>) {
    let root = types.announced(ty.octets()).and_then(|it| it.root().cloned()).expect("it is announced");
    let key = (PEER, root);
    let state = types.lookups.state(&key).cloned();
    (key, state)
}

#[test]
fn an_answer_has_to_belong_to_a_question() {
    let (mut types, ty) = (types(), local("struct T { long a; };"));
    assert!(matches!(types.discover((PEER, "T"), Some(ty.octets())), TypeDiscovery::Pending));
    let (to, request) = types.next_question(NOW).expect("it asks");
    assert_eq!(to, PEER);
    assert!(matches!(&request.call, Call::GetTypes(it) if it.type_ids.len() == 1));
    let id = request.request_id;
    let other_writer = Guid::new(OWN, EntityId::TYPE_LOOKUP_REPLY_WRITER).to_bytes();
    for lie in [
        SampleIdentity { low: id.low + 1, ..id },
        SampleIdentity { high: 1, ..id },
        SampleIdentity { writer_guid: other_writer, ..id },
    ] {
        assert_eq!(types.lookups.asked_by(PEER, &lie), None);
    }
    assert_eq!(types.lookups.asked_by(OWN, &id), None, "another participant was asked");
    let key = types.lookups.asked_by(PEER, &id).expect("it was asked");
    types.lookups.answered(&key, &id);
    types.on_answer(NOW, &key, Some(&told(&ty, TypeIdentifier::clone)));
    assert_eq!(types.lookups.asked_by(PEER, &id), None, "once");
    assert!(matches!(types.discover((PEER, "T"), Some(ty.octets())), TypeDiscovery::Known(_)));
    types.remove_peer(PEER);
    assert_eq!(types.learned_octets(), 0);
}

/// Types that depend on each other are asked for and told together, and compared as others are.
#[test]
fn recursive_types_are_looked_up() {
    const IDL: &str =
        "struct T; struct Back { sequence<T> all; long n; }; struct T { sequence<Back> back; };";
    let (mut types, ours) = (types(), local(IDL));
    let ours = TypeIn { graph: &ours.known().graph, index: ours.known().root };
    for (version, fits) in [("long n; long more;", true), ("string n;", false)] {
        let theirs = local(&IDL.replace("long n;", version));
        assert!(matches!(types.discover((PEER, "T"), Some(theirs.octets())), TypeDiscovery::Pending));
        let (_, request) = types.next_question(NOW).expect("it asks");
        assert!(matches!(&request.call, Call::GetTypes(it) if it.type_ids.len() == 1), "{request:?}");
        answer(&mut types, PEER, &request, &told(&theirs, Clone::clone));
        let found = types.discover((PEER, "T"), Some(theirs.octets()));
        let TypeDiscovery::Known(found) = found else { panic!("{found:?}") };
        let found = TypeIn { graph: &found.graph, index: found.root };
        let verdict = assignable(ours, found, &TypeConsistencyEnforcement::default(), Representation::Xcdr2);
        assert_eq!(verdict.is_ok(), fits, "{verdict:?}");
    }
}

/// An answer leads on that tells nothing but types that depend on each other, also if it does not tell all that was asked
/// for.
#[test]
fn components_alone_lead_on() {
    let ty = local(
        "@nested struct Leaf { long n; }; struct B; struct A { sequence<B> all; Leaf leaf; };
         struct B { sequence<A> all; }; struct D; struct C { sequence<D> all; };
         struct D { sequence<C> all; long n; }; struct T { A a; C c; };",
    );
    let ty = ty.announced_otherwise(|side| side.dependent_typeids.clear());
    let mut types = types();
    let _ = types.discover((PEER, "T"), Some(ty.octets()));
    let mut asked = vec![];
    // The type itself, then two components, of which one fits, then what is left.
    while let Some((_, request)) = types.next_question(NOW) {
        let Call::GetTypes(call) = &request.call else { panic!("{request:?}") };
        asked.push(call.type_ids.len());
        let mut out = part(&ty, &request, 8);
        if asked.len() == 2 {
            let first = out.types[0].type_identifier.lookup_id();
            out.types.retain(|pair| pair.type_identifier.lookup_id() == first);
            assert_eq!(out.types.len(), 2);
        }
        answer(&mut types, PEER, &request, &out);
    }
    assert_eq!((asked[..2].to_vec(), types.lookups.failed), (vec![1, 2], 0), "{asked:?}");
    assert!(matches!(types.discover((PEER, "T"), Some(ty.octets())), TypeDiscovery::Known(_)));
}

/// What was not asked for is counted and not kept.
#[test]
fn an_answer_tells_what_was_asked_for() {
    let (mut types, ty, other) = (types(), local("struct T { long a; };"), local("struct T { long b; };"));
    let _ = types.discover((PEER, "T"), Some(ty.octets()));
    let (_, request) = types.next_question(NOW).expect("it asks");
    let mut out = told(&ty, Clone::clone);
    out.types.extend(told(&other, Clone::clone).types);
    answer(&mut types, PEER, &request, &out);
    assert_eq!(types.lookups.refused, 1);
    assert!(matches!(types.discover((PEER, "T"), Some(ty.octets())), TypeDiscovery::Known(_)));
    assert!(matches!(types.discover((PEER, "T"), Some(other.octets())), TypeDiscovery::Pending));
}

/// A participant may announce types that depend on each other as a whole: the names of its endpoints tell them apart.
#[test]
fn type_name_selects_among_mutually_dependent_types() {
    let ty = local("struct T; struct Back { sequence<T> all; long n; }; struct T { sequence<Back> back; };");
    let ty = ty.announced_otherwise(as_a_whole);
    let mut types = types();
    assert!(matches!(types.discover((PEER, "T"), Some(ty.octets())), TypeDiscovery::Pending));
    let (_, request) = types.next_question(NOW).expect("it asks");
    answer(&mut types, PEER, &request, &part(&ty, &request, 8));
    for name in ["T", "Back", "T"] {
        let found = types.discover((PEER, name), Some(ty.octets()));
        let TypeDiscovery::Known(found) = found else { panic!("{found:?}") };
        assert_eq!(found.graph.get(found.root).map(|it| it.name.as_str()), Some(name));
    }
    let none = types.discover((PEER, "Other"), Some(ty.octets()));
    assert!(matches!(&none, TypeDiscovery::Refused(why) if why.contains("several types")), "{none:?}");
}

/// Announces all types that depend on each other instead of the one of them (§7.3.4.9).
pub(crate) fn as_a_whole(side: &mut dunlin_xtypes::TypeIdentifierWithDependencies) {
    side.typeid_with_size.type_id = side.typeid_with_size.type_id.lookup_id();
}

#[test]
fn wrong_type_objects_and_timeouts_end_a_type_lookup() {
    let ty = local("struct T { long a; };");
    for answer in [None, Some(told(&ty, |_| TypeIdentifier::Complete([7; 14]))), Some(GetTypesOut::default())]
    {
        let mut types = types();
        let _ = types.discover((PEER, "T"), Some(ty.octets()));
        let (_, request) = types.next_question(NOW).expect("it asks");
        let key = types.lookups.asked_by(PEER, &request.request_id).expect("it was asked");
        types.on_answer(NOW, &key, answer.as_ref());
        assert!(matches!(types.discover((PEER, "T"), Some(ty.octets())), TypeDiscovery::Refused(_)));
        assert_eq!((types.learned_octets(), types.lookups.finished.len()), (0, 1));
        assert!(types.next_question(NOW).is_none());
    }
}

#[test]
fn type_lookup_requests_are_bounded_and_time_out() {
    let mut types = types();
    let many: Vec<_> = (0..300).map(|n| local(&format!("struct T {{ long a{n}; }};"))).collect();
    let refused = many
        .iter()
        .filter(|ty| matches!(types.discover((PEER, "T"), Some(ty.octets())), TypeDiscovery::Refused(_)));
    assert_eq!(refused.count(), 300 - 256);
    let mut now = NOW;
    let mut sent = 0;
    for _ in 0..4 {
        let asked = core::iter::from_fn(|| types.next_question(now)).count();
        assert!(asked <= 8, "{asked} at once");
        sent += asked;
        now = now.plus(dunlin_core::Duration::from_secs(1));
        types.lookups.on_timer(now);
    }
    assert!(types.next_question(now).is_none(), "who was silent three times is not asked again");
    assert_eq!((sent, types.lookups.failed), (24, 256));
    assert_eq!(types.lookups.next_deadline(), Some(now.plus(dunlin_core::Duration::from_secs(9))), "later");
    let (_, state) = state_of(&mut types, &many[0]);
    assert!(matches!(state, Some(State::Failed { .. })), "{state:?}");
}

#[test]
fn a_type_lookup_beyond_the_limit_is_retried_when_one_ends() {
    let mut types = types();
    let many: Vec<_> = (0..=256).map(|n| local(&format!("struct T {{ long a{n}; }};"))).collect();
    many.iter().for_each(|ty| drop(types.discover((PEER, "T"), Some(ty.octets()))));
    let last = || many.last().expect("there are many");
    assert_eq!(state_of(&mut types, last()).1, None, "no place");
    assert!(types.lookups.too_many > 0, "and it is counted");
    let (_, request) = types.next_question(NOW).expect("it asks");
    answer(&mut types, PEER, &request, &part(&many[0], &request, 1));
    assert_eq!(types.lookups.recovered, [PEER], "its pairs are judged again");
    assert!(matches!(types.discover((PEER, "T"), Some(last().octets())), TypeDiscovery::Pending));
}

#[test]
fn announcements_that_are_none() {
    let ty = local("struct T { long a; };");
    for end in 0..ty.octets().len() {
        let _ = Announced::parse(&ty.octets()[..end]);
    }
    assert_eq!(Announced::parse(&[]), None);
    // Padding behind it.
    let padded = [ty.octets(), [0; 3].as_slice()].concat();
    assert_eq!(Announced::parse(&padded), Announced::parse(ty.octets()));
    assert!(matches!(
        types().discover((PEER, "T"), Some(&Arc::from([1, 2, 3].as_slice()))),
        TypeDiscovery::Refused(_)
    ));
}

const OTHER: GuidPrefix = GuidPrefix([3; 12]);

/// The answer to what was asked, of at most so many objects.
fn part(ty: &LocalType, request: &Request, most: usize) -> GetTypesOut {
    let Call::GetTypes(call) = &request.call else { return GetTypesOut::default() };
    let mut out = told(ty, TypeIdentifier::clone);
    out.types.retain(|pair| call.type_ids.contains(&pair.type_identifier.lookup_id()));
    out.types.truncate(most);
    out
}

fn answer(types: &mut Types, from: GuidPrefix, request: &Request, out: &GetTypesOut) {
    let key = types.lookups.asked_by(from, &request.request_id).expect("it was asked");
    types.lookups.answered(&key, &request.request_id);
    types.on_answer(NOW, &key, Some(out));
}

#[test]
fn two_participants_tell_one_type() {
    let ty = local("@nested struct A { long a; }; @nested struct B { long b; }; struct T { A a; B b; };");
    let (mut types, ids) = (types(), [PEER, OTHER]);
    types.lookups.add_peer(OTHER);
    ids.iter().for_each(|peer| drop(types.discover((*peer, "T"), Some(ty.octets()))));
    let asked: Vec<_> = (0..2).map(|_| types.next_question(NOW).expect("both are asked")).collect();
    // The same part of the type: what the second tells is not new.
    for (to, request) in &asked {
        answer(&mut types, *to, request, &part(&ty, request, 1));
    }
    assert_eq!((types.lookups.finished.len(), types.lookups.failed), (0, 0), "nobody has failed");
    while let Some((to, request)) = types.next_question(NOW) {
        answer(&mut types, to, &request, &part(&ty, &request, 8));
    }
    assert_eq!((types.lookups.finished.len(), types.lookups.failed), (2, 0), "both pairs are judged");
}

#[test]
fn late_answers_are_answers() {
    let (mut types, ty) = (types(), local("struct T { long a; };"));
    let _ = types.discover((PEER, "T"), Some(ty.octets()));
    let (_, first) = types.next_question(NOW).expect("it asks");
    for second in 1..=3 {
        let now = NOW.plus(dunlin_core::Duration::from_secs(second));
        types.lookups.on_timer(now);
        assert_eq!(types.next_question(now).is_some(), second < 3);
    }
    assert!(matches!(types.discover((PEER, "T"), Some(ty.octets())), TypeDiscovery::Refused(_)));
    answer(&mut types, PEER, &first, &part(&ty, &first, 1));
    assert!(matches!(types.discover((PEER, "T"), Some(ty.octets())), TypeDiscovery::Known(_)));
    assert_eq!(types.lookups.recovered.len(), 1, "names have decided meanwhile");
}

#[test]
fn silence_is_not_for_ever() {
    let (mut types, ty) = (types(), local("struct T { long a; };"));
    let _ = types.discover((PEER, "T"), Some(ty.octets()));
    let (mut now, mut asked) = (NOW, 0);
    let end = NOW.plus(dunlin_core::Duration::from_secs(60));
    while now < end {
        asked += core::iter::from_fn(|| types.next_question(now)).count();
        now = types.lookups.next_deadline().expect("there is more to do");
        types.lookups.on_timer(now);
    }
    // Three at once, and one after 10 and after 20 seconds more.
    assert_eq!((asked, types.lookups.failed), (5, 1));
    let (_, request) = core::iter::from_fn(|| {
        let request = types.next_question(now);
        now = types.lookups.next_deadline().expect("there is more to do");
        types.lookups.on_timer(now);
        Some(request)
    })
    .take(4)
    .flatten()
    .next()
    .expect("it asks again");
    answer(&mut types, PEER, &request, &part(&ty, &request, 1));
    assert!(matches!(types.discover((PEER, "T"), Some(ty.octets())), TypeDiscovery::Known(_)));
    let other = local("struct T { long b; };");
    assert!(matches!(types.discover((PEER, "T"), Some(other.octets())), TypeDiscovery::Pending));
    assert!(types.next_question(now).is_some(), "who has answered is asked");
}

#[test]
fn an_answer_counts_once_also_when_more_is_to_be_asked() {
    let (mut types, ty) = (types(), local("@nested struct A { long a; }; struct T { A a; };"));
    let _ = types.discover((PEER, "T"), Some(ty.octets()));
    let (_, first) = types.next_question(NOW).expect("it asks");
    answer(&mut types, PEER, &first, &part(&ty, &first, 1));
    assert_eq!(types.lookups.asked_by(PEER, &first.request_id), None, "it was answered");
    let (_, second) = types.next_question(NOW).expect("it asks for the rest");
    assert!(types.lookups.asked_by(PEER, &second.request_id).is_some());
}

#[test]
fn a_participant_that_leaves_keeps_type_requests_of_others() {
    let (mut types, ty) = (types(), local("struct T { long a; };"));
    types.lookups.add_peer(OTHER);
    [PEER, OTHER].iter().for_each(|peer| drop(types.discover((*peer, "T"), Some(ty.octets()))));
    types.remove_peer(PEER);
    assert_eq!(types.next_question(NOW).map(|(to, _)| to), Some(OTHER));
    assert!(types.next_question(NOW).is_none());
}

#[test]
fn type_lookup_requests_queue_in_order_until_their_requester_is_gone() {
    let mut waiting = waiting::Waiting::default();
    assert!(waiting.keep(PEER, &[1]) && waiting.keep(OTHER, &[2]) && waiting.keep(PEER, &[3]));
    assert_eq!((waiting.participants(), waiting.count()), (vec![PEER, OTHER], 3));
    assert_eq!(waiting.next(PEER).as_deref(), Some(&[1][..]));
    waiting.forget(PEER);
    assert_eq!((waiting.participants(), waiting.count()), (vec![OTHER], 1));
    assert!(!waiting.has(PEER));
}
