//! H.264 byte streams (ITU-T H.264 Annex B) and the length-prefixed form that MP4 files use.

use anyhow::{Result, ensure};

/// `nal_unit_type` of a slice of an IDR picture.
pub const NAL_IDR: u8 = 5;
/// `nal_unit_type` of a sequence parameter set.
pub const NAL_SPS: u8 = 7;
/// `nal_unit_type` of a picture parameter set.
pub const NAL_PPS: u8 = 8;

const START_CODE: [u8; 4] = [0, 0, 0, 1];

/// The kind of a NAL unit, 0 when it is empty.
#[must_use]
pub fn nal_type(nal: &[u8]) -> u8 {
    nal.first().map_or(0, |header| header & 0x1F)
}

/// The NAL units of a byte stream, without start codes.
pub fn nal_units(stream: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = find_start(stream).map_or(&[][..], |(_, after)| &stream[after..]);
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let (end, next) = find_start(rest).unwrap_or((rest.len(), rest.len()));
            let nal = trim_zeros(&rest[..end]);
            rest = &rest[next..];
            if !nal.is_empty() {
                return Some(nal);
            }
        }
        None
    })
}

/// Where the next start code begins and where it ends.
fn find_start(stream: &[u8]) -> Option<(usize, usize)> {
    let at = stream.windows(3).position(|three| three == [0, 0, 1])?;
    Some((at, at + 3))
}

fn trim_zeros(mut nal: &[u8]) -> &[u8] {
    while let [head @ .., 0] = nal {
        nal = head;
    }
    nal
}

/// Appends one NAL unit with its start code.
pub fn push_nal(out: &mut Vec<u8>, nal: &[u8]) {
    out.extend_from_slice(&START_CODE);
    out.extend_from_slice(nal);
}

/// Whether a viewer can begin with this access unit: an IDR picture with its parameter sets.
#[must_use]
pub fn is_key(stream: &[u8]) -> bool {
    let (mut idr, mut sps, mut pps) = (false, false, false);
    for nal in nal_units(stream) {
        match nal_type(nal) {
            NAL_IDR => idr = true,
            NAL_SPS => sps = true,
            NAL_PPS => pps = true,
            _ => {}
        }
    }
    idr && sps && pps
}

/// What the decoder configuration of an MP4 track (`avcC`) says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Octets of the length before each NAL unit: 1, 2 or 4.
    pub length_size: usize,
    /// Sequence parameter sets.
    pub sps: Vec<Vec<u8>>,
    /// Picture parameter sets.
    pub pps: Vec<Vec<u8>>,
}

/// Turns one sample of an MP4 track into an access unit of a byte stream in `out`; the parameter sets come first
/// in each IDR picture. Returns whether it is an IDR picture.
///
/// # Errors
/// When a length goes beyond the sample.
pub fn from_mp4(config: &Config, sample: &[u8], out: &mut Vec<u8>) -> Result<bool> {
    let key = nals_of_mp4(config, sample).any(|nal| nal.is_ok_and(|nal| nal_type(nal) == NAL_IDR));
    out.clear();
    if key {
        for set in config.sps.iter().chain(&config.pps) {
            push_nal(out, set);
        }
    }
    for nal in nals_of_mp4(config, sample) {
        let nal = nal?;
        // Parameter sets within the sample would repeat those just written.
        if !(key && matches!(nal_type(nal), NAL_SPS | NAL_PPS)) {
            push_nal(out, nal);
        }
    }
    Ok(key)
}

fn nals_of_mp4<'a>(config: &Config, sample: &'a [u8]) -> impl Iterator<Item = Result<&'a [u8]>> {
    let mut rest = sample;
    let length_size = config.length_size;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let split = split_nal(rest, length_size);
        rest = split.as_ref().map_or(&[][..], |&(_, rest)| rest);
        Some(split.map(|(nal, _)| nal))
    })
}

fn split_nal(rest: &[u8], length_size: usize) -> Result<(&[u8], &[u8])> {
    ensure!(rest.len() >= length_size, "damaged H.264 sample: {} bytes where a length belongs", rest.len());
    let (length, rest) = rest.split_at(length_size);
    let length = length.iter().fold(0_usize, |sum, &octet| sum << 8 | usize::from(octet));
    ensure!(length <= rest.len(), "damaged H.264 sample: a NAL unit of {length} bytes in {}", rest.len());
    Ok(rest.split_at(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        Config { length_size: 4, sps: vec![vec![0x67, 1]], pps: vec![vec![0x68, 2]] }
    }

    #[test]
    fn a_stream_is_cut_at_start_codes_of_both_lengths() {
        let stream = [9, 0, 0, 0, 1, 0x67, 1, 0, 0, 1, 0x68, 2, 0, 0, 0, 0, 1, 0x65, 0, 0, 3, 1];
        let nals: Vec<_> = nal_units(&stream).collect();
        assert_eq!(nals, [&[0x67, 1][..], &[0x68, 2], &[0x65, 0, 0, 3, 1]]);
        assert!(is_key(&stream));
        assert!(!is_key(&stream[5..]), "the sequence parameter set is missing");
        assert_eq!(nal_units(&[1, 2, 3]).count(), 0);
        assert_eq!(nal_units(&[0, 0, 1]).count(), 0);
    }

    #[test]
    fn an_idr_sample_gets_its_parameter_sets_once() {
        let sample = [0, 0, 0, 2, 0x67, 9, 0, 0, 0, 2, 0x06, 7, 0, 0, 0, 3, 0x65, 3, 4];
        let mut out = vec![99];
        assert!(from_mp4(&config(), &sample, &mut out).unwrap());
        let nals: Vec<_> = nal_units(&out).collect();
        assert_eq!(nals, [&[0x67, 1][..], &[0x68, 2], &[0x06, 7], &[0x65, 3, 4]]);
    }

    #[test]
    fn non_key_sample_gets_no_parameter_sets() {
        let mut out = Vec::new();
        assert!(!from_mp4(&config(), &[0, 0, 0, 2, 0x41, 5], &mut out).unwrap());
        assert_eq!(out, [0, 0, 0, 1, 0x41, 5]);
        let short = Config { length_size: 2, ..config() };
        assert!(!from_mp4(&short, &[0, 2, 0x41, 5], &mut out).unwrap());
        assert_eq!(out, [0, 0, 0, 1, 0x41, 5]);
    }

    #[test]
    fn damaged_samples_are_refused() {
        let mut out = Vec::new();
        assert!(from_mp4(&config(), &[0, 0, 0, 3, 0x41, 5], &mut out).is_err());
        assert!(from_mp4(&config(), &[0, 0, 0, 1, 0x41, 5], &mut out).is_err());
        assert!(from_mp4(&config(), &[0xFF; 4], &mut out).is_err());
    }
}
