//! Strongly connected components of the dependencies between types, what is depended on first (DDS-XTypes 1.3 §7.3.4.9).
//!
//! Tarjan's algorithm with a stack of its own: how deep types refer to each other is up to whoever describes them.

use alloc::vec::Vec;

use crate::model::{TypeGraph, TypeIndex};

/// Types that depend on each other.
pub(super) struct Component {
    /// The types, in the order of their names.
    pub members: Vec<TypeIndex>,
    /// Whether there is a cycle: always with several, or one that refers to itself.
    pub recursive: bool,
}

/// The components of what `root` depends on.
pub(super) fn of(graph: &TypeGraph, root: TypeIndex) -> Vec<Component> {
    let mut search = Search::new(graph);
    search.run(root);
    search.found
}

/// The components of a whole graph.
pub(super) fn all(graph: &TypeGraph) -> Vec<Component> {
    let mut search = Search::new(graph);
    for (index, _) in graph.iter() {
        if get(&search.order, index).flatten().is_none() {
            search.run(index);
        }
    }
    search.found
}

struct Search<'a> {
    graph: &'a TypeGraph,
    order: Vec<Option<usize>>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<TypeIndex>,
    visited: usize,
    found: Vec<Component>,
}

/// A type whose dependencies are being visited.
struct Frame {
    index: TypeIndex,
    pending: Vec<TypeIndex>,
    refers_to_itself: bool,
}

impl<'a> Search<'a> {
    fn new(graph: &'a TypeGraph) -> Self {
        Search {
            graph,
            order: alloc::vec![None; graph.len()],
            low: alloc::vec![0; graph.len()],
            on_stack: alloc::vec![false; graph.len()],
            stack: Vec::new(),
            visited: 0,
            found: Vec::new(),
        }
    }

    fn open(&mut self, index: TypeIndex) -> Frame {
        let number = self.visited;
        self.visited = number.saturating_add(1);
        set(&mut self.order, index, Some(number));
        set(&mut self.low, index, number);
        set(&mut self.on_stack, index, true);
        self.stack.push(index);
        let mut pending = Vec::new();
        if let Some(definition) = self.graph.get(index) {
            definition.visit_named(&mut |named| {
                if self.graph.get(named).is_some() {
                    pending.push(named);
                }
            });
        }
        pending.reverse();
        let refers_to_itself = pending.contains(&index);
        Frame { index, pending, refers_to_itself }
    }

    fn run(&mut self, root: TypeIndex) {
        if self.graph.get(root).is_none() {
            return;
        }
        let mut frames = alloc::vec![self.open(root)];
        while let Some(frame) = frames.last_mut() {
            let index = frame.index;
            match frame.pending.pop() {
                Some(next) => match get(&self.order, next).flatten() {
                    None => {
                        let opened = self.open(next);
                        frames.push(opened);
                    }
                    Some(number) if get(&self.on_stack, next) == Some(true) => self.lower(index, number),
                    Some(_) => {}
                },
                None => {
                    let refers_to_itself = frame.refers_to_itself;
                    frames.pop();
                    let low = get(&self.low, index).unwrap_or(0);
                    if let Some(parent) = frames.last() {
                        self.lower(parent.index, low);
                    }
                    if get(&self.order, index).flatten() == Some(low) {
                        self.close(index, refers_to_itself);
                    }
                }
            }
        }
    }

    fn lower(&mut self, index: TypeIndex, to: usize) {
        if let Some(low) = self.low.get_mut(index.0) {
            *low = (*low).min(to);
        }
    }

    fn close(&mut self, index: TypeIndex, refers_to_itself: bool) {
        let mut members = Vec::new();
        while let Some(member) = self.stack.pop() {
            set(&mut self.on_stack, member, false);
            members.push(member);
            if member == index {
                break;
            }
        }
        let graph = self.graph;
        members.sort_by(|a, b| {
            let name = |index: &TypeIndex| graph.get(*index).map(|definition| definition.name.as_str());
            name(a).cmp(&name(b)).then(a.cmp(b))
        });
        let recursive = refers_to_itself || members.len() > 1;
        self.found.push(Component { members, recursive });
    }
}

fn get<T: Copy>(items: &[T], index: TypeIndex) -> Option<T> {
    items.get(index.0).copied()
}

fn set<T>(items: &mut [T], index: TypeIndex, value: T) {
    if let Some(slot) = items.get_mut(index.0) {
        *slot = value;
    }
}
