//! Classes.

use super::codec::truth;
use super::{Generator, name};
use crate::backend::accessors;
use crate::ir::*;

impl Generator<'_> {
    pub(super) fn ty(&mut self, id: TypeId, ty: &TypeDef) {
        let own = self.class_name(id).to_owned();
        self.line("\n");
        match &ty.kind {
            Kind::Struct(it) => self.structure(&own, ty, it, "cdr.Struct"),
            Kind::Exception(it) => self.structure(&own, ty, it, "cdr.Raised"),
            Kind::Union(it) => self.union(&own, ty, it),
            Kind::Enum(it) => {
                self.class(&format!("class {own}(enum.IntEnum):"), ty);
                for literal in &it.literals {
                    self.line(&format!("    {} = {}", name(&literal.name), literal.value));
                }
                self.verbatims(&ty.verbatims, Placement::EndDeclaration);
            }
            Kind::Bitmask(it) => {
                self.class(&format!("class {own}(cdr.Bitmask):"), ty);
                for bit in &it.bits {
                    self.line(&format!("    {} = 1 << {}", name(&bit.name), bit.position));
                }
                self.line("    pass");
                self.verbatims(&ty.verbatims, Placement::EndDeclaration);
            }
            Kind::Bitset(_) => {
                self.class(&format!("class {own}(cdr.Bitset):"), ty);
                for accessor in accessors(self.model, id) {
                    let field = accessor.field;
                    let (boolean, signed) = (truth(accessor.boolean), truth(accessor.signed));
                    let (at, width) = (field.position, field.width);
                    let call = format!("cdr.bit_field({at}, {width}, {boolean}, {signed})");
                    self.line(&format!("    {} = {call}", name(&field.name)));
                }
                self.line("    pass");
                self.verbatims(&ty.verbatims, Placement::EndDeclaration);
            }
            Kind::Alias(alias) => {
                // A hint: what it stands for may have no class.
                let target = self.hint(&alias.ty);
                self.line(&format!("{own} = \"{target}\""));
            }
        }
    }

    fn class(&mut self, head: &str, ty: &TypeDef) {
        self.line(head);
        self.docs(ty.docs.as_deref(), "    ");
        self.verbatims(&ty.verbatims, Placement::BeginDeclaration);
    }

    fn extensibility(&mut self, ty: &TypeDef) {
        let word = match ty.extensibility {
            Extensibility::Final => "FINAL",
            Extensibility::Appendable => "APPENDABLE",
            Extensibility::Mutable => "MUTABLE",
        };
        self.line(&format!("    _type_name = \"{}\"", ty.full_name));
        self.line(&format!("    _extensibility = cdr.{word}"));
    }

    fn structure(&mut self, own: &str, ty: &TypeDef, it: &Struct, base: &str) {
        let parent = it.base.map(|base| self.class_name(super::resolved(self.model, base)).to_owned());
        let base = parent.clone().unwrap_or_else(|| base.to_owned());
        self.line("@dataclass");
        self.class(&format!("class {own}({base}):"), ty);
        for member in &it.members {
            let text = self.field(member);
            self.line(&format!("    {text}"));
            self.docs(member.docs.as_deref(), "    ");
        }
        self.extensibility(ty);
        self.line("\n    @classmethod\n    def _members(cls):\n        return (");
        if let Some(parent) = parent {
            self.line(&format!("            *{parent}._members(),"));
        }
        for member in it.members.iter().filter(|member| !member.non_serialized) {
            let codec = self.member_codec(member);
            let flags = [
                ("key", member.key),
                ("optional", member.optional),
                ("must_understand", member.must_understand),
            ];
            let flags: String =
                flags.iter().filter(|flag| flag.1).map(|flag| format!(", {}=True", flag.0)).collect();
            self.line(&format!(
                "            cdr.Member(\"{}\", {}, {codec}{flags}),",
                name(&member.name),
                member.id
            ));
        }
        self.line("        )");
        self.verbatims(&ty.verbatims, Placement::EndDeclaration);
    }

    fn field(&self, member: &Member) -> String {
        let (own, hint) = (name(&member.name), self.hint(&member.ty));
        if member.optional {
            return format!("{own}: Optional[{hint}] = None");
        }
        let initial = self.initial(member);
        format!("{own}: {hint} = field(default_factory=lambda: {initial})")
    }

    /// What a new value of a member is.
    fn initial(&self, member: &Member) -> String {
        match &member.default {
            Some(value) => self.value(value, &member.ty),
            None => format!("{}.default()", self.codec(&member.ty)),
        }
    }

    fn union(&mut self, own: &str, ty: &TypeDef, it: &Union) {
        self.class(&format!("class {own}(cdr.Union):"), ty);
        self.extensibility(ty);
        self.line(&format!("    _keyed = {}", truth(it.key)));
        self.line(&format!("    _use_default = {}", truth(it.try_construct == TryConstruct::UseDefault)));
        let codec = self.codec(&it.discriminator);
        self.line(&format!("\n    @classmethod\n    def _discriminator(cls):\n        return {codec}"));
        self.line("\n    @classmethod\n    def _cases(cls):\n        return (");
        for case in &it.cases {
            let member = &case.member;
            let labels: String = case
                .labels
                .iter()
                .map(|label| format!("{}, ", self.value(label, &it.discriminator)))
                .collect();
            let (codec, initial) = (self.member_codec(member), self.initial(member));
            let (id, default) = (member.id, truth(case.is_default));
            let must = if member.must_understand { ", must_understand=True" } else { "" };
            self.line(&format!(
                "            cdr.Case(\"{}\", {id}, {codec}, ({labels}), {default}, lambda: {initial}{must}),",
                name(&member.name)
            ));
        }
        self.line("        )");
        self.verbatims(&ty.verbatims, Placement::EndDeclaration);
    }
}
