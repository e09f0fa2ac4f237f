//! Where the parts of a value lie, as far as the type alone says it (DDS-XTypes 1.3 §7.4.1.1.1, §7.4.2.1 alignment): such parts
//! are reached in one step.

use alloc::vec::Vec;

use dunlin_cdr::{Decoder, ElementKind, Extensibility, Representation, Scope};

use crate::types::*;

/// Positions relative to a start that has this phase: bytes of padding differ.
type Phases<const N: usize> = [u32; N];

/// How many bytes lie between a start and an end, whatever the value is, padding before the first part included. `None`
/// if that depends on the value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extent {
    xcdr1: Option<Phases<8>>,
    xcdr2: Option<Phases<4>>,
}

impl Extent {
    const EMPTY: Self = Self { xcdr1: Some([0; 8]), xcdr2: Some([0; 4]) };

    pub(crate) const NONE: Self = Self { xcdr1: None, xcdr2: None };

    fn of_number(size: usize) -> Self {
        Self { xcdr1: number(size, 8), xcdr2: number(size, 4) }
    }

    fn then(self, next: Self) -> Self {
        Self { xcdr1: then(self.xcdr1, next.xcdr1), xcdr2: then(self.xcdr2, next.xcdr2) }
    }

    fn repeat(self, count: usize) -> Self {
        Self { xcdr1: repeat(self.xcdr1, count), xcdr2: repeat(self.xcdr2, count) }
    }

    const fn in_xcdr1_alone(self) -> Self {
        Self { xcdr1: self.xcdr1, xcdr2: None }
    }

    const fn is_none(&self) -> bool {
        self.xcdr1.is_none() && self.xcdr2.is_none()
    }

    /// Bytes from where the decoder is, if they are as many for every value.
    fn octets(&self, d: &Decoder<'_>) -> Option<usize> {
        let octets = match d.representation() {
            Representation::Xcdr1 => self.xcdr1.as_ref()?.get(d.phase()),
            Representation::Xcdr2 => self.xcdr2.as_ref()?.get(d.phase()),
        };
        usize::try_from(*octets?).ok()
    }

    /// As [`Extent::octets`], of so many of them one after the other.
    fn octets_of(&self, count: usize, d: &Decoder<'_>) -> Option<usize> {
        match d.representation() {
            Representation::Xcdr1 => run(self.xcdr1.as_ref()?, d.phase(), count),
            Representation::Xcdr2 => run(self.xcdr2.as_ref()?, d.phase(), count),
        }
    }
}

fn number<const N: usize>(size: usize, greatest: usize) -> Option<Phases<N>> {
    let mut ends = [0; N];
    for (phase, end) in ends.iter_mut().enumerate() {
        let mask = size.min(greatest).wrapping_sub(1);
        let padding = phase.wrapping_neg() & mask;
        *end = u32::try_from(padding.saturating_add(size)).ok()?;
    }
    Some(ends)
}

fn then<const N: usize>(first: Option<Phases<N>>, second: Option<Phases<N>>) -> Option<Phases<N>> {
    let (mut ends, second) = (first?, second?);
    for (phase, end) in ends.iter_mut().enumerate() {
        let at = phase.checked_add(usize::try_from(*end).ok()?)?.checked_rem(N)?;
        *end = end.checked_add(*second.get(at)?)?;
    }
    Some(ends)
}

fn repeat<const N: usize>(one: Option<Phases<N>>, count: usize) -> Option<Phases<N>> {
    let one = one?;
    let mut ends = [0; N];
    for (phase, end) in ends.iter_mut().enumerate() {
        *end = u32::try_from(run(&one, phase, count)?).ok()?;
    }
    Some(ends)
}

/// Bytes of so many values one after the other: phases repeat after `N` values at most.
fn run<const N: usize>(one: &Phases<N>, phase: usize, count: usize) -> Option<usize> {
    let mut seen: [Option<(usize, usize)>; N] = [None; N];
    let (mut done, mut octets) = (0_usize, 0_usize);
    while done < count {
        let at = phase.checked_add(octets)?.checked_rem(N)?;
        let slot = seen.get_mut(at)?;
        if let Some((then, before)) = slot.replace((done, octets)) {
            let (values, size) = (done.checked_sub(then)?, octets.checked_sub(before)?);
            let rounds = count.checked_sub(done)?.checked_div(values)?;
            octets = octets.checked_add(size.checked_mul(rounds)?)?;
            done = done.checked_add(values.checked_mul(rounds)?)?;
            seen = [None; N];
            if rounds > 0 {
                continue;
            }
        }
        let at = phase.checked_add(octets)?.checked_rem(N)?;
        octets = octets.checked_add(usize::try_from(*one.get(at)?).ok()?)?;
        done = done.checked_add(1)?;
    }
    Some(octets)
}

