//! The formatter: one indentation and one spacing, the author's comments, blank lines and line breaks.
//!
//! It works on tokens, before the preprocessor, so that macros and directives stay as they are.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::diagnostic::Sink;
use crate::source::{FileId, SourceMap, Span, usize_of};
use crate::syntax::lexer::{Comments, lex};
use crate::syntax::token::{Kind, Token};

/// Puts IDL into its canonical layout. `name` is for messages.
///
/// # Errors
/// Messages about text that cannot be divided into tokens.
pub fn format(name: &str, text: &str) -> Result<String, String> {
    let mut sources = SourceMap::default();
    let file = sources.add(name, text.as_bytes());
    let text = sources.get(file).map(|source| source.text.clone()).unwrap_or_default();
    let tokens = tokens(&text, file, &sources)?;
    let mut formatter = Formatter::new(&text);
    formatter.run(&tokens);
    let result = formatter.finish();
    // Whatever happens, no token and no comment is lost.
    let again = self::tokens(&result, file, &sources)?;
    let spelled = |tokens: &[Token]| -> Vec<String> {
        let kept = tokens.iter().filter(|token| token.kind != Kind::Newline);
        kept.map(|token| match token.kind {
            Kind::Comment(_) => token.text().split_whitespace().collect(),
            // First of its line it begins a directive.
            Kind::Punct('#') if token.first => "\n#".to_owned(),
            _ => token.text(),
        })
        .collect()
    };
    if spelled(&tokens) != spelled(&again) {
        return Err(format!("{name}: cannot be formatted without changing its meaning"));
    }
    Ok(result)
}

fn tokens(text: &str, file: FileId, sources: &SourceMap) -> Result<Vec<Token>, String> {
    let mut sink = Sink::new(20);
    let tokens = lex(text, file, Comments::Keep, usize::MAX, &mut sink);
    if sink.has_errors() {
        return Err(sink.finish().iter().map(|error| error.render(sources, false)).collect());
    }
    Ok(tokens)
}

/// What a brace or bracket is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    /// `{` with definitions or members inside.
    Block,
    /// `{` of an enumeration or bitmask.
    List,
    /// `(` or `[`
    Inline,
    /// `<` after `sequence` and the like.
    Template,
    /// `(` after the name of a macro, which may make a string of what is inside.
    Macro,
}

struct Formatter<'a> {
    text: &'a str,
    out: String,
    line: String,
    /// The current line goes on with what the line before began.
    continued: bool,
    open: Vec<Open>,
    /// How many of them are arguments of macros.
    in_macros: usize,
    /// Ends of lines since the last token.
    newlines: usize,
    last: Option<Token>,
    /// The last operator stands before a value, not between two.
    unary: bool,
    /// The first word of the statement.
    head: String,
    /// The line has annotations only so far.
    only_annotations: bool,
    /// Macros with parameters that the file defines.
    macros: BTreeSet<Rc<str>>,
}

const INDENT: &str = "    ";
/// Nothing is indented further, or the text would grow with the square of what an untrusted file nests.
const DEEPEST: usize = 100;

