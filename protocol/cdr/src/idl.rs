//! Types of IDL as their users wrote them: names of typedefs, and what becomes of elements that do not fit (DDS-XTypes 1.3
//! §7.2.2.4.1.1, §7.3.1.2.1.14).
//!
//! A Rust type does not say everything that IDL does: `Vec<Color>` is `sequence<Color>` as well as
//! `sequence<@try_construct(USE_DEFAULT) Color>` and as a typedef of either. The types of this module have no values. The
//! attribute `as` says with them what a member is, whose values are plain Rust:
//!
//! ```
//! use dunlin_cdr::{DdsType, idl};
//!
//! #[derive(DdsType)]
//! struct Picture {
//!     // sequence<@try_construct(TRIM) string<8>, 4> labels;
//!     #[dds(bound = 4, as = "idl::Sequence<idl::Trim<idl::Text<8>>, 4>")]
//!     labels: Vec<dunlin_cdr::BoundedString<8>>,
//! }
//! ```

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use crate::annotation::TypeAnnotations;
use crate::traits::fill;
use crate::{
    Bound, Bounded, CdrError, CdrRead, CdrWrite, Decoder, Described, ElementKind, Encoder, Extensibility,
    KeySize, LengthCode, MemberFlags, StaticOrArc, TypeDescription, TypeKind, TypeRef, UInt8, WString,
};

/// Reads a `T` as the type that this one stands for.
#[diagnostic::on_unimplemented(
    message = "values of `{T}` are not what `{Self}` describes",
    label = "`as` and the type of the field differ"
)]
pub trait ReadAs<'de, T: CdrRead<'de>> {
    /// Whether values that do not fit may become others.
    const REPAIRS: bool;

    /// Reads a value.
    ///
    /// # Errors
    /// As [`CdrRead::read`].
    fn read_as(d: &mut Decoder<'de>) -> Result<T, CdrError>;

    /// Reads `n` values in a row.
    ///
    /// # Errors
    /// As [`CdrRead::read_vec`].
    fn read_vec_as(d: &mut Decoder<'de>, n: usize) -> Result<Vec<T>, CdrError> {
        // Values without size in memory still cost time, so each claims something.
        d.claim(n.saturating_mul(size_of::<T>().max(1)))?;
        let mut items = Vec::with_capacity(n);
        for _ in 0..n {
            items.push(Self::read_as(d)?);
        }
        Ok(items)
    }

    /// Reads the elements of an array, which may be arrays in turn.
    ///
    /// # Errors
    /// As [`CdrRead::read`].
    fn read_items_as<const N: usize>(d: &mut Decoder<'de>) -> Result<[T; N], CdrError> {
        fill(|| Self::read_as(d), T::default_value)
    }
}

/// A Rust type as it is.
pub struct Plain<T>(PhantomData<fn() -> T>);

impl<T: Described> Described for Plain<T> {
    const DESCRIPTION: TypeDescription = T::DESCRIPTION;
}

impl<'de, T: CdrRead<'de>> ReadAs<'de, T> for Plain<T> {
    const REPAIRS: bool = false;

    #[inline]
    fn read_as(d: &mut Decoder<'de>) -> Result<T, CdrError> {
        T::read(d)
    }

    #[inline]
    fn read_vec_as(d: &mut Decoder<'de>, n: usize) -> Result<Vec<T>, CdrError> {
        T::read_vec(d, n)
    }

    #[inline]
    fn read_items_as<const N: usize>(d: &mut Decoder<'de>) -> Result<[T; N], CdrError> {
        T::read_dimension(d)
    }
}

/// `uint8`, whose values are `u8`.
pub struct Uint8;

impl Described for Uint8 {
    const DESCRIPTION: TypeDescription = UInt8::DESCRIPTION;
}

impl<'de> ReadAs<'de, u8> for Uint8 {
    const REPAIRS: bool = false;

    #[inline]
    fn read_as(d: &mut Decoder<'de>) -> Result<u8, CdrError> {
        u8::read(d)
    }

    #[inline]
    fn read_vec_as(d: &mut Decoder<'de>, n: usize) -> Result<Vec<u8>, CdrError> {
        u8::read_vec(d, n)
    }

