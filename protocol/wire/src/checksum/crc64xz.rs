//! RTPS 2.5 §9.4.2.15: CRC-64/XZ (polynomial 42F0E1EBA9EA3693, reflected, initial value and final exclusive-or all
//! ones).

const POLYNOMIAL_REFLECTED: u64 = 0xc96c_5795_d787_0f42;

static TABLE: [u64; 256] = table();

#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing)] // evaluated by the compiler
const fn table() -> [u64; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u64;
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

/// A CRC-64/XZ being computed.
#[derive(Debug, Clone)]
pub struct Crc64Xz(u64);

impl Crc64Xz {
    /// Starts with no bytes.
    pub const fn new() -> Self {
        Self(u64::MAX)
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
    pub const fn finish(self) -> u64 {
        !self.0
    }
}

impl Default for Crc64Xz {
    fn default() -> Self {
        Self::new()
    }
}

/// CRC-64/XZ of `bytes`.
pub fn crc64_xz(bytes: &[u8]) -> u64 {
    let mut state = Crc64Xz::new();
    state.update(bytes);
    state.finish()
}

#[cfg(test)]
mod tests {
    use super::crc64_xz;

    #[test]
    fn vectors() {
        assert_eq!(crc64_xz(&[0; 4]), 0xf4a5_8635_1e1b_9f4b);
        assert_eq!(crc64_xz(&[0x33, 0x22, 0x55, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff]), 0x701e_ceb2_19a8_e5d5);
        assert_eq!(crc64_xz(b"123456789"), 0x995d_c9bb_df19_39fa);
    }
}
