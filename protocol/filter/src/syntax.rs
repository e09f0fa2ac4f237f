//! The grammar of conditions (DDS 1.4 Annex B): from tokens to tests, and the jumps between them that AND, OR and NOT
//! stand for.

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::error::{FilterError, Reason};
use crate::token::{Lexer, Token, TokenKind};
use crate::{MAX_DEPTH, MAX_EXPRESSION, MAX_PREDICATES};

/// A step of a compiled condition. Its result so far is a single boolean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// The result is that of a test.
    Test(usize),
    /// The result is the opposite.
    Not,
    /// Goes on elsewhere if the result is this.
    JumpIf(bool, usize),
}

/// What a predicate asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Like,
    Between,
}

impl Relation {
    fn of(token: &TokenKind<'_>) -> Option<Self> {
        Some(match token {
            TokenKind::Symbol("=") => Self::Equal,
            TokenKind::Symbol("<>" | "!=") => Self::NotEqual,
            TokenKind::Symbol("<") => Self::Less,
            TokenKind::Symbol("<=") => Self::LessOrEqual,
            TokenKind::Symbol(">") => Self::Greater,
            TokenKind::Symbol(">=") => Self::GreaterOrEqual,
            TokenKind::Word(word) if word.eq_ignore_ascii_case("LIKE") => Self::Like,
            TokenKind::Word(word) if word.eq_ignore_ascii_case("BETWEEN") => Self::Between,
            _ => return None,
        })
    }

    /// Whether a comparison with this result satisfies the relation; `None` is a comparison with NaN.
    pub(crate) fn accepts(self, result: Option<Ordering>) -> bool {
        match self {
            Self::Equal => result == Some(Ordering::Equal),
            Self::NotEqual => result != Some(Ordering::Equal),
            Self::Less => result == Some(Ordering::Less),
            Self::LessOrEqual => matches!(result, Some(Ordering::Less | Ordering::Equal)),
            Self::Greater => result == Some(Ordering::Greater),
            Self::GreaterOrEqual => matches!(result, Some(Ordering::Greater | Ordering::Equal)),
            // These do not ask for an order.
            Self::Like | Self::Between => false,
        }
    }
}

/// A step of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    Member(&'a str),
    Element(usize),
}

/// A field as it was written: parts and where each of them starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldName<'a> {
    pub(crate) at: usize,
    pub(crate) parts: Vec<(usize, Part<'a>)>,
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Integer(i128),
    Float(f64),
    Boolean(bool),
    Text(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand<'a> {
    Field(FieldName<'a>),
    Literal(usize, Literal),
    Parameter(usize, usize),
}

impl Operand<'_> {
    pub(crate) const fn at(&self) -> usize {
        match self {
            Self::Field(FieldName { at, .. }) | Self::Literal(at, _) | Self::Parameter(at, _) => *at,
        }
    }
}

/// A predicate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Predicate<'a> {
    /// Where its operator is.
    pub(crate) at: usize,
    pub(crate) left: Operand<'a>,
    pub(crate) relation: Relation,
    pub(crate) right: Operand<'a>,
    /// The upper end of BETWEEN.
    pub(crate) upper: Option<Operand<'a>>,
    /// NOT BETWEEN, NOT LIKE.
    pub(crate) negated: bool,
}

/// A parsed expression.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Syntax<'a> {
    pub(crate) ops: Vec<Op>,
    pub(crate) predicates: Vec<Predicate<'a>>,
    pub(crate) order_by: Vec<FieldName<'a>>,
}

/// Words that are no fields.
const KEYWORDS: [&str; 7] = ["AND", "OR", "NOT", "BETWEEN", "LIKE", "TRUE", "FALSE"];

/// Reads the tokens of an expression.
pub(crate) struct Parser<'a> {
    pub(crate) lexer: Lexer<'a>,
    pub(crate) token: Token<'a>,
    syntax: Syntax<'a>,
    depth: usize,
}

impl<'a> Syntax<'a> {
    /// A FilterExpression; empty, it lets everything pass.
    pub(crate) fn filter(source: &'a str) -> Result<Self, FilterError> {
        let mut parser = Parser::new(source)?;
        if parser.token.kind != TokenKind::End {
            parser.alternatives()?;
        }
        parser.end("AND, OR or the end of the expression")
    }

    /// A QueryExpression.
    pub(crate) fn query(source: &'a str) -> Result<Self, FilterError> {
        let mut parser = Parser::new(source)?;
        if parser.token.kind != TokenKind::End && !parser.is_order_by() {
            parser.alternatives()?;
        }
        if parser.is_order_by() {
            parser.next()?;
            parser.next()?;
            parser.order_by()?;
        }
        parser.end("AND, OR, ORDER BY or the end of the expression")
    }
}

