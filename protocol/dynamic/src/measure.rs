//! Sizes of values that depend on the type alone: the least on the wire, the greatest as a key, parts of the default
//! (RTPS 2.5 §9.6.4.8; DDS-XTypes 1.3 §7.4.3.5).

use alloc::string::String;
use alloc::vec::Vec;

use dunlin_cdr::{ElementKind, Extensibility, KeySize};

use crate::types::*;
use crate::value::{Value, default_discriminator, is_octet, parts_of};
use crate::{MAX_DEFAULT, MAX_NESTING};

/// What is known of a node.
#[derive(Clone, Copy)]
struct Measures {
    least: usize,
    /// Parts of the default value.
    parts: usize,
    /// Types within each other, as far as a value has to hold them.
    depth: u16,
}

/// Fills in the sizes, and refuses types that no value can be made of.
pub(crate) fn measure(compiled: &mut Compiled) -> Result<(), TypeError> {
    let types = Types(&compiled.nodes);
    let mut known: Vec<Option<Measures>> = Vec::new();
    known.resize(types.0.len(), None);
    let order = types.in_order()?;
    for node in order.iter().copied() {
        let measures = types.measures(node, &known)?;
        if measures.parts > MAX_DEFAULT || measures.depth > MAX_NESTING {
            return Err(TypeError::TooLarge { name: types.name(node) });
        }
        if let Some(slot) = known.get_mut(node) {
            *slot = Some(measures);
        }
    }
    let mut keys = Keys { types, known: Vec::new(), levels: MAX_NESTING };
    keys.known.resize(types.0.len(), State::New);
    let sizes: Result<Vec<KeySize>, TypeError> = (0..types.0.len()).map(|node| keys.of(node)).collect();
    for ((node, measures), key_size) in compiled.nodes.iter_mut().zip(known).zip(sizes?) {
        if let Some(measures) = measures {
            (node.least, node.key_size, node.parts) = (measures.least, key_size, measures.parts);
        }
    }
    crate::offsets::lay_out(&mut compiled.nodes, &order);
    Ok(())
}

#[derive(Clone, Copy)]
struct Types<'n>(&'n [Node]);

impl<'n> Types<'n> {
    fn name(self, node: usize) -> String {
        self.0.get(node).map(|node| node.name.clone()).unwrap_or_default()
    }

    fn shape(self, node: usize) -> Result<&'n Shape, TypeError> {
        self.0.get(node).map(|node| &node.shape).ok_or(TypeError::Missing)
    }

    fn view(self, node: usize) -> Option<TypeView<'n>> {
        self.0.get(node).map(|node| TypeView { nodes: self.0, node })
    }

    /// The case that the default value of a union holds.
    fn held_case(self, it: &UnionShape) -> Option<&CaseShape> {
        it.selected(default_discriminator(self.view(it.discriminator.node)?))
    }

    /// What every value, or the default value, holds one of.
    fn held(self, node: usize) -> Result<Vec<usize>, TypeError> {
        Ok(match self.shape(node)? {
            Shape::Array { element, length, .. } if *length > 0 => alloc::vec![element.node],
            Shape::Structure(it) => {
                let held = it.members.iter().filter(|member| !member.is_optional());
                held.map(|member| member.part.node).collect()
            }
            Shape::Union(it) => {
                let case = self.held_case(it).map(|case| case.part.node);
                core::iter::once(it.discriminator.node).chain(case).collect()
            }
            _ => Vec::new(),
        })
    }

    /// All nodes, each after what it holds. A type that holds itself has no values.
    fn in_order(self) -> Result<Vec<usize>, TypeError> {
        let mut order = Vec::with_capacity(self.0.len());
        let mut states: Vec<State> = Vec::new();
        states.resize(self.0.len(), State::New);
        let mut open: Vec<(usize, alloc::vec::IntoIter<usize>)> = Vec::new();
        for start in 0..self.0.len() {
            let mut next = Some(start);
            while let Some(node) = next {
                let state = states.get_mut(node).ok_or(TypeError::Missing)?;
                match state {
                    State::New => {
                        *state = State::Open;
                        open.push((node, self.held(node)?.into_iter()));
                    }
                    State::Open => return Err(TypeError::Endless { name: self.name(node) }),
                    State::Done(_) => {}
                }
                next = None;
                while let Some((node, held)) = open.last_mut() {
                    next = held.next();
                    if next.is_some() {
                        break;
                    }
                    order.push(*node);
                    if let Some(state) = states.get_mut(*node) {
                        *state = State::Done(KeySize::EMPTY);
                    }
                    open.pop();
                }
            }
        }
        Ok(order)
    }

    /// The measures of a node, whose parts are known as far as it holds them.
    fn measures(self, node: usize, known: &[Option<Measures>]) -> Result<Measures, TypeError> {
        let of = |node: usize| known.get(node).copied().flatten().ok_or(TypeError::Missing);
        let leaf = |least: usize| Measures { least, parts: 1, depth: 1 };
        Ok(match self.shape(node)? {
            Shape::Primitive(kind) => leaf(kind.size()),
            Shape::Enumeration(it) => leaf(it.holder.size()),
            Shape::Bits(it) => leaf(it.holder.size()),
            Shape::Text { .. } | Shape::Sequence { .. } | Shape::Map { .. } => leaf(4),
            Shape::Array { length: 0, .. } => leaf(0),
            Shape::Array { element, length, .. } => {
                let inner = of(element.node)?;
                let parts = if self.view(element.node).is_some_and(is_octet) {
                    length.checked_div(size_of::<Value>()).unwrap_or(*length)
                } else {
                    inner.parts.saturating_mul(*length)
                };
                let least = inner.least.saturating_mul(*length);
                Measures { least, parts: parts.saturating_add(1), depth: inner.depth.saturating_add(1) }
            }
            Shape::Structure(it) => {
                let mut all = Measures { least: 0, parts: 1, depth: 0 };
                for member in &it.members {
                    let absent = Measures { least: 1, parts: 1, depth: 0 };
                    let inner = if member.is_optional() { absent } else { of(member.part.node)? };
                    all.least = all.least.saturating_add(inner.least);
                    let parts = member.default.as_ref().map_or(inner.parts, parts_of);
                    all.parts = all.parts.saturating_add(parts);
                    all.depth = all.depth.max(inner.depth);
                }
                let least = least_of(it.extensibility, all.least);
                Measures { least, depth: all.depth.saturating_add(1), ..all }
            }
            Shape::Union(it) => {
                let least = least_of(it.extensibility, of(it.discriminator.node)?.least);
                let (mut parts, mut depth) = (1, 1);
                if let Some(case) = self.held_case(it) {
                    let held = of(case.part.node)?;
                    (parts, depth) = (case.default.as_ref().map_or(held.parts, parts_of), held.depth);
                }
                Measures { least, parts: parts.saturating_add(1), depth: depth.saturating_add(1) }
            }
        })
    }
}

