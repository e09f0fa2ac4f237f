//! Sizes of values that depend on the type alone: the least on the wire, the greatest as a key, parts of the default
//! (RTPS 2.5 §9.6.4.8; DDS-XTypes 1.3 §7.4.3.5).

use crate::types::*;
use crate::value::Value;
use crate::{MAX_DEFAULT, MAX_NESTING};
use alloc::vec::Vec;
use dunlin_cdr::{ElementKind, Extensibility, KeySize};

/// What is known of a node.
#[derive(Clone, Copy)]
struct Measures {
    least: usize,
    key_size: KeySize,
    /// Parts of the default value.
    parts: usize,
    /// Types within each other, as far as a value has to hold them.
    depth: u16,
}

/// Fills in the sizes, and refuses types that no value can be made of.
pub(crate) fn measure(compiled: &mut Compiled) -> Result<(), TypeError> {
    let mut known: Vec<Option<Measures>> = Vec::new();
    known.resize(compiled.nodes.len(), None);
    let mut survey = Survey { nodes: &compiled.nodes, known, open: Vec::new() };
    for node in 0..compiled.nodes.len() {
        let measures = survey.of(node, true)?;
        if measures.parts > MAX_DEFAULT {
            return Err(TypeError::TooLarge { name: survey.name(node) });
        }
    }
    let known = survey.known;
    for (node, measures) in compiled.nodes.iter_mut().zip(known) {
        if let Some(measures) = measures {
            (node.least, node.key_size, node.parts) = (measures.least, measures.key_size, measures.parts);
        }
    }
    Ok(())
}

struct Survey<'n> {
    nodes: &'n [Node],
    known: Vec<Option<Measures>>,
    /// Those being measured: whether their default value needs that of the next.
    open: Vec<(usize, bool)>,
}

impl<'n> Survey<'n> {
    fn name(&self, node: usize) -> alloc::string::String {
        self.nodes.get(node).map(|node| node.name.clone()).unwrap_or_default()
    }

    /// The measures of a node. `held` says that every value of what is being measured holds one of this.
    fn of(&mut self, node: usize, held: bool) -> Result<Measures, TypeError> {
        if let Some(Some(known)) = self.known.get(node) {
            return Ok(*known);
        }
        if let Some(start) = self.open.iter().position(|(open, _)| *open == node) {
            let endless = held && self.open.iter().skip(start.saturating_add(1)).all(|(_, held)| *held);
            if endless {
                return Err(TypeError::Endless { name: self.name(node) });
            }
            return Ok(Measures { least: 0, key_size: KeySize::UNBOUNDED, parts: 1, depth: 0 });
        }
        if self.open.len() >= usize::from(MAX_NESTING) {
            return Err(TypeError::TooLarge { name: self.name(node) });
        }
        let Some(shape) = self.nodes.get(node).map(|node| &node.shape) else {
            return Err(TypeError::Missing);
        };
        self.open.push((node, held));
        let measured = self.shape(shape);
        self.open.pop();
        let measures = measured?;
        if measures.depth > MAX_NESTING {
            return Err(TypeError::TooLarge { name: self.name(node) });
        }
        // What lies in a cycle that is still open has been measured with less than is known in the end.
        if let Some(slot) = self.known.get_mut(node) {
            *slot = Some(measures);
        }
        Ok(measures)
    }

    fn shape(&mut self, shape: &'n Shape) -> Result<Measures, TypeError> {
        let leaf = |least: usize, key_size: KeySize| Measures { least, key_size, parts: 1, depth: 1 };
        let primitive = |size: usize| leaf(size, KeySize::primitive(size));
        Ok(match shape {
            Shape::Primitive(kind) => primitive(kind.size()),
            Shape::Enumeration(it) => primitive(it.holder.size()),
            Shape::Bits(it) => primitive(it.holder.size()),
            Shape::Text { wide: false, bound } => leaf(4, bound.map_or(KeySize::UNBOUNDED, KeySize::string)),
            Shape::Text { wide: true, bound } => {
                let octets = |bound: usize| KeySize::octets(bound.saturating_mul(2));
                leaf(4, bound.map_or(KeySize::UNBOUNDED, |bound| KeySize::primitive(4).then(octets(bound))))
            }
            Shape::Sequence { element, bound } => {
                let inner = self.of(element.node, false)?;
                let count = KeySize::primitive(4);
                let head = if self.is_compound(element.node) { count.then(count) } else { count };
                let key_size =
                    bound.map_or(KeySize::UNBOUNDED, |bound| head.then(inner.key_size.repeat(bound)));
                leaf(4, key_size)
            }
            Shape::Array { element, length, dimension } => self.array(*element, *length, *dimension)?,
            Shape::Map { key, value, .. } => {
                self.of(key.node, false)?;
                self.of(value.node, false)?;
                leaf(4, KeySize::UNBOUNDED)
            }
            Shape::Structure(it) => self.structure(it)?,
            Shape::Union(it) => self.union(it)?,
        })
    }

