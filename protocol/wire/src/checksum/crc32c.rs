//! RTPS 2.5 §9.4.2.15: CRC-32C (polynomial 1EDC6F41, reflected, initial value and final exclusive-or all ones).

const POLYNOMIAL_REFLECTED: u32 = 0x82f6_3b78;

static TABLE: [u32; 256] = table();

#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing)] // evaluated by the compiler
const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { (value >> 1) ^ POLYNOMIAL_REFLECTED } else { value >> 1 };
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
}

/// A CRC-32C being computed.
#[derive(Debug, Clone)]
pub struct Crc32c(u32);

impl Crc32c {
    /// Starts with no bytes.
    pub const fn new() -> Self {
        Self(u32::MAX)
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |state, byte| {
            let [low, ..] = state.to_le_bytes();
            let step = TABLE.get(usize::from(low ^ byte)).copied().unwrap_or(0);
            (state >> 8) ^ step
        });
    }

    /// The value of everything added.
    pub const fn finish(self) -> u32 {
        !self.0
    }
}

impl Default for Crc32c {
    fn default() -> Self {
        Self::new()
    }
}

/// CRC-32C of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    let mut state = Crc32c::new();
    state.update(bytes);
    state.finish()
}

#[cfg(test)]
mod tests {
    use super::crc32c;

    #[test]
    fn vectors() {
        assert_eq!(crc32c(&[0; 4]), 0x4867_4bc7);
        assert_eq!(crc32c(&[0xff; 4]), 0xffff_ffff);
        assert_eq!(crc32c(&[0x33, 0x22, 0x55, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff]), 0xb59c_a09b);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }
}
