//! What the serialization has to know of types.

use super::Generator;
use super::text::{name, path};
use crate::backend::{contains_itself, serialized};
use crate::ir::*;

impl Generator<'_> {
    pub(super) fn traits(&mut self, id: TypeId, ty: &TypeDef) {
        let own = path(&ty.full_name);
        match &ty.kind {
            Kind::Struct(_) | Kind::Exception(_) => {
                self.open_traits(&own);
                self.structure_traits(id, ty, &own);
            }
            Kind::Union(it) => {
                self.open_traits(&own);
                self.union_traits(ty, it, &own);
            }
            Kind::Enum(it) => {
                self.open_traits(&own);
                let initial = self.literal_path(id, it.default);
                self.line(&format!("    static constexpr {own} initial = {initial};"));
                self.line(&format!(
                    "    static constexpr bool is_known({own} value) {{\n        switch (value) {{"
                ));
                for literal in &it.literals {
                    self.line(&format!("        case {own}::{}:", name(&literal.name)));
                }
                self.line("            return true;\n        }\n        return false;\n    }");
            }
            _ => return,
        }
        self.line("};\n} // namespace dunlin::cdr");
    }

    fn open_traits(&mut self, own: &str) {
        self.line(&format!("namespace dunlin::cdr {{\ntemplate <>\nstruct Traits<{own}> {{"));
    }

    fn common(&mut self, ty: &TypeDef, has_key: bool, codec: &str) {
        self.line(&format!("    static constexpr const char* name = \"{}\";", ty.full_name));
        let extensibility = match ty.extensibility {
            Extensibility::Final => "Final",
            Extensibility::Appendable => "Appendable",
            Extensibility::Mutable => "Mutable",
        };
        self.line(&format!(
            "    static constexpr Extensibility extensibility = Extensibility::{extensibility};"
        ));
        self.line(&format!("    static constexpr bool has_key = {has_key};"));
        self.line(&format!("    using Codec = {codec};"));
    }

    fn structure_traits(&mut self, id: TypeId, ty: &TypeDef, own: &str) {
        let members = serialized(self.model, id);
        self.common(ty, members.iter().any(|member| member.key), &format!("Structure<{own}>"));
        self.visit("visit", id, &members);
        let mut sorted = members.clone();
        sorted.sort_by_key(|member| member.id);
        if sorted.iter().map(|member| member.id).eq(members.iter().map(|member| member.id)) {
            self.line("    template <class S, class V>");
            self.line("    static void visit_by_id(S& value, V& visitor) { visit(value, visitor); }");
        } else {
            self.visit("visit_by_id", id, &sorted);
        }
    }

    fn visit(&mut self, function: &str, id: TypeId, members: &[&Member]) {
        self.line("    template <class S, class V>");
        if members.is_empty() {
            self.line(&format!("    static void {function}(S&, V&) {{}}"));
            return;
        }
        self.line(&format!("    static void {function}(S& value, V& visitor) {{"));
        for member in members {
            let boxed = member.external || self.is_boxed(id, member);
            let codec = self.member_codec(member, boxed);
            let method = if member.optional { "optional" } else { "member" };
            let meta = format!("Member{{{}, {}, {}}}", member.id, member.key, member.must_understand);
            let own = name(&member.name);
            self.line(&format!("        visitor.template {method}<{codec}>({meta}, value.{own});"));
        }
        self.line("    }");
    }

    /// Whether a member is boxed in the structure that declares it, which may be a base.
    fn is_boxed(&self, id: TypeId, member: &Member) -> bool {
        let mut next = Some(id);
        while let Some(owner) = next {
            let Some(Kind::Struct(it) | Kind::Exception(it)) = self.model.ty(owner).map(|ty| &ty.kind) else {
                return false;
            };
            if it.members.iter().any(|own| std::ptr::eq(own, member)) {
                return contains_itself(self.model, owner, member);
            }
            next = it.base;
        }
        false
    }

    fn union_traits(&mut self, ty: &TypeDef, it: &Union, own: &str) {
        self.common(ty, it.key, &format!("Union<{own}>"));
        let use_default = it.try_construct == TryConstruct::UseDefault;
        self.line(&format!("    static constexpr bool use_default = {use_default};"));
        let codec = self.codec(&it.discriminator);
        self.line(&format!("    using Discriminator = {codec};"));
        self.line(&format!(
            "    static void select({own}& value, {} d) {{ value._dunlin_select(d); }}",
            self.type_text(&it.discriminator)
        ));
        self.line("    template <class S, class V>");
        self.line(
            "    static void visit_selected(S& value, V& visitor) {\n        switch (value._dunlin_value.index()) {",
        );
        for (index, case) in it.cases.iter().enumerate() {
            let index = index.saturating_add(1);
            let codec = self.member_codec(&case.member, case.member.external);
            let member = format!(
                "visitor.template member<{codec}>(Member{{{}, false, {}}}, *std::get_if<{index}>(&value._dunlin_value))",
                case.member.id, case.member.must_understand
            );
            self.line(&format!("        case {index}: {member}; break;"));
        }
        self.line("        default: break;\n        }\n    }");
    }
}
