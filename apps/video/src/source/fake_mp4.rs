//! Small MP4 files for tests, made with our own encoder.

use std::path::{Path, PathBuf};

use crate::codec::annexb::{NAL_PPS, NAL_SPS, nal_type, nal_units};
use crate::codec::h264::H264Encoder;
use crate::codec::{Encoder, Image};
use crate::source::pattern;

pub struct Options {
    pub frames: u32,
    pub key_interval: u32,
    pub reordered: bool,
    pub codec: [u8; 4],
}

impl Default for Options {
    fn default() -> Self {
        Self { frames: 4, key_interval: 1000, reordered: false, codec: *b"avc1" }
    }
}

/// Writes a file of 160x120 pixels at 25 pictures per second into `folder`.
pub fn write(folder: &Path, options: &Options) -> PathBuf {
    let (samples, keys, sps, pps) = encode(options);
    let with_offset = |offset: u32| {
        let mut out = ftyp();
        out.extend(moov(options, &samples, &keys, &sps, &pps, offset));
        out
    };
    let offset = with_offset(0).len() as u32 + 8;
    let mut out = with_offset(offset);
    out.extend(boxed(b"mdat", &[&samples.concat()]));
    let name = format!("{}-{}.mp4", String::from_utf8_lossy(&options.codec), options.frames);
    let path = folder.join(name);
    std::fs::write(&path, out).unwrap();
    path
}

type Coded = (Vec<Vec<u8>>, Vec<u32>, Vec<u8>, Vec<u8>);

fn encode(options: &Options) -> Coded {
    let mut encoder = H264Encoder::new(500_000, 25.0, options.key_interval).unwrap();
    let mut image = Image::new(160, 120).unwrap();
    let (mut samples, mut keys, mut sps, mut pps) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for number in 0..options.frames {
        pattern::draw(&mut image, number.into(), 0);
        let mut unit = Vec::new();
        if encoder.encode(&image, false, &mut unit).unwrap().unwrap() {
            keys.push(number + 1);
        }
        let mut sample = Vec::new();
        for nal in nal_units(&unit) {
            match nal_type(nal) {
                NAL_SPS => sps = nal.to_vec(),
                NAL_PPS => pps = nal.to_vec(),
                _ => {
                    sample.extend((nal.len() as u32).to_be_bytes());
                    sample.extend(nal);
                }
            }
        }
        samples.push(sample);
    }
    (samples, keys, sps, pps)
}

fn boxed(name: &[u8; 4], parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let mut out = (body.len() as u32 + 8).to_be_bytes().to_vec();
    out.extend(name);
    out.extend(body);
    out
}

/// A box with version 0, no flags and a list of 32-bit numbers.
fn table(name: &[u8; 4], numbers: &[u32]) -> Vec<u8> {
    let body: Vec<u8> = numbers.iter().flat_map(|n| n.to_be_bytes()).collect();
    boxed(name, &[&[0; 4], &body])
}

fn ftyp() -> Vec<u8> {
    boxed(b"ftyp", &[b"isom", &[0, 0, 2, 0], b"isomavc1"])
}

fn matrix() -> Vec<u8> {
    [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x4000_0000_u32].iter().flat_map(|n| n.to_be_bytes()).collect()
}

fn moov(
    options: &Options,
    samples: &[Vec<u8>],
    keys: &[u32],
    sps: &[u8],
    pps: &[u8],
    offset: u32,
) -> Vec<u8> {
    let duration = 512 * samples.len() as u32;
    let mut mvhd = table(b"mvhd", &[0, 0, 12800, duration, 0x10000, 0x0100_0000, 0, 0]);
    mvhd.extend(matrix());
    mvhd.extend([0; 24]);
    mvhd.extend(2_u32.to_be_bytes());
    let mvhd = boxed(b"mvhd", &[&mvhd[8..]]);
    let mut tkhd = vec![0, 0, 0, 7];
    tkhd.extend([0, 0, 1, 0, duration, 0, 0, 0, 0].iter().flat_map(|n: &u32| n.to_be_bytes()));
    tkhd.extend(matrix());
    tkhd.extend([160_u32 << 16, 120 << 16].iter().flat_map(|n| n.to_be_bytes()));
    let tkhd = boxed(b"tkhd", &[&tkhd]);
    let mdhd = table(b"mdhd", &[0, 0, 12800, duration, 0x55C4_0000]);
    let hdlr = boxed(b"hdlr", &[&[0; 8], b"vide", &[0; 12], b"v\0"]);
    let vmhd = boxed(b"vmhd", &[&[0, 0, 0, 1], &[0; 8]]);
    let dinf =
        boxed(b"dinf", &[&boxed(b"dref", &[&[0; 4], &[0, 0, 0, 1], &boxed(b"url ", &[&[0, 0, 0, 1]])])]);
    let stbl = stbl(options, samples, keys, &avc1(&options.codec, sps, pps), offset);
    let minf = boxed(b"minf", &[&vmhd, &dinf, &stbl]);
    let mdia = boxed(b"mdia", &[&mdhd, &hdlr, &minf]);
    boxed(b"moov", &[&mvhd, &boxed(b"trak", &[&tkhd, &mdia])])
}

fn avc1(codec: &[u8; 4], sps: &[u8], pps: &[u8]) -> Vec<u8> {
    let mut avcc = vec![1, sps[1], sps[2], sps[3], 0xFF, 0xE1];
    avcc.extend((sps.len() as u16).to_be_bytes());
    avcc.extend(sps);
    avcc.push(1);
    avcc.extend((pps.len() as u16).to_be_bytes());
    avcc.extend(pps);
    let mut entry = vec![0, 0, 0, 0, 0, 0, 0, 1];
    entry.extend([0; 16]);
    entry.extend([0, 160, 0, 120, 0, 0x48, 0, 0, 0, 0x48, 0, 0, 0, 0, 0, 0, 0, 1]);
    entry.extend([0; 32]);
    entry.extend([0, 0x18, 0xFF, 0xFF]);
    boxed(codec, &[&entry, &boxed(b"avcC", &[&avcc])])
}

fn stbl(options: &Options, samples: &[Vec<u8>], keys: &[u32], entry: &[u8], offset: u32) -> Vec<u8> {
    let count = samples.len() as u32;
    let stsd = boxed(b"stsd", &[&[0; 4], &[0, 0, 0, 1], entry]);
    let stts = table(b"stts", &[1, count, 512]);
    let ctts = if options.reordered { table(b"ctts", &[2, 1, 512, count - 1, 1024]) } else { Vec::new() };
    let stss = table(b"stss", &[&[keys.len() as u32], keys].concat());
    let stsc = table(b"stsc", &[1, 1, count, 1]);
    let sizes: Vec<u32> = samples.iter().map(|s| s.len() as u32).collect();
    let stsz = table(b"stsz", &[&[0, count], &sizes[..]].concat());
    let stco = table(b"stco", &[1, offset]);
    boxed(b"stbl", &[&stsd, &stts, &ctts, &stss, &stsc, &stsz, &stco])
}
