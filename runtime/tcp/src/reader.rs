//! Takes a stream apart, with as little copying as is possible without knowing what comes.

use std::io::{self, IoSliceMut};

use dunlin_buf::{BufMut, BufPool, SharedBytes};

use crate::frame::{FramingError, HEADER, Header, MAX_UNBOUND};

/// Octets read at a time while nothing is known of what comes.
const SCRATCH: usize = 64 << 10;
/// The same behind the rest of a long message: what is read of the next one has to be copied.
const AHEAD: usize = 4 << 10;

/// Octets of a message for which there is memory before they have come: who promises a long one gets no more for that.
const STEP: usize = 128 << 10;

/// Room that all connections share, because one is read at a time.
pub(crate) struct Scratch {
    octets: Vec<u8>,
    pub(crate) pool: BufPool,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self { octets: vec![0; SCRATCH], pool: BufPool::new(16 << 20) }
    }
}

/// A message that has arrived in part.
struct Partial {
    header: Header,
    buffer: BufMut,
    filled: usize,
}

/// What is known of a stream so far: never more than one message.
pub(crate) struct Reader {
    head: [u8; HEADER],
    have: usize,
    partial: Option<Partial>,
    /// Octets of the longest message.
    pub(crate) limit: usize,
    /// The last read had room for more than there was.
    pub(crate) drained: bool,
}

/// Why a stream ends.
#[derive(Debug)]
pub(crate) enum End {
    /// The peer has closed it.
    Closed,
    Failed(io::Error),
    FramingError(FramingError),
}

impl Reader {
    pub(crate) fn new() -> Self {
        Self { head: [0; HEADER], have: 0, partial: None, limit: MAX_UNBOUND, drained: false }
    }

