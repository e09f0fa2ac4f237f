//! Topic expressions of multi-topics (DDS 1.4 Annex B, TopicExpression):
//! `SELECT a, b.c AS d FROM 'One' NATURAL JOIN 'Two' WHERE a > %0`.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use crate::error::{FilterError, Reason};
use crate::syntax::{FieldName, Parser, Part};
use crate::token::TokenKind;

/// Most topics that are joined.
const MAX_TOPICS: usize = 8;
/// Most fields that are selected.
const MAX_FIELDS: usize = 256;

/// A parsed TopicExpression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicExpression {
    /// What is selected.
    pub selection: Selection,
    /// The names of the topics that are joined, in their order.
    pub topics: Vec<String>,
    /// The condition behind WHERE, a FilterExpression over the resulting type; empty without one.
    pub condition: String,
    /// Where the condition starts in the expression.
    pub condition_at: usize,
}

/// What a TopicExpression selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// `*`: every member of the resulting type, under its own name.
    All,
    /// These.
    Fields(Vec<Selected>),
}

/// A selected field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// Where it stands in the expression.
    pub at: usize,
    /// The field of one of the topics: `a.b[3]`.
    pub field: String,
    /// The member of the resulting type that gets it.
    pub alias: String,
}

impl TopicExpression {
    /// Parses an expression.
    ///
    /// # Errors
    /// An expression that does not follow the grammar.
    pub fn parse(source: &str) -> Result<Self, FilterError> {
        let mut parser = Parser::new(source)?;
        expect(&mut parser, "SELECT", "SELECT")?;
        let selection = selection(&mut parser)?;
        parser.lexer.hyphens = true;
        expect(&mut parser, "FROM", "FROM")?;
        let mut topics = Vec::new();
        join(&mut parser, &mut topics, 0)?;
        parser.lexer.hyphens = false;
        if let Some((at, name)) = repeated(&topics) {
            let expected = "another topic: each can be joined once";
            let found = alloc::format!("`{name}` again");
            return Err(FilterError::at(at, Reason::Unexpected { expected, found }));
        }
        let (mut condition, mut condition_at) = (String::new(), source.len());
        if parser.is_keyword("WHERE") {
            let (at, rest) = parser.lexer.remainder();
            let rest = rest.trim_end();
            condition_at = at;
            condition = rest.strip_suffix(';').unwrap_or(rest).to_string();
        } else {
            let _end = parser.symbol(";")?;
            if parser.token.kind != TokenKind::End {
                return Err(parser.unexpected("NATURAL JOIN, WHERE or the end of the expression"));
            }
        }
        let topics = topics.into_iter().map(|(_, name)| name).collect();
        Ok(Self { selection, topics, condition, condition_at })
    }
}

fn repeated(topics: &[(usize, String)]) -> Option<(usize, &str)> {
    let twice = |at: usize, name: &String| topics.iter().take(at).any(|(_, other)| other == name);
    topics
        .iter()
        .enumerate()
        .find(|(at, (_, name))| twice(*at, name))
        .map(|(_, (at, name))| (*at, name.as_str()))
}

fn expect(parser: &mut Parser<'_>, keyword: &str, expected: &'static str) -> Result<(), FilterError> {
    if parser.keyword(keyword)? { Ok(()) } else { Err(parser.unexpected(expected)) }
}

fn selection(parser: &mut Parser<'_>) -> Result<Selection, FilterError> {
    if parser.symbol("*")? {
        return Ok(Selection::All);
    }
    let mut fields: Vec<Selected> = Vec::new();
    loop {
        if parser.is_keyword("FROM") {
            return Err(parser.unexpected("a field to select or `*`"));
        }
        let name = parser.field("a field to select or `*`")?;
        let (at, field) = (name.at, written(&name));
        let named = parser.keyword("AS")?;
        let alias =
            if named || (matches!(parser.token.kind, TokenKind::Word(_)) && !parser.is_keyword("FROM")) {
                written(&parser.field("the name of a member of the resulting type")?)
            } else {
                field.clone()
            };
        if fields.iter().any(|other| other.alias == alias) {
            let expected = "another name: each member is selected once";
            let found = alloc::format!("`{alias}` again");
            return Err(FilterError::at(at, Reason::Unexpected { expected, found }));
        }
        fields.push(Selected { at, field, alias });
        if fields.len() > MAX_FIELDS {
            return Err(FilterError::at(at, Reason::TooMuch { what: "selected fields", most: MAX_FIELDS }));
        }
        if !parser.symbol(",")? {
            return Ok(Selection::Fields(fields));
        }
    }
}

/// The field as text.
fn written(name: &FieldName<'_>) -> String {
    let mut text = String::new();
    for (n, (_, part)) in name.parts.iter().enumerate() {
        let _ = match part {
            Part::Member(member) if n == 0 => write!(text, "{member}"),
            Part::Member(member) => write!(text, ".{member}"),
            Part::Element(index) => write!(text, "[{index}]"),
        };
    }
    text
}

