//! Macro expansion.

use std::rc::Rc;

use super::Preprocessor;
use super::macros::{Macro, stringify};
use crate::diagnostic::Sink;
use crate::source::{FileId, Span};
use crate::syntax::lexer::{Comments, lex};
use crate::syntax::token::{Kind, Token, cost, cost_of_text};

/// How deep invocations may be nested in arguments of others.
const DEPTH: usize = 100;

/// How many macros may be being replaced at the same time.
const ACTIVE: usize = 256;

/// Tokens that are being read: a file or the expansion of a macro.
struct Frame {
    tokens: Rc<[Token]>,
    at: usize,
    /// The macro whose expansion this is; its name is not replaced in here.
    name: Option<Rc<str>>,
}

/// Where tokens come from: expansions on top of each other, a file or an argument at the bottom.
pub(super) struct Stream {
    frames: Vec<Frame>,
    /// Macros that are being replaced outside.
    disabled: Vec<Rc<str>>,
}

impl Stream {
    pub(super) fn new(tokens: Rc<[Token]>) -> Self {
        Self { frames: vec![Frame { tokens, at: 0, name: None }], disabled: Vec::new() }
    }

    pub(super) fn next(&mut self) -> Option<Token> {
        loop {
            let frame = self.frames.last_mut()?;
            if let Some(token) = frame.tokens.get(frame.at) {
                frame.at = frame.at.saturating_add(1);
                return Some(token.clone());
            }
            self.frames.pop();
        }
    }

    /// The next token that is no end of line, and whether a directive begins with it.
    fn peek(&self) -> Option<&Token> {
        let rest = self.frames.iter().rev().flat_map(|frame| frame.tokens.iter().skip(frame.at));
        rest.into_iter().find(|token| token.kind != Kind::Newline)
    }

    /// Whether a directive begins here.
    fn is_at_directive(&self) -> bool {
        let [frame] = self.frames.as_slice() else { return false };
        frame.tokens.get(frame.at).is_some_and(|token| token.is('#') && token.first)
    }

    /// Takes a directive, if one begins here: the place of its `#` and the tokens after it on the line.
    pub(super) fn directive(&mut self) -> Option<(Span, Vec<Token>)> {
        let [frame] = self.frames.as_mut_slice() else { return None };
        let hash = frame.tokens.get(frame.at).filter(|token| token.is('#') && token.first)?;
        let rest = frame.tokens.get(frame.at.saturating_add(1)..)?;
        let line: Vec<Token> = rest.iter().take_while(|token| token.kind != Kind::Newline).cloned().collect();
        frame.at = frame.at.saturating_add(1).saturating_add(line.len());
        Some((hash.span, line))
    }

    fn is_disabled(&self, name: &Rc<str>) -> bool {
        self.disabled.contains(name) || self.frames.iter().any(|frame| frame.name.as_ref() == Some(name))
    }

    fn active(&self) -> Vec<Rc<str>> {
        self.frames
            .iter()
            .filter_map(|frame| frame.name.clone())
            .chain(self.disabled.iter().cloned())
            .collect()
    }
}