    /// Reads once, and hands out the messages that are whole now; how many octets came, 0 if there is nothing to read now.
    pub(crate) fn read(
        &mut self,
        scratch: &mut Scratch,
        read: impl FnOnce(&mut [IoSliceMut<'_>]) -> io::Result<usize>,
        mut each: impl FnMut(Header, SharedBytes) -> Result<(), FramingError>,
    ) -> Result<usize, End> {
        let missing = self.partial.as_ref().map_or(0, |partial| partial.header.len - partial.filled);
        // Memory that was used before costs nothing.
        let room = self.partial.as_mut().map_or(0, |partial| partial.buffer.vec_mut().len() - partial.filled);
        let wanted = missing.min(room.max(STEP));
        let ahead = match missing {
            0..=AHEAD => SCRATCH,
            _ if wanted == missing => AHEAD,
            _ => 0,
        };
        let mut octets = std::mem::take(&mut scratch.octets);
        let result = match &mut self.partial {
            Some(Partial { buffer, filled, .. }) => {
                let rest = &mut buffer.slice_mut(*filled + wanted)[*filled..*filled + wanted];
                read(&mut [IoSliceMut::new(rest), IoSliceMut::new(&mut octets[..ahead])])
            }
            None => read(&mut [IoSliceMut::new(&mut octets[..ahead])]),
        };
        let result = match result {
            Ok(0) => Err(End::Closed),
            Ok(count) => {
                self.drained = count < wanted + ahead;
                self.filled(count.min(missing), scratch, &mut each).map_err(End::FramingError).and_then(
                    |()| {
                        let more = &octets[..count.saturating_sub(missing)];
                        self.take_apart(more, scratch, &mut each).map_err(End::FramingError)?;
                        Ok(count)
                    },
                )
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(0)
            }
            Err(error) => Err(End::Failed(error)),
        };
        scratch.octets = octets;
        result
    }

    /// More octets of the message that is in flight are in its place.
    fn filled(
        &mut self,
        count: usize,
        scratch: &mut Scratch,
        each: &mut impl FnMut(Header, SharedBytes) -> Result<(), FramingError>,
    ) -> Result<(), FramingError> {
        let Some(partial) = &mut self.partial else { return Ok(()) };
        partial.filled += count;
        if partial.filled < partial.header.len {
            return Ok(());
        }
        let Some(whole) = self.partial.take() else { return Ok(()) };
        let bytes = scratch.pool.freeze(whole.buffer, whole.header.len);
        whole.header.check(&bytes)?;
        each(whole.header, bytes)
    }

    fn take_apart(
        &mut self,
        mut octets: &[u8],
        scratch: &mut Scratch,
        each: &mut impl FnMut(Header, SharedBytes) -> Result<(), FramingError>,
    ) -> Result<(), FramingError> {
        while !octets.is_empty() {
            let count = (HEADER - self.have).min(octets.len());
            self.head[self.have..self.have + count].copy_from_slice(&octets[..count]);
            self.have += count;
            octets = &octets[count..];
            self.check_start()?;
            if self.have < HEADER {
                break;
            }
            self.have = 0;
            let header = Header::decode(&self.head, self.limit)?;
            if let Some((body, rest)) = octets.split_at_checked(header.len) {
                octets = rest;
                header.check(body)?;
                each(header, scratch.pool.copy(body))?;
                continue;
            }
            let mut buffer = scratch.pool.take(header.len);
            buffer.slice_mut(octets.len()).copy_from_slice(octets);
            self.partial = Some(Partial { header, buffer, filled: octets.len() });
            break;
        }
        Ok(())
    }

    /// Who speaks something else is not waited for until he has said fourteen octets.
    fn check_start(&self) -> Result<(), FramingError> {
        match self.head.first_chunk::<4>() {
            Some(start) if self.have >= 4 && start != b"RTCP" => Err(FramingError::Foreign(*start)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use dunlin_core::Rng;

    use super::*;
    use crate::frame::MAX_MESSAGE;

    /// Gives as many octets at a time as it is told to.
    struct Stream<'s> {
        rest: &'s [u8],
    }

    impl Stream<'_> {
        fn give(&mut self, most: usize, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
            let mut portion = &self.rest[..most.min(self.rest.len())];
            let count = portion.read_vectored(bufs)?;
            self.rest = &self.rest[count..];
            Ok(count)
        }
    }

    fn unit(port: u16, body: &[u8]) -> Vec<u8> {
        [&Header::of(port, body.len(), [body].into_iter()).encode()[..], body].concat()
    }

    fn read_all(stream: &[u8], mut portion: impl FnMut() -> usize) -> Vec<(u16, Vec<u8>)> {
        let (mut scratch, mut reader, mut stream) = (Scratch::new(), Reader::new(), Stream { rest: stream });
        reader.limit = MAX_MESSAGE;
        let mut out = vec![];
        loop {
            let most = portion();
            let read = reader.read(
                &mut scratch,
                |bufs| stream.give(most, bufs),
                |header, bytes| {
                    out.push((header.port, bytes.to_vec()));
                    Ok(())
                },
            );
            match read {
                Ok(_) => {}
                Err(End::Closed) => return out,
                Err(end) => panic!("{end:?}"),
            }
        }
    }

    #[test]
    fn messages_come_out_however_the_stream_is_cut() {
        let mut rng = Rng::new(1);
        let sizes = [1, 13, 14, 15, 0, 900, 4_095, 4_096, 4_097, 65_500, 65_500, 3, 30_000, 65_499, 2];
        let bodies: Vec<Vec<u8>> =
            sizes.iter().map(|size| (0..*size).map(|_| rng.next_u64() as u8).collect()).collect();
        let stream: Vec<u8> = bodies.iter().enumerate().flat_map(|(n, body)| unit(n as u16, body)).collect();
        let expected: Vec<(u16, Vec<u8>)> = (0..).zip(bodies.iter().cloned()).collect();
        assert!(read_all(&stream, || usize::MAX) == expected, "as much as there is room for");
        assert!(read_all(&stream, || 1) == expected, "one octet at a time");
        for seed in 0..20 {
            let mut rng = Rng::new(seed);
            assert!(read_all(&stream, || 1 + rng.below(9_000) as usize) == expected, "seed {seed}");
        }
    }

    #[test]
    fn a_wrong_frame_magic_is_found_at_the_fourth_octet() {
        let (mut scratch, mut reader) = (Scratch::new(), Reader::new());
        let mut stream = Stream { rest: b"GET " };
        let end = reader.read(&mut scratch, |bufs| stream.give(9, bufs), |_, _| Ok(())).unwrap_err();
        assert!(matches!(end, End::FramingError(FramingError::Foreign(_))), "{end:?}");
    }

    #[test]
    fn an_unbound_peer_gets_no_memory_for_a_long_message() {
        let (mut scratch, mut reader) = (Scratch::new(), Reader::new());
        let long = unit(7410, &[0; MAX_UNBOUND + 1]);
        let mut stream = Stream { rest: &long };
        let end = reader.read(&mut scratch, |bufs| stream.give(HEADER, bufs), |_, _| Ok(())).unwrap_err();
        assert!(matches!(end, End::FramingError(FramingError::Long { .. })), "{end:?}");
        assert!(reader.partial.is_none());
    }
}
