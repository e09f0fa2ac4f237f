//! A moving test pattern with the frame number and the clock in it, so that no two pictures are alike.

use anyhow::Result;
use dunlin_program::Stop;

use super::ImageSource;
use super::pace::Pacer;
use crate::codec::Image;
use crate::codec::image::{check_even_size, chroma, luma};
use crate::frame::now_ns;

/// Draws the test pattern at a steady rate.
pub struct Pattern {
    size: (u32, u32),
    rate: f64,
    pacer: Pacer,
    number: u64,
}

impl Pattern {
    /// Pictures of `size` pixels, `rate` of them per second (0: as fast as they are taken).
    ///
    /// # Errors
    /// When the size is not possible.
    pub fn new(size: (u32, u32), rate: f64) -> Result<Self> {
        check_even_size(size.0, size.1)?;
        Ok(Self { size, rate, pacer: Pacer::new(rate), number: 0 })
    }
}

impl ImageSource for Pattern {
    fn next(&mut self, stop: &Stop, image: &mut Image) -> Result<Option<i64>> {
        if !self.pacer.wait(stop) {
            return Ok(None);
        }
        let captured_at = now_ns();
        image.resize(self.size.0, self.size.1)?;
        draw(image, self.number, captured_at);
        self.number += 1;
        Ok(Some(captured_at))
    }

    fn description(&self) -> String {
        let (w, h) = self.size;
        match self.rate {
            0.0 => format!("test pattern {w}x{h}, as fast as possible"),
            rate => format!("test pattern {w}x{h}, {rate} frames/s"),
        }
    }

    fn missed(&self) -> u64 {
        self.pacer.missed()
    }
}

/// Eight colour bars, from the left.
const BARS: [(u8, u8, u8); 8] = [
    (235, 235, 235),
    (220, 200, 40),
    (40, 190, 200),
    (50, 180, 70),
    (190, 70, 190),
    (200, 50, 50),
    (50, 70, 200),
    (30, 32, 38),
];

/// Draws picture `number` with the wall clock `time_ns`.
pub fn draw(image: &mut Image, number: u64, time_ns: i64) {
    let (w, h) = (image.width(), image.height());
    draw_bars(image, number);
    draw_ball(image, number);
    let scale = (w / 240).max(1);
    draw_text(image, (8 * scale, (h / 2).saturating_sub(10 * scale)), scale, &format!("FRAME {number:08}"));
    draw_text(image, (8 * scale, h / 2 + 4 * scale), scale, &clock(time_ns));
}

fn draw_bars(image: &mut Image, number: u64) {
    let (w, h) = (image.width(), image.height());
    // The whole width passes once in 256 pictures.
    let shift = (number % 256) as usize * w / 256;
    let bar = |x: usize| BARS[((x + shift) * BARS.len() / w) % BARS.len()];
    let (y, u, v) = image.planes_mut();
    for x in 0..w {
        let (r, g, b) = bar(x);
        y[x] = luma(r, g, b);
        if x % 2 == 0 {
            (u[x / 2], v[x / 2]) = chroma(r, g, b);
        }
    }
    for row in 1..h {
        y.copy_within(0..w, row * w);
    }
    for row in 1..h / 2 {
        u.copy_within(0..w / 2, row * (w / 2));
        v.copy_within(0..w / 2, row * (w / 2));
    }
    // A ramp at the bottom shows whether all levels of grey survive.
    for row in h - h / 8..h {
        for x in 0..w {
            y[row * w + x] = (16 + x * 219 / w) as u8;
        }
        u[row / 2 * (w / 2)..][..w / 2].fill(128);
        v[row / 2 * (w / 2)..][..w / 2].fill(128);
    }
}

fn draw_ball(image: &mut Image, number: u64) {
    let (w, h) = (image.width() as i64, image.height() as i64);
    let radius = (h / 12).max(2);
    let bounce = |t: i64, span: i64| {
        let span = span.max(1);
        let t = t % (2 * span);
        if t < span { t } else { 2 * span - t }
    };
    let t = (number % (1 << 32)) as i64;
    let cx = radius + bounce(t * w / 160, w - 2 * radius);
    let cy = radius + bounce(t * h / 110, h * 7 / 8 - 2 * radius);
    let (y, u, v) = image.planes_mut();
    for py in (cy - radius).max(0)..(cy + radius).min(h) {
        for px in (cx - radius).max(0)..(cx + radius).min(w) {
            if (px - cx).pow(2) + (py - cy).pow(2) < radius * radius {
                y[(py * w + px) as usize] = 145;
                let at = (py / 2 * (w / 2) + px / 2) as usize;
                (u[at], v[at]) = (54, 200);
            }
        }
    }
}

