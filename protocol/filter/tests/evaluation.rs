//! What expressions accept, what they mean on samples of every representation, and what they say when they are refused.

mod common;

use common::{ALL, Mode, Nest, Sample, fill, passes, payload};
use dunlin_cdr::{
    DdsType, DecodeOptions, Endianness, Representation, Scope, description, to_payload, to_payload_as,
};
use dunlin_filter::{Filter, Place, Verdict};

const NONE: [&str; 0] = [];

#[test]
fn predicates_on_every_kind_of_member() {
    let sample = fill();
    for (expression, expected) in [
        ("id = 7 AND name = 'dunlin'", true),
        ("name <> 'dunlin'", false),
        ("name < 'dunlin ' AND name > 'dunli'", true),
        ("name LIKE 'd_n%' AND NOT name LIKE 'D%'", true),
        ("name NOT LIKE '%x%'", true),
        ("'dunlin' LIKE name", true),
        ("small = 200 AND small > 199.5", true),
        ("signed = -5 AND signed <= -0x5", true),
        ("big = 18446744073709551615", true),
        ("big > 18446744073709551614 AND big < 1.8446744073709552e19", true),
        ("low = -9223372036854775808", true),
        ("single = 0.1", false),
        ("single = 0.10000000149011612", true),
        ("double BETWEEN 2.5 AND 2.5", true),
        ("double NOT BETWEEN 2 AND 3", false),
        ("double BETWEEN 3 AND 2", false),
        ("flag = TRUE AND flag <> false AND flag = 1 AND NOT flag = 0", true),
        ("letter = 'x' AND letter > 'w' AND wide = 'é'", true),
        ("mode = 'FAST' AND mode = 2 AND mode >= 'Slow'", true),
        ("mode <> 'FAST'", false),
        ("bits = 0x101", true),
        ("text = 'Vögel' AND text LIKE 'V_gel'", true),
        ("nest.depth = 3 AND nest.label = 'mud'", true),
        ("nest.maybe = 5", false),
        ("nest.maybe <> 5", false),
        ("NOT nest.maybe = 5", true),
        ("nest.maybe NOT BETWEEN 1 AND 2", false),
        ("other.maybe = 5 AND other.depth = 9", true),
        ("grid[1][2] = 6 AND grid[0][0] = 1", true),
        ("list[1] = 'b' AND list[2] <> 'zz'", false),
        ("nests[1].depth = 11 AND nests[0].label LIKE 'p%'", true),
        ("nests[2].depth = 11 OR nests[1].depth = 11", true),
        ("choice._d = 2 AND choice.Number = 40", true),
        ("choice.Word = 'x'", false),
        ("signed < double AND id < nest.depth", false),
        ("name = nest.label OR list[0] < list[1]", true),
        ("small = signed OR mode = signed OR mode = mode", true),
        ("nan = nan", false),
        ("nan <> 1 AND NOT nan < 1 AND NOT nan >= 1", true),
        ("1 < id AND 7 = id", true),
        ("", true),
    ] {
        assert_eq!(passes(expression, &NONE, &sample), expected, "{expression}");
    }
}

#[test]
fn order_of_precedence() {
    let sample = fill();
    for (expression, expected) in [
        ("id = 7 OR id = 8 AND id = 9", true),
        ("(id = 7 OR id = 8) AND id = 9", false),
        ("NOT id = 8 AND id = 7", true),
        ("NOT (id = 8 OR id = 7)", false),
        ("NOT NOT id = 7 and (((id = 7)))", true),
        ("id = 8 AND id = 7 OR id = 7", true),
        ("NOT id = 7 OR NOT id = 8", true),
    ] {
        assert_eq!(passes(expression, &NONE, &sample), expected, "{expression}");
    }
}

