//! The greatest size of a serialized key, computed at compile time (RTPS 2.5 §9.6.4.8).

/// How many bytes a value takes at most in XCDR2, for each of the four positions (modulo 4) it can start at.
///
/// Sizes depend on where a value starts because of padding; XCDR2 aligns to at most 4, so four numbers describe
/// a type exactly and can be chained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySize {
    sizes: [usize; 4],
    bounded: bool,
}

impl KeySize {
    /// Nothing at all.
    pub const EMPTY: Self = Self { sizes: [0; 4], bounded: true };
    /// No upper limit.
    pub const UNBOUNDED: Self = Self { sizes: [0; 4], bounded: false };

    /// A primitive of `size` bytes.
    #[must_use]
    pub const fn primitive(size: usize) -> Self {
        let sizes = match size {
            0 => [0; 4],
            1 => [1; 4],
            2 => [2, 3, 2, 3],
            _ => [size, size.saturating_add(3), size.saturating_add(2), size.saturating_add(1)],
        };
        Self { sizes, bounded: true }
    }

    /// `size` bytes without alignment.
    #[must_use]
    pub const fn octets(size: usize) -> Self {
        Self { sizes: [size; 4], bounded: true }
    }

    /// A string of at most `bound` bytes.
    #[must_use]
    pub const fn string(bound: usize) -> Self {
        Self::primitive(4).then(Self::octets(bound.saturating_add(1)))
    }

    const fn at(self, offset: usize) -> usize {
        let [a, b, c, d] = self.sizes;
        match offset & 3 {
            0 => a,
            1 => b,
            2 => c,
            _ => d,
        }
    }

    const fn chained(self, next: Self, start: usize) -> usize {
        let first = self.at(start);
        first.saturating_add(next.at(start.wrapping_add(first)))
    }

    /// This value followed by another.
    #[must_use]
    pub const fn then(self, next: Self) -> Self {
        Self {
            sizes: [
                self.chained(next, 0),
                self.chained(next, 1),
                self.chained(next, 2),
                self.chained(next, 3),
            ],
            bounded: self.bounded && next.bounded,
        }
    }

    /// `count` such values in a row.
    #[must_use]
    pub const fn repeat(self, count: usize) -> Self {
        let (mut result, mut power, mut left) = (Self::EMPTY, self, count);
        while left > 0 {
            if left & 1 == 1 {
                result = result.then(power);
            }
            power = power.then(power);
            left >>= 1;
        }
        result
    }

    /// The greater of two alternatives.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        const fn max(a: usize, b: usize) -> usize {
            if a > b { a } else { b }
        }
        let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (self.sizes, other.sizes);
        Self {
            sizes: [max(a0, b0), max(a1, b1), max(a2, b2), max(a3, b3)],
            bounded: self.bounded && other.bounded,
        }
    }

    /// The size at the start of a stream, or `None` without upper limit.
    #[must_use]
    pub const fn max_size(self) -> Option<usize> {
        if self.bounded { Some(self.at(0)) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::KeySize;

    #[test]
    fn padding_depends_on_the_start() {
        let k = KeySize::primitive(1).then(KeySize::primitive(8));
        assert_eq!(k.max_size(), Some(12));
        assert_eq!(k.then(KeySize::primitive(2)).max_size(), Some(14));
        assert_eq!(KeySize::string(12).max_size(), Some(17));
        assert_eq!(KeySize::primitive(1).then(KeySize::string(3)).max_size(), Some(12));
        assert_eq!(KeySize::primitive(2).repeat(5).max_size(), Some(10));
        assert_eq!(k.repeat(3).max_size(), Some(36));
        assert_eq!(KeySize::primitive(1).or(KeySize::primitive(4)).max_size(), Some(4));
        assert_eq!(k.then(KeySize::UNBOUNDED).max_size(), None);
        assert_eq!(KeySize::octets(1).repeat(usize::MAX).max_size(), Some(usize::MAX));
    }
}
