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

    /// One step further, not nearer to the edges than `margin`.
    pub fn step(&mut self, margin: i32) {
        let step = |place: i32, velocity: i32, length: i32| {
            let margin = margin.clamp(0, length / 2 - 1);
            turned(place.clamp(margin, length - margin) + velocity, velocity, margin, length - margin)
        };
        (self.x, self.velocity.0) = step(self.x, self.velocity.0, BOARD.0);
        (self.y, self.velocity.1) = step(self.y, self.velocity.1, BOARD.1);
    }
}

fn turned(place: i32, velocity: i32, begin: i32, end: i32) -> (i32, i32) {
    if place < begin {
        ((2 * begin - place).min(end), -velocity)
    } else if place > end {
        ((2 * end - place).max(begin), -velocity)
    } else {
        (place, velocity)
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
                motion.step(0);
                assert!((0..=BOARD.0).contains(&motion.x) && (0..=BOARD.1).contains(&motion.y), "{motion:?}");
                assert!(motion.x.abs_diff(before.x) <= 5 && motion != before, "{before:?} {motion:?}");
            }
        }
    }

    #[test]
    fn a_margin_is_kept_even_if_little_is_left() {
        for margin in [0, 20, 100, 1000] {
            let mut motion = Motion::seeded(7);
            for _ in 0..300 {
                motion.step(margin);
                let kept = margin.min(119);
                assert!((kept..=BOARD.0 - kept).contains(&motion.x), "{margin} {motion:?}");
            }
        }
    }
}