/// Fills in the extents of nodes; `order` has each after what it holds.
pub(crate) fn lay_out(nodes: &mut [Node], order: &[usize]) {
    for at in order {
        debug_assert!(*at < nodes.len(), "an order of nodes that there are: {at}");
        let Some(node) = nodes.get(*at) else { continue };
        let view = TypeView { nodes, node };
        let (extent, offsets) = match view.shape() {
            Shape::Structure(it) => structure(view, it),
            _ => (of(view), Vec::new()),
        };
        let Some(node) = nodes.get_mut(*at) else { continue };
        node.extent = extent;
        if let Shape::Structure(it) = &mut node.shape {
            it.offsets = offsets;
        }
    }
}

fn of(view: TypeView<'_>) -> Extent {
    match view.shape() {
        Shape::Primitive(kind) => Extent::of_number(kind.size()),
        Shape::Enumeration(EnumerationShape { holder, .. }) | Shape::Bits(BitsShape { holder, .. }) => {
            Extent::of_number(holder.size())
        }
        Shape::Array { element, length, .. } => {
            let element = view.at(*element);
            let all = element.node.extent.repeat(*length);
            // Others have a DHEADER, which says how long they are.
            if element.item_kind() == ElementKind::Primitive { all } else { all.in_xcdr1_alone() }
        }
        _ => Extent::NONE,
    }
}

/// The extent of a structure, and where its first members end.
fn structure(view: TypeView<'_>, it: &StructureShape) -> (Extent, Vec<Extent>) {
    if it.extensibility == Extensibility::Mutable {
        return (Extent::NONE, Vec::new());
    }
    let (mut end, mut offsets) = (Extent::EMPTY, Vec::new());
    for member in &it.members {
        if end.is_none() {
            break;
        }
        offsets.push(end);
        end = if member.is_optional() { Extent::NONE } else { end.then(view.at(member.part).node.extent) };
    }
    offsets.shrink_to_fit();
    let whole = if it.extensibility == Extensibility::Final { end } else { end.in_xcdr1_alone() };
    (whole, offsets)
}

/// Goes to where the member at a position starts, before its padding, from the start of the members of its structure. Tells whether it
/// did: whether that is known, and all the bytes before it are there.
pub(crate) fn seek(it: &StructureShape, position: usize, d: &mut Decoder<'_>) -> bool {
    let octets = it.offsets.get(position).and_then(|extent| extent.octets(d));
    jump(octets, d)
}

/// Goes past values of a type, if their size is known and their bytes are there.
pub(crate) fn pass(view: TypeView<'_>, count: usize, d: &mut Decoder<'_>) -> bool {
    let octets = match count {
        1 => view.node.extent.octets(d),
        count => view.node.extent.octets_of(count, d),
    };
    jump(octets, d)
}

fn jump(octets: Option<usize>, d: &mut Decoder<'_>) -> bool {
    // Of key members alone others are there. At the end an older version of a type may have had less.
    d.scope() == Scope::Sample && octets.is_some_and(|octets| d.read_bytes(octets).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_of_consecutive_values_equal_those_of_single_ones() {
        for sizes in [&[1_usize][..], &[1, 2], &[8, 1], &[4, 8, 2, 1], &[1, 16, 3]] {
            let number = |size: &usize| Extent::of_number(*size);
            let one = sizes.iter().map(number).reduce(Extent::then).unwrap();
            for phase in 0..8 {
                let mut octets = 0;
                for count in 0..40 {
                    assert_eq!(
                        run(&one.xcdr1.unwrap(), phase, count),
                        Some(octets),
                        "{sizes:?} {phase} {count}"
                    );
                    octets += usize::try_from(one.xcdr1.unwrap()[(phase + octets) % 8]).unwrap();
                }
            }
        }
        assert_eq!(run(&[0; 8], 3, usize::MAX), Some(0));
        assert_eq!(run(&[1; 4], 3, usize::MAX - 8), Some(usize::MAX - 8));
    }
}
