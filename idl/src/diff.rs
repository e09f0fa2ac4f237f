//! What changed between two versions of some IDL, type by type and member by member, and who can still read whom.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use dunlin_xtypes::cdr::Representation;
use dunlin_xtypes::{Comparison, Mismatch, TypeConsistencyEnforcement};

use crate::check::keyword;
use crate::dump::{kind_word, type_text, value_text};
use crate::ir::*;
use crate::xtypes::type_graph;

/// What became of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only the new version has it.
    Added {
        /// What kind of type, and its name.
        what: String,
    },
    /// Only the old version has it.
    Removed {
        /// What kind of type, and its name.
        what: String,
    },
    /// It is in both and differs.
    Changed {
        /// What kind of type, and its name.
        what: String,
        /// The differences.
        details: Vec<String>,
        /// Whether readers with the old version can read data of the new one, and if not, why.
        old_reads_new: Result<(), Vec<Mismatch>>,
        /// Whether readers with the new version can read data of the old one, and if not, why.
        new_reads_old: Result<(), Vec<Mismatch>>,
    },
}

impl Change {
    /// Whether data can still go both ways.
    #[must_use]
    pub fn is_compatible(&self) -> bool {
        match self {
            Self::Added { .. } | Self::Removed { .. } => true,
            Self::Changed { old_reads_new, new_reads_old, .. } => {
                old_reads_new.is_ok() && new_reads_old.is_ok()
            }
        }
    }
}

/// Compares two models. A type is reported if its own declaration changed, or if a type inside of it makes it unreadable.
#[must_use]
pub fn diff(old: &Model, new: &Model) -> Vec<Change> {
    let mut changes = Vec::new();
    // The rules by which readers and writers match, with the default policy.
    let ((old_graph, old_indices), (new_graph, new_indices)) = (type_graph(old), type_graph(new));
    let (policy, form) = (TypeConsistencyEnforcement::default(), Representation::Xcdr2);
    // Types are declared before those that contain them, so each comparison finds the results for the types inside.
    let mut by_old = Comparison::new(&old_graph, &new_graph, &policy, form);
    let mut by_new = Comparison::new(&new_graph, &old_graph, &policy, form);
    let names: BTreeMap<&str, TypeId> = new.types().map(|(id, ty)| (ty.full_name.as_str(), id)).collect();
    let before: BTreeSet<&str> = old.types().map(|(_, ty)| ty.full_name.as_str()).collect();
    for (old_id, before) in old.types() {
        let what = format!("{} {}", kind_word(&before.kind), before.full_name);
        let found = names.get(before.full_name.as_str()).copied();
        let Some((new_id, after)) = found.and_then(|id| Some((id, new.ty(id)?))) else {
            changes.push(Change::Removed { what });
            continue;
        };
        let details = Details { old, new, lines: Vec::new() }.compare(old_id, before, new_id, after);
        let indices = (old_indices.get(old_id.0).copied(), new_indices.get(new_id.0).copied());
        let (Some(one), Some(other)) = indices else { continue };
        let (old_reads_new, new_reads_old) = (by_old.assignable(one, other), by_new.assignable(other, one));
        if !details.is_empty() || old_reads_new.is_err() || new_reads_old.is_err() {
            changes.push(Change::Changed { what, details, old_reads_new, new_reads_old });
        }
    }
    for (_, after) in new.types().filter(|(_, ty)| !before.contains(ty.full_name.as_str())) {
        changes.push(Change::Added { what: format!("{} {}", kind_word(&after.kind), after.full_name) });
    }
    changes
}

/// The changes as text; `old` and `new` are the names of the versions.
#[must_use]
pub fn diff_text(changes: &[Change], old: &str, new: &str) -> String {
    let mut out = String::new();
    for change in changes {
        let _ = match change {
            Change::Added { what } => writeln!(out, "added {what}"),
            Change::Removed { what } => writeln!(out, "removed {what}"),
            Change::Changed { what, details, old_reads_new, new_reads_old } => {
                let _ = writeln!(out, "changed {what}");
                for line in details {
                    let _ = writeln!(out, "  {line}");
                }
                verdict(&mut out, old, new, old_reads_new);
                verdict(&mut out, new, old, new_reads_old);
                Ok(())
            }
        };
    }
    out
}