/// Hours, minutes, seconds and milliseconds (UTC).
fn clock(time_ns: i64) -> String {
    let ms = time_ns.div_euclid(1_000_000).rem_euclid(86_400_000);
    let (s, ms) = (ms / 1000, ms % 1000);
    format!("{:02}:{:02}:{:02}.{ms:03} UTC", s / 3600, s / 60 % 60, s % 60)
}

/// White letters of 5 by 7 dots, `scale` pixels per dot, on a dark ground.
fn draw_text(image: &mut Image, (left, top): (usize, usize), scale: usize, text: &str) {
    let (w, h) = (image.width(), image.height());
    let (y, u, v) = image.planes_mut();
    for (i, letter) in text.chars().enumerate() {
        let rows = glyph(letter);
        for row in 0..9 * scale {
            for column in 0..6 * scale {
                let (px, py) = (left + i * 6 * scale + column, top + row);
                if px >= w || py >= h {
                    continue;
                }
                let (dot_row, dot) = (row / scale, column / scale);
                let lit = (1..8).contains(&dot_row) && rows[dot_row - 1] >> (5 - dot) & 1 == 1;
                y[py * w + px] = if lit { 235 } else { 24 };
                let at = py / 2 * (w / 2) + px / 2;
                (u[at], v[at]) = (128, 128);
            }
        }
    }
}

/// Seven rows of five dots; the highest of five bits is the left dot. The dot left of all stays dark.
fn glyph(letter: char) -> [u8; 7] {
    match letter {
        '0' => [14, 17, 19, 21, 25, 17, 14],
        '1' => [4, 12, 4, 4, 4, 4, 14],
        '2' => [14, 17, 1, 2, 4, 8, 31],
        '3' => [31, 2, 4, 2, 1, 17, 14],
        '4' => [2, 6, 10, 18, 31, 2, 2],
        '5' => [31, 16, 30, 1, 1, 17, 14],
        '6' => [6, 8, 16, 30, 17, 17, 14],
        '7' => [31, 1, 2, 4, 8, 8, 8],
        '8' => [14, 17, 17, 14, 17, 17, 14],
        '9' => [14, 17, 17, 15, 1, 2, 12],
        ':' => [0, 12, 12, 0, 12, 12, 0],
        '.' => [0, 0, 0, 0, 0, 12, 12],
        'A' => [14, 17, 17, 31, 17, 17, 17],
        'C' => [14, 17, 16, 16, 16, 17, 14],
        'E' => [31, 16, 16, 30, 16, 16, 31],
        'F' => [31, 16, 16, 30, 16, 16, 16],
        'M' => [17, 27, 21, 21, 17, 17, 17],
        'R' => [30, 17, 17, 30, 20, 18, 17],
        'T' => [31, 4, 4, 4, 4, 4, 4],
        'U' => [17, 17, 17, 17, 17, 17, 14],
        _ => [0; 7],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::codec::Encoder;
    use crate::codec::jpeg::{self, JpegEncoder};

    #[test]
    fn no_two_pictures_are_alike_even_after_jpeg() {
        let mut image = Image::new(320, 240).unwrap();
        let (mut originals, mut decoded) = (BTreeSet::new(), BTreeSet::new());
        let mut jpeg = Vec::new();
        for number in 0..300 {
            draw(&mut image, number, 0);
            originals.insert(image.data().to_vec());
            JpegEncoder::new(80).encode(&image, false, &mut jpeg).unwrap();
            let mut back = Image::default();
            jpeg::decode(&jpeg, &mut back).unwrap();
            decoded.insert(back.data().to_vec());
        }
        assert_eq!((originals.len(), decoded.len()), (300, 300));
    }

    #[test]
    fn the_clock_is_readable() {
        assert_eq!(clock(1_763_683_200_123_456_789), "00:00:00.123 UTC");
        assert_eq!(clock(-1_000_000), "23:59:59.999 UTC");
    }

    #[test]
    fn tiny_and_odd_shapes_are_drawn() {
        for (w, h) in [(2, 2), (2, 400), (400, 2), (16, 16)] {
            let mut image = Image::new(w, h).unwrap();
            draw(&mut image, u64::MAX, i64::MAX);
        }
    }

    #[test]
    fn pictures_carry_their_capture_time() {
        let mut pattern = Pattern::new((32, 32), 0.0).unwrap();
        let mut image = Image::default();
        let before = now_ns();
        let at = pattern.next(&Stop::default(), &mut image).unwrap().unwrap();
        assert!((before..=now_ns()).contains(&at));
        assert!(Pattern::new((31, 32), 1.0).is_err());
    }
}
