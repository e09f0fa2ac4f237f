//! What strangers send: RTPS 2.5 §9.4 written down octet by octet, since nothing that is valid is of use to them.

/// Seeded numbers.
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

const UNKNOWN: [u8; 4] = [0; 4];
/// The first writer and the first reader that a program makes.
const WRITER: [u8; 4] = [0, 0, 1, 2];
const READER: [u8; 4] = [0, 0, 1, 7];
const SPDP_WRITER: [u8; 4] = [0, 1, 0, 0xc2];
const PUBLICATIONS_WRITER: [u8; 4] = [0, 0, 3, 0xc2];
const PUBLICATIONS_READER: [u8; 4] = [0, 0, 3, 0xc7];

fn header(rng: &mut Rng, domain: u16) -> Vec<u8> {
    let mut octets = b"RTPS\x02\x05\x01\xd0".to_vec();
    // Few enough names for some to be met again, too many to be remembered.
    octets.extend(b"a flood");
    octets.extend(domain.to_le_bytes());
    octets.extend(&rng.below(20_000).to_le_bytes()[..3]);
    octets
}

fn submessage(octets: &mut Vec<u8>, kind: u8, flags: u8, body: &[u8]) {
    octets.extend([kind, flags | 1]);
    octets.extend((body.len() as u16).to_le_bytes());
    octets.extend(body);
}

/// A sequence number: near those in use, or at an edge.
fn number(rng: &mut Rng) -> [u8; 8] {
    let number = match rng.below(4) {
        0 => rng.below(20_000),
        1 => 1 << 62,
        2 => i64::MAX as u64,
        _ => rng.next(),
    };
    let mut octets = [0; 8];
    octets[..4].copy_from_slice(&((number >> 32) as u32).to_le_bytes());
    octets[4..].copy_from_slice(&(number as u32).to_le_bytes());
    octets
}

fn set(rng: &mut Rng) -> Vec<u8> {
    let mut octets = number(rng).to_vec();
    octets.extend(256_u32.to_le_bytes());
    octets.extend([0xff; 32]);
    octets
}

/// An announcement of a participant that names somebody's address.
fn participant(rng: &mut Rng, domain: u16) -> Vec<u8> {
    let mut octets = header(rng, domain);
    let mut list = vec![0, 3, 0, 0, 0x15, 0, 4, 0, 2, 5, 0, 0, 0x16, 0, 4, 0, 1, 0xd0, 0, 0, 0x50, 0, 16, 0];
    list.extend(&octets[8..20]);
    list.extend([
        0, 0, 1, 0xc1, 0x58, 0, 4, 0, 0x3f, 0x0c, 0, 0, 0x32, 0, 24, 0, 1, 0, 0, 0, 0xf2, 0x1c, 0, 0,
    ]);
    list.extend([0; 12]);
    list.extend([127, 0, 0, 1 + rng.below(3) as u8, 1, 0, 0, 0]);
    let mut body = vec![0, 0, 16, 0];
    body.extend(UNKNOWN);
    body.extend(SPDP_WRITER);
    body.extend([0, 0, 0, 0, 1, 0, 0, 0]);
    body.extend(list);
    submessage(&mut octets, 0x15, 4, &body);
    octets
}

/// Submessages of every kind in the name of a stranger, to the endpoints of the pair and the built-in ones.
fn protocol(rng: &mut Rng, domain: u16) -> Vec<u8> {
    let mut octets = header(rng, domain);
    for _ in 0..=rng.below(6) {
        let (reader, writer) = match rng.below(3) {
            0 => (READER, WRITER),
            1 => (PUBLICATIONS_READER, PUBLICATIONS_WRITER),
            _ => (UNKNOWN, WRITER),
        };
        let mut body = [reader, writer].concat();
        let count = (rng.next() as u32).to_le_bytes();
        match rng.below(5) {
            0 => {
                body.extend([number(rng), number(rng)].concat());
                body.extend(count);
                submessage(&mut octets, 0x07, 0, &body);
            }
            1 => {
                body.extend(number(rng));
                body.extend(set(rng));
                submessage(&mut octets, 0x08, 0, &body);
            }
            2 => {
                body.extend(set(rng));
                body.extend(count);
                submessage(&mut octets, 0x06, 0, &body);
            }
            3 => {
                let mut data = vec![0, 0, 28, 0];
                data.extend(body);
                data.extend(number(rng));
                data.extend([1, 0, 0, 0, 1, 0, 100, 0, 0xff, 0xff, 0xff, 3]);
                data.extend([7; 100]);
                submessage(&mut octets, 0x16, 0, &data);
            }
            _ => {
                let mut data = vec![0, 0, 16, 0];
                data.extend(body);
                data.extend(number(rng));
                data.extend([0, 1, 0, 0]);
                data.extend([7; 64]);
                submessage(&mut octets, 0x15, 4, &data);
            }
        }
    }
    octets
}

/// The same with octets changed, or nothing but noise behind a header or none.
fn malformed(rng: &mut Rng, domain: u16) -> Vec<u8> {
    let mut octets = match rng.below(4) {
        0 => Vec::new(),
        1 => header(rng, domain),
        2 => participant(rng, domain),
        _ => protocol(rng, domain),
    };
    if octets.len() <= 20 {
        let len = rng.below(400);
        octets.extend((0..len).map(|_| rng.next() as u8));
        return octets;
    }
    for _ in 0..=rng.below(4) {
        let at = 20 + rng.below(octets.len() as u64 - 20) as usize;
        octets[at] = rng.next() as u8;
    }
    octets
}

/// Any of them.
pub(super) fn any(rng: &mut Rng, domain: u16) -> Vec<u8> {
    match rng.below(3) {
        0 => participant(rng, domain),
        1 => protocol(rng, domain),
        _ => malformed(rng, domain),
    }
}