#[derive(Clone, Copy)]
enum State {
    New,
    Open,
    Done(KeySize),
}

/// Finds the greatest sizes of keys; what leads to itself has none.
struct Keys<'n> {
    types: Types<'n>,
    known: Vec<State>,
    /// Levels that may follow.
    levels: u16,
}

impl Keys<'_> {
    fn of(&mut self, node: usize) -> Result<KeySize, TypeError> {
        match self.known.get(node) {
            Some(State::Done(known)) => return Ok(*known),
            Some(State::New) => {}
            Some(State::Open) | None => return Ok(KeySize::UNBOUNDED),
        }
        let too_large = || TypeError::TooLarge { name: self.types.name(node) };
        self.levels = self.levels.checked_sub(1).ok_or_else(too_large)?;
        self.set(node, State::Open);
        let size = self.shape(self.types.shape(node)?)?;
        self.set(node, State::Done(size));
        self.levels = self.levels.saturating_add(1);
        Ok(size)
    }

    fn set(&mut self, node: usize, state: State) {
        if let Some(slot) = self.known.get_mut(node) {
            *slot = state;
        }
    }

    fn shape(&mut self, shape: &Shape) -> Result<KeySize, TypeError> {
        let count = KeySize::primitive(4);
        Ok(match shape {
            Shape::Primitive(kind) => KeySize::primitive(kind.size()),
            Shape::Enumeration(it) => KeySize::primitive(it.holder.size()),
            Shape::Bits(it) => KeySize::primitive(it.holder.size()),
            Shape::Text { bound: None, .. } | Shape::Sequence { bound: None, .. } | Shape::Map { .. } => {
                KeySize::UNBOUNDED
            }
            Shape::Text { wide: false, bound: Some(bound) } => KeySize::string(*bound),
            Shape::Text { wide: true, bound: Some(bound) } => {
                count.then(KeySize::octets(bound.saturating_mul(2)))
            }
            Shape::Sequence { element, bound: Some(bound) } => {
                let compound = self
                    .types
                    .view(element.node)
                    .is_some_and(|it| it.element_kind() != ElementKind::Primitive);
                let head = if compound { count.then(count) } else { count };
                head.then(self.of(element.node)?.repeat(*bound))
            }
            Shape::Array { element, length, dimension } => {
                let items = self.types.view(element.node).map(TypeView::item_kind);
                let elements = self.of(element.node)?.repeat(*length);
                let delimited = !dimension && items.is_some_and(|kind| kind != ElementKind::Primitive);
                if delimited { count.then(elements) } else { elements }
            }
            Shape::Structure(it) => {
                let members = it.by_id.iter().filter_map(|position| it.members.get(*position));
                let mut all = KeySize::EMPTY;
                for member in members.filter(|member| !it.has_key || member.is_key()) {
                    // Whether an optional member is there is no matter of its type.
                    let optional = member.is_optional();
                    all = all.then(if optional { KeySize::UNBOUNDED } else { self.of(member.part.node)? });
                }
                all
            }
            Shape::Union(it) if it.has_key => self.of(it.discriminator.node)?,
            Shape::Union(it) => {
                let mut members = KeySize::EMPTY;
                for case in &it.cases {
                    members = members.or(self.of(case.part.node)?);
                }
                self.of(it.discriminator.node)?.then(members)
            }
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
