//! Random conditions on random samples decide as a naive evaluator on the values does; random text does no harm.

mod common;

use common::{Bits, Choice, Mode, Nest, Sample, fill, passes};
use dunlin_cdr::{Char8, DecodeOptions, description};
use dunlin_filter::{Filter, TopicExpression};
use proptest::collection::vec;
use proptest::prelude::*;

/// What the reference knows of values: quarters make floats exact as integers.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
enum Plain {
    Quarters(i128),
    Text(String),
    Flag(bool),
}

/// Fields, how they are written, and their values.
#[derive(Clone, Copy, Debug)]
struct Field(&'static str, fn(&Sample) -> Option<Plain>);

fn quarters(value: f64) -> Option<Plain> {
    Some(Plain::Quarters((value * 4.0) as i128))
}

fn whole(value: impl Into<i128>) -> Option<Plain> {
    Some(Plain::Quarters(value.into() * 4))
}

const NUMBERS: &[Field] = &[
    Field("id", |s| whole(s.id)),
    Field("small", |s| whole(s.small)),
    Field("big", |s| whole(s.big)),
    Field("low", |s| whole(s.low)),
    Field("single", |s| quarters(s.single.into())),
    Field("double", |s| quarters(s.double)),
    Field("bits", |s| whole(s.bits.0)),
    Field("nest.maybe", |s| whole(s.nest.maybe?)),
    Field("grid[1][2]", |s| whole(s.grid[1][2])),
    Field("nests[1].depth", |s| whole(s.nests.get(1)?.depth)),
    Field("choice.Number", |s| if let Choice::Number(n) = s.choice { whole(n) } else { None }),
];

const TEXTS: &[Field] = &[
    Field("name", |s| Some(Plain::Text(s.name.clone()))),
    Field("text", |s| Some(Plain::Text(s.text.to_string_lossy()))),
    Field("nest.label", |s| Some(Plain::Text(s.nest.label.clone()))),
    Field("list[1]", |s| s.list.get(1).cloned().map(Plain::Text)),
    Field(
        "choice.Word",
        |s| if let Choice::Word(w) = &s.choice { Some(Plain::Text(w.clone())) } else { None },
    ),
];

#[derive(Clone, Debug)]
enum Side {
    Field(Field),
    Constant(Plain),
}

#[derive(Clone, Debug)]
enum Condition {
    Compare(Side, &'static str, Side),
    Between(Field, bool, Plain, Plain),
    Like(Field, String),
    Flag(bool),
    Not(Box<Condition>),
    And(Vec<Condition>),
    Or(Vec<Condition>),
}

fn number() -> impl Strategy<Value = Plain> {
    let interesting = [0, 1, -1, 2, i128::from(u64::MAX), i128::from(i64::MIN), 1 << 53, (1 << 53) + 1];
    prop_oneof![
        (-12..12_i128).prop_map(Plain::Quarters),
        proptest::sample::select(interesting.to_vec()).prop_map(|n| Plain::Quarters(n * 4)),
    ]
}

fn text() -> impl Strategy<Value = Plain> {
    "[abé']{0,3}".prop_map(Plain::Text)
}

fn field(of: &'static [Field]) -> impl Strategy<Value = Field> {
    proptest::sample::select(of)
}

fn leaf() -> impl Strategy<Value = Condition> {
    let relation = || proptest::sample::select(vec!["=", "<>", "!=", "<", "<=", ">", ">="]);
    let numbers = prop_oneof![number().prop_map(Side::Constant), field(NUMBERS).prop_map(Side::Field)];
    let texts = prop_oneof![text().prop_map(Side::Constant), field(TEXTS).prop_map(Side::Field)];
    let compare = |(field, relation, other, turned)| match turned {
        true => Condition::Compare(other, relation, Side::Field(field)),
        false => Condition::Compare(Side::Field(field), relation, other),
    };
    prop_oneof![
        4 => (field(NUMBERS), relation(), numbers, any::<bool>()).prop_map(compare),
        3 => (field(TEXTS), relation(), texts, any::<bool>()).prop_map(compare),
        1 => (field(NUMBERS), any::<bool>(), number(), number())
            .prop_map(|(f, not, a, b)| Condition::Between(f, not, a, b)),
        1 => (field(TEXTS), any::<bool>(), text(), text())
            .prop_map(|(f, not, a, b)| Condition::Between(f, not, a, b)),
        1 => (field(TEXTS), "[abé%_]{0,4}").prop_map(|(f, p)| Condition::Like(f, p)),
        1 => any::<bool>().prop_map(Condition::Flag),
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    leaf().prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|c| Condition::Not(Box::new(c))),
            vec(inner.clone(), 2..4).prop_map(Condition::And),
            vec(inner, 2..4).prop_map(Condition::Or),
        ]
    })
}

