//! Filter expressions, and samples that they are evaluated on.

use std::collections::BTreeMap;

use dunlin_cdr::{Char8, DdsType, DecodeOptions, Representation, WString, description, to_payload};
use dunlin_filter::{Filter, TopicExpression, Verdict};

/// A literal by name or number.
#[derive(DdsType, Clone, Copy)]
#[dds(crate = "dunlin_cdr")]
enum Mode {
    Fast = 2,
    Slow = -4,
}

#[derive(DdsType, Clone)]
#[dds(union, discriminator = "i16", nested, mutable, crate = "dunlin_cdr")]
enum Choice {
    #[dds(case = 1)]
    Word(String),
    #[dds(default)]
    Tree(#[dds(external)] Box<Choice>),
}

#[derive(DdsType, Clone)]
#[dds(mutable, crate = "dunlin_cdr")]
struct Nest {
    depth: i32,
    maybe: Option<f64>,
    label: WString,
}

/// A sample with members of every kind.
#[derive(DdsType, Clone)]
#[dds(crate = "dunlin_cdr")]
struct Sample {
    #[dds(key)]
    id: i32,
    name: String,
    big: u64,
    single: f32,
    flag: bool,
    letter: Char8,
    mode: Mode,
    maybe: Option<Nest>,
    grid: [[u16; 3]; 2],
    names: Vec<String>,
    nests: Vec<Nest>,
    map: BTreeMap<u8, Vec<u8>>,
    choice: Choice,
    last: i64,
}

/// An expression, a parameter and a payload, separated by zeros. What is not accepted is opposite to its negation, or
/// neither is.
pub fn filter(data: &[u8]) {
    let mut parts = data.splitn(3, |octet| *octet == 0);
    let mut text = || String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let (expression, parameter) = (text(), text());
    let payload = parts.next().unwrap_or_default();
    let _ = TopicExpression::parse(&expression);
    let options = DecodeOptions::default();
    if let Ok(query) = Filter::query(description::<Sample>(), &expression, &[&parameter]) {
        let key = query.sort_key(payload, options);
        assert!(key.order(&key).is_eq());
    }
    let Ok(mut filter) = Filter::new::<Sample>(&expression, &[&parameter]) else { return };
    let _ = filter.set_parameters(&["'other'"]);
    let _ = filter.check_key(payload, options);
    let verdict = filter.check(payload, options);
    let negation = Filter::new::<Sample>(&format!("NOT ({expression})"), filter.parameters());
    // An empty expression has no negation, and one more pair of parentheses may be too many.
    if let Ok(negation) = negation {
        let opposite = match verdict {
            Verdict::Passed => Verdict::Rejected,
            Verdict::Rejected => Verdict::Passed,
            Verdict::Unreadable => Verdict::Unreadable,
        };
        assert_eq!(negation.check(payload, options), opposite);
    }
}

/// Expressions that touch every kind of member, and one of a multi-topic.
const EXPRESSIONS: &[&str] = &[
    "id >= 0x10 AND name LIKE %0 OR NOT (big < 1.5e3)",
    "maybe.maybe NOT BETWEEN -1 AND 2.5 AND maybe.label = 'it''s'",
    "grid[1][2] = 7 AND names[1] <> name AND nests[1].depth != id",
    "choice._d = 1 OR choice.Word = 'x' OR choice.Tree.Tree.Word LIKE '%_%'",
    "flag = TRUE AND letter = 'x' AND mode = 'Slow' AND single <= last ORDER BY name, last",
    "SELECT a, b.c AS d FROM 'One' NATURAL JOIN (Two-3 INNER NATURAL JOIN x) WHERE a > %0;",
];

fn payloads() -> Vec<Vec<u8>> {
    let nest = |label: &str| Nest { depth: 1, maybe: Some(0.5), label: label.into() };
    let sample = |mode| Sample {
        id: 20,
        name: "dunlin".into(),
        big: u64::MAX,
        single: 0.1,
        flag: true,
        letter: Char8(b'x'),
        mode,
        maybe: Some(nest("it's")),
        grid: [[1, 2, 3], [4, 5, 7]],
        names: vec!["a".into(), "b".into()],
        nests: vec![nest("p"), nest("q")],
        map: BTreeMap::from([(1, vec![2, 3])]),
        choice: Choice::Tree(Box::new(Choice::Tree(Box::new(Choice::Word("w".into()))))),
        last: -1,
    };
    let made = [(Representation::Xcdr1, Mode::Slow), (Representation::Xcdr2, Mode::Fast)];
    let made = made.map(|(representation, mode)| {
        let mut payload = Vec::new();
        to_payload(&sample(mode), representation, &mut payload).unwrap();
        payload
    });
    made.into()
}

/// Every expression with a payload of each representation.
pub(crate) fn seeds() -> Vec<(String, Vec<u8>)> {
    let payloads = payloads();
    let pairs = EXPRESSIONS.iter().enumerate().flat_map(|e| payloads.iter().enumerate().map(move |p| (e, p)));
    pairs
        .map(|((e, expression), (p, payload))| {
            (format!("{e}-xcdr{}", p + 1), [expression.as_bytes(), b"\0'd%'\0", payload].concat())
        })
        .collect()
}
