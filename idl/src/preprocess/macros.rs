//! Macro definitions and the replacement of their parameters.

use std::rc::Rc;

use crate::syntax::token::{Kind, Token};

/// How many parameters a macro may have.
const PARAMETERS: usize = 256;

/// A macro.
#[derive(Debug)]
pub(super) struct Macro {
    pub span: crate::Span,
    /// Parameters of a function-like macro.
    pub params: Option<Vec<Rc<str>>>,
    /// The last parameter takes all remaining arguments.
    pub variadic: bool,
    pub body: Rc<[Token]>,
}

impl Macro {
    /// Whether another definition says the same.
    pub(super) fn equals(&self, other: &Self) -> bool {
        let same = |(a, b): (&Token, &Token)| a.kind == b.kind && a.space == b.space;
        self.params == other.params
            && self.variadic == other.variadic
            && self.body.len() == other.body.len()
            && self.body.iter().zip(other.body.iter()).enumerate().all(|(i, (a, b))| match i {
                0 => a.kind == b.kind,
                _ => same((a, b)),
            })
    }

    /// Index of the parameter with this name.
    pub(super) fn param(&self, token: &Token) -> Option<usize> {
        let name = token.ident()?;
        self.params.as_ref()?.iter().position(|param| param == name)
    }

    /// Parses what follows `#define`.
    pub(super) fn parse(
        first: &Token,
        rest: &[Token],
    ) -> Result<(Rc<str>, Self), (crate::Span, &'static str)> {
        let Some(name) = first.ident() else { return Err((first.span, "a macro needs a name")) };
        if **name == *"defined" {
            return Err((first.span, "`defined` cannot be a macro"));
        }
        let (params, variadic, body) = match rest.split_first() {
            Some((open, rest)) if open.is('(') && !open.space => {
                let (params, variadic, body) = parse_params(open, rest)?;
                (Some(params), variadic, body)
            }
            _ => (None, false, rest),
        };
        let paste = |token: Option<&Token>, next: Option<&Token>| {
            token.is_some_and(|t| t.is('#')) && next.is_some_and(|t| t.is('#') && !t.space)
        };
        let ends_with_paste = paste(body.iter().rev().nth(1), body.last());
        if paste(body.first(), body.get(1)) || ends_with_paste {
            let span = body.first().map_or(first.span, |token| token.span);
            return Err((span, "`##` stands between two tokens"));
        }
        let definition = Self { span: first.span, params, variadic, body: body.into() };
        Ok((name.clone(), definition))
    }
}

type Params<'a> = (Vec<Rc<str>>, bool, &'a [Token]);

fn parse_params<'a>(open: &Token, mut rest: &'a [Token]) -> Result<Params<'a>, (crate::Span, &'static str)> {
    let mut params: Vec<Rc<str>> = Vec::new();
    let mut variadic = false;
    if let [close, body @ ..] = rest
        && close.is(')')
    {
        return Ok((params, false, body));
    }
    loop {
        if params.len() >= PARAMETERS {
            return Err((open.span, "this macro has more than 256 parameters"));
        }
        match rest {
            [a, b, c, after @ ..] if a.is('.') && b.is('.') && c.is('.') => {
                params.push("__VA_ARGS__".into());
                variadic = true;
                rest = after;
            }
            [name, after @ ..] if name.ident().is_some() => {
                let text = name.ident().cloned().unwrap_or_else(|| "".into());
                if params.contains(&text) {
                    return Err((name.span, "this parameter is given twice"));
                }
                params.push(text);
                rest = after;
            }
            [other, ..] => return Err((other.span, "expected the name of a macro parameter")),
            [] => return Err((open.span, "the parameters of this macro are not closed with `)`")),
        }
        match rest {
            [comma, after @ ..] if comma.is(',') && !variadic => rest = after,
            [close, after @ ..] if close.is(')') => return Ok((params, variadic, after)),
            [other, ..] => return Err((other.span, "expected `,` or `)` after a macro parameter")),
            [] => return Err((open.span, "the parameters of this macro are not closed with `)`")),
        }
    }
}

/// What `#parameter` makes of an argument.
pub(super) fn stringify(argument: &[Token], span: crate::Span) -> Token {
    let mut text = String::from("\"");
    for (i, token) in argument.iter().enumerate() {
        if token.space && i > 0 {
            text.push(' ');
        }
        let spelled = token.text();
        let literal = matches!(token.kind, Kind::Str(_) | Kind::Char(_));
        for c in spelled.chars() {
            if literal && matches!(c, '"' | '\\') {
                text.push('\\');
            }
            text.push(c);
        }
    }
    text.push('"');
    Token::new(Kind::Str(text.into()), span)
}