impl<'a> Parser<'a> {
    pub(crate) fn new(source: &'a str) -> Result<Self, FilterError> {
        if source.len() > MAX_EXPRESSION {
            let what = "bytes in an expression";
            return Err(FilterError::at(MAX_EXPRESSION, Reason::TooMuch { what, most: MAX_EXPRESSION }));
        }
        let mut lexer = Lexer::new(source);
        let token = lexer.next()?;
        Ok(Self { lexer, token, syntax: Syntax::default(), depth: 0 })
    }

    fn end(self, expected: &'static str) -> Result<Syntax<'a>, FilterError> {
        match self.token.kind {
            TokenKind::End => Ok(self.syntax),
            _ => Err(self.unexpected(expected)),
        }
    }

    pub(crate) fn unexpected(&self, expected: &'static str) -> FilterError {
        let found = match self.token.kind {
            TokenKind::End => String::from("the end"),
            _ => alloc::format!("`{}`", self.token.text),
        };
        FilterError::at(self.token.at, Reason::Unexpected { expected, found })
    }

    pub(crate) fn next(&mut self) -> Result<(), FilterError> {
        self.token = self.lexer.next()?;
        Ok(())
    }

    pub(crate) fn is_keyword(&self, keyword: &str) -> bool {
        matches!(self.token.kind, TokenKind::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    /// Whether ORDER BY is next; `order` alone may be a member.
    fn is_order_by(&self) -> bool {
        let by =
            |token: Token<'_>| matches!(token.kind, TokenKind::Word(word) if word.eq_ignore_ascii_case("BY"));
        self.is_keyword("ORDER") && self.lexer.clone().next().is_ok_and(by)
    }

    /// Goes past a keyword, if it is next.
    pub(crate) fn keyword(&mut self, keyword: &str) -> Result<bool, FilterError> {
        let found = self.is_keyword(keyword);
        if found {
            self.next()?;
        }
        Ok(found)
    }

    /// Goes past a symbol, if it is next.
    pub(crate) fn symbol(&mut self, symbol: &str) -> Result<bool, FilterError> {
        let found = self.token.kind == TokenKind::Symbol(symbol);
        if found {
            self.next()?;
        }
        Ok(found)
    }

    fn emit(&mut self, op: Op) {
        self.syntax.ops.push(op);
    }

    /// Terms between which a decision may already be made: jumps behind the last of them then.
    fn chain(
        &mut self,
        keyword: &str,
        decided: bool,
        mut term: impl FnMut(&mut Self) -> Result<(), FilterError>,
    ) -> Result<(), FilterError> {
        let mut jumps = Vec::new();
        term(self)?;
        while self.keyword(keyword)? {
            jumps.push(self.syntax.ops.len());
            self.emit(Op::JumpIf(decided, 0));
            term(self)?;
        }
        let end = self.syntax.ops.len();
        for jump in jumps {
            if let Some(op) = self.syntax.ops.get_mut(jump) {
                *op = Op::JumpIf(decided, end);
            }
        }
        Ok(())
    }

    fn alternatives(&mut self) -> Result<(), FilterError> {
        self.chain("OR", true, |parser| parser.chain("AND", false, Self::negation))
    }

    /// Counts the nesting of what `inner` reads.
    fn nested(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<(), FilterError>,
    ) -> Result<(), FilterError> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > MAX_DEPTH {
            let what = "nested parentheses and negations";
            return Err(FilterError::at(self.token.at, Reason::TooMuch { what, most: MAX_DEPTH }));
        }
        inner(self)?;
        self.depth = self.depth.saturating_sub(1);
        Ok(())
    }

    fn negation(&mut self) -> Result<(), FilterError> {
        if self.keyword("NOT")? {
            self.nested(Self::negation)?;
            self.emit(Op::Not);
            return Ok(());
        }
        if self.symbol("(")? {
            self.nested(Self::alternatives)?;
            return if self.symbol(")")? { Ok(()) } else { Err(self.unexpected("AND, OR or `)`")) };
        }
        self.predicate()
    }

    fn predicate(&mut self) -> Result<(), FilterError> {
        if self.syntax.predicates.len() >= MAX_PREDICATES {
            let what = "predicates in an expression";
            return Err(FilterError::at(self.token.at, Reason::TooMuch { what, most: MAX_PREDICATES }));
        }
        let left = self.operand("a field or a value")?;
        let negated = self.keyword("NOT")?;
        let at = self.token.at;
        let relation = Relation::of(&self.token.kind)
            .filter(|relation| !negated || matches!(relation, Relation::Like | Relation::Between));
        let Some(relation) = relation else {
            let expected = if negated { "BETWEEN or LIKE" } else { "an operator such as `=` or LIKE" };
            return Err(self.unexpected(expected));
        };
        self.next()?;
        let right = self.operand("a value or a field")?;
        let mut upper = None;
        if relation == Relation::Between {
            if !self.keyword("AND")? {
                return Err(self.unexpected("AND and the upper end of BETWEEN"));
            }
            upper = Some(self.operand("the upper end of BETWEEN")?);
        }
        let fields = [Some(&left), Some(&right), upper.as_ref()];
        if !fields.iter().flatten().any(|operand| matches!(operand, Operand::Field(_))) {
            return Err(FilterError::at(left.at(), Reason::NoField));
        }
        self.emit(Op::Test(self.syntax.predicates.len()));
        self.syntax.predicates.push(Predicate { at, left, relation, right, upper, negated });
        Ok(())
    }

    fn operand(&mut self, expected: &'static str) -> Result<Operand<'a>, FilterError> {
        let at = self.token.at;
        if let Some(literal) = literal(&mut self.token) {
            self.next()?;
            return Ok(Operand::Literal(at, literal));
        }
        if let TokenKind::Parameter(index) = self.token.kind {
            self.next()?;
            return Ok(Operand::Parameter(at, index));
        }
        self.field(expected).map(Operand::Field)
    }

    /// A field: `a.b[3].c`.
    pub(crate) fn field(&mut self, expected: &'static str) -> Result<FieldName<'a>, FilterError> {
        let at = self.token.at;
        let mut parts = Vec::new();
        parts.push((at, Part::Member(self.name(expected)?)));
        loop {
            if parts.len() > MAX_DEPTH {
                let what = "steps to a field";
                return Err(FilterError::at(self.token.at, Reason::TooMuch { what, most: MAX_DEPTH }));
            }
            if self.symbol(".")? {
                let TokenKind::Word(name) = self.token.kind else {
                    return Err(self.unexpected("the name of a member"));
                };
                parts.push((self.token.at, Part::Member(name)));
                self.next()?;
            } else if self.symbol("[")? {
                let at = self.token.at;
                let TokenKind::Integer(index) = self.token.kind else {
                    return Err(self.unexpected("the index of an element"));
                };
                let Ok(index) = usize::try_from(index) else {
                    return Err(self.unexpected("the index of an element"));
                };
                self.next()?;
                if !self.symbol("]")? {
                    return Err(self.unexpected("`]`"));
                }
                parts.push((at, Part::Element(index)));
            } else {
                return Ok(FieldName { at, parts });
            }
        }
    }

    fn name(&mut self, expected: &'static str) -> Result<&'a str, FilterError> {
        match self.token.kind {
            TokenKind::Word(word) if !KEYWORDS.iter().any(|keyword| word.eq_ignore_ascii_case(keyword)) => {
                self.next()?;
                Ok(word)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    fn order_by(&mut self) -> Result<(), FilterError> {
        loop {
            let field = self.field("a field to sort by")?;
            self.syntax.order_by.push(field);
            if self.syntax.order_by.len() > MAX_PREDICATES {
                let what = "fields to sort by";
                return Err(FilterError::at(self.token.at, Reason::TooMuch { what, most: MAX_PREDICATES }));
            }
            if !self.symbol(",")? {
                return Ok(());
            }
        }
    }
}

/// The constant that a token is; takes the text out of it.
fn literal(token: &mut Token<'_>) -> Option<Literal> {
    Some(match &mut token.kind {
        TokenKind::Integer(value) => Literal::Integer(*value),
        TokenKind::Float(value) => Literal::Float(*value),
        TokenKind::Text(text) => Literal::Text(core::mem::take(text)),
        TokenKind::Word(word) if word.eq_ignore_ascii_case("TRUE") => Literal::Boolean(true),
        TokenKind::Word(word) if word.eq_ignore_ascii_case("FALSE") => Literal::Boolean(false),
        _ => return None,
    })
}

/// The field that a whole text names.
pub(crate) fn field_name(text: &str) -> Result<FieldName<'_>, FilterError> {
    let mut parser = Parser::new(text)?;
    let name = parser.field("a field")?;
    parser.end("the end of the field")?;
    Ok(name)
}

/// The constant that a parameter holds.
pub(crate) fn parameter(text: &str) -> Result<Literal, Reason> {
    let mut lexer = Lexer::new(text);
    let read = |lexer: &mut Lexer<'_>| {
        lexer.next().map_err(|error| error.reason).map(|mut token| literal(&mut token))
    };
    let value = read(&mut lexer)?;
    let end = lexer.next().map_err(|error| error.reason)?;
    match (value, end.kind) {
        (Some(value), TokenKind::End) => Ok(value),
        _ => Err(Reason::Unexpected {
            expected: "a number, TRUE, FALSE or a text in single quotes",
            found: alloc::format!("`{text}`"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(source: &str) -> String {
        alloc::format!("{}", Syntax::query(source).unwrap_err())
    }

    #[test]
    fn precedence_and_jumps() {
        use Op::{JumpIf, Not, Test};
        let ops = |source| Syntax::filter(source).unwrap().ops;
        assert_eq!(ops(""), []);
        assert_eq!(
            ops("a=1 or b=2 and not c=3"),
            [Test(0), JumpIf(true, 5), Test(1), JumpIf(false, 5), Test(2)][..]
                .iter()
                .copied()
                .chain([Not])
                .map(|op| match op {
                    JumpIf(decided, _) => JumpIf(decided, 6),
                    op => op,
                })
                .collect::<Vec<_>>()
        );
        assert_eq!(
            ops("(a=1 OR b=2) AND c=3"),
            [Test(0), JumpIf(true, 3), Test(1), JumpIf(false, 5), Test(2)]
        );
        assert_eq!(ops("NOT NOT a=1"), [Test(0), Not, Not]);
    }

    #[test]
    fn predicates() {
        let syntax = Syntax::query("a.b[3] NOT BETWEEN 1 AND %4 AND 'x' <> c ORDER BY d, e.f").unwrap();
        let [between, differs] = &syntax.predicates[..] else { panic!() };
        assert!(between.negated && between.relation == Relation::Between && !differs.negated);
        let Operand::Field(field) = &between.left else { panic!() };
        assert_eq!(field.parts, [(0, Part::Member("a")), (2, Part::Member("b")), (4, Part::Element(3))]);
        assert_eq!(between.upper, Some(Operand::Parameter(25, 4)));
        assert_eq!((differs.left.at(), differs.relation), (32, Relation::NotEqual));
        assert_eq!(syntax.order_by.len(), 2);
        assert_eq!(Syntax::query("order by a").unwrap().ops, []);
        assert_eq!(Syntax::query("order = 1 and a.like = 2 order by order").unwrap().predicates.len(), 2);
        assert_eq!(parameter(" 'it''s' "), Ok(Literal::Text("it's".into())));
        assert_eq!(parameter("tRUE"), Ok(Literal::Boolean(true)));
    }

    #[test]
    fn errors_say_where_and_what() {
        for (source, message) in [
            ("a", "at position 1: expected an operator such as `=` or LIKE, found the end"),
            ("a = ", "at position 4: expected a value or a field, found the end"),
            ("a = 1 b", "at position 6: expected AND, OR, ORDER BY or the end of the expression, found `b`"),
            ("(a = 1", "at position 6: expected AND, OR or `)`, found the end"),
            ("a NOT = 1", "at position 6: expected BETWEEN or LIKE, found `=`"),
            ("a BETWEEN 1", "at position 11: expected AND and the upper end of BETWEEN, found the end"),
            ("a = AND", "at position 4: expected a value or a field, found `AND`"),
            ("a[x] = 1", "at position 2: expected the index of an element, found `x`"),
            ("a[-1] = 1", "at position 2: expected the index of an element, found `-1`"),
            ("a[1 = 1", "at position 4: expected `]`, found `=`"),
            ("1 = %0", "at position 0: one side of a comparison has to be a field"),
            ("a == 1", "at position 3: expected a value or a field, found `=`"),
            (
                "a = 1 ORDER x",
                "at position 6: expected AND, OR, ORDER BY or the end of the expression, found `ORDER`",
            ),
            ("a. = 1", "at position 3: expected the name of a member, found `=`"),
            ("ORDER BY 1", "at position 9: expected a field to sort by, found `1`"),
        ] {
            assert_eq!(refused(source), message, "{source}");
        }
        assert!(parameter("RED").is_err() && parameter("1 2").is_err() && parameter("").is_err());
        assert!(parameter("%1").is_err() && parameter("'a").is_err());
    }

    #[test]
    fn limits() {
        let deep = |n: usize| alloc::format!("{}a=1{}", "(".repeat(n), ")".repeat(n));
        assert!(Syntax::filter(&deep(MAX_DEPTH)).is_ok());
        assert!(refused(&deep(MAX_DEPTH + 1)).contains("more than 32 nested parentheses"));
        assert!(refused(&("NOT ".repeat(40) + "a=1")).contains("more than 32 nested"));
        let wide = |n: usize| alloc::vec!["a=1"; n].join(" AND ");
        assert!(Syntax::filter(&wide(MAX_PREDICATES)).is_ok());
        assert!(refused(&wide(MAX_PREDICATES + 1)).contains("more than 256 predicates"));
        assert!(refused(&" ".repeat(MAX_EXPRESSION + 1)).contains("more than 16384 bytes"));
        assert!(refused(&alloc::format!("a{}=1", ".b".repeat(40))).contains("more than 32 steps"));
        assert!(refused(&alloc::format!("ORDER BY a{}", ",a".repeat(300))).contains("more than 256 fields"));
    }
}
