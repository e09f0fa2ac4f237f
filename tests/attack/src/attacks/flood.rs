//! Everything that strangers can send, as fast as loopback carries it.

use anyhow::Result;

use super::datagrams::{Rng, any};
use crate::field::Field;
use crate::places::{Channel, Side};

/// Different datagrams: making them takes longer than sending them.
const PREPARED: usize = 50_000;
/// So many are sent before the clock is looked at.
const AT_ONCE: usize = 64;

/// Malformed and valid-looking datagrams to every unicast port of the pair.
pub(super) fn flood_of_datagrams(field: &mut Field) -> Result<()> {
    let mut rng = Rng::new(0);
    let prepared: Vec<Vec<u8>> = (0..PREPARED).map(|_| any(&mut rng, field.places.domain)).collect();
    for datagrams in prepared.chunks(AT_ONCE).cycle() {
        if field.is_over() {
            break;
        }
        for datagram in datagrams {
            for side in [Side::Reader, Side::Writer] {
                field.send(side, Channel::Metatraffic, datagram);
                field.send(side, Channel::Data, datagram);
            }
        }
    }
    Ok(())
}
