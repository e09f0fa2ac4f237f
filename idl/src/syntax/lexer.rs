//! From text to tokens.

use std::rc::Rc;

use super::token::{Docs, Kind, Token};
use crate::diagnostic::Sink;
use crate::source::{FileId, Span, u32_of};

/// What to make of comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comments {
    /// White space, but documentation is kept beside the tokens.
    Skip,
    /// Tokens.
    Keep,
}

struct Lexer<'a> {
    text: &'a str,
    file: FileId,
    at: usize,
    comments: Comments,
    tokens: Vec<Token>,
    /// White space was passed since the last token.
    space: bool,
    first: bool,
    /// Documentation for the next token.
    docs: Docs,
    /// Index of the last token that is no end of line.
    last: Option<usize>,
    sink: &'a mut Sink,
}

/// The tokens of a file, at most `limit`.
pub(crate) fn lex(text: &str, file: FileId, comments: Comments, limit: usize, sink: &mut Sink) -> Vec<Token> {
    let mut lexer = Lexer {
        text,
        file,
        at: 0,
        comments,
        tokens: Vec::new(),
        space: false,
        first: true,
        docs: Docs::default(),
        last: None,
        sink,
    };
    while lexer.at < text.len() {
        if lexer.tokens.len() >= limit {
            let span = lexer.span(lexer.at, lexer.at);
            lexer.sink.error(span, format!("the file has more than {limit} tokens"));
            break;
        }
        lexer.step();
    }
    lexer.tokens
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span { file: self.file, start: u32_of(start), end: u32_of(end) }
    }

    fn advance(&mut self, octets: usize) {
        self.at = self.at.saturating_add(octets).min(self.text.len());
    }

    /// Octets of the longest beginning of `text` whose characters all satisfy the condition.
    fn run(text: &str, mut wanted: impl FnMut(char) -> bool) -> usize {
        text.char_indices().find(|(_, c)| !wanted(*c)).map_or(text.len(), |(at, _)| at)
    }

    fn step(&mut self) {
        let rest = self.rest();
        let Some(c) = rest.chars().next() else { return };
        match c {
            '\n' => self.newline(),
            ' ' | '\t' | '\r' | '\u{b}' | '\u{c}' => {
                self.advance(1);
                self.space = true;
            }
            '\\' if continuation(rest).is_some() => {
                self.advance(continuation(rest).unwrap_or(1));
                self.space = true;
            }
            '/' if rest.starts_with("//") => self.line_comment(),
            '/' if rest.starts_with("/*") => self.block_comment(),
            '"' | '\'' => self.literal(0),
            'L' if rest.starts_with("L\"") || rest.starts_with("L'") => self.literal(1),
            c if c.is_ascii_alphabetic() || c == '_' => {
                let len = Self::run(rest, |c| c.is_ascii_alphanumeric() || c == '_');
                self.push(len, |text| Kind::Ident(text.into()));
            }
            c if c.is_ascii_digit() => self.number(),
            '.' if rest.get(1..).is_some_and(|next| next.starts_with(|c: char| c.is_ascii_digit())) => {
                self.number()
            }
            ':' if rest.starts_with("::") => self.push(2, |_| Kind::Scope),
            c if c.is_ascii_graphic() => self.push(1, |_| Kind::Punct(c)),
            c => self.stray(c),
        }
    }

    fn newline(&mut self) {
        let start = self.at;
        self.advance(1);
        let span = self.span(start, self.at);
        self.tokens.push(Token { space: self.space, ..Token::new(Kind::Newline, span) });
        self.space = false;
        self.first = true;
    }

    /// A character that no token begins with; several in a row are one mistake.
    fn stray(&mut self, c: char) {
        let start = self.at;
        self.advance(
            Self::run(self.rest(), |c| !c.is_ascii_graphic() && !c.is_ascii_whitespace()).max(c.len_utf8()),
        );
        let span = self.span(start, self.at);
        let shown: String = c.escape_default().collect();
        let name = if c.is_alphanumeric() { c.to_string() } else { shown };
        self.sink
            .error(span, format!("the character `{name}` has no meaning in IDL"))
            .hint("identifiers consist of ASCII letters, digits and underscores");
        self.space = true;
    }

    fn push(&mut self, len: usize, kind: impl FnOnce(&'a str) -> Kind) {
        let start = self.at;
        self.advance(len);
        let text = self.text.get(start..self.at).unwrap_or("");
        let span = self.span(start, self.at);
        let docs = std::mem::take(&mut self.docs);
        let docs = (!docs.before.is_empty()).then(|| Rc::new(docs));
        let (space, first) = (self.space, self.first);
        self.last = Some(self.tokens.len());
        self.tokens.push(Token { kind: kind(text), span, space, first, painted: false, docs });
        self.space = false;
        self.first = false;
    }

    fn number(&mut self) {
        let mut before = '0';
        let hex = self.rest().starts_with("0x") || self.rest().starts_with("0X");
        let len = Self::run(self.rest(), |c| {
            let sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E') && !hex;
            let part = c.is_ascii_alphanumeric() || c == '.' || c == '_' || sign;
            before = c;
            part
        });
        self.push(len, |text| Kind::Number(text.into()));
    }

    /// A character or string literal that begins after `prefix` octets.
    fn literal(&mut self, prefix: usize) {
        let start = self.at;
        let rest = self.rest();
        let quote = rest.chars().nth(prefix).unwrap_or('"');
        let (mut escaped, mut end, mut spliced, mut stop) = (false, None, false, rest.len());
        let mut chars = rest.char_indices().skip(prefix.saturating_add(1)).peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '\r' if escaped && chars.peek().is_some_and(|(_, c)| *c == '\n') => {}
                '\n' if escaped => (escaped, spliced) = (false, true),
                '\n' => {
                    stop = at;
                    break;
                }
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                c if c == quote => {
                    end = Some(at.saturating_add(1));
                    break;
                }
                _ => {}
            }
        }
        let Some(len) = end else {
            self.unterminated(start, rest.get(..stop).unwrap_or(""), quote);
            return;
        };
        let is_string = quote == '"';
        self.push(len, |text| {
            let text = if spliced { text.replace("\\\r\n", "").replace("\\\n", "") } else { text.to_owned() };
            if is_string { Kind::Str(text.into()) } else { Kind::Char(text.into()) }
        });
    }

    /// A literal without its end on this line, which may be continued on others.
    fn unterminated(&mut self, start: usize, line: &str, quote: char) {
        let span = self.span(start, start.saturating_add(1));
        let what = if quote == '"' { "string" } else { "character" };
        self.sink
            .error(span, format!("this {what} literal does not end on its line"))
            .hint(format!("close it with {quote}"));
        // Something has to stand here, so that nothing else is missing.
        let line = line.trim_end();
        let len = line.strip_suffix(';').unwrap_or(line).len().max(1);
        let kind = if quote == '"' { Kind::Str("\"\"".into()) } else { Kind::Char("' '".into()) };
        self.push(len, |_| kind);
    }

    fn line_comment(&mut self) {
        let (start, rest) = (self.at, self.rest());
        let mut len = Self::run(rest, |c| c != '\n');
        // A backslash at the end continues the comment on the next line.
        while let Some(line) = rest.get(..len) {
            if !line.trim_end_matches('\r').ends_with('\\') || len >= rest.len() {
                break;
            }
            let after = len.saturating_add(1);
            len = after.saturating_add(Self::run(rest.get(after..).unwrap_or(""), |c| c != '\n'));
        }
        self.advance(len);
        self.comment(start, rest.get(..len).unwrap_or("").trim_end());
    }

    fn block_comment(&mut self) {
        let (start, rest) = (self.at, self.rest());
        let inside = rest.get(2..).unwrap_or("");
        let Some(len) = inside.find("*/") else {
            self.advance(rest.len());
            let span = self.span(start, start.saturating_add(2));
            self.sink.error(span, "this comment does not end").hint("close it with */");
            return;
        };
        let len = len.saturating_add(4);
        self.advance(len);
        self.comment(start, rest.get(..len).unwrap_or(""));
    }

    fn comment(&mut self, start: usize, text: &'a str) {
        let span = self.span(start, start.saturating_add(text.len()));
        if self.comments == Comments::Keep {
            let (space, first) = (self.space, self.first);
            let token = Token::new(Kind::Comment(text.into()), span);
            self.tokens.push(Token { space, first, ..token });
            self.first = false;
            self.space = false;
            return;
        }
        self.space = true;
        if let Some(note) = text.strip_prefix("//@") {
            let note: Rc<str> = note.trim().into();
            self.behind(|docs| docs.notes.push((note, span)));
            return;
        }
        match documentation(text) {
            Some((true, doc)) => self.behind(|docs| append(&mut docs.behind, &doc)),
            Some((false, doc)) => append(&mut self.docs.before, &doc),
            None => {}
        }
    }

    /// Adds to the documentation of the last token.
    fn behind(&mut self, add: impl FnOnce(&mut Docs)) {
        if let Some(last) = self.last.and_then(|last| self.tokens.get_mut(last)) {
            add(Rc::make_mut(last.docs.get_or_insert_default()));
        }
    }
}