/// Says whether readers with one version understand data of another, and what they do not.
fn verdict(out: &mut String, reader: &str, data: &str, verdict: &Result<(), Vec<Mismatch>>) {
    let _ = match verdict.as_ref().map_err(Vec::as_slice) {
        Ok(()) => writeln!(out, "  readers of {reader} understand {data}"),
        Err([why]) => writeln!(out, "  readers of {reader} do not understand {data}: {why}"),
        Err(several) => {
            let _ = writeln!(out, "  readers of {reader} do not understand {data}:");
            several.iter().try_for_each(|why| writeln!(out, "    {why}"))
        }
    };
}

/// Collects the differences between two declarations.
struct Details<'a> {
    old: &'a Model,
    new: &'a Model,
    lines: Vec<String>,
}

impl Details<'_> {
    fn compare(mut self, old_id: TypeId, before: &TypeDef, new_id: TypeId, after: &TypeDef) -> Vec<String> {
        if before.extensibility != after.extensibility {
            self.change("extensibility", keyword(before.extensibility), keyword(after.extensibility));
        }
        if before.nested != after.nested {
            self.flag("nested", after.nested);
        }
        match (&before.kind, &after.kind) {
            (Kind::Struct(a), Kind::Struct(b)) => {
                self.base(a.base, b.base);
                let (a, b) = (self.old.all_members(old_id), self.new.all_members(new_id));
                self.members(&a, &b);
            }
            (Kind::Exception(a), Kind::Exception(b)) => {
                self.members(&a.members.iter().collect::<Vec<_>>(), &b.members.iter().collect::<Vec<_>>());
            }
            (Kind::Union(a), Kind::Union(b)) => self.unions(a, b),
            (Kind::Enum(a), Kind::Enum(b)) => {
                self.number("bit_bound", a.bit_bound, b.bit_bound);
                let literals =
                    |e: &Enum| e.literals.iter().map(|l| (l.name.clone(), i64::from(l.value))).collect();
                self.named_numbers("literal", literals(a), literals(b));
                let default = |e: &Enum| e.literals.get(e.default).map_or("", |l| &l.name).to_owned();
                self.change("default literal", &default(a), &default(b));
            }
            (Kind::Bitmask(a), Kind::Bitmask(b)) => {
                self.number("bit_bound", a.bit_bound, b.bit_bound);
                let bits = |m: &Bitmask| {
                    m.bits.iter().map(|bit| (bit.name.clone(), i64::from(bit.position))).collect()
                };
                self.named_numbers("bit", bits(a), bits(b));
            }
            (Kind::Bitset(a), Kind::Bitset(b)) => {
                self.base(a.base, b.base);
                self.number("size", a.width, b.width);
                let fields =
                    |s: &Bitset| s.fields.iter().map(|f| (f.name.clone(), i64::from(f.position))).collect();
                self.named_numbers("field", fields(a), fields(b));
            }
            (Kind::Alias(a), Kind::Alias(b)) => {
                let (a, b) = (type_text(self.old, &a.ty), type_text(self.new, &b.ty));
                self.change("stands for", &a, &b);
            }
            (a, b) => self.change("kind", kind_word(a), kind_word(b)),
        }
        self.lines
    }

    fn change(&mut self, what: &str, before: &str, after: &str) {
        if before != after {
            self.lines.push(format!("~ {what}: {before} -> {after}"));
        }
    }

    fn number(&mut self, what: &str, before: u16, after: u16) {
        self.change(what, &before.to_string(), &after.to_string());
    }

    fn flag(&mut self, what: &str, now: bool) {
        self.lines.push(format!("~ {}{what}", if now { "now " } else { "no longer " }));
    }

    fn base(&mut self, before: Option<TypeId>, after: Option<TypeId>) {
        let name = |model: &Model, id: Option<TypeId>| {
            id.and_then(|id| model.ty(id)).map_or("none", |ty| &ty.full_name).to_owned()
        };
        let (before, after) = (name(self.old, before), name(self.new, after));
        self.change("base", &before, &after);
    }

    fn named_numbers(&mut self, what: &str, before: Vec<(String, i64)>, after: Vec<(String, i64)>) {
        for (name, value) in &before {
            match after.iter().find(|(other, _)| other == name) {
                None => self.lines.push(format!("- {what} {name} = {value}")),
                Some((_, now)) => {
                    self.change(&format!("{what} {name}"), &value.to_string(), &now.to_string())
                }
            }
        }
        for (name, value) in after.iter().filter(|(name, _)| !before.iter().any(|(other, _)| other == name)) {
            self.lines.push(format!("+ {what} {name} = {value}"));
        }
    }

    fn members(&mut self, before: &[&Member], after: &[&Member]) {
        let mut kept = Vec::new();
        for a in before {
            let same_name = after.iter().find(|b| b.name == a.name);
            // What has the id of a member that is gone was renamed.
            let renamed =
                || after.iter().find(|b| b.id == a.id && !before.iter().any(|other| other.name == b.name));
            match same_name.or_else(renamed) {
                None => self.lines.push(format!("- #{} {} {}", a.id, type_text(self.old, &a.ty), a.name)),
                Some(b) => {
                    kept.push(b.name.clone());
                    self.member(a, b);
                }
            }
        }
        for b in after.iter().filter(|b| !kept.contains(&b.name)) {
            self.lines.push(format!("+ #{} {} {}", b.id, type_text(self.new, &b.ty), b.name));
        }
        let order = |members: &[&Member]| -> Vec<String> {
            members.iter().map(|m| m.name.clone()).filter(|name| kept.contains(name)).collect()
        };
        let (x, y) = (order(before), order(after));
        if x != y && x.len() == y.len() {
            self.change("order", &x.join(", "), &y.join(", "));
        }
    }

    fn member(&mut self, a: &Member, b: &Member) {
        let name = &b.name;
        if a.name != b.name {
            self.change("name", &a.name, &b.name);
        }
        if a.id != b.id {
            self.change(&format!("id of {name}"), &a.id.to_string(), &b.id.to_string());
        }
        let (x, y) = (type_text(self.old, &a.ty), type_text(self.new, &b.ty));
        self.change(&format!("type of {name}"), &x, &y);
        let flags = [
            ("key", a.key, b.key),
            ("optional", a.optional, b.optional),
            ("must_understand", a.must_understand, b.must_understand),
            ("external", a.external, b.external),
            ("non_serialized", a.non_serialized, b.non_serialized),
        ];
        for (flag, _, now) in flags.iter().filter(|(_, before, now)| before != now) {
            self.lines.push(format!("~ {name} is {}{flag}", if *now { "now " } else { "no longer " }));
        }
        let text = |model: &Model, value: &Option<Value>| {
            value.as_ref().map_or_else(|| "none".to_owned(), |value| value_text(model, value))
        };
        for (what, x, y) in [
            ("default", &a.default, &b.default),
            ("least value", &a.min, &b.min),
            ("greatest value", &a.max, &b.max),
        ] {
            let (x, y) = (text(self.old, x), text(self.new, y));
            self.change(&format!("{what} of {name}"), &x, &y);
        }
        if a.try_construct != b.try_construct {
            self.change(
                &format!("try_construct of {name}"),
                &format!("{:?}", a.try_construct),
                &format!("{:?}", b.try_construct),
            );
        }
    }

    fn unions(&mut self, a: &Union, b: &Union) {
        let (x, y) = (type_text(self.old, &a.discriminator), type_text(self.new, &b.discriminator));
        self.change("discriminator", &x, &y);
        if a.key != b.key {
            self.flag("keyed", b.key);
        }
        let members = |union: &Union| union.cases.iter().map(|case| case.member.clone()).collect::<Vec<_>>();
        let (x, y) = (members(a), members(b));
        self.members(&x.iter().collect::<Vec<_>>(), &y.iter().collect::<Vec<_>>());
        let labels = |model: &Model, case: &Case| {
            let mut labels: Vec<String> = case.labels.iter().map(|label| value_text(model, label)).collect();
            if case.is_default {
                labels.push("default".to_owned());
            }
            labels.join(", ")
        };
        for case in &b.cases {
            let Some(before) = a.cases.iter().find(|other| other.member.name == case.member.name) else {
                continue;
            };
            let (x, y) = (labels(self.old, before), labels(self.new, case));
            self.change(&format!("labels of {}", case.member.name), &x, &y);
        }
    }
}