    fn is_compound(&self, node: usize) -> bool {
        let view = self.nodes.get(node).map(|node| TypeView { nodes: self.nodes, node });
        view.is_some_and(|view| view.element_kind() != ElementKind::Primitive)
    }

    fn array(&mut self, element: Part, length: usize, dimension: bool) -> Result<Measures, TypeError> {
        let inner = self.of(element.node, length > 0)?;
        let items = self.nodes.get(element.node).map(|node| TypeView { nodes: self.nodes, node }.item_kind());
        let elements = inner.key_size.repeat(length);
        let octets = self
            .nodes
            .get(element.node)
            .is_some_and(|node| crate::value::is_octet(TypeView { nodes: self.nodes, node }));
        let parts = if octets {
            length.checked_div(size_of::<Value>()).unwrap_or(length)
        } else {
            inner.parts.saturating_mul(length)
        };
        let delimited = !dimension && items.is_some_and(|kind| kind != ElementKind::Primitive);
        Ok(Measures {
            least: inner.least.saturating_mul(length),
            key_size: if delimited { KeySize::primitive(4).then(elements) } else { elements },
            parts: parts.saturating_add(1),
            depth: inner.depth.saturating_add(1),
        })
    }

    fn structure(&mut self, it: &'n StructureShape) -> Result<Measures, TypeError> {
        let mut all = Measures { least: 0, key_size: KeySize::EMPTY, parts: 1, depth: 0 };
        for position in &it.by_id {
            let Some(member) = it.members.get(*position) else { continue };
            let inner = self.of(member.part.node, !member.is_optional())?;
            if !it.has_key || member.is_key() {
                // Whether an optional member is there is no matter of its type.
                let size = if member.is_optional() { KeySize::UNBOUNDED } else { inner.key_size };
                all.key_size = all.key_size.then(size);
            }
            let (least, parts, depth) =
                if member.is_optional() { (1, 1, 0) } else { (inner.least, inner.parts, inner.depth) };
            all.least = all.least.saturating_add(least);
            all.parts = all.parts.saturating_add(parts);
            all.depth = all.depth.max(depth);
        }
        all.least = least_of(it.extensibility, all.least);
        all.depth = all.depth.saturating_add(1);
        Ok(all)
    }

    fn union(&mut self, it: &'n UnionShape) -> Result<Measures, TypeError> {
        let discriminator = self.of(it.discriminator.node, true)?;
        let view = self.nodes.get(it.discriminator.node).map(|node| TypeView { nodes: self.nodes, node });
        let default = view.and_then(|view| it.selected(crate::value::default_discriminator(view)));
        let (mut members, mut parts, mut depth) = (KeySize::EMPTY, 1_usize, 1);
        for case in &it.cases {
            // Not every value holds this case.
            let held = default.is_some_and(|default| core::ptr::eq(default, case));
            let inner = self.of(case.part.node, held)?;
            members = members.or(inner.key_size);
            if held {
                (parts, depth) = (inner.parts, inner.depth);
            }
        }
        Ok(Measures {
            least: least_of(it.extensibility, discriminator.least),
            key_size: if it.has_key { discriminator.key_size } else { discriminator.key_size.then(members) },
            parts: parts.saturating_add(1),
            depth: depth.saturating_add(1),
        })
    }
}

const fn least_of(extensibility: Extensibility, members: usize) -> usize {
    match extensibility {
        Extensibility::Final => members,
        Extensibility::Appendable if members < 4 => members,
        Extensibility::Appendable | Extensibility::Mutable => 4,
    }
}
