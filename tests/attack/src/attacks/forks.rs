//! The two sides fork while datagrams flood them. Over TCP no datagram gets there, and they fork alone.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::datagrams::{Rng, any};
use crate::children::Way;
use crate::field::Field;
use crate::places::{self, Channel, Side};

/// From one child of a side to the next.
const EVERY: Duration = Duration::from_millis(200);
/// How often so many different datagrams are sent: one that is as fast as it can be delays samples by itself.
const PACE: Duration = Duration::from_millis(1);
const AT_ONCE: usize = 4;
/// Datagrams of the flood that are made anew.
const PREPARED: usize = 5_000;

/// Children that live until the pair has ended.
pub(super) fn children_idle(field: &mut Field) -> Result<()> {
    fork_often(field, Way::Idles)
}

/// Children that drop everything and end.
pub(super) fn children_exit(field: &mut Field) -> Result<()> {
    fork_often(field, Way::Exits)
}

/// Children that use what their parents have.
pub(super) fn children_use_entities(field: &mut Field) -> Result<()> {
    fork_often(field, Way::Uses)
}

const SIDES: [Side; 2] = [Side::Reader, Side::Writer];

fn fork_often(field: &mut Field, way: Way) -> Result<()> {
    if field.places.way == places::Way::Tcp {
        return field
            .again(EVERY, |field, _| SIDES.into_iter().try_for_each(|side| field.have_forked(side, way)));
    }
    let mut rng = Rng::new(0);
    let prepared: Vec<Vec<u8>> = (0..PREPARED).map(|_| any(&mut rng, field.places.domain)).collect();
    let mut datagrams = prepared.iter().cycle();
    let mut next = Instant::now();
    field.again(PACE, |field, _| {
        if Instant::now() >= next {
            SIDES.into_iter().try_for_each(|side| field.have_forked(side, way))?;
            next += EVERY;
        }
        for (datagram, side) in datagrams.by_ref().take(AT_ONCE).flat_map(|it| SIDES.map(|side| (it, side))) {
            field.send(side, Channel::Metatraffic, datagram);
            field.send(side, Channel::Data, datagram);
        }
        Ok(())
    })
}
