//! Names and where they can be seen (IDL 4.2 §7.5).

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::{Checker, LiteralScope};
use crate::ir::{ConstId, InterfaceId, ModuleId, TypeId};
use crate::source::Span;
use crate::syntax::ast::{Ident, ScopedName};
use crate::syntax::token::cost_of_text;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ScopeId(pub usize);

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Def {
    Module(ModuleId, ScopeId),
    Type(TypeId),
    Const(ConstId),
    Literal(TypeId, usize),
    Bit(TypeId, usize),
    Interface(InterfaceId, ScopeId),
    Annotation(usize),
    /// A member, field, operation or parameter.
    Member,
}

impl Def {
    pub(super) fn what(self) -> &'static str {
        match self {
            Self::Module(..) => "a module",
            Self::Type(_) => "a type",
            Self::Const(_) => "a constant",
            Self::Literal(..) => "a literal",
            Self::Bit(..) => "a bit",
            Self::Interface(..) => "an interface",
            Self::Annotation(_) => "an annotation",
            Self::Member => "a member",
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub name: Rc<str>,
    pub span: Span,
    pub def: Def,
}

#[derive(Debug)]
pub(super) struct Scope {
    parent: Option<ScopeId>,
    name: Rc<str>,
    /// With the names around it.
    full_name: String,
    is_module: bool,
    /// By name in lower case.
    entries: BTreeMap<String, Entry>,
    /// Names from outside that were used in here, which fixes their meaning.
    used: BTreeMap<Rc<str>, Span>,
    /// Scopes whose names are seen in here as well.
    pub bases: Vec<ScopeId>,
}

/// Annotations have names of their own.
const ANNOTATION: char = '@';

impl Checker<'_> {
    pub(super) fn new_scope(&mut self, parent: Option<ScopeId>, name: &Rc<str>, is_module: bool) -> ScopeId {
        let full_name = match parent.and_then(|parent| self.scopes.get(parent.0)) {
            Some(parent) if !parent.full_name.is_empty() => format!("{}::{name}", parent.full_name),
            _ => name.to_string(),
        };
        let id = ScopeId(self.scopes.len());
        self.scopes.push(Scope {
            parent,
            name: name.clone(),
            full_name,
            is_module,
            entries: BTreeMap::new(),
            used: BTreeMap::new(),
            bases: Vec::new(),
        });
        id
    }

    /// The name with the names of the scopes around it.
    pub(super) fn full_name(&self, name: &str) -> String {
        match self.scopes.get(self.scope.0) {
            Some(scope) if !scope.full_name.is_empty() => format!("{}::{name}", scope.full_name),
            _ => name.to_owned(),
        }
    }

    pub(super) fn entry_here(&self, name: &str) -> Option<&Entry> {
        self.scopes.get(self.scope.0)?.entries.get(&name.to_ascii_lowercase())
    }

    /// The annotation that is declared in this scope itself.
    pub(super) fn annotation_here(&self, name: &str) -> Option<usize> {
        match self.scopes.get(self.scope.0)?.entries.get(&format!("{ANNOTATION}{name}"))?.def {
            Def::Annotation(index) => Some(index),
            _ => None,
        }
    }

    /// What a name stands for in the scope of a type itself.
    pub(super) fn own_name(&self, id: TypeId, name: &str) -> Option<Def> {
        let scope = self.type_scopes.get(id.0).copied().flatten()?;
        let entry = self.scopes.get(scope.0)?.entries.get(&name.to_ascii_lowercase())?;
        (*entry.name == *name).then_some(entry.def)
    }

