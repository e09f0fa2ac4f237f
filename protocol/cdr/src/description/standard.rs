//! Descriptions of the types that need no derivation (DDS-XTypes 1.3 §7.2.2.2, §7.2.2.3 and §7.2.2.4.2).

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Described, PrimitiveKind, TypeDescription, TypeKind, TypeRef};
use crate::{Bound, Bounded, Char8, Char16, Float128, UInt8, WString};

macro_rules! primitives {
    ($($ty:ty: $kind:ident),* $(,)?) => {$(
        impl Described for $ty {
            const DESCRIPTION: TypeDescription =
                TypeDescription::anonymous(TypeKind::Primitive(PrimitiveKind::$kind));
        }
    )*};
}

primitives! {
    bool: Boolean, u8: Octet, i8: Int8, i16: Int16, u16: UInt16, i32: Int32, u32: UInt32, i64: Int64, u64: UInt64,
    f32: Float32, f64: Float64, Float128: Float128, Char8: Char8, UInt8: UInt8, Char16: Char16,
}

impl Described for str {
    const DESCRIPTION: TypeDescription = TypeDescription::anonymous(TypeKind::String { bound: None });
}

impl Described for String {
    const DESCRIPTION: TypeDescription = str::DESCRIPTION;
}

impl Described for WString {
    const DESCRIPTION: TypeDescription = TypeDescription::anonymous(TypeKind::WideString { bound: None });
}

impl<T: Described> Described for [T] {
    const DESCRIPTION: TypeDescription =
        TypeDescription::anonymous(TypeKind::Sequence { element: TypeRef::of::<T>(), bound: None });
}

impl<T: Described> Described for Vec<T> {
    const DESCRIPTION: TypeDescription = <[T]>::DESCRIPTION;
}

impl<T: Described, const N: usize> Described for [T; N] {
    const DESCRIPTION: TypeDescription =
        TypeDescription::anonymous(TypeKind::Array { element: TypeRef::of::<T>(), length: N });
}

impl<K: Described, V: Described> Described for BTreeMap<K, V> {
    const DESCRIPTION: TypeDescription = TypeDescription::anonymous(TypeKind::Map {
        key: TypeRef::of::<K>(),
        value: TypeRef::of::<V>(),
        bound: None,
    });
}

impl<T: Described + Bounded, const N: usize> Described for Bound<T, N> {
    const DESCRIPTION: TypeDescription = const { &T::DESCRIPTION }.bounded(N);
}

impl<T: Described + ?Sized> Described for Box<T> {
    const DESCRIPTION: TypeDescription = T::DESCRIPTION;
}

impl<T: Described + ?Sized> Described for Arc<T> {
    const DESCRIPTION: TypeDescription = T::DESCRIPTION;
}
