//! Declarations of types.

use super::Generator;
use super::text::{name, path};
use crate::backend::{accessors, contains_itself, holder_bits, members};
use crate::ir::*;

impl Generator<'_> {
    pub(super) fn declaration(&mut self, id: TypeId, ty: &TypeDef) {
        let verbatims: Vec<&Verbatim> = ty.verbatims.iter().collect();
        let opened = self.open(&ty.full_name);
        self.verbatims(&verbatims, Placement::BeforeDeclaration);
        self.docs(ty.docs.as_deref(), "");
        match &ty.kind {
            Kind::Struct(it) => self.structure(id, ty, it, ""),
            Kind::Exception(it) => self.structure(id, ty, it, "std::exception"),
            Kind::Union(it) => self.union(ty, it),
            Kind::Enum(it) => self.enumeration(ty, it),
            Kind::Bitmask(it) => self.bitmask(ty, it),
            Kind::Bitset(it) => self.bitset(id, ty, it),
            Kind::Alias(alias) => {
                let target = self.type_text(&alias.ty);
                self.line(&format!("using {} = {target};", name(&ty.name)));
            }
        }
        self.verbatims(&verbatims, Placement::AfterDeclaration);
        self.close(opened);
    }

    fn body(&mut self, ty: &TypeDef, write: impl FnOnce(&mut Self)) {
        let verbatims: Vec<&Verbatim> = ty.verbatims.iter().collect();
        self.verbatims(&verbatims, Placement::BeginDeclaration);
        write(self);
        self.verbatims(&verbatims, Placement::EndDeclaration);
        self.line("};");
    }

    fn structure(&mut self, id: TypeId, ty: &TypeDef, it: &Struct, base: &str) {
        let base = match it.base.and_then(|base| self.model.ty(base)) {
            Some(base) => path(&base.full_name),
            None => base.to_owned(),
        };
        let base = if base.is_empty() { base } else { format!(" : public {base}") };
        let own = name(&ty.name);
        self.line(&format!("struct {own}{base} {{"));
        self.body(ty, |this| {
            for member in &it.members {
                this.docs(member.docs.as_deref(), "    ");
                let text = this.field(id, member);
                this.line(&text);
            }
        });
        self.announce_equality(&own);
    }

    fn field(&self, owner: TypeId, member: &Member) -> String {
        let boxed = member.external || contains_itself(self.model, owner, member);
        let text = self.stored(&member.ty, boxed);
        let own = name(&member.name);
        if member.optional {
            return format!("    std::optional<{text}> {own};");
        }
        let value = match &member.default {
            Some(value) => Some(self.value(value, &member.ty)),
            None => self.zero(&member.ty),
        };
        match value {
            Some(value) if boxed && value != "{}" => {
                format!("    {text} {own} = {text}(static_cast<{}>({value}));", self.type_text(&member.ty))
            }
            Some(_) if boxed => format!("    {text} {own};"),
            Some(value) if value == "{}" => format!("    {text} {own}{{}};"),
            Some(value) => format!("    {text} {own} = {value};"),
            None => format!("    {text} {own};"),
        }
    }

    /// Comparisons are defined when all types are complete.
    fn announce_equality(&mut self, own: &str) {
        self.line(&format!("inline bool operator==(const {own}& a, const {own}& b);"));
        self.line(&format!("inline bool operator!=(const {own}& a, const {own}& b) {{ return !(a == b); }}"));
    }

    /// The comparison of a structure, exception, union or bitset.
    pub(super) fn equality(&mut self, id: TypeId, ty: &TypeDef) {
        let own = name(&ty.name);
        let equal = |member: String| format!("a.{member} == b.{member}");
        let parts: Vec<String> = match &ty.kind {
            Kind::Struct(_) | Kind::Exception(_) => {
                members(self.model, id).iter().map(|member| equal(name(&member.name))).collect()
            }
            Kind::Union(_) => vec![equal("_dunlin_d".to_owned()), equal("_dunlin_value".to_owned())],
            Kind::Bitset(_) => vec![equal("_bits".to_owned())],
            _ => return,
        };
        let opened = self.open(&ty.full_name);
        let head = format!("inline bool operator==(const {own}& a, const {own}& b)");
        match parts.as_slice() {
            [] => {
                self.line(&format!("inline bool operator==(const {own}&, const {own}&) {{ return true; }}"));
            }
            parts => self.line(&format!("{head} {{\n    return {};\n}}", parts.join("\n        && "))),
        }
        self.close(opened);
    }

    fn enumeration(&mut self, ty: &TypeDef, it: &Enum) {
        let bits = holder_bits(it.bit_bound).min(32);
        self.line(&format!("enum class {} : std::int{bits}_t {{", name(&ty.name)));
        self.body(ty, |this| {
            for literal in &it.literals {
                this.docs(literal.docs.as_deref(), "    ");
                this.line(&format!("    {} = {},", name(&literal.name), literal.value));
            }
        });
    }

    fn bitmask(&mut self, ty: &TypeDef, it: &Bitmask) {
        let own = name(&ty.name);
        self.line(&format!("using {own} = {};", Self::unsigned(it.bit_bound)));
        let bits = self.bits_name(ty);
        self.line(&format!("struct {bits} {{"));
        self.body(ty, |this| {
            for bit in &it.bits {
                this.docs(bit.docs.as_deref(), "    ");
                let value = format!("static_cast<{own}>(1ULL << {})", bit.position);
                this.line(&format!("    static constexpr {own} {} = {value};", name(&bit.name)));
            }
        });
    }

    /// The structure with the bits of a bitmask: `NAME_bits`, unless something else has that name.
    fn bits_name(&self, ty: &TypeDef) -> String {
        let model = self.model;
        let taken = |full_name: &str| {
            model.types.iter().any(|it| it.full_name == full_name)
                || model.constants.iter().any(|it| it.full_name == full_name)
                || model.modules.iter().any(|it| it.full_name == full_name)
        };
        let mut suffix = "_bits".to_owned();
        while taken(&format!("{}{suffix}", ty.full_name)) {
            suffix.push('_');
        }
        format!("{}{suffix}", name(&ty.name))
    }

    fn bitset(&mut self, id: TypeId, ty: &TypeDef, it: &Bitset) {
        let (own, holder) = (name(&ty.name), Self::unsigned(it.width));
        self.line(&format!("struct {own} {{"));
        self.body(ty, |this| {
            this.line(&format!("    {holder} _bits = 0;"));
            for accessor in accessors(this.model, id) {
                let field = accessor.field;
                let mask = if field.width >= 64 { u64::MAX } else { !(u64::MAX << (field.width & 63)) };
                let value = this.type_text(this.model.resolve(&field.holder));
                let (at, own) = (field.position, name(&field.name));
                let raw = format!("(static_cast<std::uint64_t>(_bits) >> {at}) & {mask:#x}ULL");
                let sign = 1u64.checked_shl(u32::from(field.width).saturating_sub(1)).unwrap_or(0);
                let read = match (accessor.boolean, accessor.signed) {
                    (true, _) => format!("({raw}) != 0"),
                    // The highest bit of a field with a signed type is its sign.
                    (_, true) => format!(
                        "static_cast<{value}>(static_cast<std::int64_t>((({raw}) ^ {sign:#x}ULL) - {sign:#x}ULL))"
                    ),
                    _ => format!("static_cast<{value}>({raw})"),
                };
                this.docs(field.docs.as_deref(), "    ");
                this.line(&format!("    {value} {own}() const {{ return {read}; }}"));
                this.line(&format!("    void {own}({value} value) {{"));
                this.line(&format!("        const std::uint64_t field = {mask:#x}ULL << {at};"));
                let shifted = format!("(static_cast<std::uint64_t>(value) << {at}) & field");
                this.line(&format!(
                    "        _bits = static_cast<{holder}>((static_cast<std::uint64_t>(_bits) & ~field) | ({shifted}));"
                ));
                this.line("    }");
            }
        });
        self.announce_equality(&own);
    }

    fn union(&mut self, ty: &TypeDef, it: &Union) {
        let own = name(&ty.name);
        let discriminator = self.type_text(&it.discriminator);
        let members: Vec<String> =
            it.cases.iter().map(|case| self.stored(&case.member.ty, case.member.external)).collect();
        let value = self.zero(&it.discriminator).unwrap_or_default();
        self.line(&format!("class {own} {{\npublic:"));
        self.body(ty, |this| {
            this.line("    /// The default discriminator, with the default of what it selects.");
            this.line(&format!("    {own}() {{ _dunlin_select({value}); }}"));
            this.line(&format!("    const {discriminator}& _d() const {{ return _dunlin_d; }}"));
            this.line("    /// Another discriminator that selects the same member.");
            this.line(&format!(
                "    void _d({discriminator} d) {{ _dunlin_check(d, _dunlin_value.index()); _dunlin_d = d; }}"
            ));
            for (index, (case, stored)) in it.cases.iter().zip(&members).enumerate() {
                this.case(case, index.saturating_add(1), stored, &discriminator, &it.discriminator);
            }
            this.line(&format!("    friend bool operator==(const {own}& a, const {own}& b);"));
            this.union_private(it, &discriminator, &members);
        });
        self.announce_equality(&own);
    }

    fn case(&mut self, case: &Case, index: usize, stored: &str, discriminator: &str, ty: &Type) {
        let own = name(&case.member.name);
        self.docs(case.member.docs.as_deref(), "    ");
        self.line(&format!(
            "    const {stored}& {own}() const {{ return std::get<{index}>(_dunlin_value); }}"
        ));
        self.line(&format!("    {stored}& {own}() {{ return std::get<{index}>(_dunlin_value); }}"));
        let default = match case.labels.first() {
            Some(label) if !case.is_default => format!(" = {}", self.label(label, ty)),
            _ => String::new(),
        };
        self.line(&format!("    void {own}({stored} value, {discriminator} d{default}) {{"));
        self.line(&format!("        _dunlin_check(d, {index});"));
        self.line("        _dunlin_d = d;");
        self.line(&format!("        _dunlin_value.template emplace<{index}>(std::move(value));"));
        self.line("    }");
    }

    /// A label with the type of the discriminator.
    fn label(&self, label: &Value, ty: &Type) -> String {
        format!("static_cast<{}>({})", self.type_text(ty), self.value(label, ty))
    }

    fn union_private(&mut self, it: &Union, discriminator: &str, members: &[String]) {
        self.line("private:");
        self.line("    template <class> friend struct ::dunlin::cdr::Traits;");
        self.line(&format!("    static std::size_t _dunlin_index({discriminator} d) {{"));
        let mut otherwise = 0usize;
        for (index, case) in it.cases.iter().enumerate() {
            let index = index.saturating_add(1);
            if case.is_default {
                otherwise = index;
            }
            for label in &case.labels {
                let label = self.label(label, &it.discriminator);
                self.line(&format!("        if (d == {label}) return {index};"));
            }
        }
        self.line(&format!("        static_cast<void>(d);\n        return {otherwise};\n    }}"));
        self.line(&format!("    static void _dunlin_check({discriminator} d, std::size_t index) {{"));
        self.line("        if (_dunlin_index(d) != index) throw ::dunlin::cdr::Error(\"the discriminator selects another member\");");
        self.line("    }");
        self.line(&format!("    void _dunlin_select({discriminator} d) {{"));
        self.line("        _dunlin_d = d;\n        switch (_dunlin_index(d)) {");
        for (index, case) in it.cases.iter().enumerate() {
            let member = &case.member;
            let value = match &member.default {
                Some(value) => Some(self.value(value, &member.ty)),
                None => self.zero(&member.ty).filter(|value| value.contains("::")),
            };
            let value = value.map(|value| format!("static_cast<{}>({value})", self.type_text(&member.ty)));
            let index = index.saturating_add(1);
            self.line(&format!(
                "        case {index}: _dunlin_value.emplace<{index}>({}); break;",
                value.unwrap_or_default()
            ));
        }
        self.line("        default: _dunlin_value.emplace<0>(); break;\n        }\n    }");
        self.line(&format!("    {discriminator} _dunlin_d{{}};"));
        self.line(&format!("    std::variant<std::monostate, {}> _dunlin_value;", members.join(", ")));
    }
}
