//! What waits for a socket. Payloads wait where they are; only what is short is copied.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use dunlin_buf::SharedBytes;

/// Pieces that leave in one call.
const AT_ONCE: usize = 64;
/// Copied octets that share a piece.
const PIECE: usize = 64 << 10;
/// From so many octets on a payload is not copied: keeping it costs less.
const SHARED_FROM: usize = 2 << 10;

enum Piece {
    Own(Vec<u8>),
    Shared(SharedBytes),
}

impl Piece {
    fn octets(&self) -> &[u8] {
        match self {
            Self::Own(octets) => octets,
            Self::Shared(octets) => octets,
        }
    }
}

#[derive(Default)]
pub(crate) struct Queue {
    pieces: VecDeque<Piece>,
    /// Octets of all pieces that have not left.
    octets: usize,
    /// Octets of the first piece that have left.
    sent: usize,
    /// A piece that has left, for the next one.
    spare: Vec<u8>,
}

impl Queue {
    /// Octets that wait.
    pub(crate) fn len(&self) -> usize {
        self.octets
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.octets == 0
    }

    /// Appends a copy.
    pub(crate) fn put(&mut self, octets: &[u8]) {
        if octets.is_empty() {
            return;
        }
        self.octets += octets.len();
        if let Some(Piece::Own(last)) = self.pieces.back_mut()
            && last.len() + octets.len() <= PIECE
        {
            last.extend_from_slice(octets);
            return;
        }
        let mut piece = std::mem::take(&mut self.spare);
        piece.extend_from_slice(octets);
        self.pieces.push_back(Piece::Own(piece));
    }

    /// Appends octets that stay where they are, if they are many.
    pub(crate) fn put_shared(&mut self, octets: &SharedBytes) {
        if octets.len() < SHARED_FROM {
            return self.put(octets);
        }
        self.octets += octets.len();
        self.pieces.push_back(Piece::Shared(octets.clone()));
    }

    /// Hands the first pieces to `write`, which says how many of their octets have left.
    pub(crate) fn leave(
        &mut self,
        write: impl FnOnce(&[IoSlice<'_>]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut slices = [IoSlice::new(&[]); AT_ONCE];
        let mut skipped = self.sent;
        let mut count = 0;
        for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
            *slice = IoSlice::new(piece.octets().get(skipped..).unwrap_or(&[]));
            skipped = 0;
            count += 1;
        }
        let left = write(&slices[..count])?.min(self.octets);
        self.have_left(left);
        Ok(left)
    }

    fn have_left(&mut self, left: usize) {
        self.octets -= left;
        self.sent += left;
        while let Some(first) = self.pieces.front().map(|piece| piece.octets().len())
            && self.sent >= first
        {
            self.sent -= first;
            if let Some(Piece::Own(mut piece)) = self.pieces.pop_front()
                && piece.capacity() <= 2 * PIECE
            {
                piece.clear();
                self.spare = piece;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use dunlin_core::Rng;

    use super::*;

    #[test]
    fn tcp_queue_keeps_order_for_any_write_size() {
        for seed in 0..50 {
            let (mut rng, mut queue) = (Rng::new(seed), Queue::default());
            let (mut put, mut left) = (Vec::new(), Vec::new());
            for _ in 0..300 {
                let octets: Vec<u8> = (0..rng.below(6_000)).map(|_| rng.next_u64() as u8).collect();
                put.extend_from_slice(&octets);
                if rng.below(2) == 0 {
                    queue.put(&octets)
                } else {
                    queue.put_shared(&octets.into())
                }
                let most = rng.below(9_000) as usize;
                let taken = queue.leave(|slices| {
                    let all: Vec<u8> = slices.iter().flat_map(|slice| slice.to_vec()).collect();
                    left.extend_from_slice(&all[..most.min(all.len())]);
                    Ok(most.min(all.len()))
                });
                assert!(taken.unwrap() <= most);
                assert_eq!(queue.len(), put.len() - left.len());
            }
            while !queue.is_empty() {
                queue
                    .leave(|slices| {
                        left.extend(slices.iter().flat_map(|slice| slice.to_vec()));
                        Ok(slices.iter().map(|slice| slice.len()).sum())
                    })
                    .unwrap();
            }
            assert!(put == left && queue.pieces.is_empty(), "seed {seed}");
        }
    }

    #[test]
    fn tcp_queue_joins_short_messages_and_does_not_copy_long_ones() {
        let mut queue = Queue::default();
        for _ in 0..100 {
            queue.put(&[1; 100]);
        }
        let payload = SharedBytes::from(vec![2; 100_000]);
        queue.put_shared(&payload);
        assert_eq!((queue.pieces.len(), queue.len()), (2, 110_000));
        assert!(matches!(&queue.pieces[1], Piece::Shared(octets) if octets.as_ptr() == payload.as_ptr()));
    }
}