    #[inline]
    fn read_items_as<const N: usize>(d: &mut Decoder<'de>) -> Result<[u8; N], CdrError> {
        u8::read_dimension(d)
    }
}

/// What a bound of this type is in a description: 0 is none.
const fn most(bound: usize) -> Option<usize> {
    if bound == 0 { None } else { Some(bound) }
}

/// `string<N>`; 0 is no bound.
pub struct Text<const N: usize = 0>;

impl<const N: usize> Described for Text<N> {
    const DESCRIPTION: TypeDescription = TypeDescription::anonymous(TypeKind::String { bound: most(N) });
}

/// `wstring<N>`; 0 is no bound.
pub struct WideText<const N: usize = 0>;

impl<const N: usize> Described for WideText<N> {
    const DESCRIPTION: TypeDescription = TypeDescription::anonymous(TypeKind::WideString { bound: most(N) });
}

macro_rules! texts {
    ($($marker:ident: $value:ty),*) => {$(
        impl<'de, const N: usize> ReadAs<'de, $value> for $marker<N> {
            const REPAIRS: bool = false;

            #[inline]
            fn read_as(d: &mut Decoder<'de>) -> Result<$value, CdrError> {
                <$value>::read(d)
            }
        }

        // Where the Rust type has no bound, the attribute `bound` checks it.
        impl<'de, const N: usize> ReadAs<'de, Bound<$value, N>> for $marker<N> {
            const REPAIRS: bool = false;

            #[inline]
            fn read_as(d: &mut Decoder<'de>) -> Result<Bound<$value, N>, CdrError> {
                Bound::read(d)
            }
        }
    )*};
}

texts!(Text: String, WideText: WString);

/// `sequence<A, N>`; 0 is no bound.
pub struct Sequence<A, const N: usize = 0>(PhantomData<fn() -> A>);

impl<A: Described, const N: usize> Described for Sequence<A, N> {
    const DESCRIPTION: TypeDescription =
        TypeDescription::anonymous(TypeKind::Sequence { element: TypeRef::of::<A>(), bound: most(N) });
}

impl<'de, A: ReadAs<'de, T>, T: CdrRead<'de>, const N: usize> ReadAs<'de, Vec<T>> for Sequence<A, N> {
    const REPAIRS: bool = A::REPAIRS;

    #[inline]
    fn read_as(d: &mut Decoder<'de>) -> Result<Vec<T>, CdrError> {
        d.read_elements(T::KIND, |d| {
            let count = d.read_count(T::MIN_SIZE)?;
            A::read_vec_as(d, count)
        })
    }
}

