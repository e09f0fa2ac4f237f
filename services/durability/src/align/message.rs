//! What the two sides tell each other, as octets.

use super::{BRANCHES, LISTED, Node, Number, Seed};
use crate::change::take;

/// Longest body, in octets.
pub const BODY: usize = 32 << 10;

/// Why octets are no body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

/// The sums of a node's branches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sums {
    /// The node.
    pub node: Node,
    /// Of each branch; 48 bits.
    pub sums: [u64; BRANCHES],
}

/// What a side has below a branch that differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Branch {
    /// These numbers, ascending.
    Few(Vec<Number>),
    /// More than are listed.
    Many,
}

/// One message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// Asks for a session.
    Hello,
    /// Begins it: what makes the numbers, and how many changes there are.
    Begin(Seed, u64),
    /// Which branches differ?
    Compare(Vec<Sums>),
    /// These do: of each node its branches.
    Differ(Vec<(Node, Vec<(u8, Branch)>)>),
    /// Asks for changes.
    Want(Vec<Number>),
    /// Asks for all changes below a node.
    WantBelow(Node),
}

/// Stands for `Branch::Many` where a count is.
const MANY: u8 = u8::MAX;

/// Octets of the branches of one node.
pub(super) fn length(branches: &[(u8, Branch)]) -> usize {
    let of = |branch: &Branch| if let Branch::Few(numbers) = branch { 8 * numbers.len() } else { 0 };
    10 + branches.iter().map(|(_, branch)| 2 + of(branch)).sum::<usize>()
}

fn put_node(octets: &mut Vec<u8>, node: Node) {
    octets.push(node.level);
    octets.extend(node.prefix.to_le_bytes());
}

fn node(octets: &mut &[u8]) -> Option<Node> {
    let [level] = take(octets)?;
    Node::new(level, u64::from_le_bytes(take(octets)?))
}

fn number(octets: &mut &[u8]) -> Option<Number> {
    Some(u64::from_le_bytes(take(octets)?))
}

impl Body {
    /// As octets.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut octets = Vec::new();
        match self {
            Self::Hello => octets.push(0),
            Self::Begin(seed, changes) => {
                octets.push(1);
                octets.extend(seed);
                octets.extend(changes.to_le_bytes());
            }
            Self::Compare(nodes) => {
                octets.push(2);
                for Sums { node, sums } in nodes {
                    put_node(&mut octets, *node);
                    sums.iter().for_each(|sum| octets.extend(&sum.to_le_bytes()[..6]));
                }
            }
            Self::Differ(nodes) => {
                octets.push(3);
                for (node, branches) in nodes {
                    put_node(&mut octets, *node);
                    octets.push(branches.len() as u8);
                    for (branch, what) in branches {
                        octets.push(*branch);
                        match what {
                            Branch::Many => octets.push(MANY),
                            Branch::Few(numbers) => {
                                octets.push(numbers.len() as u8);
                                numbers.iter().for_each(|number| octets.extend(number.to_le_bytes()));
                            }
                        }
                    }
                }
            }
            Self::Want(numbers) => {
                octets.push(4);
                numbers.iter().for_each(|number| octets.extend(number.to_le_bytes()));
            }
            Self::WantBelow(node) => {
                octets.push(5);
                put_node(&mut octets, *node);
            }
        }
        octets
    }

    /// What [`encode`](Self::encode) made.
    ///
    /// # Errors
    /// When it is anything else, or too long.
    pub fn decode(mut octets: &[u8]) -> Result<Self, Malformed> {
        if octets.len() > BODY {
            return Err(Malformed);
        }
        let body = decode(&mut octets).ok_or(Malformed)?;
        if octets.is_empty() { Ok(body) } else { Err(Malformed) }
    }
}

fn decode(octets: &mut &[u8]) -> Option<Body> {
    let [kind] = take(octets)?;
    Some(match kind {
        0 => Body::Hello,
        1 => Body::Begin(take(octets)?, number(octets)?),
        2 => Body::Compare(all(octets, sums)?),
        3 => Body::Differ(all(octets, branches)?),
        4 => Body::Want(all(octets, number)?),
        5 => Body::WantBelow(node(octets)?),
        _ => return None,
    })
}

/// Parts up to the end.
fn all<T>(octets: &mut &[u8], part: impl Fn(&mut &[u8]) -> Option<T>) -> Option<Vec<T>> {
    let mut parts = Vec::new();
    while !octets.is_empty() {
        parts.push(part(octets)?);
    }
    Some(parts)
}

fn sums(octets: &mut &[u8]) -> Option<Sums> {
    let node = node(octets)?;
    let mut sums = [0; BRANCHES];
    for sum in &mut sums {
        let [a, b, c, d, e, f] = take(octets)?;
        *sum = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
    }
    Some(Sums { node, sums })
}

fn branches(octets: &mut &[u8]) -> Option<(Node, Vec<(u8, Branch)>)> {
    let node = node(octets)?;
    let [count] = take(octets)?;
    let mut branches: Vec<(u8, Branch)> = Vec::new();
    for _ in 0..count {
        let [branch, count] = take(octets)?;
        let follows = branches.last().is_none_or(|before| before.0 < branch);
        (usize::from(branch) < BRANCHES && follows).then_some(())?;
        branches.push((branch, if count == MANY { Branch::Many } else { few(octets, count)? }));
    }
    Some((node, branches))
}

fn few(octets: &mut &[u8], count: u8) -> Option<Branch> {
    (usize::from(count) <= LISTED).then_some(())?;
    let mut numbers = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        let number = number(octets)?;
        // Two changes may have one number.
        numbers.last().is_none_or(|before| *before <= number).then_some(())?;
        numbers.push(number);
    }
    Some(Branch::Few(numbers))
}
