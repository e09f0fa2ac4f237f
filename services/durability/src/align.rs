//! What two histories differ in, found out with messages whose length goes with the difference and not with the histories.
//!
//! Each change has a number by hash of its identity, with a seed that nobody can know in advance. The numbers are the leaves of a tree
//! with sixteen branches at each node, and a node's sum is that of the numbers below it. The one who asks tells the sums of a node's
//! branches. The one who answers names the branches that differ, with their numbers where these are few. Then both know what the other
//! one lacks. No side trusts the other: nothing is listed, asked for or given more often than two honest histories need.

mod message;

use std::collections::BTreeSet;
use std::sync::Arc;

use md5::{Digest, Md5};
pub use message::{BODY, Body, Branch, Malformed, Sums};

use crate::history::{History, Place};

/// Stands for a change.
pub type Number = u64;

/// What makes the numbers of one session.
pub type Seed = [u8; 16];

/// Numbers of a branch that are listed instead of being summed up further.
pub const LISTED: usize = 32;
/// Branches of a node.
pub const BRANCHES: usize = 16;
/// Levels of the tree.
const LEVELS: u8 = 16;
/// A sum has 48 bits.
const SUM: u64 = (1 << 48) - 1;
/// Nodes that are asked in one message.
const ASKED: usize = 64;
/// Nodes that any session may ask for, however small the histories.
const LEAST: usize = 1024;

/// All numbers that begin with the same bits: four for each level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Node {
    level: u8,
    prefix: u64,
}

impl Node {
    /// All numbers.
    pub const ROOT: Self = Self { level: 0, prefix: 0 };

    /// `None` if there is no such node.
    #[must_use]
    pub const fn new(level: u8, prefix: u64) -> Option<Self> {
        if level > LEVELS {
            return None;
        }
        let node = Self { level, prefix };
        if prefix & node.span() == 0 { Some(node) } else { None }
    }

    /// A branch; `None` below the lowest level.
    #[must_use]
    pub fn branch(self, branch: usize) -> Option<Self> {
        if self.level >= LEVELS || branch >= BRANCHES {
            return None;
        }
        let shift = 60 - u32::from(self.level) * 4;
        Some(Self { level: self.level + 1, prefix: self.prefix | (branch as u64) << shift })
    }

    /// The bits in which the numbers below it differ.
    const fn span(self) -> u64 {
        if self.level >= LEVELS { 0 } else { u64::MAX >> (self.level as u32 * 4) }
    }

    /// The highest number that begins so.
    const fn last(self) -> u64 {
        self.prefix | self.span()
    }
}

/// A history at one moment.
#[derive(Debug)]
pub struct Snapshot {
    seed: Seed,
    /// Ascending.
    all: Vec<(Number, Place)>,
    /// Of so many numbers from the beginning.
    sums: Vec<u64>,
}

impl Snapshot {
    /// Of a history. It takes time in proportion to its length.
    #[must_use]
    pub fn of(history: &History, seed: Seed) -> Self {
        let number = |(place, origin, is_data): (Place, dunlin::SampleIdentity, bool)| {
            let mut hash = Md5::new();
            hash.update(seed);
            hash.update(origin.writer.to_bytes());
            hash.update(origin.sequence_number.0.to_le_bytes());
            hash.update([u8::from(is_data)]);
            let octets: [u8; 16] = hash.finalize().into();
            let [first @ .., _, _, _, _, _, _, _, _] = octets;
            (u64::from_le_bytes(first), place)
        };
        let mut all: Vec<_> = history.identities().map(number).collect();
        all.sort_unstable();
        let mut sum = 0u64;
        let mut sums = Vec::with_capacity(all.len() + 1);
        sums.push(0);
        for (number, _) in &all {
            sum = sum.wrapping_add(*number);
            sums.push(sum);
        }
        Self { seed, all, sums }
    }

    /// What made the numbers.
    #[must_use]
    pub const fn seed(&self) -> Seed {
        self.seed
    }

    /// How many changes it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn range(&self, node: Node) -> std::ops::Range<usize> {
        let from = self.all.partition_point(|(number, _)| *number < node.prefix);
        from..from + self.all[from..].partition_point(|(number, _)| *number <= node.last())
    }

    /// The sum of a node.
    #[must_use]
    pub fn sum(&self, node: Node) -> u64 {
        let range = self.range(node);
        self.sums[range.end].wrapping_sub(self.sums[range.start]) & SUM
    }

    fn sums(&self, node: Node) -> Sums {
        let sums = std::array::from_fn(|branch| node.branch(branch).map_or(0, |it| self.sum(it)));
        Sums { node, sums }
    }
}

/// Nodes that a session may ask for: of honest histories, those with more numbers than are listed.
const fn fair(changes: usize) -> usize {
    LEAST + changes / 8
}

/// The side that asks.
#[derive(Debug)]
pub struct Alignee {
    snapshot: Arc<Snapshot>,
    /// Nodes that are not answered yet.
    asked: BTreeSet<Node>,
    left: usize,
    found: usize,
}

/// What follows from an answer.
#[derive(Debug, Default)]
pub struct Next {
    /// To be sent.
    pub bodies: Vec<Body>,
    /// Changes that the other side lacks.
    pub lacking: Vec<Place>,
}