impl<'de, A: ReadAs<'de, T>, T: CdrRead<'de> + CdrWrite, const N: usize> ReadAs<'de, Bound<Vec<T>, N>>
    for Sequence<A, N>
{
    const REPAIRS: bool = A::REPAIRS;

    #[inline]
    fn read_as(d: &mut Decoder<'de>) -> Result<Bound<Vec<T>, N>, CdrError> {
        Bound::new(<Self as ReadAs<'de, Vec<T>>>::read_as(d)?)
    }
}

/// One dimension of an array: `A a[N]`; further dimensions are arrays as elements.
pub struct Array<A, const N: usize>(PhantomData<fn() -> A>);

impl<A: Described, const N: usize> Described for Array<A, N> {
    const DESCRIPTION: TypeDescription =
        TypeDescription::anonymous(TypeKind::Array { element: TypeRef::of::<A>(), length: N });
}

impl<'de, A: ReadAs<'de, T>, T: CdrRead<'de>, const N: usize> ReadAs<'de, [T; N]> for Array<A, N> {
    const REPAIRS: bool = A::REPAIRS;

    #[inline]
    fn read_as(d: &mut Decoder<'de>) -> Result<[T; N], CdrError> {
        d.read_elements(T::ITEM_KIND, A::read_items_as)
    }

    #[inline]
    fn read_items_as<const M: usize>(d: &mut Decoder<'de>) -> Result<[[T; N]; M], CdrError> {
        fill(|| A::read_items_as(d), <[T; N]>::default_value)
    }
}

/// `map<K, V, N>`; 0 is no bound.
pub struct Map<K, V, const N: usize = 0>(PhantomData<fn() -> (K, V)>);

impl<K: Described, V: Described, const N: usize> Described for Map<K, V, N> {
    const DESCRIPTION: TypeDescription = TypeDescription::anonymous(TypeKind::Map {
        key: TypeRef::of::<K>(),
        value: TypeRef::of::<V>(),
        bound: most(N),
    });
}

impl<'de, A, B, K, V, const N: usize> ReadAs<'de, BTreeMap<K, V>> for Map<A, B, N>
where
    A: ReadAs<'de, K>,
    B: ReadAs<'de, V>,
    K: CdrRead<'de> + Ord,
    V: CdrRead<'de>,
{
    const REPAIRS: bool = A::REPAIRS || B::REPAIRS;

    fn read_as(d: &mut Decoder<'de>) -> Result<BTreeMap<K, V>, CdrError> {
        crate::map::read_map(d, A::read_as, B::read_as)
    }
}

impl<'de, A, B, K, V, const N: usize> ReadAs<'de, Bound<BTreeMap<K, V>, N>> for Map<A, B, N>
where
    A: ReadAs<'de, K>,
    B: ReadAs<'de, V>,
    K: CdrRead<'de> + Ord,
    V: CdrRead<'de>,
{
    const REPAIRS: bool = A::REPAIRS || B::REPAIRS;

    fn read_as(d: &mut Decoder<'de>) -> Result<Bound<BTreeMap<K, V>, N>, CdrError> {
        Bound::new(<Self as ReadAs<'de, BTreeMap<K, V>>>::read_as(d)?)
    }
}

/// The flags with another choice of what becomes of values that do not fit.
const fn with_try_construct(flags: MemberFlags, how: MemberFlags) -> MemberFlags {
    MemberFlags(flags.0 & !MemberFlags::TRY_CONSTRUCT_TRIM.0 | how.0)
}

/// `@try_construct(USE_DEFAULT)`: a value that does not fit becomes the default of its type.
pub struct UseDefault<A>(PhantomData<fn() -> A>);

impl<A: Described> Described for UseDefault<A> {
    const DESCRIPTION: TypeDescription = A::DESCRIPTION;
    const FLAGS: MemberFlags = with_try_construct(A::FLAGS, MemberFlags::TRY_CONSTRUCT_DEFAULT);
}

impl<'de, A: ReadAs<'de, T>, T: CdrRead<'de>> ReadAs<'de, T> for UseDefault<A> {
    const REPAIRS: bool = true;

    fn read_as(d: &mut Decoder<'de>) -> Result<T, CdrError> {
        d.read_or(A::read_as, T::default_value)
    }
}

/// `@try_construct(TRIM)`: a value that is too long is shortened. The Rust type is a [`Bound`].
pub struct Trim<A>(PhantomData<fn() -> A>);

impl<A: Described> Described for Trim<A> {
    const DESCRIPTION: TypeDescription = A::DESCRIPTION;
    const FLAGS: MemberFlags = with_try_construct(A::FLAGS, MemberFlags::TRY_CONSTRUCT_TRIM);
}

impl<'de, A, T, const N: usize> ReadAs<'de, Bound<T, N>> for Trim<A>
where
    A: ReadAs<'de, T>,
    T: CdrRead<'de> + Bounded,
{
    const REPAIRS: bool = true;

    fn read_as(d: &mut Decoder<'de>) -> Result<Bound<T, N>, CdrError> {
        let trimmed = |d: &mut Decoder<'de>| {
            let mut value = A::read_as(d)?;
            value.trim(N);
            Bound::new(value)
        };
        // What shortening does not help against becomes the default.
        d.read_or(trimmed, Bound::default_value)
    }
}

/// `@try_construct(TRIM)` where there is no bound: a value that does not fit becomes the default.
pub struct TrimUnbounded<A>(PhantomData<fn() -> A>);

impl<A: Described> Described for TrimUnbounded<A> {
    const DESCRIPTION: TypeDescription = A::DESCRIPTION;
    const FLAGS: MemberFlags = Trim::<A>::FLAGS;
}

impl<'de, A: ReadAs<'de, T>, T: CdrRead<'de>> ReadAs<'de, T> for TrimUnbounded<A> {
    const REPAIRS: bool = true;

    fn read_as(d: &mut Decoder<'de>) -> Result<T, CdrError> {
        UseDefault::<A>::read_as(d)
    }
}

/// `@external`: held by a pointer, in Rust a `Box`.
pub struct External<A>(PhantomData<fn() -> A>);

impl<A: Described> Described for External<A> {
    const DESCRIPTION: TypeDescription = A::DESCRIPTION;
    const FLAGS: MemberFlags = A::FLAGS.with(MemberFlags::EXTERNAL);
}

impl<'de, A: ReadAs<'de, T>, T: CdrRead<'de>> ReadAs<'de, Box<T>> for External<A> {
    const REPAIRS: bool = A::REPAIRS;

    #[inline]
    fn read_as(d: &mut Decoder<'de>) -> Result<Box<T>, CdrError> {
        d.claim(size_of::<T>())?;
        A::read_as(d).map(Box::new)
    }
}

/// What a typedef calls a type.
pub trait AliasOf {
    /// The qualified name of the typedef.
    const NAME: &'static str;
    /// What its source says of it.
    const ANNOTATIONS: TypeAnnotations = TypeAnnotations::NONE;
    /// The type that it stands for.
    type Target: Described;
}

/// The name that a typedef gave to a type.
pub struct Alias<A>(PhantomData<fn() -> A>);

impl<A: AliasOf> Described for Alias<A> {
    const DESCRIPTION: TypeDescription = TypeDescription {
        name: StaticOrArc::constant(A::NAME),
        kind: TypeKind::Alias(TypeRef::of::<A::Target>()),
        annotations: A::ANNOTATIONS,
    };
}

impl<'de, A: AliasOf, T: CdrRead<'de>> ReadAs<'de, T> for Alias<A>
where
    A::Target: ReadAs<'de, T>,
{
    const REPAIRS: bool = <A::Target as ReadAs<'de, T>>::REPAIRS;

    #[inline]
    fn read_as(d: &mut Decoder<'de>) -> Result<T, CdrError> {
        A::Target::read_as(d)
    }

    #[inline]
    fn read_vec_as(d: &mut Decoder<'de>, n: usize) -> Result<Vec<T>, CdrError> {
        A::Target::read_vec_as(d, n)
    }

    #[inline]
    fn read_items_as<const N: usize>(d: &mut Decoder<'de>) -> Result<[T; N], CdrError> {
        A::Target::read_items_as(d)
    }
}

/// An array with a name of its own as element of an array: `typedef long Triple[3]; Triple rows[2];` is
/// `[Row<[i32; 3]>; 2]`. Its bytes are those of two arrays, and not of one with two dimensions (DDS-XTypes 1.3 §7.4.3.5.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row<T>(pub T);

impl<T> Deref for Row<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Row<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: CdrWrite> CdrWrite for Row<T> {
    const KIND: ElementKind = T::KIND;
    const LENGTH_CODE: LengthCode = T::LENGTH_CODE;
    const FORM: Extensibility = T::FORM;
    const KEY_SIZE: KeySize = T::KEY_SIZE;

    fn write(&self, e: &mut Encoder<'_>) -> Result<(), CdrError> {
        self.0.write(e)
    }
}

impl<'de, T: CdrRead<'de>> CdrRead<'de> for Row<T> {
    const KIND: ElementKind = T::KIND;
    const MIN_SIZE: usize = T::MIN_SIZE;
    const FORM: Extensibility = T::FORM;

    fn read(d: &mut Decoder<'de>) -> Result<Self, CdrError> {
        T::read(d).map(Row)
    }

    fn default_value() -> Self {
        Row(T::default_value())
    }

    fn skip(d: &mut Decoder<'de>) -> Result<(), CdrError> {
        T::skip(d)
    }
}

/// The type of a [`Row`].
pub struct RowOf<A>(PhantomData<fn() -> A>);

impl<A: Described> Described for RowOf<A> {
    const DESCRIPTION: TypeDescription = A::DESCRIPTION;
    const FLAGS: MemberFlags = A::FLAGS;
}

impl<'de, A: ReadAs<'de, T>, T: CdrRead<'de>> ReadAs<'de, Row<T>> for RowOf<A> {
    const REPAIRS: bool = A::REPAIRS;

    fn read_as(d: &mut Decoder<'de>) -> Result<Row<T>, CdrError> {
        A::read_as(d).map(Row)
    }
}
