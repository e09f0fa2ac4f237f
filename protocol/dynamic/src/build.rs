//! Makes types for work with values of type graphs (DDS-XTypes 1.3 §7.2.2).

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use dunlin_cdr::{KeySize, PrimitiveKind};
use dunlin_xtypes::identifier::kind;
use dunlin_xtypes::model::{
    Bitmask, Bitset, DefaultValue, Definition, Element, Enumeration, Kind, Name, Type, Union, member_flag,
};
use dunlin_xtypes::{TypeGraph, TypeIndex};

use crate::offsets::Extent;
use crate::types::*;
use crate::{MAX_MEMBERS, MAX_NESTING, MAX_TYPES, measure, read};

pub(crate) fn compile(graph: Arc<TypeGraph>, index: TypeIndex) -> Result<Compiled, TypeError> {
    let name = graph.get(index).ok_or(TypeError::Missing)?.name.clone();
    let (nodes, root, defaults) = {
        let mut builder = Builder {
            graph: &graph,
            nodes: Vec::new(),
            known: BTreeMap::new(),
            queue: VecDeque::new(),
            members: 0,
            defaults: Vec::new(),
        };
        let root = builder.node_of(&Type::Named(index), 0)?;
        while let Some((node, index)) = builder.queue.pop_front() {
            builder.define(node, index)?;
        }
        builder.choose_free_labels();
        (builder.nodes, root, builder.defaults)
    };
    let mut compiled = Compiled { name, graph, index, nodes, root };
    if !matches!(
        compiled.nodes.get(root).map(|node| &node.shape),
        Some(Shape::Structure(_) | Shape::Union(_))
    ) {
        return Err(TypeError::NotAggregated { name: compiled.name });
    }
    measure::measure(&mut compiled)?;
    if set_defaults(&mut compiled, defaults)? {
        // Defaults may be larger than those of their types.
        measure::measure(&mut compiled)?;
    }
    Ok(compiled)
}

/// Members with defaults of their own: the node of the structure or union, the position, and the default.
type Defaults = Vec<(usize, usize, DefaultValue)>;

/// Reads the defaults of members; whether there are any.
fn set_defaults(compiled: &mut Compiled, defaults: Defaults) -> Result<bool, TypeError> {
    let found = !defaults.is_empty();
    for (node, at, default) in defaults {
        let Some(it) = compiled.nodes.get(node) else { continue };
        let (member, part) = match &it.shape {
            Shape::Structure(it) => it.members.get(at).map(|member| (&member.name, member.part)),
            Shape::Union(it) => it.cases.get(at).map(|case| (&case.name, case.part)),
            _ => None,
        }
        .ok_or(TypeError::Missing)?;
        let view = TypeView { nodes: &compiled.nodes, node: it };
        let mut octets = default.decoder();
        let value = read::read(view.at(part), &mut octets).ok().filter(|_| octets.at_end());
        let value =
            value.ok_or_else(|| TypeError::Default { name: it.name.clone(), member: member.clone() })?;
        let slot = match compiled.nodes.get_mut(node).map(|it| &mut it.shape) {
            Some(Shape::Structure(it)) => it.members.get_mut(at).map(|member| &mut member.default),
            Some(Shape::Union(it)) => it.cases.get_mut(at).map(|case| &mut case.default),
            _ => None,
        };
        if let Some(slot) = slot {
            *slot = Some(value);
        }
    }
    Ok(found)
}

struct Builder<'g> {
    graph: &'g TypeGraph,
    nodes: Vec<Node>,
    /// The nodes of definitions.
    known: BTreeMap<TypeIndex, usize>,
    /// Definitions whose nodes are not made yet: members may refer to them before.
    queue: VecDeque<(usize, TypeIndex)>,
    /// Members, cases, labels, literals and bits so far.
    members: usize,
    defaults: Defaults,
}

const fn bound(bound: u32) -> Option<usize> {
    if bound == 0 { None } else { Some(bound as usize) }
}

fn primitive(kind: u8) -> Option<PrimitiveKind> {
    Some(match kind {
        kind::BOOLEAN => PrimitiveKind::Boolean,
        kind::BYTE | kind::UINT8 => PrimitiveKind::Octet,
        kind::INT8 => PrimitiveKind::Int8,
        kind::INT16 => PrimitiveKind::Int16,
        kind::UINT16 => PrimitiveKind::UInt16,
        kind::INT32 => PrimitiveKind::Int32,
        kind::UINT32 => PrimitiveKind::UInt32,
        kind::INT64 => PrimitiveKind::Int64,
        kind::UINT64 => PrimitiveKind::UInt64,
        kind::FLOAT32 => PrimitiveKind::Float32,
        kind::FLOAT64 => PrimitiveKind::Float64,
        kind::FLOAT128 => PrimitiveKind::Float128,
        kind::CHAR8 => PrimitiveKind::Char8,
        kind::CHAR16 => PrimitiveKind::Char16,
        _ => return None,
    })
}