impl<'a> Formatter<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            out: String::new(),
            line: String::new(),
            continued: false,
            open: Vec::new(),
            in_macros: 0,
            newlines: 0,
            last: None,
            unary: false,
            head: String::new(),
            only_annotations: true,
            macros: BTreeSet::new(),
        }
    }

    fn run(&mut self, tokens: &[Token]) {
        let mut rest = tokens;
        while let [token, after @ ..] = rest {
            rest = after;
            match &token.kind {
                Kind::Newline => self.newlines = self.newlines.saturating_add(1),
                Kind::Comment(text) => self.comment(token, text, after),
                Kind::Punct('#') if token.first => {
                    let len = after.iter().take_while(|token| token.kind != Kind::Newline).count();
                    rest = after.get(len..).unwrap_or_default();
                    if let [define, name, open, ..] = after
                        && define.text() == "define"
                        && open.is('(')
                        && !open.space
                    {
                        self.macros.extend(name.ident().cloned());
                    }
                    let last = after.get(..len).and_then(<[Token]>::last).unwrap_or(token);
                    self.directive(token.span, last.span);
                }
                _ => self.token(token, after),
            }
        }
    }

    fn finish(mut self) -> String {
        self.flush();
        self.out
    }

    /// Ends the current line.
    fn flush(&mut self) {
        if self.line.is_empty() {
            return;
        }
        let depth = self.depth();
        self.out.push_str(&INDENT.repeat(depth));
        self.out.push_str(self.line.trim_end());
        self.out.push('\n');
        self.line.clear();
    }

    /// Keeps one of the blank lines before what comes now.
    fn blank(&mut self, closing: bool) {
        let wanted = self.newlines > 1 && !closing;
        if wanted && !self.out.is_empty() && !self.out.ends_with("{\n") && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
        self.newlines = 0;
    }

    fn directive(&mut self, start: Span, end: Span) {
        self.flush();
        self.blank(false);
        let raw = self.text.get(usize_of(start.start)..usize_of(end.end)).unwrap_or("");
        for line in raw.lines() {
            self.out.push_str(line.trim_end());
            self.out.push('\n');
        }
        self.last = None;
    }

    fn comment(&mut self, token: &Token, text: &str, after: &[Token]) {
        let alone = token.first;
        if alone {
            if !self.line.is_empty() {
                self.flush();
                self.continued = true;
            }
            self.blank(false);
        } else if !self.line.is_empty() {
            self.line.push(' ');
        } else if self.out.ends_with('\n') && self.newlines == 0 {
            // It belongs to the line that has been ended.
            self.out.pop();
            self.line.push(' ');
            self.out.push_str(&std::mem::take(&mut self.line));
            self.push_comment(text);
            self.out.push('\n');
            return;
        }
        let ends = after.first().is_none_or(|next| next.kind == Kind::Newline);
        if alone && ends {
            let depth = self.depth();
            self.out.push_str(&INDENT.repeat(depth));
            self.push_comment(text);
            self.out.push('\n');
            return;
        }
        self.line.push_str(text);
        if ends {
            self.flush();
            self.continued = true;
        }
        self.last = Some(token.clone());
    }

    fn depth(&self) -> usize {
        let braces =
            self.open.iter().take(DEEPEST).filter(|open| matches!(open, Open::Block | Open::List)).count();
        braces.saturating_add(usize::from(self.continued))
    }

    /// A comment; the stars of its lines are put below each other.
    fn push_comment(&mut self, text: &str) {
        let depth = self.depth();
        let starred = text.lines().skip(1).all(|line| line.trim_start().starts_with('*'));
        for (i, line) in text.lines().enumerate() {
            if i > 0 {
                self.out.push('\n');
            }
            match (i, starred) {
                (0, _) => self.out.push_str(line.trim_end()),
                (_, true) => {
                    self.out.push_str(&INDENT.repeat(depth));
                    self.out.push(' ');
                    self.out.push_str(line.trim());
                }
                (_, false) => self.out.push_str(line.trim_end()),
            }
        }
    }

    fn token(&mut self, token: &Token, after: &[Token]) {
        let closing = token.is('}');
        if self.line.is_empty() && !self.continued {
            self.blank(closing);
            self.head = token.text();
            self.only_annotations = token.is('@');
        } else if token.first && self.breaks_before(token) {
            let label = self.is_label_end();
            let whole =
                self.only_annotations || (label && matches!(token.text().as_str(), "case" | "default"));
            self.flush();
            self.newlines = 0;
            self.continued = !whole;
            if whole {
                self.head = token.text();
                self.only_annotations = token.is('@');
            }
        } else {
            self.newlines = 0;
        }
        if self.only_annotations && !token.is('@') && self.ends_annotation() {
            self.only_annotations = false;
            self.head = token.text();
        }
        self.newlines = 0;
        match token.kind {
            Kind::Punct('{') => self.open_brace(after),
            Kind::Punct('}') => self.close_brace(),
            Kind::Punct(';') if self.in_macros == 0 => {
                self.line.push(';');
                self.end_statement();
            }
            Kind::Punct(',') if self.open.last() == Some(&Open::List) => {
                self.line.push(',');
                self.end_statement();
            }
            _ => self.word(token),
        }
        self.last = Some(token.clone());
    }

    /// Whether the annotations are over before the next token: it is no part of the last one.
    fn ends_annotation(&self) -> bool {
        let inside = self.open.last() == Some(&Open::Inline);
        let name = self.last.as_ref().is_some_and(|last| last.is('@') || last.kind == Kind::Scope);
        !self.line.is_empty() && !inside && !name
    }

    fn open(&mut self, open: Open) {
        self.in_macros = self.in_macros.saturating_add(usize::from(open == Open::Macro));
        self.open.push(open);
    }

    fn close(&mut self) -> Option<Open> {
        let closed = self.open.pop();
        self.in_macros = self.in_macros.saturating_sub(usize::from(closed == Some(Open::Macro)));
        closed
    }

    fn is_label_end(&self) -> bool {
        self.line.ends_with(':') && matches!(self.head.as_str(), "case" | "default")
    }

    /// Whether the author's line break before this token stays.
    fn breaks_before(&self, token: &Token) -> bool {
        let sticky = matches!(token.kind, Kind::Punct('{' | ';' | ',' | ')' | ']' | '>' | '('));
        !sticky && !self.line.is_empty() && !(self.last.as_ref().is_some_and(|last| last.is('}')))
    }

    fn end_statement(&mut self) {
        self.flush();
        self.continued = false;
        self.only_annotations = true;
    }

    fn open_brace(&mut self, after: &[Token]) {
        if !self.line.is_empty() && !self.line.ends_with(' ') {
            self.line.push(' ');
        }
        let empty = after.iter().find(|token| token.kind != Kind::Newline).is_some_and(|token| token.is('}'));
        self.line.push('{');
        let list = matches!(self.head.as_str(), "enum" | "bitmask") || self.line.starts_with("typedef enum");
        let open = if list { Open::List } else { Open::Block };
        if empty {
            self.open(Open::Inline);
            return;
        }
        self.flush();
        self.continued = false;
        self.only_annotations = true;
        self.open(open);
    }

    fn close_brace(&mut self) {
        if self.open.last() == Some(&Open::Inline) && self.line.ends_with('{') {
            self.close();
            self.line.push('}');
            return;
        }
        self.flush();
        self.continued = false;
        while self.close().is_some_and(|open| !matches!(open, Open::Block | Open::List)) {}
        self.line.push('}');
        self.head = "}".to_owned();
        self.only_annotations = false;
    }

    /// Anything else: with a space before it, or not.
    fn word(&mut self, token: &Token) {
        let space = self.space_before(token);
        self.note_operator(token);
        if space && !self.line.is_empty() && !self.line.ends_with(' ') {
            self.line.push(' ');
        }
        self.line.push_str(&token.text());
        match token.kind {
            Kind::Punct('(') if self.calls_macro() => self.open(Open::Macro),
            Kind::Punct('(' | '[') => self.open(Open::Inline),
            Kind::Punct(')') if self.open.last() == Some(&Open::Macro) => drop(self.close()),
            Kind::Punct(')' | ']') if self.open.last() == Some(&Open::Inline) => drop(self.close()),
            Kind::Punct('<') if self.opens_template() => self.open(Open::Template),
            Kind::Punct('>') if self.open.last() == Some(&Open::Template) => drop(self.close()),
            _ => {}
        }
    }

    fn last_is(&self, chars: &[char]) -> bool {
        self.last.as_ref().is_some_and(|last| matches!(last.kind, Kind::Punct(c) if chars.contains(&c)))
    }

    fn calls_macro(&self) -> bool {
        self.last.as_ref().and_then(Token::ident).is_some_and(|name| self.macros.contains(name))
    }

    /// Whether a `<` now follows a word that takes parameters.
    fn opens_template(&self) -> bool {
        let words = ["sequence", "map", "string", "wstring", "bitfield", "fixed"];
        self.last.as_ref().and_then(Token::ident).is_some_and(|name| words.contains(&&**name))
    }

    /// Remembers whether an operator stands before a value or between two.
    fn note_operator(&mut self, token: &Token) {
        self.unary = matches!(token.kind, Kind::Punct('-' | '+' | '~')) && !self.after_value();
    }

    /// Whether what stands before is the end of a value.
    fn after_value(&self) -> bool {
        self.last.as_ref().is_some_and(|last| match &last.kind {
            Kind::Number(_) | Kind::Str(_) | Kind::Char(_) | Kind::Punct(')') => true,
            Kind::Ident(name) => &**name != "case",
            _ => false,
        })
    }

    fn space_before(&self, token: &Token) -> bool {
        let Some(last) = &self.last else { return false };
        let template = self.open.last() == Some(&Open::Template);
        // These belong to the preprocessor, and what macros get stays as it is.
        let foreign =
            |token: &Token| matches!(token.kind, Kind::Punct('\\' | '#' | '!' | '?' | '.' | '$' | '`' | '&'));
        if self.in_macros > 0 || foreign(last) || foreign(token) {
            return token.stands_apart();
        }
        if matches!(last.kind, Kind::Comment(_)) {
            return true;
        }
        // Nothing follows these directly.
        if self.last_is(&['(', '[', '@']) || last.kind == Kind::Scope || self.unary {
            return false;
        }
        if last.is('<') && (template || (token.is('<') && !token.stands_apart())) {
            return false;
        }
        match token.kind {
            Kind::Punct(',' | ')' | ']') => false,
            Kind::Punct('[') => last.ident().is_none() && !last.is(']'),
            Kind::Punct('(') => {
                last.ident().is_none_or(|name| matches!(&**name, "switch" | "case")) && !last.is('(')
            }
            Kind::Punct('<') => !self.opens_template(),
            Kind::Punct('>') => !template && (token.stands_apart() || !last.is('>')),
            Kind::Punct(':') => !matches!(self.head.as_str(), "case" | "default"),
            // A name that begins with `::` is another word.
            Kind::Scope => last.ident().is_none() || token.stands_apart(),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::format;

    fn formatted(text: &str) -> String {
        let once = format("a.idl", text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(format("a.idl", &once).unwrap(), once, "formatting again changes it");
        once
    }

    #[test]
    fn idl_formatter_lays_out_all_constructs() {
        let text = "#include  <a.idl>\nmodule M{ \n\n\n// Own line.\nconst   long N=( 1+-2 )<<3 ; @final  @nested\nstruct A:B\n{\n\n\
            @key long a , b [ N ] [2]; // behind\n  sequence < string<3> ,4 > c;/* x */\n\n\n long d;};\nenum E{X,\n @value( 3 )Y};\n\
            union U switch(long){case 1:case -2: long a;default:\n ::M :: A b;};struct C{};};";
        let expected = "\
#include  <a.idl>
module M {
    // Own line.
    const long N = (1 + -2) << 3;
    @final @nested
    struct A : B {
        @key long a, b[N][2]; // behind
        sequence<string<3>, 4> c; /* x */

        long d;
    };
    enum E {
        X,
        @value(3) Y
    };
    union U switch (long) {
        case 1: case -2: long a;
        default:
            ::M ::A b;
    };
    struct C {};
};
";
        assert_eq!(formatted(text), expected);
    }

    #[test]
    fn line_breaks_within_statements_stay() {
        let text = "interface I {\nvoid f(in long a,\n in long b)\nraises(X);\n@oneway\nvoid g();\n};\n#define A(x) \\\n   x\n\
            /**\n* Docs.\n   * More.\n*/\nstruct S { map<long,long> m; A(long) n; };\nbitmask B { P, // one\n Q // two\n};\n";
        let expected = "\
interface I {
    void f(in long a,
        in long b)
        raises(X);
    @oneway
    void g();
};
#define A(x) \\
   x
/**
 * Docs.
 * More.
 */
struct S {
    map<long, long> m;
    A(long) n;
};
bitmask B {
    P, // one
    Q // two
};
";
        assert_eq!(formatted(text), expected);
    }

    #[test]
    fn macro_arguments_are_not_reformatted() {
        let text = "#define S(x) #x\nconst string a = S( 1+2 \\n; ) \"x\";\n";
        assert_eq!(formatted(text), "#define S(x) #x\nconst string a = S( 1+2 \\n; ) \"x\";\n");
    }

    #[test]
    fn text_without_tokens_is_refused() {
        assert!(format("a.idl", "struct \"A").unwrap_err().contains("does not end"));
    }
}
