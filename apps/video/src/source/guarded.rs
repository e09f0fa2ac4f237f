//! A file as a demuxer may read it that does not guard itself against damaged indexes.

use std::io::{self, Read, Seek, SeekFrom};

/// Octets of a header of a box: its size, then its name (ISO/IEC 14496-12 §4.2).
const HEADER: usize = 8;
/// What a file may cost beside its octets: boxes in boxes are looked at more than once.
const ALLOWANCE: u64 = 1 << 20;

/// Fails once more is read than a sound file of this size needs, or its index names more pictures than it has octets.
pub struct Guarded<R> {
    inner: R,
    octets_left: u64,
    pictures_left: u64,
    /// What follows the header of a box that says how many pictures there are.
    table: Option<Table>,
}

/// The beginning of a box with a number of pictures.
struct Table {
    seen: Vec<u8>,
    /// Where the number stands.
    at: usize,
}

impl Table {
    /// `stsz` has a version, flags and the size of all pictures before their number, `trun` no size (§8.7.3.2, §8.8.8.2).
    fn of(name: &[u8]) -> Option<Self> {
        let at = match name {
            b"stsz" => 8,
            b"trun" => 4,
            _ => return None,
        };
        Some(Self { seen: Vec::new(), at })
    }

    /// The number, once it has been read.
    fn number(&self) -> Option<u32> {
        self.seen.get(self.at..)?.first_chunk().map(|number| u32::from_be_bytes(*number))
    }
}

impl<R> Guarded<R> {
    /// Guards a file of so many octets.
    pub fn new(inner: R, size: u64) -> Self {
        let octets_left = size.saturating_mul(4).saturating_add(ALLOWANCE);
        Self { inner, octets_left, pictures_left: size, table: None }
    }

    /// The file.
    pub fn into_inner(self) -> R {
        self.inner
    }

    fn spend(&mut self, octets: u64) -> io::Result<()> {
        let left = self.octets_left.checked_sub(octets);
        self.octets_left = left.ok_or_else(|| io::Error::other("its index goes round in circles"))?;
        Ok(())
    }

    /// Looks for numbers of pictures in what is read.
    fn look(&mut self, octets: &[u8]) -> io::Result<()> {
        let Some(table) = &mut self.table else {
            self.table = octets.get(4..).filter(|_| octets.len() == HEADER).and_then(Table::of);
            return Ok(());
        };
        let missing = (table.at + 4).saturating_sub(table.seen.len());
        table.seen.extend(octets.iter().take(missing));
        let Some(number) = table.number() else { return Ok(()) };
        self.table = None;
        let left = self.pictures_left.checked_sub(number.into());
        self.pictures_left =
            left.ok_or_else(|| io::Error::other("its index names more pictures than it has bytes"))?;
        Ok(())
    }
}

impl<R: Read> Read for Guarded<R> {
    /// Fills the buffer as far as the file goes, so that headers are seen whole.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.inner.read(&mut buffer[filled..])? {
                0 => break,
                count => filled += count,
            }
        }
        self.spend(filled as u64 + 1)?;
        self.look(&buffer[..filled])?;
        Ok(filled)
    }
}

impl<R: Seek> Seek for Guarded<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.spend(1)?;
        if to != SeekFrom::Current(0) {
            self.table = None;
        }
        self.inner.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn repeated_reads_of_the_same_bytes_are_bounded() {
        let mut file = Guarded::new(Cursor::new([0; 100]), 100);
        let mut times = 0;
        while file.seek(SeekFrom::Start(0)).and_then(|_| file.read_exact(&mut [0; 100])).is_ok() {
            times += 1;
        }
        assert!((5_000..20_000).contains(&times), "{times}");
    }

    #[test]
    fn pictures_are_counted_over_all_tables() {
        let mut octets = Vec::new();
        octets.extend(b"\0\0\0\x14stsz\0\0\0\0\0\0\0\x01\0\0\0\x10");
        octets.extend(b"\0\0\0\x10trun\0\0\0\0\0\0\0\x15");
        let read = |size: u64| {
            let mut file = Guarded::new(Cursor::new(&octets), size);
            let mut read = |count: usize| file.read_exact(&mut [0; 16][..count]);
            [8, 1, 3, 4, 4, 8, 4, 4].into_iter().try_for_each(&mut read)
        };
        assert!(read(16 + 21).is_ok() && read(16 + 20).is_err() && read(15).is_err());
    }
}