fn like(text: &[char], pattern: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('%', rest)) => (0..=text.len()).any(|n| like(&text[n..], rest)),
        Some((c, rest)) => text.first().is_some_and(|t| *c == '_' || c == t) && like(&text[1..], rest),
    }
}

impl Side {
    fn value(&self, sample: &Sample) -> Option<Plain> {
        match self {
            Self::Field(field) => field.1(sample),
            Self::Constant(value) => Some(value.clone()),
        }
    }
}

fn naive(condition: &Condition, sample: &Sample) -> bool {
    match condition {
        Condition::Compare(left, relation, right) => {
            let (Some(left), Some(right)) = (left.value(sample), right.value(sample)) else { return false };
            match *relation {
                "=" => left == right,
                "<>" | "!=" => left != right,
                "<" => left < right,
                "<=" => left <= right,
                ">" => left > right,
                _ => left >= right,
            }
        }
        Condition::Between(field, not, low, high) => {
            field.1(sample).is_some_and(|value| (*low <= value && value <= *high) != *not)
        }
        Condition::Like(field, pattern) => match field.1(sample) {
            Some(Plain::Text(text)) => {
                like(&text.chars().collect::<Vec<_>>(), &pattern.chars().collect::<Vec<_>>())
            }
            _ => false,
        },
        Condition::Flag(wanted) => sample.flag == *wanted,
        Condition::Not(inner) => !naive(inner, sample),
        Condition::And(all) => all.iter().all(|each| naive(each, sample)),
        Condition::Or(any) => any.iter().any(|each| naive(each, sample)),
    }
}

/// Writes conditions, some of their constants as parameters.
struct Writer {
    parameters: Vec<String>,
    coin: u64,
}

impl Writer {
    fn flip(&mut self) -> bool {
        self.coin = self.coin.rotate_left(1);
        self.coin & 1 == 1
    }

    fn constant(&mut self, value: &Plain) -> String {
        let text = match value {
            Plain::Quarters(q) if q % 4 == 0 && *q >= 0 && self.flip() => format!("{:#x}", q / 4),
            Plain::Quarters(q) if q % 4 == 0 && (q / 4) as f64 as i128 == q / 4 && self.flip() => {
                format!("{:.1}", (q / 4) as f64)
            }
            Plain::Quarters(q) if q % 4 == 0 => format!("{}", q / 4),
            Plain::Quarters(q) => format!("{}", *q as f64 / 4.0),
            Plain::Text(text) => format!("'{}'", text.replace('\'', "''")),
            Plain::Flag(flag) => format!("{flag}"),
        };
        if self.parameters.len() < 100 && self.flip() {
            self.parameters.push(text);
            return format!("%{}", self.parameters.len() - 1);
        }
        text
    }

    fn side(&mut self, side: &Side) -> String {
        match side {
            Side::Field(field) => field.0.into(),
            Side::Constant(value) => self.constant(value),
        }
    }

