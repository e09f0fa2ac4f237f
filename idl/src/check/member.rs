//! Members: what their annotations mean together, ids, defaults.

use md5::{Digest, Md5};

use super::Checker;
use super::annotation::{Known, Place};
use super::value::cost_of_value;
use crate::ir::{Applied, IdSource, Kind, Member, TryConstruct, Type, Value};
use crate::source::Span;
use crate::syntax::ast::{Annotation, Expr, Ident};
use crate::syntax::token::cost_of_text;

/// The greatest member id.
const MAX_ID: u32 = 0x0fff_ffff;

/// What annotations say about a member.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    id: Option<(u32, Span)>,
    hash: Option<(Option<String>, Span)>,
    pub key: Option<(bool, Span)>,
    optional: Option<(bool, Span)>,
    external: Option<(bool, Span)>,
    must_understand: Option<bool>,
    non_serialized: Option<(bool, Span)>,
    pub try_construct: Option<(TryConstruct, Span)>,
    default: Option<(Expr, Span)>,
    min: Option<Expr>,
    max: Option<Expr>,
    unit: Option<String>,
    custom: Vec<Applied>,
    comment: Option<String>,
}

/// What an alias says about members that are declared with it.
#[derive(Clone, Debug, Default)]
pub(super) struct Inherited {
    optional: Option<(bool, Span)>,
    external: Option<(bool, Span)>,
    must_understand: Option<bool>,
    try_construct: Option<(TryConstruct, Span)>,
    default: Option<Value>,
    min: Option<Value>,
    max: Option<Value>,
    unit: Option<String>,
}

impl Inherited {
    /// How much it takes to copy it, in tokens.
    fn cost(&self) -> usize {
        let values =
            [&self.default, &self.min, &self.max].map(|value| value.as_ref().map_or(0, cost_of_value));
        let unit = cost_of_text(self.unit.as_ref().map_or(0, String::len));
        values.into_iter().fold(unit, usize::saturating_add)
    }
}

/// How much it takes to copy an annotation, in tokens.
fn cost_of_applied(applied: &Applied) -> usize {
    let params = applied
        .params
        .iter()
        .map(|(name, value)| cost_of_text(name.len()).saturating_add(cost_of_value(value)).saturating_add(1));
    params.fold(cost_of_text(applied.name.len()), usize::saturating_add)
}

/// Where ids come from when members do not say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbering {
    pub hash: bool,
    pub next: u32,
}

impl Settings {
    /// How much it takes to say it of one more member, in tokens.
    pub(super) fn cost(&self, docs: Option<&String>) -> usize {
        let text = [docs, self.comment.as_ref(), self.unit.as_ref()].map(|text| text.map_or(0, String::len));
        let text = cost_of_text(text.into_iter().fold(0, usize::saturating_add));
        self.custom.iter().map(cost_of_applied).fold(text.saturating_add(1), usize::saturating_add)
    }

    /// Annotations that the source declares.
    pub(super) fn custom(&self) -> &[Applied] {
        &self.custom
    }

    /// Where an id is given that only one member can have.
    pub(super) fn single_id(&self) -> Option<Span> {
        let hash = self.hash.as_ref().filter(|(text, _)| text.is_some()).map(|(_, span)| *span);
        self.id.map(|(_, span)| span).or(hash)
    }
}