    /// Gives a name a meaning in the current scope.
    pub(super) fn declare(&mut self, name: &Ident, def: Def) -> bool {
        let key = match def {
            Def::Annotation(_) => format!("{ANNOTATION}{}", name.name),
            _ => name.name.to_ascii_lowercase(),
        };
        // What is declared has the names around it in its own.
        let around = self.scopes.get(self.scope.0).map_or(0, |scope| scope.full_name.len());
        self.pay(cost_of_text(around.saturating_mul(2)), name.span);
        let Some(scope) = self.scopes.get_mut(self.scope.0) else { return false };
        if let Some(other) = scope.entries.get(&key) {
            let shared = match (other.def, def) {
                (Def::Literal(one, _), Def::Literal(other, _)) => one != other,
                _ => false,
            };
            if shared && self.literals == LiteralScope::Enumeration {
                return true;
            }
            let message = if other.name == name.name {
                format!("`{}` is declared already", name.name)
            } else {
                format!("`{}` and `{}` differ in case only", name.name, other.name)
            };
            let label = format!("{} with this name", other.def.what());
            let other = other.span;
            self.sink.error(name.span, message).also(other, label);
            return false;
        }
        // The standard ignores case here as well, but too much IDL has members like `Header header`.
        if let Some(used) = scope.used.get(&name.name).copied() {
            self.sink
                .error(name.span, format!("`{}` has another meaning in this scope already", name.name))
                .also(used, "used here");
        } else if scope.name == name.name && !scope.is_module && !matches!(def, Def::Annotation(_)) {
            self.sink
                .error(name.span, format!("`{}` is the name of the scope that it is declared in", name.name));
        }
        scope.entries.insert(key, Entry { name: name.name.clone(), span: name.span, def });
        true
    }

    /// Declares a name also in another scope, where it is found by its qualified name only.
    pub(super) fn declare_in(&mut self, scope: ScopeId, name: &Ident, def: Def) {
        if let Some(scope) = self.scopes.get_mut(scope.0) {
            let entry = Entry { name: name.name.clone(), span: name.span, def };
            scope.entries.entry(name.name.to_ascii_lowercase()).or_insert(entry);
        }
    }

    /// Looks for a name in a scope and its bases. Several bases may have the same name, but not different ones.
    fn find_in(&self, scope: ScopeId, key: &str) -> Vec<Entry> {
        let (mut entries, mut seen, mut open) = (Vec::new(), BTreeSet::new(), vec![scope]);
        while let Some(id) = open.pop() {
            let Some(scope) = self.scopes.get(id.0).filter(|_| seen.insert(id)) else { continue };
            // Names are used for types and values only; a member may be called like its type.
            match scope.entries.get(key).filter(|entry| entry.def != Def::Member) {
                // It hides the same name in the bases.
                Some(entry) => entries.push(entry.clone()),
                None => open.extend(scope.bases.iter().rev()),
            }
        }
        entries
    }

    /// What a name stands for here. Without a meaning, says so.
    pub(super) fn resolve(&mut self, name: &ScopedName) -> Option<Def> {
        self.resolve_as(name, false)
    }

    /// The annotation with this name.
    pub(super) fn find_annotation(&mut self, name: &ScopedName) -> Option<usize> {
        match self.try_resolve(name, true)? {
            Def::Annotation(index) => Some(index),
            _ => None,
        }
    }

    fn resolve_as(&mut self, name: &ScopedName, annotation: bool) -> Option<Def> {
        let found = self.try_resolve(name, annotation);
        if found.is_none() && !std::mem::take(&mut self.reported) {
            let text = name.text();
            let hint = if self.sink.is_full() { None } else { self.similar(name) };
            let diagnostic = self.sink.error(name.span, format!("`{text}` is not declared"));
            if let Some(hint) = hint {
                diagnostic.hint(format!("did you mean `{hint}`?"));
            }
        }
        found
    }

    fn try_resolve(&mut self, name: &ScopedName, annotation: bool) -> Option<Def> {
        self.reported = false;
        let last = name.parts.len().saturating_sub(1);
        let mut found: Option<Def> = None;
        for (i, part) in name.parts.iter().enumerate() {
            let key = match annotation && i == last {
                true => format!("{ANNOTATION}{}", part.name),
                false => part.name.to_ascii_lowercase(),
            };
            let entry = match found {
                None if !name.global => self.look_outward(part, &key)?,
                None => self.pick(part, self.find_in(ScopeId(0), &key))?,
                Some(def) => {
                    let scope = self.scope_of(def)?;
                    self.pick(part, self.find_in(scope, &key))?
                }
            };
            if entry.name != part.name {
                let message = format!("`{}` is declared as `{}`, in another case", part.name, entry.name);
                self.sink.error(part.span, message).also(entry.span, "declared here");
            }
            found = Some(entry.def);
        }
        found
    }