impl Builder<'_> {
    fn push(&mut self, name: &str, shape: Shape) -> Result<usize, TypeError> {
        if self.nodes.len() >= MAX_TYPES {
            return Err(TypeError::TooLarge { name: name.to_string() });
        }
        self.nodes.push(Node {
            name: name.to_string(),
            shape,
            least: 0,
            key_size: KeySize::UNBOUNDED,
            parts: 1,
            extent: Extent::NONE,
        });
        Ok(self.nodes.len().saturating_sub(1))
    }

    /// Counts parts of a definition.
    fn count(&mut self, name: &str, parts: usize) -> Result<(), TypeError> {
        self.members = self.members.saturating_add(parts);
        if self.members > MAX_MEMBERS { Err(TypeError::TooLarge { name: name.to_string() }) } else { Ok(()) }
    }

    /// The node of a type where it is used.
    fn node_of(&mut self, ty: &Type, depth: u16) -> Result<usize, TypeError> {
        if depth > MAX_NESTING {
            return Err(TypeError::TooLarge { name: String::new() });
        }
        let graph = self.graph;
        match graph.resolve(ty) {
            Type::Primitive(kind) => {
                let shape = Shape::Primitive(primitive(*kind).ok_or(TypeError::Missing)?);
                self.push("", shape)
            }
            Type::String { wide, bound: most } => {
                self.push("", Shape::Text { wide: *wide, bound: bound(*most) })
            }
            Type::Sequence { element, bound: most } => {
                let element = self.part(element, depth)?;
                self.push("", Shape::Sequence { element, bound: bound(*most) })
            }
            Type::Array { element, dimensions } => self.array(element, dimensions, depth),
            Type::Map { key, value, bound: most } => {
                let (key, value) = (self.part(key, depth)?, self.part(value, depth)?);
                self.push("", Shape::Map { key, value, bound: bound(*most) })
            }
            Type::Named(index) => self.named(*index),
        }
    }

    fn array(&mut self, element: &Element, dimensions: &[u32], depth: u16) -> Result<usize, TypeError> {
        let mut element = self.part(element, depth)?;
        let mut node = element.node;
        for (at, length) in dimensions.iter().enumerate().rev() {
            let length = usize::try_from(*length).unwrap_or(usize::MAX);
            node = self.push("", Shape::Array { element, length, dimension: at > 0 })?;
            element = Part { node, flags: 0 };
        }
        Ok(node)
    }

    fn part(&mut self, element: &Element, depth: u16) -> Result<Part, TypeError> {
        Ok(Part { node: self.node_of(&element.ty, depth.saturating_add(1))?, flags: element.flags })
    }

    fn named(&mut self, index: TypeIndex) -> Result<usize, TypeError> {
        if let Some(node) = self.known.get(&index) {
            return Ok(*node);
        }
        let definition = self.graph.get(index).ok_or(TypeError::Missing)?;
        // An alias here is one that leads nowhere.
        if matches!(definition.kind, Kind::Alias(_)) {
            return Err(TypeError::Missing);
        }
        let node = self.push(&definition.name, Shape::Text { wide: false, bound: None })?;
        self.known.insert(index, node);
        self.queue.push_back((node, index));
        Ok(node)
    }

    fn define(&mut self, node: usize, index: TypeIndex) -> Result<(), TypeError> {
        let graph = self.graph;
        let definition = graph.get(index).ok_or(TypeError::Missing)?;
        let own = match &definition.kind {
            Kind::Union(it) => it
                .cases
                .iter()
                .fold(0, |all: usize, case| all.saturating_add(case.labels.len()).saturating_add(1)),
            Kind::Enumeration(it) => it.literals.len(),
            Kind::Bitmask(it) => it.bits.len(),
            Kind::Bitset(it) => it.fields.len(),
            Kind::Structure(_) | Kind::Alias(_) => 0,
        };
        self.count(&definition.name, own)?;
        let shape = match &definition.kind {
            Kind::Structure(_) => Shape::Structure(self.structure(definition, index, node)?),
            Kind::Union(it) => Shape::Union(self.union(definition, it, node)?),
            Kind::Enumeration(it) => Shape::Enumeration(enumeration(definition, it)?),
            Kind::Bitmask(it) => Shape::Bits(bitmask(definition, it)?),
            Kind::Bitset(it) => Shape::Bits(bitset(definition, it)?),
            Kind::Alias(_) => return Err(TypeError::Missing),
        };
        if let Some(slot) = self.nodes.get_mut(node) {
            slot.shape = shape;
        }
        Ok(())
    }

    fn structure(
        &mut self,
        definition: &Definition,
        index: TypeIndex,
        node: usize,
    ) -> Result<StructureShape, TypeError> {
        let graph = self.graph;
        let mut members = Vec::new();
        let all = graph.members(index);
        self.count(&definition.name, all.len())?;
        unique(definition, all.iter().map(|member| &member.name))?;
        for (at, member) in all.into_iter().enumerate() {
            let part = Part { node: self.node_of(&member.ty, 0)?, flags: member.flags };
            self.defaults.extend(member.default.clone().map(|default| (node, at, default)));
            members.push(MemberShape {
                name: member.name.to_string(),
                id: id_of(definition, member.id)?,
                part,
                flags: member.flags,
                default: None,
            });
        }
        let mut by_id: Vec<usize> = (0..members.len()).collect();
        let id_at = |at: usize| members.get(at).map_or(u32::MAX, |member: &MemberShape| member.id);
        by_id.sort_by_key(|at| id_at(*at));
        let twice = by_id.windows(2).find_map(|pair| match pair {
            [a, b] if id_at(*a) == id_at(*b) => Some(id_at(*a)),
            _ => None,
        });
        if let Some(id) = twice {
            return Err(TypeError::DuplicateId { name: definition.name.clone(), id });
        }
        let has_key = members.iter().any(MemberShape::is_key);
        Ok(StructureShape {
            extensibility: definition.extensibility(),
            members,
            has_key,
            by_id,
            offsets: Vec::new(),
        })
    }

    fn union(&mut self, definition: &Definition, it: &Union, node: usize) -> Result<UnionShape, TypeError> {
        let discriminator = self.part(&it.discriminator, 0)?;
        let own = Name::new(DISCRIMINATOR);
        unique(definition, it.cases.iter().map(|case| &case.member.name).chain([&own]))?;
        let mut cases = Vec::new();
        for (at, case) in it.cases.iter().enumerate() {
            self.defaults.extend(case.member.default.clone().map(|default| (node, at, default)));
            cases.push(CaseShape {
                name: case.member.name.to_string(),
                id: id_of(definition, case.member.id)?,
                labels: case.labels.clone(),
                is_default: case.is_default(),
                part: Part { node: self.node_of(&case.member.ty, 0)?, flags: case.member.flags },
                default: None,
            });
        }
        let labels = cases.iter().enumerate();
        let labels = labels.flat_map(|(at, case)| case.labels.iter().map(move |label| (*label, at)));
        Ok(UnionShape {
            extensibility: definition.extensibility(),
            discriminator,
            has_key: it.discriminator.flags & member_flag::KEY != 0,
            by_label: ascending(definition, labels)?,
            default: cases.iter().position(|case| case.is_default),
            free: None,
            cases,
        })
    }

    /// Finds values for default cases, once the types of all discriminators are known.
    fn choose_free_labels(&mut self) {
        for at in 0..self.nodes.len() {
            let Some(Shape::Union(it)) = self.nodes.get(at).map(|node| &node.shape) else { continue };
            let discriminator = self.nodes.get(it.discriminator.node).map(|node| &node.shape);
            let free = discriminator.and_then(|shape| free_label(shape, &it.by_label));
            if let Some(Shape::Union(it)) = self.nodes.get_mut(at).map(|node| &mut node.shape) {
                it.free = free;
            }
        }
    }
}