impl Preprocessor<'_> {
    /// Replaces the token by its expansion, which goes on top of the stream, if it is the name of a macro.
    pub(super) fn expand(&mut self, stream: &mut Stream, token: &Token, depth: usize) -> bool {
        let Some(name) = token.ident() else { return false };
        if token.painted {
            return false;
        }
        if let Some(replacement) = self.dynamic(name, token) {
            if !self.charge(replacement.cost(), Some(token.span)) {
                return true;
            }
            stream.frames.push(Frame { tokens: Rc::new([replacement]), at: 0, name: None });
            return true;
        }
        let Some(definition) = self.macros.get(name).cloned() else { return false };
        if stream.is_disabled(name) {
            // The name stays as it is from now on, wherever it goes.
            let painted = Token { painted: true, ..token.clone() };
            stream.frames.push(Frame { tokens: Rc::new([painted]), at: 0, name: None });
            return true;
        }
        if stream.frames.len().saturating_add(stream.disabled.len()) > ACTIVE {
            self.too_deep(token, ACTIVE);
            return true;
        }
        let arguments = if definition.params.is_some() {
            if !stream.peek().is_some_and(|next| next.is('(') && !(next.first && next.is('#'))) {
                return false;
            }
            match self.arguments(stream, token, &definition) {
                Some(arguments) => arguments,
                None => return true,
            }
        } else {
            Vec::new()
        };
        if !self.charge(cost(&definition.body).saturating_add(1), Some(token.span)) {
            return true;
        }
        // What the arguments may not replace is what is active outside of the macro.
        let outside = if arguments.is_empty() { Vec::new() } else { stream.active() };
        let tokens = self.substitute(&definition, &arguments, token, &outside, depth);
        stream.frames.push(Frame { tokens: tokens.into(), at: 0, name: Some(name.clone()) });
        true
    }

    /// Macros whose value depends on the place.
    fn dynamic(&self, name: &str, token: &Token) -> Option<Token> {
        let kind = match name {
            "__LINE__" => Kind::Number(self.sources.file_and_line(token.span).1.to_string().into()),
            "__FILE__" => {
                let file =
                    self.sources.file_and_line(token.span).0.replace('\\', "\\\\").replace('"', "\\\"");
                Kind::Str(format!("\"{file}\"").into())
            }
            _ => return None,
        };
        Some(Token { kind, ..token.clone() })
    }

    /// Takes the arguments of an invocation, with the parentheses.
    fn arguments(
        &mut self,
        stream: &mut Stream,
        name: &Token,
        definition: &Macro,
    ) -> Option<Vec<Vec<Token>>> {
        let (mut arguments, mut open) = (vec![Vec::new()], 0usize);
        let wanted = definition.params.as_ref().map_or(0, Vec::len);
        let mut taken = 0usize;
        let mut space = false;
        loop {
            let token = if stream.is_at_directive() { None } else { stream.next() };
            let Some(mut token) = token else {
                let shown = name.shown();
                self.sink
                    .error(name.span, format!("the arguments of the macro {shown} are not closed with `)`"));
                return None;
            };
            taken = taken.saturating_add(1);
            if token.kind == Kind::Newline {
                space = true;
                continue;
            }
            token.space |= std::mem::take(&mut space);
            if token.is(')') {
                open = open.saturating_sub(1);
                if open == 0 {
                    break;
                }
            }
            let last = definition.variadic && arguments.len() >= wanted;
            if token.is(',') && open == 1 && !last {
                arguments.push(Vec::new());
                continue;
            }
            let is_first = open == 0;
            if token.is('(') {
                open = open.saturating_add(1);
            }
            if let (false, Some(argument)) = (is_first, arguments.last_mut()) {
                argument.push(token);
            }
        }
        if !self.charge(taken, Some(name.span)) {
            return None;
        }
        self.count_arguments(name, definition, arguments)
    }

    fn count_arguments(
        &mut self,
        name: &Token,
        definition: &Macro,
        mut arguments: Vec<Vec<Token>>,
    ) -> Option<Vec<Vec<Token>>> {
        let wanted = definition.params.as_ref().map_or(0, Vec::len);
        if wanted == 0 && arguments.iter().all(Vec::is_empty) && arguments.len() == 1 {
            arguments.clear();
        }
        if definition.variadic && arguments.len().saturating_add(1) == wanted {
            arguments.push(Vec::new());
        }
        if arguments.len() != wanted {
            let message =
                format!("the macro {} takes {wanted} arguments, not {}", name.shown(), arguments.len());
            self.sink.error(name.span, message).also(definition.span, "defined here");
            return None;
        }
        Some(arguments)
    }

    /// Expands a closed list of tokens.
    pub(super) fn expand_all(&mut self, tokens: &[Token], disabled: &[Rc<str>], depth: usize) -> Vec<Token> {
        let mut result = Vec::new();
        if depth > DEPTH {
            if let Some(token) = tokens.first() {
                self.too_deep(token, DEPTH);
            }
            return result;
        }
        let mut stream = Stream::new(tokens.into());
        stream.disabled = disabled.to_vec();
        while let Some(token) = stream.next() {
            if self.stopped {
                break;
            }
            if !self.expand(&mut stream, &token, depth) {
                result.push(token);
            }
        }
        result
    }

    fn too_deep(&mut self, token: &Token, limit: usize) {
        if !self.stopped {
            self.sink.error(token.span, format!("macro invocations are nested more than {limit} deep"));
            self.stopped = true;
        }
    }

    /// The body of a macro with arguments in place of parameters.
    fn substitute(
        &mut self,
        definition: &Macro,
        arguments: &[Vec<Token>],
        place: &Token,
        outside: &[Rc<str>],
        depth: usize,
    ) -> Vec<Token> {
        let mut result: Vec<Token> = Vec::new();
        let mut expanded: Vec<Option<Vec<Token>>> = vec![None; arguments.len()];
        let function_like = definition.params.is_some();
        let mut rest: &[Token] = &definition.body;
        let mut paste = false;
        while let [token, after @ ..] = rest {
            if self.stopped {
                return Vec::new();
            }
            let from = result.len();
            match after {
                [next, after @ ..] if token.is('#') && next.is('#') && !next.space => {
                    (paste, rest) = (true, after);
                    continue;
                }
                [next, after @ ..] if function_like && token.is('#') && definition.param(next).is_some() => {
                    let argument = definition.param(next).and_then(|i| arguments.get(i));
                    let argument = argument.map_or(&[][..], |argument| argument);
                    if !self.charge(cost(argument), Some(place.span)) {
                        return Vec::new();
                    }
                    result.push(Token { space: token.space, ..stringify(argument, place.span) });
                    rest = after;
                }
                _ => {
                    let pasted = paste || matches!(after, [a, b, ..] if a.is('#') && b.is('#') && !b.space);
                    match definition.param(token) {
                        Some(index) => {
                            let argument = arguments.get(index).map_or(&[][..], |argument| argument);
                            let tokens = match expanded.get_mut(index).filter(|_| !pasted) {
                                Some(slot) => slot.get_or_insert_with(|| {
                                    self.expand_all(argument, outside, depth.saturating_add(1))
                                }),
                                None => argument,
                            };
                            // Several uses of a parameter must not multiply unseen.
                            if !self.charge(cost(tokens), Some(place.span)) {
                                return Vec::new();
                            }
                            result.extend_from_slice(tokens);
                        }
                        None => result.push(Token { span: place.span, docs: None, ..token.clone() }),
                    }
                    if let Some(first) = result.get_mut(from) {
                        first.space = token.space;
                    }
                    rest = after;
                }
            }
            if std::mem::take(&mut paste) {
                self.paste(&mut result, from, place);
            }
        }
        in_place_of(&mut result, place);
        result
    }

    /// Joins the tokens before and at `at` into one.
    fn paste(&mut self, tokens: &mut Vec<Token>, at: usize, place: &Token) {
        let (Some(left), Some(right)) = (at.checked_sub(1).and_then(|i| tokens.get(i)), tokens.get(at))
        else {
            return;
        };
        let text = format!("{}{}", left.text(), right.text());
        // What grows token by token is read again each time.
        if !self.charge(cost_of_text(text.len()), Some(place.span)) {
            return;
        }
        let mut unused = Sink::new(1);
        let lexed = lex(&text, FileId(0), Comments::Keep, 4, &mut unused);
        let [token] = lexed.as_slice() else {
            self.sink.error(place.span, format!("`##` makes `{text}`, which is not one token"));
            tokens.remove(at);
            return;
        };
        let joined = Token { kind: token.kind.clone(), span: place.span, space: left.space, ..token.clone() };
        tokens.remove(at);
        if let Some(left) = at.checked_sub(1).and_then(|i| tokens.get_mut(i)) {
            *left = joined;
        }
    }
}

/// Makes an expansion look like the token that it replaces.
fn in_place_of(tokens: &mut [Token], place: &Token) {
    if let Some(first) = tokens.first_mut() {
        first.space = place.space;
        first.docs = place.docs.clone();
    }
    for token in tokens {
        token.first = false;
    }
}
