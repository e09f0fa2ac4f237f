//! Parts of values that were made, which share what was made.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Deref;

use crate::value::Value;

/// A part of a value: the whole of it, and the way to the part.
#[derive(Clone)]
pub(super) struct Converted {
    root: Arc<Value>,
    way: Vec<usize>,
}

/// A part of a value by its number: keys and values of maps take turns, the member of a union is the first.
fn part(value: &Value, at: usize) -> Option<&Value> {
    match value {
        Value::List(items) => items.get(at),
        Value::Structure(members) => members.get(at)?.as_ref(),
        Value::Union(union) => union.member.as_ref(),
        Value::Map(pairs) => {
            let (key, value) = pairs.get(at / 2)?;
            Some(if at.is_multiple_of(2) { key } else { value })
        }
        _ => None,
    }
}

impl Converted {
    pub(super) fn new(value: Value) -> Self {
        Self { root: Arc::new(value), way: Vec::new() }
    }

    /// A part of this, if it is there.
    pub(super) fn part(&self, at: usize) -> Option<Self> {
        part(self, at)?;
        let mut way = Vec::with_capacity(self.way.len().saturating_add(1));
        way.extend_from_slice(&self.way);
        way.push(at);
        Some(Self { root: Arc::clone(&self.root), way })
    }
}

impl Deref for Converted {
    type Target = Value;

    fn deref(&self) -> &Value {
        // Every step was taken when the part was made.
        self.way.iter().fold(&*self.root, |value, at| part(value, *at).unwrap_or(value))
    }
}