/// Octets of a backslash and the end of the line after it.
fn continuation(text: &str) -> Option<usize> {
    if text.starts_with("\\\n") {
        Some(2)
    } else if text.starts_with("\\\r\n") {
        Some(3)
    } else {
        None
    }
}

fn append(docs: &mut String, text: &str) {
    if !docs.is_empty() {
        docs.push('\n');
    }
    docs.push_str(text);
}

/// The text of a documentation comment, and whether it is about what stands before it.
fn documentation(comment: &str) -> Option<(bool, String)> {
    let line = comment.strip_prefix("///").or_else(|| comment.strip_prefix("//!"));
    let block = comment.strip_prefix("/**").or_else(|| comment.strip_prefix("/*!"));
    let text = match (line, block) {
        (Some(text), _) if !text.starts_with('/') => text.to_owned(),
        // `/**/` is empty, and rows of stars are ornaments.
        (_, Some(text)) if !text.starts_with('*') && text != "/" => {
            let text = text.strip_suffix("*/").unwrap_or(text);
            let strip = |line: &str| {
                let line = line.trim();
                line.strip_prefix('*')
                    .map_or_else(|| line.to_owned(), |line| line.strip_prefix(' ').unwrap_or(line).to_owned())
            };
            text.lines().map(strip).collect::<Vec<_>>().join("\n")
        }
        _ => return None,
    };
    let (behind, text) = match text.strip_prefix('<') {
        Some(text) => (true, text.to_owned()),
        None => (false, text),
    };
    let text = text.strip_prefix(' ').unwrap_or(&text);
    Some((behind, plain_lines(text).trim_matches('\n').to_owned()))
}

