//! Seeded pseudo-random numbers: entropy is an argument to everything below the runtime.

/// SplitMix64: small, fast and good enough for jitter and identifiers; not for secrets.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// Starts from `seed`; the same seed gives the same numbers.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`; 0 when `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.next_u64()).wrapping_mul(u128::from(bound));
        (product >> 64) as u64
    }

    /// So many octets.
    pub fn octets<const N: usize>(&mut self) -> [u8; N] {
        let mut octets = [0; N];
        for part in octets.chunks_mut(8) {
            part.iter_mut().zip(self.next_u64().to_le_bytes()).for_each(|(octet, random)| *octet = random);
        }
        octets
    }

    /// True with probability `numerator / denominator`.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }
}