impl Alignee {
    /// With a snapshot of the seed that the other side has said, whose history has so many changes.
    #[must_use]
    pub fn new(snapshot: Arc<Snapshot>, changes: usize) -> Self {
        let left = fair(snapshot.len().max(changes));
        Self { snapshot, asked: BTreeSet::new(), left, found: 0 }
    }

    /// The first question.
    pub fn begin(&mut self) -> Vec<Body> {
        self.ask(vec![Node::ROOT])
    }

    fn ask(&mut self, mut nodes: Vec<Node>) -> Vec<Body> {
        nodes.truncate(self.left);
        self.left -= nodes.len();
        self.asked.extend(&nodes);
        let sums =
            |nodes: &[Node]| Body::Compare(nodes.iter().map(|node| self.snapshot.sums(*node)).collect());
        nodes.chunks(ASKED).map(sums).collect()
    }

    /// Takes an answer. Of nodes that were not asked for it takes none.
    pub fn answered(&mut self, answers: &[(Node, Vec<(u8, Branch)>)]) -> Next {
        let (mut next, mut nodes, mut wanted) = (Next::default(), Vec::new(), Vec::new());
        for (node, branches) in answers.iter().filter(|(node, _)| self.asked.remove(node)) {
            for (branch, what) in branches {
                let Some(below) = node.branch(usize::from(*branch)) else { continue };
                let own = &self.snapshot.all[self.snapshot.range(below)];
                match what {
                    Branch::Many if own.is_empty() => next.bodies.push(Body::WantBelow(below)),
                    Branch::Many => nodes.push(below),
                    Branch::Few(numbers) => {
                        let has = |number: &Number| own.binary_search_by_key(number, |it| it.0).is_ok();
                        wanted.extend(numbers.iter().filter(|number| !has(number)));
                        let lacks = |it: &&(Number, Place)| numbers.binary_search(&it.0).is_err();
                        next.lacking.extend(own.iter().filter(lacks).map(|it| it.1));
                    }
                }
            }
        }
        self.found += next.bodies.len() + next.lacking.len() + wanted.len();
        next.bodies.extend(wanted.chunks(BODY / 16).map(|numbers| Body::Want(numbers.to_vec())));
        next.bodies.extend(self.ask(nodes));
        next
    }

    /// Whether everything is answered.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.asked.is_empty()
    }

    /// Differences that were found; a branch that is missing altogether is one.
    #[must_use]
    pub const fn found(&self) -> usize {
        self.found
    }
}

/// The side that answers.
#[derive(Debug)]
pub struct Aligner {
    snapshot: Arc<Snapshot>,
    /// Nodes and numbers that it still answers with.
    left: (usize, usize),
    /// A bit for each change that was asked for.
    given: Vec<u64>,
}

impl Aligner {
    /// From a snapshot.
    #[must_use]
    pub fn new(snapshot: Arc<Snapshot>) -> Self {
        let changes = snapshot.len();
        let given = vec![0; changes.div_ceil(64)];
        Self { snapshot, left: (fair(changes), changes + LEAST), given }
    }

    /// Answers a question. What is beyond what honest histories need is not answered.
    pub fn compare(&mut self, questions: &[Sums]) -> Vec<Body> {
        let (mut bodies, mut answers, mut octets) = (Vec::new(), Vec::new(), 0);
        for question in questions {
            if self.left.0 == 0 {
                break;
            }
            self.left.0 -= 1;
            let own = self.snapshot.sums(question.node);
            let differs = |branch: &usize| own.sums[*branch] != question.sums[*branch] & SUM;
            let mut branches = Vec::new();
            for branch in (0..BRANCHES).filter(differs) {
                let Some(below) = question.node.branch(branch) else { continue };
                branches.push((branch as u8, self.branch(below)));
            }
            octets += message::length(&branches);
            answers.push((question.node, branches));
            if octets >= BODY / 2 {
                bodies.push(Body::Differ(std::mem::take(&mut answers)));
                octets = 0;
            }
        }
        if !answers.is_empty() {
            bodies.push(Body::Differ(answers));
        }
        bodies
    }

    fn branch(&mut self, below: Node) -> Branch {
        let own = &self.snapshot.all[self.snapshot.range(below)];
        if own.len() > LISTED || own.len() > self.left.1 {
            return Branch::Many;
        }
        self.left.1 -= own.len();
        Branch::Few(own.iter().map(|it| it.0).collect())
    }

    /// The changes that the other side asks for; each only once.
    pub fn wanted(&mut self, body: &Body) -> Vec<Place> {
        let snapshot = Arc::clone(&self.snapshot);
        let mut places = Vec::new();
        let mut give = |range: std::ops::Range<usize>| {
            for at in range {
                let (word, bit) = (&mut self.given[at / 64], 1 << (at % 64));
                if *word & bit == 0 {
                    *word |= bit;
                    places.push(snapshot.all[at].1);
                }
            }
        };
        match body {
            Body::WantBelow(node) => give(snapshot.range(*node)),
            Body::Want(numbers) => numbers.iter().for_each(|number| {
                if let Some(node) = Node::new(LEVELS, *number) {
                    give(snapshot.range(node));
                }
            }),
            _ => {}
        }
        places
    }
}

#[cfg(test)]
mod tests;
