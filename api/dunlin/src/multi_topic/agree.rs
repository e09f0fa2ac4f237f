//! Whether two types have the same values, so that what is of one can be compared with, or stand in for, what is of the other.

use dunlin_cdr::{
    MemberDescription, StructureDescription, TypeDescription, TypeKind, TypeRef, UnionDescription,
};

/// Compares types.
pub(super) struct Agreement {
    /// Whether the second has to hold what the first may hold: bounds of strings and collections count then.
    holds: bool,
    /// Pairs that are being compared further out: a type may contain itself.
    pending: Vec<(*const TypeDescription, *const TypeDescription)>,
}

/// Whether values of the two types can be equal: bounds do not matter.
pub(super) fn are_same(a: &TypeDescription, b: &TypeDescription) -> bool {
    Agreement { holds: false, pending: Vec::new() }.types(a, b)
}

/// Whether every value of one type is a value of the other.
pub(super) fn holds(field: &TypeDescription, member: &TypeDescription) -> bool {
    Agreement { holds: true, pending: Vec::new() }.types(field, member)
}

impl Agreement {
    fn types(&mut self, a: &TypeDescription, b: &TypeDescription) -> bool {
        let (a, b) = (a.resolved(), b.resolved());
        let pair = (std::ptr::from_ref(a), std::ptr::from_ref(b));
        if std::ptr::eq(a, b) || self.pending.contains(&pair) {
            return true;
        }
        self.pending.push(pair);
        let same = self.kinds(a, b);
        self.pending.pop();
        same
    }

    fn refs(&mut self, a: &TypeRef, b: &TypeRef) -> bool {
        self.types(a.get(), b.get())
    }

    fn bounds(&self, a: Option<usize>, b: Option<usize>) -> bool {
        !self.holds || b.is_none_or(|b| a.is_some_and(|a| a <= b))
    }

    fn kinds(&mut self, a: &TypeDescription, b: &TypeDescription) -> bool {
        let named = a.name == b.name;
        match (&a.kind, &b.kind) {
            (TypeKind::Primitive(a), TypeKind::Primitive(b)) => a == b,
            (TypeKind::String { bound: x }, TypeKind::String { bound: y })
            | (TypeKind::WideString { bound: x }, TypeKind::WideString { bound: y }) => self.bounds(*x, *y),
            (TypeKind::Enumeration(a), TypeKind::Enumeration(b)) => named && a.literals == b.literals,
            (TypeKind::Bitmask { bit_bound: x, .. }, TypeKind::Bitmask { bit_bound: y, .. })
            | (TypeKind::Bitset { holder: x, .. }, TypeKind::Bitset { holder: y, .. }) => named && x == y,
            (TypeKind::Structure(a), TypeKind::Structure(b)) => named && self.structures(a, b),
            (TypeKind::Union(a), TypeKind::Union(b)) => named && self.unions(a, b),
            (TypeKind::Sequence { element: a, bound: x }, TypeKind::Sequence { element: b, bound: y }) => {
                self.bounds(*x, *y) && self.refs(a, b)
            }
            (TypeKind::Array { element: a, length: x }, TypeKind::Array { element: b, length: y }) => {
                x == y && self.refs(a, b)
            }
            (TypeKind::Map { key: a, value: v, bound: x }, TypeKind::Map { key: b, value: w, bound: y }) => {
                self.bounds(*x, *y) && self.refs(a, b) && self.refs(v, w)
            }
            _ => false,
        }
    }

    fn structures(&mut self, a: &StructureDescription, b: &StructureDescription) -> bool {
        a.extensibility == b.extensibility
            && a.member_count() == b.member_count()
            && (0..a.member_count()).all(|at| {
                let members = a.member(at).zip(b.member(at));
                members.is_some_and(|(a, b)| self.members(a, b))
            })
    }

    fn members(&mut self, a: &MemberDescription, b: &MemberDescription) -> bool {
        let same = (&a.name, a.id, a.is_optional()) == (&b.name, b.id, b.is_optional());
        same && self.refs(&a.ty, &b.ty)
    }

    fn unions(&mut self, a: &UnionDescription, b: &UnionDescription) -> bool {
        a.extensibility == b.extensibility
            && self.refs(&a.discriminator, &b.discriminator)
            && a.cases.len() == b.cases.len()
            && a.cases.iter().zip(b.cases.iter()).all(|(a, b)| {
                let same =
                    (&a.name, a.id, &a.labels, a.is_default) == (&b.name, b.id, &b.labels, b.is_default);
                let types = match (&a.ty, &b.ty) {
                    (Some(a), Some(b)) => self.refs(a, b),
                    (None, None) => true,
                    _ => false,
                };
                same && types
            })
    }
}

#[cfg(test)]
mod tests {
    use dunlin_cdr::{DdsType, description};

    use super::*;

    mod one {
        use super::DdsType;

        #[derive(DdsType)]
        #[dds(nested)]
        pub struct Tree {
            pub leaf: u8,
            pub branches: Vec<Tree>,
        }

        #[derive(DdsType)]
        #[dds(nested)]
        pub struct Point {
            pub x: i32,
            pub names: Vec<String>,
        }
    }

    mod other {
        use super::DdsType;

        #[derive(DdsType)]
        #[dds(nested)]
        pub struct Tree {
            pub leaf: u8,
            pub branches: Vec<Tree>,
        }

        #[derive(DdsType)]
        #[dds(nested)]
        pub struct Point {
            pub x: i64,
            pub names: Vec<String>,
        }

        #[derive(DdsType)]
        #[dds(nested, final)]
        pub struct Final {
            #[dds(bound = 4)]
            pub short: Vec<u8>,
        }
    }

    #[test]
    fn types_are_the_same_all_the_way_down() {
        assert!(are_same(description::<one::Tree>(), description::<other::Tree>()));
        assert!(!are_same(description::<one::Point>(), description::<other::Point>()));
        assert!(!are_same(description::<Vec<one::Point>>(), description::<Vec<other::Point>>()));
        assert!(are_same(description::<[Vec<u8>; 2]>(), description::<[Vec<u8>; 2]>()));
        assert!(!are_same(description::<[u8; 2]>(), description::<[u8; 3]>()));
        assert!(!are_same(description::<one::Tree>(), description::<one::Point>()));
    }

    #[test]
    fn bounds_count_for_what_is_held() {
        let TypeKind::Structure(it) = &description::<other::Final>().kind else { panic!() };
        let short = it.member(0).unwrap().ty.get();
        let long = description::<Vec<u8>>();
        assert!(are_same(short, long) && are_same(long, short));
        assert!(holds(short, long) && !holds(long, short));
    }
}
