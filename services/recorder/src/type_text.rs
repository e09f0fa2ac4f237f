//! Types as schemas: IDL, which other tools read, and behind it the type objects, which give back exactly the same type.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dunlin::DynamicType;
use dunlin::xtypes::{
    TypeIdentifier, TypeObject, TypeRecord, from_objects, from_octets, to_idl, to_octets, type_objects,
};
use dunlin_idl::xtypes::type_graph_of;
use dunlin_idl::{Memory, Options, compile};

/// Begins the last line of a schema. It is a comment of IDL.
const OBJECTS: &str = "// dunlin type objects: ";
/// Longest schema that is looked at.
pub(crate) const MAX_SCHEMA: usize = 8 << 20;

/// The schema of a type.
pub(crate) fn to_text(ty: &DynamicType) -> String {
    let mut text = to_idl(ty.graph(), ty.index());
    if let Some(octets) = objects_of(ty) {
        text.push_str(OBJECTS);
        STANDARD.encode_string(octets, &mut text);
        text.push('\n');
    }
    text
}

/// The type of a schema with a name.
///
/// # Errors
/// What is wrong with it, for people.
pub fn from_text(name: &str, text: &[u8]) -> Result<DynamicType, String> {
    if text.len() > MAX_SCHEMA {
        return Err(format!("its schema has more than {MAX_SCHEMA} bytes"));
    }
    let text = std::str::from_utf8(text).map_err(|_| "its schema is no text".to_owned())?;
    if let Some(ty) = recorded(text) {
        return Ok(ty);
    }
    let files = Memory(BTreeMap::new()).with("schema.idl", text);
    let model = compile("schema.idl", &Options::default(), &files).model;
    let model = model.ok_or_else(|| "its schema is no correct IDL".to_owned())?;
    let found = type_graph_of(&model, name);
    let (graph, index) = found.ok_or_else(|| format!("its schema has no type {name}"))?;
    DynamicType::new(graph, index).map_err(|error| error.to_string())
}

/// The complete or the minimal object of a type, and its identifier.
type Side = fn(&TypeRecord) -> (&TypeIdentifier, &TypeObject);

/// The objects that give back the same type: complete ones, or minimal ones where names are not known.
fn objects_of(ty: &DynamicType) -> Option<Vec<u8>> {
    let objects = type_objects(ty.graph(), ty.index()).ok()?;
    let root = objects.root()?;
    let sides: [Side; 2] = [
        |record| (&record.complete.id, &record.complete.object),
        |record| (&record.minimal.id, &record.minimal.object),
    ];
    let idl = to_idl(ty.graph(), ty.index());
    let octets = sides.into_iter().filter_map(|side| {
        let mut out = Vec::new();
        put(&mut out, &to_octets(side(root).0).ok()?);
        for record in &objects.records {
            let (id, object) = side(record);
            put(&mut out, &to_octets(id).ok()?);
            put(&mut out, &to_octets(object).ok()?);
        }
        Some(out)
    });
    let mut all: Vec<Vec<u8>> = octets.collect();
    let same = |octets: &Vec<u8>| load(octets).is_some_and(|it| to_idl(it.graph(), it.index()) == idl);
    all.iter().position(same).map(|at| all.swap_remove(at))
}

fn recorded(text: &str) -> Option<DynamicType> {
    let line = text.lines().rev().find_map(|line| line.strip_prefix(OBJECTS))?;
    load(&STANDARD.decode(line.trim()).ok()?)
}

fn load(octets: &[u8]) -> Option<DynamicType> {
    let mut rest = octets;
    let root: TypeIdentifier = from_octets(get(&mut rest)?).ok()?;
    let mut objects = BTreeMap::<TypeIdentifier, TypeObject>::new();
    while !rest.is_empty() {
        let id = from_octets(get(&mut rest)?).ok()?;
        objects.insert(id, from_octets(get(&mut rest)?).ok()?);
    }
    let (graph, index) = from_objects(&root, &|id| objects.get(id).cloned()).ok()?;
    DynamicType::new(graph, index).ok()
}

fn put(out: &mut Vec<u8>, part: &[u8]) {
    out.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(part);
}

fn get<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let (part, after) = after.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    *rest = after;
    Some(part)
}

#[cfg(test)]
mod tests {
    use dunlin::cdr::description;

    use super::*;
    use crate::event::Event;

    fn event_type() -> DynamicType {
        let (graph, root) = dunlin::xtypes::from_description(description::<Event>());
        DynamicType::new(graph, root).unwrap()
    }

    #[test]
    fn a_type_comes_back_by_objects_and_by_idl() {
        let ty = event_type();
        let text = to_text(&ty);
        assert!(text.contains(OBJECTS), "{text}");
        let back = from_text("dunlin::recorder::Event", text.as_bytes()).unwrap();
        assert_eq!(back.to_idl(), ty.to_idl());
        let plain = to_idl(ty.graph(), ty.index());
        let back = from_text("dunlin::recorder::Event", plain.as_bytes()).unwrap();
        assert_eq!(back.view().name(), "dunlin::recorder::Event");
    }

    #[test]
    fn type_texts_that_do_not_describe_the_type_are_refused() {
        let name = "dunlin::recorder::Event";
        for text in [
            &b"struct Other { long x; };"[..],
            b"struct",
            b"\xff",
            b"// dunlin type objects: AAAA\n",
            b"// dunlin type objects: /////w==\n",
        ] {
            assert!(from_text(name, text).is_err(), "{}", String::from_utf8_lossy(text));
        }
    }
}