    /// One entry out of those found.
    fn pick(&mut self, part: &Ident, entries: Vec<Entry>) -> Option<Entry> {
        if let [first, second, ..] = entries.as_slice() {
            self.sink
                .error(part.span, format!("`{}` is ambiguous", part.name))
                .also(first.span, "one meaning")
                .also(second.span, "another meaning");
            self.reported = true;
            return None;
        }
        entries.into_iter().next()
    }

    /// Looks for the first part of a name from the current scope outward and fixes its meaning on the way.
    fn look_outward(&mut self, part: &Ident, key: &str) -> Option<Entry> {
        let mut passed = Vec::new();
        let mut next = Some(self.scope);
        while let Some(scope) = next {
            let entries = self.find_in(scope, key);
            if !entries.is_empty() {
                let entry = self.pick(part, entries)?;
                self.fix(&passed, part);
                return Some(entry);
            }
            passed.push(scope);
            next = self.scopes.get(scope.0).and_then(|scope| scope.parent);
        }
        None
    }

    /// A name that was used cannot be declared afterwards: up to the outermost scope that is no module, or in the module
    /// itself where it was used.
    fn fix(&mut self, passed: &[ScopeId], part: &Ident) {
        for (i, scope) in passed.iter().enumerate() {
            let Some(scope) = self.scopes.get_mut(scope.0) else { return };
            if scope.is_module && i > 0 {
                return;
            }
            scope.used.entry(part.name.clone()).or_insert(part.span);
            if scope.is_module {
                return;
            }
        }
    }

    fn scope_of(&self, def: Def) -> Option<ScopeId> {
        match def {
            Def::Module(_, scope) | Def::Interface(_, scope) => Some(scope),
            Def::Type(id) => self.type_scopes.get(id.0).copied().flatten(),
            _ => None,
        }
    }

    /// The scope with this name that is seen from another.
    fn scope_named(&self, from: ScopeId, part: &Ident) -> Option<ScopeId> {
        let (key, mut next) = (part.name.to_ascii_lowercase(), Some(from));
        while let Some(scope) = next {
            if let Some(entry) = self.find_in(scope, &key).first() {
                return self.scope_of(entry.def);
            }
            next = self.scopes.get(scope.0).and_then(|scope| scope.parent);
        }
        None
    }

    /// A name that looks almost like this one.
    fn similar(&self, name: &ScopedName) -> Option<Rc<str>> {
        let part = name.parts.last()?;
        let lower = part.name.to_ascii_lowercase();
        if lower.len() < 3 {
            return None;
        }
        // Of a qualified name, what is similar is looked for where the last part should be.
        let outer = name.parts.split_last().map_or(&[][..], |(_, outer)| outer);
        let start = outer.iter().try_fold(self.scope, |scope, part| self.scope_named(scope, part))?;
        let (mut best, mut next) = (None, Some(start));
        let mut budget = 2000usize;
        while let Some(scope) = next.and_then(|scope| self.scopes.get(scope.0)) {
            for (key, entry) in scope.entries.iter().filter(|(key, _)| !key.starts_with(ANNOTATION)) {
                budget = budget.checked_sub(1)?;
                let limit = (lower.len() / 3).clamp(1, 3);
                let usable = !matches!(entry.def, Def::Member);
                if let Some(distance) = distance(&lower, key, limit).filter(|_| usable)
                    && best.as_ref().is_none_or(|(least, _)| distance < *least)
                {
                    best = Some((distance, entry.name.clone()));
                }
            }
            next = scope.parent.filter(|_| outer.is_empty());
        }
        best.map(|(_, name)| name)
    }
}

/// Edits that make one word of the other, if there are at most `limit`.
pub(crate) fn distance(a: &str, b: &str, limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit || a.len() > 64 || b.len() > 64 {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let (mut left, mut diagonal) = (i.saturating_add(1), i);
        let mut next = vec![left];
        for (above, y) in row.iter().skip(1).zip(b.bytes()) {
            let changed = diagonal.saturating_add(usize::from(x != y));
            left = changed.min(left.saturating_add(1)).min(above.saturating_add(1));
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().filter(|distance| *distance <= limit)
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn edits_are_counted() {
        assert_eq!(distance("color", "colour", 2), Some(1));
        assert_eq!(distance("abc", "acb", 2), Some(2));
        assert_eq!(distance("abc", "abc", 1), Some(0));
        assert_eq!(distance("abc", "xyz", 2), None);
        assert_eq!(distance("a", "abcd", 2), None);
    }
}
