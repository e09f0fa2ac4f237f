//! What a view says of a value, part by part, beside the value.

use dunlin_dynamic::{DynamicData, DynamicType, DynamicView, Shape, TypeView, Value, ViewFailure};
use dunlin_json::{Octets, leaves_as, leaves_of_view};

/// The same text for the same bits, as numbers that are none are not equal to themselves.
fn text(value: &Value) -> String {
    format!("{value:?}")
}

/// Compares a view with the value that is decoded from the same octets: whether there is one, and then every part of it. Returns
/// how many parts were the same.
pub fn with_decoded(ty: &DynamicType, payload: &[u8]) -> usize {
    let decoded = DynamicData::from_payload(ty, payload);
    let Ok(view) = DynamicView::new(ty, payload) else {
        assert!(decoded.is_err(), "a view of {} is refused: {decoded:?}", ty.name());
        return 0;
    };
    let checked = view.check();
    assert_eq!(
        checked.err(),
        decoded.as_ref().err().copied(),
        "{} {payload:02x?} {:?}",
        ty.name(),
        decoded.as_ref().ok()
    );
    match decoded {
        Ok(decoded) => same(&view, &decoded),
        Err(_) => {
            // Whatever can be reached is an error or something; nothing panics.
            touch(&view, 8);
            0
        }
    }
}

/// Compares every part of a view with that of a value. Returns how many there were.
pub fn same(view: &DynamicView<'_>, decoded: &DynamicData) -> usize {
    let mut compared = Compared { root: view.clone(), parts: 0 };
    compared.part(view, view.type_view(), decoded.value(), "");
    assert_eq!(dunlin_json::view_to_json(view).unwrap(), dunlin_json::to_json(decoded));
    for octets in [Octets::Numbers, Octets::Base64] {
        assert_eq!(leaves_of_view(view, "", octets).unwrap(), leaves_as(decoded, "", octets));
    }
    compared.parts
}

struct Compared<'a> {
    root: DynamicView<'a>,
    parts: usize,
}

impl<'a> Compared<'a> {
    /// A part, reached step by step, and by its path from the root.
    fn part(&mut self, view: &DynamicView<'a>, ty: TypeView<'a>, value: &Value, path: &str) {
        let name = || format!("{path} of {value:?}");
        self.parts += 1;
        assert_eq!(text(&view.to_value().unwrap()), text(value), "{}", name());
        let by_path = self.root.get(path).unwrap_or_else(|error| panic!("{error}: {}", name())).unwrap();
        assert_eq!(text(&by_path.to_value().unwrap()), text(value), "{}", name());
        match (ty.shape(), value) {
            (Shape::Text { .. }, Value::String(text)) => {
                assert_eq!(view.as_text().unwrap(), *text);
                match view.as_str() {
                    Ok(borrowed) => assert_eq!(borrowed, text),
                    Err(error) => assert_eq!(error.why, ViewFailure::Conversion),
                }
            }
            (Shape::Text { .. }, Value::WString(text)) => {
                assert_eq!(view.as_text().unwrap(), text.to_string_lossy());
            }
            (Shape::Primitive(_) | Shape::Enumeration(_) | Shape::Bits(_), value) => {
                if let Some(number) = value.as_integer() {
                    assert_eq!(view.as_integer().unwrap(), number, "{}", name());
                } else if let Some(number) = value.as_f64() {
                    assert_eq!(view.as_f64().unwrap().to_bits(), number.to_bits(), "{}", name());
                }
            }
            (Shape::Structure(_), _) => self.structure(view, ty, value, path),
            (Shape::Union(_), _) => self.union(view, ty, value, path),
            (Shape::Map { .. }, _) => self.map(view, ty, value, path),
            _ => self.list(view, ty, value, path),
        }
    }

    fn structure(&mut self, view: &DynamicView<'a>, ty: TypeView<'a>, value: &Value, path: &str) {
        let (Shape::Structure(it), Value::Structure(members)) = (ty.shape(), value) else { panic!() };
        assert_eq!(view.item_count().unwrap(), members.len());
        let mut found = 0;
        for ((shape, value), entry) in it.members.iter().zip(members).zip(view.members().unwrap()) {
            let inner = if path.is_empty() { shape.name.clone() } else { format!("{path}.{}", shape.name) };
            found += 1;
            let (same, member) = match entry {
                Ok(entry) => entry,
                Err(error) => panic!("{inner}: {error}"),
            };
            assert_eq!(same.name, shape.name);
            assert_eq!(member.is_some(), value.is_some(), "{inner}");
            assert_eq!(view.member_by_id(shape.id).unwrap().is_some(), value.is_some(), "{inner}");
            match (member, value) {
                (Some(member), Some(value)) => self.part(&member, ty.at(shape.part), value, &inner),
                _ => assert!(self.root.get(&inner).unwrap().is_none()),
            }
        }
        assert_eq!(found, members.len());
    }