#[test]
fn parameters_change_and_are_checked_again() {
    let sample = fill();
    let mut filter =
        Filter::for_type(description::<Sample>(), "id >= %0 AND name LIKE %2", &["5", "unused", "'d%'"])
            .unwrap();
    let octets = payload(&sample, Representation::Xcdr1, Endianness::Little);
    let check = |filter: &Filter| filter.check(&octets, DecodeOptions::default());
    assert_eq!(check(&filter), Verdict::Passed);
    filter.set_parameters(&["8", "", "'d%'"]).unwrap();
    assert_eq!((check(&filter), filter.parameters()[0].as_str()), (Verdict::Rejected, "8"));
    let message = |filter: &mut Filter, parameters: &[&str]| {
        let error = filter.set_parameters(parameters).unwrap_err();
        assert!(matches!(error.place, Place::Parameter(_)));
        error.to_string()
    };
    assert_eq!(
        message(&mut filter, &["'x'", "", "'d'"]),
        "parameter %0: expected a number, found the text 'x'"
    );
    assert_eq!(message(&mut filter, &["1", ""]), "parameter %2: not among the 2 parameters given");
    assert_eq!(
        message(&mut filter, &["1", "", "d"]),
        "parameter %2: expected a number, TRUE, FALSE or a text in single quotes, found `d`"
    );
    assert!(message(&mut filter, &["1", "", &"9".repeat(2000)]).contains("more than 1024 bytes"));
    assert!(filter.set_parameters(&["1"; 101]).is_err());
    assert_eq!(
        (check(&filter), filter.parameters()[0].as_str()),
        (Verdict::Rejected, "8"),
        "nothing changed"
    );
    assert_eq!(filter.expression(), "id >= %0 AND name LIKE %2");
}

#[test]
fn refusals_say_why() {
    for (expression, parameters, message) in [
        ("nam = 'x'", &[][..], "at position 0: Sample has no member `nam`; did you mean `name`?"),
        ("nest.lable = 'x'", &[], "at position 5: Nest has no member `lable`; did you mean `label`?"),
        ("id = 'x'", &[], "at position 5: expected a number, found the text 'x'"),
        ("name = 5", &[], "at position 7: expected a text in single quotes, found the integer 5"),
        ("flag = 2", &[], "at position 7: expected TRUE or FALSE, found the integer 2"),
        ("letter = 'xy'", &[], "at position 9: expected one character in single quotes, found the text 'xy'"),
        ("letter = '€'", &[], "at position 9: expected one character in single quotes, found the text '€'"),
        ("mode = 'FAS'", &[], "at position 7: Mode has no literal 'FAS'; did you mean `FAST`?"),
        (
            "mode = 1.5",
            &[],
            "at position 7: expected a literal of Mode in single quotes, or its number, found the number 1.5",
        ),
        (
            "nest = 1",
            &[],
            "at position 0: Nest cannot be compared: name one of its members: `depth`, `label`, `maybe`",
        ),
        (
            "list = 'a'",
            &[],
            "at position 0: sequence<string> cannot be compared: name one of its elements, as in `a[0]`",
        ),
        (
            "choice = 1",
            &[],
            "at position 0: Choice cannot be compared: name one of its members: `Word`, `Number`, `_d`",
        ),
        ("id.x = 1", &[], "at position 3: `x` is asked of int32, which has no members"),
        ("id[0] = 1", &[], "at position 3: int32 has no elements to be named by an index"),
        ("grid[2][0] = 1", &[], "at position 5: index 2 of an array of 2"),
        ("id LIKE 'x'", &[], "at position 3: expected a string to compare by LIKE, found int32"),
        (
            "id = name",
            &[],
            "at position 5: expected a field that can be compared with int32, found one of type string",
        ),
        ("id = %0", &[], "parameter %0: not among the 0 parameters given"),
        ("id = %0", &["'5'"], "parameter %0: expected a number, found the text '5'"),
        (
            "name BETWEEN 'a' AND 5",
            &[],
            "at position 21: expected a text in single quotes, found the integer 5",
        ),
        (
            "id = 7 ORDER BY id",
            &[],
            "at position 7: expected AND, OR or the end of the expression, found `ORDER`",
        ),
    ] {
        let error = Filter::for_type(description::<Sample>(), expression, parameters).unwrap_err();
        assert_eq!(error.to_string(), message, "{expression}");
    }
    assert!(Filter::for_type(description::<u32>(), "a = 1", &NONE).is_err());
    assert!(Filter::for_type(description::<Sample>(), "id = 1", &["1"; 101]).is_err());
}

#[derive(DdsType)]
struct Older {
    a: u16,
}

#[derive(DdsType)]
#[dds(nested)]
struct Inner {
    #[dds(default = -3)]
    deep: i16,
    plain: String,
    levels: [u8; 2],
}

#[derive(DdsType)]
struct Newer {
    a: u16,
    #[dds(default = 7)]
    b: u64,
    #[dds(default = "none")]
    text: String,
    inner: Inner,
    mode: Mode,
    maybe: Option<u8>,
    list: Vec<u8>,
    #[dds(default = Inner { deep: 4, plain: "p".into(), levels: [5, 6] })]
    given: Inner,
}

