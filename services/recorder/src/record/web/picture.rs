//! JPEG images in samples: a sequence of octets that begins like one. The type of the topic need not be known for that.

/// How a JPEG image begins.
const START: [u8; 3] = [0xFF, 0xD8, 0xFF];
/// How it ends.
const END: [u8; 2] = [0xFF, 0xD9];
/// Octets behind the end of an image that cameras leave in their buffers.
const SLACK: usize = 64;
/// The largest image that is shown.
const LARGEST: usize = 8 << 20;

/// The first image in a serialized sample with its encapsulation header: the octets of a sequence, which stand behind their count.
pub(super) fn jpeg_in(payload: &[u8]) -> Option<&[u8]> {
    let little = payload.get(1)? & 1 == 1;
    let mut from = 8;
    while let Some(found) = payload.get(from..)?.windows(START.len()).position(|it| it == START) {
        let at = from + found;
        let count: [u8; 4] = payload.get(at - 4..at)?.try_into().ok()?;
        let count = if little { u32::from_le_bytes(count) } else { u32::from_be_bytes(count) };
        let image = usize::try_from(count).ok().filter(|count| *count <= LARGEST);
        let image = image.and_then(|count| payload.get(at..at.checked_add(count)?));
        if let Some(image) = image.filter(|image| is_ended(image)) {
            return Some(image);
        }
        from = at + 1;
    }
    None
}

fn is_ended(image: &[u8]) -> bool {
    let tail = &image[image.len().saturating_sub(SLACK)..];
    tail.windows(END.len()).any(|it| it == END)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(flags: u8, count: &[u8], image: &[u8]) -> Vec<u8> {
        [&[0, flags, 0, 0, 1, 2, 3, 4][..], count, image, &[9; 7]].concat()
    }

    #[test]
    fn images_are_found_in_either_byte_order() {
        let image = [0xFF, 0xD8, 0xFF, 0xE0, 1, 2, 3, 0xFF, 0xD9];
        assert_eq!(jpeg_in(&sample(1, &9u32.to_le_bytes(), &image)), Some(&image[..]));
        assert_eq!(jpeg_in(&sample(0, &9u32.to_be_bytes(), &image)), Some(&image[..]));
        let second = [&sample(1, &9u32.to_be_bytes(), &image)[..], &9u32.to_le_bytes(), &image].concat();
        assert_eq!(jpeg_in(&second), Some(&image[..]));
    }

    #[test]
    fn samples_without_an_image_show_none() {
        let image = [0xFF, 0xD8, 0xFF, 0xE0, 1, 2, 3, 0xFF, 0xD9];
        assert_eq!(jpeg_in(&sample(1, &8u32.to_le_bytes(), &image)), None, "it does not end in its sequence");
        assert_eq!(jpeg_in(&sample(1, &900u32.to_le_bytes(), &image)), None);
        assert_eq!(jpeg_in(&sample(1, &u32::MAX.to_le_bytes(), &image)), None);
        assert_eq!(jpeg_in(&sample(1, &2u32.to_le_bytes(), &image)), None);
        assert_eq!(jpeg_in(&[0xFF, 0xD8, 0xFF]), None);
        assert_eq!(jpeg_in(&[]), None);
        assert_eq!(jpeg_in(&[1; 100]), None);
    }
}