impl Checker<'_> {
    /// Reads the annotations of a member.
    pub(super) fn settings(&mut self, annotations: &[Annotation], place: Place) -> Settings {
        let mut settings = Settings::default();
        for (known, span) in self.annotations(annotations, place) {
            match known {
                Known::Id(id) => settings.id = Some((id, span)),
                Known::HashId(text) => settings.hash = Some((text, span)),
                Known::Key(on) => settings.key = Some((on, span)),
                Known::Optional(on) => settings.optional = Some((on, span)),
                Known::External(on) => settings.external = Some((on, span)),
                Known::MustUnderstand(on) => settings.must_understand = Some(on),
                Known::NonSerialized(on) => settings.non_serialized = Some((on, span)),
                Known::TryConstruct(how) => settings.try_construct = Some((how, span)),
                Known::Default(value) => settings.default = Some((value, span)),
                Known::Range(min, max) => {
                    settings.min = min.or(settings.min);
                    settings.max = max.or(settings.max);
                }
                Known::Unit(unit) => settings.unit = Some(unit),
                Known::Custom(applied) => settings.custom.push(applied),
                Known::Verbatim(verbatim) if verbatim.language == "comment" => {
                    settings.comment = Some(verbatim.text)
                }
                Known::Verbatim(_) => {
                    self.sink.warning(
                        span,
                        "`@verbatim` on a member is ignored unless its language is \"comment\"",
                    );
                }
                _ => {}
            }
        }
        settings
    }

    /// What the annotations of an alias mean for members.
    pub(super) fn inherited(&mut self, settings: &Settings, ty: &Type, span: Span) -> Inherited {
        if let Some((_, at)) = &settings.hash {
            self.sink.error(*at, "`@hashid` has no meaning on a typedef");
        }
        if let Some((_, at)) = &settings.id {
            self.sink.error(*at, "`@id` has no meaning on a typedef");
        }
        let (min, max) = self.range(settings, ty, span);
        Inherited {
            optional: settings.optional,
            external: settings.external,
            must_understand: settings.must_understand,
            try_construct: settings.try_construct,
            default: self.default_value(settings, ty),
            min,
            max,
            unit: settings.unit.clone(),
        }
    }

    /// What the aliases say that a type goes through, the outermost first.
    fn aliases_of(&mut self, ty: &Type, span: Span) -> Inherited {
        let mut result = Inherited::default();
        let mut next = ty.clone();
        while let Type::Named(id) = next
            && let Some(Kind::Alias(alias)) = self.model.ty(id).map(|ty| &ty.kind)
        {
            next = alias.ty.clone();
            let cost = self.inherited_settings.get(&id).map_or(0, Inherited::cost);
            if !self.pay(cost, span) {
                return Inherited::default();
            }
            if let Some(own) = self.inherited_settings.get(&id).cloned() {
                result = Inherited {
                    optional: result.optional.or(own.optional),
                    external: result.external.or(own.external),
                    must_understand: result.must_understand.or(own.must_understand),
                    try_construct: result.try_construct.or(own.try_construct),
                    default: result.default.or(own.default),
                    min: result.min.or(own.min),
                    max: result.max.or(own.max),
                    unit: result.unit.or(own.unit),
                };
            }
        }
        result
    }

    /// Makes a member; its id is not final if the settings give none.
    pub(super) fn make_member(
        &mut self,
        name: &Ident,
        ty: Type,
        docs: Option<String>,
        settings: &Settings,
        numbering: &mut Numbering,
    ) -> Member {
        let aliases = self.aliases_of(&ty, name.span);
        let on =
            |own: Option<(bool, Span)>, alias: Option<(bool, Span)>| own.or(alias).is_some_and(|(on, _)| on);
        let (id, id_source) = self.member_id(&name.name, settings, numbering);
        let (min, max) = self.range(settings, &ty, name.span);
        let default = self.default_value(settings, &ty);
        let docs = match (docs, &settings.comment) {
            (Some(docs), Some(comment)) => Some(format!("{docs}\n{comment}")),
            (docs, comment) => docs.or_else(|| comment.clone()),
        };
        let member = Member {
            name: name.name.to_string(),
            span: name.span,
            docs,
            id,
            id_source,
            key: settings.key.is_some_and(|(on, _)| on),
            optional: on(settings.optional, aliases.optional),
            must_understand: settings.must_understand.or(aliases.must_understand).unwrap_or(false),
            external: on(settings.external, aliases.external),
            non_serialized: settings.non_serialized.is_some_and(|(on, _)| on),
            try_construct: settings
                .try_construct
                .or(aliases.try_construct)
                .map_or_else(Default::default, |(how, _)| how),
            default: default.or(aliases.default),
            min: min.or(aliases.min),
            max: max.or(aliases.max),
            unit: settings.unit.clone().or(aliases.unit),
            annotations: settings.custom.clone(),
            ty,
        };
        self.check_member(&member, settings);
        member
    }

    fn member_id(&mut self, name: &str, settings: &Settings, numbering: &mut Numbering) -> (u32, IdSource) {
        if let (Some(_), Some((_, hash))) = (&settings.id, &settings.hash) {
            self.sink.error(*hash, "`@id` and `@hashid` exclude each other");
        }
        let (id, source) = match (&settings.id, &settings.hash) {
            (Some((id, _)), _) => (*id, IdSource::Given),
            (None, Some((Some(text), _))) => (hash_id(text), IdSource::HashOf(text.clone())),
            (None, Some((None, _))) => (hash_id(name), IdSource::HashOfName),
            (None, None) if numbering.hash => (hash_id(name), IdSource::HashOfName),
            (None, None) => (numbering.next, IdSource::Sequential),
        };
        if !settings.non_serialized.is_some_and(|(on, _)| on) {
            numbering.next = id.saturating_add(1);
        }
        (id, source)
    }

    /// Checks a member that is a key.
    pub(super) fn check_key(&mut self, optional: bool, non_serialized: bool, ty: &Type, span: Span) {
        if optional {
            self.sink.error(span, "a key member cannot be optional");
        }
        if non_serialized {
            self.sink.error(span, "a key member has to be serialized");
        }
        if matches!(self.model.resolve(ty), Type::Map { .. }) {
            self.sink.error(span, "a map cannot be a key");
        }
    }

    fn check_member(&mut self, member: &Member, settings: &Settings) {
        let key = settings.key.filter(|(on, _)| *on).map(|(_, span)| span);
        if let Some(span) = key {
            self.check_key(member.optional, member.non_serialized, &member.ty, span);
        }
        if let (Some((_, span)), true) = (&settings.default, member.optional) {
            self.sink
                .error(*span, "`@default` and `@optional` exclude each other")
                .hint("a missing optional member is absent and needs no default");
        }
        let trim = settings.try_construct.filter(|(how, _)| *how == TryConstruct::Trim);
        let collection = matches!(
            self.model.resolve(&member.ty),
            Type::String { .. } | Type::WideString { .. } | Type::Sequence { .. } | Type::Map { .. }
        );
        if let (Some((_, span)), false) = (trim, collection) {
            self.sink.error(span, "only strings, sequences and maps can be trimmed");
        }
        if member.id > MAX_ID {
            self.sink
                .error(member.span, "the id of this member would be above 0x0fffffff")
                .hint("give one with `@id`");
        }
    }

    fn default_value(&mut self, settings: &Settings, ty: &Type) -> Option<Value> {
        let (expr, span) = settings.default.as_ref()?;
        if !self.has_literals(ty) {
            let shown = self.show_type(ty);
            self.sink.error(*span, format!("a value of {shown} cannot be written, so it has no `@default`"));
            return None;
        }
        self.evaluate(expr, ty)
    }

    /// Whether values of the type can be written as expressions.
    pub(super) fn has_literals(&self, ty: &Type) -> bool {
        match self.model.resolve(ty) {
            Type::Sequence { .. } | Type::Array { .. } | Type::Map { .. } => false,
            Type::Named(id) => {
                matches!(self.model.ty(*id).map(|ty| &ty.kind), Some(Kind::Enum(_) | Kind::Bitmask(_)))
            }
            _ => true,
        }
    }

    fn range(&mut self, settings: &Settings, ty: &Type, span: Span) -> (Option<Value>, Option<Value>) {
        if settings.min.is_none() && settings.max.is_none() {
            return (None, None);
        }
        let resolved = self.model.resolve(ty).clone();
        let ordered = super::value::integer_range(&resolved).is_some()
            || matches!(
                resolved,
                Type::Float | Type::Double | Type::LongDouble | Type::Char | Type::WideChar
            );
        if !ordered {
            self.sink.error(span, "only numbers and characters have a range");
            return (None, None);
        }
        let mut value = |expr: &Option<Expr>| expr.as_ref().and_then(|expr| self.evaluate(expr, ty));
        let (min, max) = (value(&settings.min), value(&settings.max));
        let inverted = match (&min, &max) {
            (Some(Value::Int(min)), Some(Value::Int(max))) => min > max,
            (Some(Value::Float(min)), Some(Value::Float(max))) => min > max,
            _ => false,
        };
        if inverted {
            self.sink.error(span, "the least value is greater than the greatest");
        }
        (min, max)
    }

    /// Refuses ids that are given twice. `earlier` are members of bases.
    pub(super) fn check_ids(&mut self, earlier: &[Member], members: &[Member]) {
        let mut seen = std::collections::BTreeMap::new();
        for member in earlier {
            seen.insert(member.id, (&member.name, member.span));
        }
        for member in members.iter().filter(|member| !member.non_serialized) {
            let Some((name, span)) = seen.insert(member.id, (&member.name, member.span)) else { continue };
            let hashed = matches!(member.id_source, IdSource::HashOf(_) | IdSource::HashOfName);
            let message = format!("`{}` has the same member id as `{name}`: {}", member.name, member.id);
            self.sink.error(member.span, message).also(span, "the other member").hint(if hashed {
                "the hashes of two names can be equal: give one of them an `@id`"
            } else {
                "ids are given, hashed, or one more than that of the member before"
            });
        }
    }
}

/// The id that `@hashid` makes of a name (XTypes 1.3 §7.3.1.2.1.1).
pub(crate) fn hash_id(name: &str) -> u32 {
    let digest = Md5::digest(name.as_bytes());
    let mut first = [0; 4];
    first.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    u32::from_le_bytes(first) & MAX_ID
}

#[cfg(test)]
mod tests {
    use super::hash_id;

    #[test]
    fn hashes_of_the_standard() {
        assert_eq!(hash_id("color"), 0x0fa5_dd70);
        assert_eq!(hash_id("shapesize"), 0x0477_90da);
    }
}