/// Values in ascending order with the positions of what has them; each is there once.
fn ascending<T: Ord + Copy + Into<i64>>(
    definition: &Definition,
    values: impl Iterator<Item = (T, usize)>,
) -> Result<Vec<(T, usize)>, TypeError> {
    let mut values: Vec<(T, usize)> = values.collect();
    values.sort_unstable();
    match values.windows(2).find(|pair| matches!(pair, [(a, _), (b, _)] if a == b)) {
        Some([(value, _), ..]) => {
            Err(TypeError::DuplicateValue { name: definition.name.clone(), value: (*value).into() })
        }
        _ => Ok(values),
    }
}

/// A value of a discriminator that is no label.
fn free_label(discriminator: &Shape, labels: &[(i64, usize)]) -> Option<i64> {
    let is_free = |value: &i64| labels.binary_search_by_key(value, |(label, _)| *label).is_err();
    let (least, most) = match discriminator {
        Shape::Enumeration(it) => {
            return it.literals.iter().map(|(_, value)| i64::from(*value)).find(is_free);
        }
        Shape::Bits(it) => {
            (0, 1_i64.checked_shl(it.bit_bound.into()).map_or(i64::MAX, |bits| bits.wrapping_sub(1)))
        }
        Shape::Primitive(PrimitiveKind::Boolean) => (0, 1),
        Shape::Primitive(PrimitiveKind::Int8) => (i8::MIN.into(), i8::MAX.into()),
        Shape::Primitive(PrimitiveKind::Int16) => (i16::MIN.into(), i16::MAX.into()),
        Shape::Primitive(PrimitiveKind::UInt16 | PrimitiveKind::Char16) => (0, u16::MAX.into()),
        Shape::Primitive(PrimitiveKind::Int32) => (i32::MIN.into(), i32::MAX.into()),
        Shape::Primitive(PrimitiveKind::UInt32) => (0, u32::MAX.into()),
        Shape::Primitive(PrimitiveKind::Int64 | PrimitiveKind::UInt64) => (0, i64::MAX),
        Shape::Primitive(PrimitiveKind::Octet | PrimitiveKind::UInt8 | PrimitiveKind::Char8) => {
            (0, u8::MAX.into())
        }
        _ => return None,
    };
    // One of so many numbers is no label.
    let enough = labels.len().saturating_add(1);
    (0..=most).take(enough).chain((least..0).rev().take(enough)).find(is_free)
}