#[test]
fn members_that_the_sender_lacks_have_their_defaults() {
    for (representation, endianness) in ALL {
        let octets = payload(&Older { a: 5 }, representation, endianness);
        for (expression, expected) in [
            ("a = 5 AND b = 7 AND text = 'none'", true),
            ("inner.deep = -3 AND inner.plain = '' AND inner.levels[1] = 0", true),
            ("mode = 'Slow'", true),
            ("maybe = 0 OR list[0] = 0", false),
            ("given.deep = 4 AND given.plain = 'p' AND given.levels[1] = 6", true),
        ] {
            let filter = Filter::new::<Newer>(expression, &NONE).unwrap();
            let passed = filter.check(&octets, DecodeOptions::default()).passed();
            assert_eq!(passed, expected, "{expression} {representation:?}");
        }
    }
}

#[test]
fn keys_decide_alone_when_nothing_else_is_asked() {
    let sample = fill();
    for (representation, endianness) in ALL {
        let mut key = Vec::new();
        to_payload_as(&sample, representation, endianness, Scope::Key, &mut key).unwrap();
        for (expression, about_key, verdict) in [
            ("id = 7", true, Verdict::Passed),
            ("id > 7 OR id < 7", true, Verdict::Rejected),
            ("id = 7 AND spot.x = 4", true, Verdict::Passed),
            ("name = 'dunlin'", false, Verdict::Rejected),
            ("id = 7 OR name = 'x'", false, Verdict::Passed),
            ("spot.note = 'here'", false, Verdict::Rejected),
            ("", true, Verdict::Passed),
        ] {
            let filter = Filter::new::<Sample>(expression, &NONE).unwrap();
            assert_eq!(filter.is_about_key(), about_key, "{expression}");
            assert_eq!(filter.check_key(&key, DecodeOptions::default()), verdict, "{expression}");
        }
    }
    assert!(!Filter::new::<Nest>("depth = 1", &NONE).unwrap().is_about_key(), "a type without key");
}

#[test]
fn unreadable_samples_do_not_pass() {
    let filter = Filter::new::<Sample>("name = 'dunlin' OR id = 1", &NONE).unwrap();
    let negation = Filter::new::<Sample>("NOT name = 'dunlin'", &NONE).unwrap();
    let octets = payload(&fill(), Representation::Xcdr1, Endianness::Little);
    for len in [0, 3, 6, 12] {
        for filter in [&filter, &negation] {
            assert_eq!(filter.check(&octets[..len], DecodeOptions::default()), Verdict::Unreadable);
        }
    }
    let all = Filter::new::<Sample>("", &NONE).unwrap();
    assert!(all.passes_all() && all.check(&[], DecodeOptions::default()).passed());
    for at in 0..octets.len() {
        for bit in [1, 0x80, 0xff] {
            let mut damaged = octets.clone();
            damaged[at] ^= bit;
            let _ = filter.check(&damaged, DecodeOptions::default());
        }
    }
}

#[test]
fn queries_sort() {
    let query =
        Filter::query(description::<Sample>(), "id > 0 ORDER BY name, nest.maybe, double", &NONE).unwrap();
    assert!(query.sorts() && !query.passes_all());
    let key = |name: &str, maybe: Option<i64>, double: f64| {
        let mut sample = Sample { name: name.into(), double, ..fill() };
        sample.nest.maybe = maybe;
        let mut octets = Vec::new();
        to_payload(&sample, Representation::Xcdr2, &mut octets).unwrap();
        query.sort_key(&octets, DecodeOptions::default())
    };
    let sorted = [
        key("a", None, 9.0),
        key("a", Some(-1), 1.0),
        key("a", Some(2), -1.0),
        key("a", Some(2), f64::NAN),
        key("b", None, 0.0),
    ];
    for (i, left) in sorted.iter().enumerate() {
        for (j, right) in sorted.iter().enumerate() {
            assert_eq!(left.order(right), i.cmp(&j), "{i} {j}");
        }
    }
    assert!(Filter::query(description::<Sample>(), "ORDER BY nest", &NONE).is_err());
    assert!(
        Filter::query(description::<Sample>(), "ORDER BY nam", &NONE)
            .unwrap_err()
            .to_string()
            .contains("`name`")
    );
}