/// `topic [NATURAL JOIN (topic | '(' ... ')')]`: joins are associative, so parentheses change nothing.
fn join(parser: &mut Parser<'_>, topics: &mut Vec<(usize, String)>, depth: usize) -> Result<(), FilterError> {
    loop {
        if parser.symbol("(")? {
            if depth > MAX_TOPICS {
                let what = "nested parentheses";
                return Err(FilterError::at(parser.token.at, Reason::TooMuch { what, most: MAX_TOPICS }));
            }
            join(parser, topics, depth.saturating_add(1))?;
            if !parser.symbol(")")? {
                return Err(parser.unexpected("NATURAL JOIN or `)`"));
            }
        } else {
            topic(parser, topics)?;
        }
        if !natural_join(parser)? {
            return Ok(());
        }
    }
}

fn topic(parser: &mut Parser<'_>, topics: &mut Vec<(usize, String)>) -> Result<(), FilterError> {
    let at = parser.token.at;
    let name = match &parser.token.kind {
        TokenKind::Word(word) => (*word).to_string(),
        TokenKind::Text(text) if !text.is_empty() => text.clone(),
        _ => return Err(parser.unexpected("the name of a topic")),
    };
    if topics.len() >= MAX_TOPICS {
        return Err(FilterError::at(at, Reason::TooMuch { what: "joined topics", most: MAX_TOPICS }));
    }
    topics.push((at, name));
    parser.next()
}

/// `INNER NATURAL JOIN`, `NATURAL JOIN` or `NATURAL INNER JOIN`.
fn natural_join(parser: &mut Parser<'_>) -> Result<bool, FilterError> {
    let inner = parser.keyword("INNER")?;
    if !parser.keyword("NATURAL")? {
        return if inner { Err(parser.unexpected("NATURAL")) } else { Ok(false) };
    }
    if !inner {
        parser.keyword("INNER")?;
    }
    expect(parser, "JOIN", "JOIN")?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        let source = "SELECT flight_name, x, y AS lat, z height FROM 'Location' NATURAL JOIN Flight-Plan \
                      INNER NATURAL JOIN (rt/a natural inner join b) WHERE height < 1000 AND x <23;";
        let parsed = TopicExpression::parse(source).unwrap();
        let Selection::Fields(fields) = parsed.selection else { panic!() };
        let names: Vec<_> = fields.iter().map(|field| (field.field.as_str(), field.alias.as_str())).collect();
        assert_eq!(names, [("flight_name", "flight_name"), ("x", "x"), ("y", "lat"), ("z", "height")]);
        assert_eq!(parsed.topics, ["Location", "Flight-Plan", "rt/a", "b"]);
        assert_eq!(parsed.condition.trim(), "height < 1000 AND x <23");
        assert_eq!(&source[parsed.condition_at..][..8], " height ");
        let all = TopicExpression::parse("select * from A").unwrap();
        assert_eq!(
            (all.selection, all.topics, all.condition),
            (Selection::All, alloc::vec!["A".into()], "".into())
        );
        let nested = TopicExpression::parse("SELECT a.b[2].c AS d FROM A;").unwrap();
        assert!(matches!(&nested.selection, Selection::Fields(f) if f[0].field == "a.b[2].c"));
    }

    #[test]
    fn errors() {
        for (source, message) in [
            ("a = 1", "at position 0: expected SELECT, found `a`"),
            ("SELECT FROM A", "at position 7: expected a field to select or `*`, found `FROM`"),
            ("SELECT a A", "at position 10: expected FROM, found the end"),
            ("SELECT a FROM", "at position 13: expected the name of a topic, found the end"),
            (
                "SELECT a FROM A JOIN B",
                "at position 16: expected NATURAL JOIN, WHERE or the end of the expression, found `JOIN`",
            ),
            ("SELECT a FROM A NATURAL B", "at position 24: expected JOIN, found `B`"),
            ("SELECT a FROM A INNER JOIN B", "at position 22: expected NATURAL, found `JOIN`"),
            (
                "SELECT a, a FROM A",
                "at position 10: expected another name: each member is selected once, found `a` again",
            ),
            (
                "SELECT a FROM A NATURAL JOIN A",
                "at position 29: expected another topic: each can be joined once, found `A` again",
            ),
            ("SELECT a FROM (A", "at position 16: expected NATURAL JOIN or `)`, found the end"),
        ] {
            assert_eq!(TopicExpression::parse(source).unwrap_err().to_string(), message, "{source}");
        }
        let many = alloc::format!("SELECT * FROM A{}", " NATURAL JOIN B".repeat(9));
        assert!(TopicExpression::parse(&many).unwrap_err().to_string().contains("more than 8 joined topics"));
        let deep = alloc::format!("SELECT * FROM {}A", "(".repeat(20));
        assert!(TopicExpression::parse(&deep).unwrap_err().to_string().contains("more than 8 nested"));
    }
}