    fn union(&mut self, view: &DynamicView<'a>, ty: TypeView<'a>, value: &Value, path: &str) {
        let (Shape::Union(_), Value::Union(union)) = (ty.shape(), value) else { panic!() };
        let prefix = if path.is_empty() { String::new() } else { format!("{path}.") };
        match view.selected() {
            Err(error) => panic!("{path}: {error}"),
            Ok(None) => assert_eq!(union.member, None),
            Ok(Some((case, member))) => {
                let inner = format!("{prefix}{}", case.name);
                self.part(&member, ty.at(case.part), union.member.as_ref().unwrap(), &inner);
            }
        }
        assert_eq!(view.discriminator().unwrap(), union.discriminator);
        let by_path = self.root.get(&format!("{prefix}_d")).unwrap().unwrap().as_integer().unwrap();
        assert!(by_path == i128::from(union.discriminator) || by_path > i128::from(i64::MAX));
    }

    fn map(&mut self, view: &DynamicView<'a>, ty: TypeView<'a>, value: &Value, path: &str) {
        let (Shape::Map { key: key_part, .. }, Value::Map(pairs)) = (ty.shape(), value) else { panic!() };
        assert_eq!(view.item_count().unwrap(), pairs.len());
        let mut found = 0;
        for (pair, (known_key, known)) in view.pairs().unwrap().zip(pairs) {
            let (of_key, of_value) = match pair {
                Ok(pair) => pair,
                Err(error) => panic!("{path}: {error}"),
            };
            found += 1;
            assert_eq!(text(&of_key.to_value().unwrap()), text(known_key));
            assert_eq!(text(&of_value.to_value().unwrap()), text(known));
            let step = match known_key {
                Value::String(text) if !text.contains(['"', '\\', '\0']) => format!("[\"{text}\"]"),
                key if is_integer(ty.at(*key_part)) => format!("[{}]", key.as_integer().unwrap()),
                _ => continue,
            };
            let last = pairs.iter().rev().find(|(key, _)| key == known_key).map(|(_, value)| value).unwrap();
            let by_key = self.root.get(&format!("{path}{step}")).unwrap().unwrap();
            assert_eq!(text(&by_key.to_value().unwrap()), text(last));
        }
        assert_eq!(found, pairs.len());
        assert!(view.elements().is_err());
    }

    fn list(&mut self, view: &DynamicView<'a>, ty: TypeView<'a>, value: &Value, path: &str) {
        let (Shape::Sequence { element, .. } | Shape::Array { element, .. }) = ty.shape() else { panic!() };
        let element = ty.at(*element);
        if let Value::Octets(octets) = value {
            match view.as_octets() {
                Ok(borrowed) => assert_eq!(borrowed, octets),
                Err(error) => assert_eq!(error.why, ViewFailure::Conversion),
            }
        }
        let items: Vec<Value> = match value {
            Value::Octets(octets) => octets.iter().copied().map(Value::Octet).collect(),
            Value::List(items) => items.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(view.item_count().unwrap(), items.len());
        numbers(view, &items);
        let mut found = 0;
        for (at, (item, known)) in view.elements().unwrap().zip(&items).enumerate() {
            match item {
                Ok(item) => self.part(&item, element, known, &format!("{path}[{at}]")),
                Err(error) => panic!("{path}: {error}"),
            }
            found += 1;
        }
        assert_eq!(found, items.len());
        assert!(view.get(&format!("[{}]", items.len())).is_err());
    }
}

fn is_integer(ty: TypeView<'_>) -> bool {
    use dunlin_cdr::PrimitiveKind::{Int16, Int32, Int64, UInt16, UInt32, UInt64};
    matches!(ty.shape(), Shape::Primitive(Int16 | Int32 | Int64 | UInt16 | UInt32 | UInt64))
}

/// Numbers in place, where they lie so, are those that are read one by one.
fn numbers(view: &DynamicView<'_>, items: &[Value]) {
    macro_rules! compare {
        ($($ty:ty, $variant:ident;)*) => {$(
            if let Ok(numbers) = view.numbers::<$ty>() {
                let known = items.iter().map(|item| match item {
                    Value::$variant(number) => number.to_ne_bytes(),
                    other => panic!("{other:?}"),
                });
                assert!(numbers.clone().map(<$ty>::to_ne_bytes).eq(known.clone()));
                match view.as_slice::<$ty>() {
                    Ok(slice) => assert!(slice.iter().map(|number| number.to_ne_bytes()).eq(known)),
                    Err(error) => assert!(
                        matches!(error.why, ViewFailure::Layout | ViewFailure::Conversion) && !items.is_empty()
                    ),
                }
            }
        )*};
    }
    compare! {
        u8, Octet; i8, Int8; i16, Int16; u16, UInt16; i32, Int32; u32, UInt32; i64, Int64; u64, UInt64;
        f32, Float32; f64, Float64;
    }
}

/// Looks at everything that can be reached.
pub fn touch(view: &DynamicView<'_>, depth: u32) {
    let _ =
        (view.to_value().is_ok(), view.item_count().is_ok(), view.as_str().is_ok(), view.as_text().is_ok());
    let _ = (view.as_integer().is_ok(), view.as_f64().is_ok(), view.as_octets().is_ok());
    if depth == 0 {
        return;
    }
    let members = view.members().into_iter().flatten().flatten().filter_map(|(_, member)| member);
    members.for_each(|member| touch(&member, depth - 1));
    let _ = view.selected().map(|held| held.map(|(_, member)| touch(&member, depth - 1)));
    view.elements().into_iter().flatten().flatten().take(20).for_each(|item| touch(&item, depth - 1));
    for (key, value) in view.pairs().into_iter().flatten().flatten().take(20) {
        touch(&key, depth - 1);
        touch(&value, depth - 1);
    }
}