    fn write(&mut self, condition: &Condition) -> String {
        match condition {
            Condition::Compare(left, relation, right) => {
                let (left, right) = (self.side(left), self.side(right));
                format!("{left}{relation} {right}")
            }
            Condition::Between(field, not, low, high) => {
                let (low, high) = (self.constant(low), self.constant(high));
                format!("{} {}between {low} AND {high}", field.0, if *not { "NOT " } else { "" })
            }
            Condition::Like(field, pattern) => {
                let pattern = self.constant(&Plain::Text(pattern.clone()));
                format!("{} LIKE {pattern}", field.0)
            }
            Condition::Flag(wanted) => format!("flag = {}", self.constant(&Plain::Flag(*wanted))),
            Condition::Not(inner) => {
                let grouped = matches!(**inner, Condition::And(_) | Condition::Or(_)) || self.flip();
                let inner = self.write(inner);
                if grouped { format!("NOT ({inner})") } else { format!("NOT {inner}") }
            }
            Condition::And(all) => {
                let parts = all.iter().map(|each| {
                    let grouped = matches!(each, Condition::Or(_));
                    let text = self.write(each);
                    if grouped { format!("({text})") } else { text }
                });
                parts.collect::<Vec<_>>().join(" AND ")
            }
            Condition::Or(any) => any.iter().map(|each| self.write(each)).collect::<Vec<_>>().join(" or "),
        }
    }
}

fn sample() -> impl Strategy<Value = Sample> {
    let texts = || "[abé']{0,3}";
    let nest = || (any::<i8>(), texts(), proptest::option::of(-3..3_i64));
    let to_nest =
        |(depth, label, maybe): (i8, String, Option<i64>)| Nest { depth: depth.into(), label, maybe };
    let floats = prop_oneof![(-12..12).prop_map(f64::from), Just(9_007_199_254_740_992.0)];
    let numbers = (-3..3_i32, any::<u8>(), prop_oneof![Just(u64::MAX), Just((1 << 53) + 1), 0..3_u64]);
    let more = (prop_oneof![Just(i64::MIN), -3..3_i64], floats, -12..12_i8, any::<bool>(), 0..3_u16);
    let compound = (nest(), vec(nest(), 0..3), vec(texts(), 0..3), -3..3_i64, 0..3);
    (numbers, more, compound, texts(), texts()).prop_map(
        move |(
            (id, small, big),
            (low, double, single, flag, bits),
            (one, many, list, n, choice),
            name,
            text,
        )| {
            let mut sample = Sample { id, small, big, low, flag, name: name.clone(), list, ..fill() };
            sample.double = double / if double.abs() < 100.0 { 4.0 } else { 1.0 };
            sample.single = f32::from(single) / 4.0;
            sample.bits = Bits(bits);
            sample.mode = if flag { Mode::Fast } else { Mode::Slow };
            sample.letter = Char8(b'a');
            sample.text = text.as_str().into();
            sample.nest = to_nest(one);
            sample.nests = many.into_iter().map(to_nest).collect();
            sample.grid[1][2] = bits;
            sample.choice = match choice {
                0 => Choice::Number(n),
                1 => Choice::Word(name),
                _ => Choice::Nothing,
            };
            sample
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn filters_agree_with_naive_evaluation(condition in condition(), sample in sample(), coin in any::<u64>()) {
        let mut writer = Writer { parameters: Vec::new(), coin };
        let expression = writer.write(&condition);
        prop_assert_eq!(
            passes(&expression, &writer.parameters, &sample),
            naive(&condition, &sample),
            "{} {:?}", expression, writer.parameters
        );
    }

    #[test]
    fn random_filter_expressions_never_panic(
        words in vec(proptest::sample::select(vec![
            "id", "name", "nest", ".", "[", "]", "1", "0x", "-", "'a'", "'", "%0", "%9", "=", "<", ">=", "LIKE", "NOT",
            "AND", "OR", "BETWEEN", "(", ")", " ", "ORDER", "BY", "TRUE", "é", "SELECT", "*", "FROM", "WHERE", ";", ",",
        ]), 0..40),
        octets in vec(any::<u8>(), 0..40),
    ) {
        let text = words.concat();
        if let Ok(filter) = Filter::query(description::<Sample>(), &text, &["'x'"]) {
            let _ = filter.check(&octets, DecodeOptions::default());
            let _ = filter.sort_key(&octets, DecodeOptions::default());
        }
        let _ = TopicExpression::parse(&text);
        let _ = TopicExpression::parse(&String::from_utf8_lossy(&octets));
    }
}