fn enumeration(definition: &Definition, it: &Enumeration) -> Result<EnumerationShape, TypeError> {
    unique(definition, it.literals.iter().map(|literal| &literal.name))?;
    let default = it.literals.iter().find(|literal| literal.is_default).or(it.literals.first());
    Ok(EnumerationShape {
        holder: match it.bit_bound {
            1..=8 => PrimitiveKind::Int8,
            9..=16 => PrimitiveKind::Int16,
            17..=32 => PrimitiveKind::Int32,
            _ => return Err(TypeError::Bits { name: definition.name.clone() }),
        },
        by_value: ascending(
            definition,
            it.literals.iter().enumerate().map(|(at, literal)| (literal.value, at)),
        )?,
        literals: it.literals.iter().map(|literal| (literal.name.to_string(), literal.value)).collect(),
        default: default.map_or(0, |literal| literal.value),
        extensibility: definition.extensibility(),
        bit_bound: u8::try_from(it.bit_bound).unwrap_or(32),
    })
}

/// The integer that holds so many bits.
fn holder(definition: &Definition, width: u16) -> Result<PrimitiveKind, TypeError> {
    Ok(match width {
        0..=8 => PrimitiveKind::Octet,
        9..=16 => PrimitiveKind::UInt16,
        17..=32 => PrimitiveKind::UInt32,
        33..=64 => PrimitiveKind::UInt64,
        _ => return Err(TypeError::Bits { name: definition.name.clone() }),
    })
}

/// Refuses names that are not unique, because parts of values are told apart by them.
fn unique<'a>(definition: &Definition, names: impl Iterator<Item = &'a Name>) -> Result<(), TypeError> {
    let mut known = BTreeSet::new();
    match names.into_iter().find(|name| !known.insert(*name)) {
        Some(twice) => {
            Err(TypeError::DuplicateName { name: definition.name.clone(), member: twice.to_string() })
        }
        None => Ok(()),
    }
}

/// The id of a member of a type.
fn id_of(definition: &Definition, id: u32) -> Result<u32, TypeError> {
    if id > 0x0fff_ffff {
        return Err(TypeError::WideId { name: definition.name.clone(), id });
    }
    Ok(id)
}

fn bitmask(definition: &Definition, it: &Bitmask) -> Result<BitsShape, TypeError> {
    unique(definition, it.bits.iter().map(|bit| &bit.name))?;
    let mut fields = Vec::new();
    for bit in &it.bits {
        let position = u8::try_from(bit.position).ok().filter(|position| *position < 64);
        let position = position.ok_or_else(|| TypeError::Bits { name: definition.name.clone() })?;
        fields.push(BitField { name: bit.name.to_string(), position, width: 1, signed: false });
    }
    Ok(BitsShape {
        holder: holder(definition, it.bit_bound)?,
        is_bitset: false,
        fields,
        extensibility: definition.extensibility(),
        bit_bound: u8::try_from(it.bit_bound).unwrap_or(64),
    })
}

fn bitset(definition: &Definition, it: &Bitset) -> Result<BitsShape, TypeError> {
    let mut fields = Vec::new();
    unique(definition, it.fields.iter().map(|field| &field.name))?;
    let mut width = it.width;
    for field in &it.fields {
        width = width.max(field.position.saturating_add(field.width.into()));
        let signed = matches!(field.holder, kind::INT8 | kind::INT16 | kind::INT32 | kind::INT64);
        let position = u8::try_from(field.position).unwrap_or(u8::MAX);
        fields.push(BitField { name: field.name.to_string(), position, width: field.width, signed });
    }
    let holder = holder(definition, width)?;
    let bit_bound = u8::try_from(holder.size().saturating_mul(8)).unwrap_or(64);
    Ok(BitsShape { holder, is_bitset: true, fields, extensibility: definition.extensibility(), bit_bound })
}
