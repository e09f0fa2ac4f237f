//! How shapes move.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Width and height of the board.
pub const BOARD: (i32, i32) = (240, 270);
/// Fastest step along an axis.
const FASTEST: u64 = 5;

/// A place that moves over the board and turns at its edges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Motion {
    /// From the left.
    pub x: i32,
    /// From the top.
    pub y: i32,
    velocity: (i32, i32),
}

impl Motion {
    /// A random place and velocity.
    #[must_use]
    pub fn random() -> Self {
        // The standard library seeds each of these anew.
        Self::seeded(RandomState::new().build_hasher().finish())
    }

    /// Place and velocity out of a number.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        let part = |shift: u32, below: u64| i32::try_from((seed >> shift) % below).unwrap_or_default();
        let direction = |shift: u32| if seed >> shift & 1 == 0 { 1 } else { -1 };
        Self {
            x: part(0, 240),
            y: part(12, 270),
            velocity: (direction(60) * (1 + part(24, FASTEST)), direction(61) * (1 + part(36, FASTEST))),
        }
    }

    /// One step further.
    pub fn step(&mut self) {
        (self.x, self.velocity.0) = turned(self.x + self.velocity.0, self.velocity.0, BOARD.0);
        (self.y, self.velocity.1) = turned(self.y + self.velocity.1, self.velocity.1, BOARD.1);
    }
}

fn turned(place: i32, velocity: i32, end: i32) -> (i32, i32) {
    match place {
        ..0 => (-place, -velocity),
        _ if place > end => (2 * end - place, -velocity),
        _ => (place, velocity),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_stay_on_the_board_and_move_on_both_axes() {
        for seed in (0..2000_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
            let mut motion = Motion::seeded(seed);
            for _ in 0..300 {
                let before = motion;
                motion.step();
                assert!((0..=BOARD.0).contains(&motion.x) && (0..=BOARD.1).contains(&motion.y), "{motion:?}");
                assert!(motion.x.abs_diff(before.x) <= 5 && motion != before, "{before:?} {motion:?}");
            }
        }
    }
}