/// Documentation as every notation can say it: without control characters, and without backslashes at ends of lines, which
/// would take the next line into a comment.
pub(crate) fn plain_lines(text: &str) -> String {
    let is_plain = |c: &char| *c == '\t' || !(c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'));
    let plain = |line: &str| {
        let line: String = line.chars().filter(is_plain).collect();
        line.trim_end_matches(|c: char| c == '\\' || c.is_whitespace()).to_owned()
    };
    let unix = text.replace("\r\n", "\n").replace('\r', "\n");
    unix.lines().map(plain).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexed(text: &str) -> (Vec<Token>, usize) {
        let mut sink = Sink::new(100);
        let tokens = lex(text, FileId(0), Comments::Skip, 1000, &mut sink);
        (tokens, sink.finish().len())
    }

    fn spelled(text: &str) -> Vec<String> {
        lexed(text).0.iter().map(Token::text).collect()
    }

    #[test]
    fn tokens_are_the_longest_possible() {
        assert_eq!(spelled("a::b:c"), ["a", "::", "b", ":", "c"]);
        assert_eq!(spelled("1.5e-3+0x1e-3"), ["1.5e-3", "+", "0x1e", "-", "3"]);
        assert_eq!(spelled("L'x'L\"y\"\"z\\\"\" LL"), ["L'x'", "L\"y\"", "\"z\\\"\"", "LL"]);
        assert_eq!(spelled("a/*x\n*/b//c\nd"), ["a", "b", "\n", "d"]);
        assert_eq!(spelled("\"a\\\nb\" c\\\nd // e \\\n f"), ["\"ab\"", "c", "d"]);
        assert_eq!(spelled(".5 . 5"), [".5", ".", "5"]);
    }

    #[test]
    fn an_unterminated_token_is_reported_once() {
        for text in ["\"abc", "'a\n", "/* abc", "é", "\u{1}\u{2}", "\"\\"] {
            assert_eq!(lexed(text).1, 1, "{text}");
        }
    }

    #[test]
    fn documentation_belongs_to_tokens() {
        let (tokens, _) =
            lexed("/// one\n/** two\n * three */ x; ///< behind\n//// none\n/***** none */ y //@key");
        let docs = |name: &str| {
            let token = tokens.iter().find(|token| token.text() == name).unwrap();
            token.docs.clone().unwrap_or_default()
        };
        assert_eq!(docs("x").before, "one\ntwo\nthree");
        assert_eq!(docs(";").behind, "behind");
        assert_eq!(docs("y").before, "");
        assert_eq!(&*docs("y").notes[0].0, "key");
    }
}
