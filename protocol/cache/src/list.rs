//! Doubly linked lists through the values of a [`Slab`]: one value can be in several lists, and entering or leaving
//! one takes constant time (order of samples, DDS 1.4 §2.2.2.5.3.8 and §2.2.3.17).

use dunlin_core::Counter;

use crate::slab::{Id, NIL, Slab};

/// A value's neighbours in one list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Links {
    prev: Id,
    next: Id,
}

impl Links {
    pub(crate) const NONE: Self = Self { prev: NIL, next: NIL };

    /// Of a value that is about to come last.
    pub(crate) const fn after(last: Id) -> Self {
        Self { prev: last, next: NIL }
    }

    pub(crate) const fn next(&self) -> Id {
        self.next
    }
}

/// A value that can be in the lists of number `L`.
pub(crate) trait Linked<const L: usize> {
    fn links(&self) -> &Links;
    fn links_mut(&mut self) -> &mut Links;
}

/// Makes a field of a struct its links for one list number.
macro_rules! linked {
    ($type:ty, $list:expr, $field:ident) => {
        impl $crate::list::Linked<{ $list }> for $type {
            fn links(&self) -> &$crate::list::Links {
                &self.$field
            }
            fn links_mut(&mut self) -> &mut $crate::list::Links {
                &mut self.$field
            }
        }
    };
}
pub(crate) use linked;

/// A list of number `L`.
#[derive(Debug)]
pub(crate) struct List<const L: usize> {
    head: Id,
    tail: Id,
    len: Counter,
}

impl<const L: usize> List<L> {
    pub(crate) const fn new() -> Self {
        Self { head: NIL, tail: NIL, len: Counter::ZERO }
    }

    pub(crate) const fn head(&self) -> Id {
        self.head
    }

    pub(crate) const fn tail(&self) -> Id {
        self.tail
    }

    pub(crate) const fn len(&self) -> usize {
        self.len.get()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn push_back<T: Linked<L>>(&mut self, slab: &mut Slab<T>, id: Id) {
        self.insert_after(slab, self.tail, id);
    }

    /// Adds `id`, whose links are those [`after`](Links::after) the last member.
    pub(crate) fn add_back<T: Linked<L>>(&mut self, slab: &mut Slab<T>, id: Id) {
        match slab.get_mut(self.tail) {
            Some(before) => before.links_mut().next = id,
            None => self.head = id,
        }
        self.tail = id;
        self.len.add(1);
    }

    /// Inserts `id` after `at`; at the front when `at` is [`NIL`].
    pub(crate) fn insert_after<T: Linked<L>>(&mut self, slab: &mut Slab<T>, at: Id, id: Id) {
        let next = if at == NIL { self.head } else { Self::next(slab, at) };
        let Some(value) = slab.kept_mut(id) else { return };
        *value.links_mut() = Links { prev: at, next };
        match slab.get_mut(at) {
            Some(before) => before.links_mut().next = id,
            None => self.head = id,
        }
        match slab.get_mut(next) {
            Some(after) => after.links_mut().prev = id,
            None => self.tail = id,
        }
        self.len.add(1);
    }

    /// Takes out `id`, which must be in this list.
    pub(crate) fn remove<T: Linked<L>>(&mut self, slab: &mut Slab<T>, id: Id) {
        let Some(value) = slab.kept_mut(id) else { return };
        let Links { prev, next } = core::mem::replace(value.links_mut(), Links::NONE);
        match slab.get_mut(prev) {
            Some(before) => before.links_mut().next = next,
            None => self.head = next,
        }
        match slab.get_mut(next) {
            Some(after) => after.links_mut().prev = prev,
            None => self.tail = prev,
        }
        self.len.subtract(1);
    }

    /// Forgets the first `count` members, of which the values may be gone already; `head` is the one behind them.
    pub(crate) fn drop_front<T: Linked<L>>(&mut self, slab: &mut Slab<T>, head: Id, count: usize) {
        self.head = head;
        match slab.get_mut(head) {
            Some(first) => first.links_mut().prev = NIL,
            None => self.tail = NIL,
        }
        self.len.subtract(count);
    }

    pub(crate) fn next<T: Linked<L>>(slab: &Slab<T>, id: Id) -> Id {
        slab.get(id).map_or(NIL, |value| value.links().next)
    }

    pub(crate) fn prev<T: Linked<L>>(slab: &Slab<T>, id: Id) -> Id {
        slab.get(id).map_or(NIL, |value| value.links().prev)
    }

    /// The members from the front.
    pub(crate) fn iter<'a, T: Linked<L>>(&self, slab: &'a Slab<T>) -> impl Iterator<Item = (Id, &'a T)> {
        let mut cursor = self.head;
        core::iter::from_fn(move || {
            let id = cursor;
            let value = slab.get(id)?;
            cursor = value.links().next;
            Some((id, value))
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    struct Node {
        name: u8,
        first: Links,
        second: Links,
    }
    linked!(Node, 0, first);
    linked!(Node, 1, second);

    fn names<const L: usize>(list: &List<L>, slab: &Slab<Node>) -> Vec<u8>
    where
        Node: Linked<L>,
    {
        list.iter(slab).map(|(_, node)| node.name).collect()
    }

    #[test]
    fn members_enter_and_leave_two_lists() {
        let mut slab = Slab::new();
        let (mut a, mut b) = (List::<0>::new(), List::<1>::new());
        let ids: Vec<Id> =
            (0..4).map(|name| slab.insert(Node { name, first: Links::NONE, second: Links::NONE })).collect();
        for id in &ids {
            a.push_back(&mut slab, *id);
            b.insert_after(&mut slab, NIL, *id);
        }
        a.remove(&mut slab, ids[0]);
        a.remove(&mut slab, ids[2]);
        b.remove(&mut slab, ids[0]);
        assert_eq!((names(&a, &slab), a.len()), (alloc::vec![1, 3], 2));
        assert_eq!(names(&b, &slab), [3, 2, 1]);
        a.insert_after(&mut slab, ids[1], ids[2]);
        assert_eq!(names(&a, &slab), [1, 2, 3]);
        assert_eq!((a.tail(), List::<0>::prev(&slab, a.tail())), (ids[3], ids[2]));
        for id in [ids[3], ids[1], ids[2]] {
            a.remove(&mut slab, id);
        }
        assert!(a.is_empty() && a.head() == NIL && a.tail() == NIL);
    }
}
