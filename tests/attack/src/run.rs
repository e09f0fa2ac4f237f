//! Carries attacks out, one after the other, each on a pair of its own.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::attacks::Attack;
use crate::bound::judge;
use crate::field::{Field, Make, Seen};
use crate::places::{Places, Speaks, Way};

/// The last domain whose ports are none that the kernel gives to anybody.
const LAST_DOMAIN: u16 = 100;

/// What came of one attack.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The attack.
    pub attack: Attack,
    /// The same pair in peace.
    pub peace: Seen,
    /// What was seen; nothing if the pair did not come to an end, or the attack could not be carried out.
    pub seen: Option<Seen>,
    /// What went beyond its bound.
    pub broken: Vec<String>,
}

impl Outcome {
    /// Whether all bounds hold.
    pub fn holds(&self) -> bool {
        self.broken.is_empty()
    }
}

/// Runs attacks on pairs of one make.
#[derive(Debug)]
pub struct Runner {
    make: Make,
    /// The next domain: a pair that has just ended may still be remembered in the last one.
    domain: u16,
    peace: BTreeMap<(Way, u64), Seen>,
}

impl Runner {
    /// Its pairs have this domain and the next ones.
    pub fn new(make: Make, domain: u16) -> Self {
        Self { make, domain, peace: BTreeMap::new() }
    }

    fn places(&mut self, way: Way) -> Places {
        self.domain = if self.domain >= LAST_DOMAIN { 1 } else { self.domain + 1 };
        Places { way, domain: self.domain }
    }

    fn peace(&mut self, way: Way, seconds: u64) -> Result<Seen> {
        if let Some(seen) = self.peace.get(&(way, seconds)) {
            return Ok(*seen);
        }
        let places = self.places(way);
        let mut field = Field::new(&self.make, places, Speaks::Elsewhere, seconds)?;
        field.rest(field.left());
        let seen = field.finish()?;
        anyhow::ensure!(seen.lost == 0, "{} samples lost in peace", seen.lost);
        self.peace.insert((way, seconds), seen);
        Ok(seen)
    }

    fn carry_out(&self, attack: &Attack, places: Places) -> Result<(Seen, Vec<String>)> {
        let mut field = Field::new(&self.make, places, attack.speaks, attack.seconds)?;
        let failed = (attack.run)(&mut field).err();
        let mut broken = std::mem::take(&mut field.broken);
        let seen = field.finish()?;
        broken.extend(failed.map(|error| format!("not carried out: {error:#}")));
        Ok((seen, broken))
    }

    /// Runs one attack.
    ///
    /// # Errors
    /// When the pair does not even work in peace.
    pub fn run(&mut self, attack: &Attack) -> Result<Outcome> {
        let peace = self.peace(attack.way, attack.seconds)?;
        let places = self.places(attack.way);
        let (seen, mut broken) = match self.carry_out(attack, places) {
            Ok((seen, broken)) => (Some(seen), broken),
            Err(error) => (None, vec![format!("{error:#}")]),
        };
        if let Some(seen) = seen {
            let reaches = if matches!(self.make, Make::Dunlin(_)) { attack.reaches } else { &[] };
            broken.extend(judge(&attack.bound, reaches, &peace, &seen, attack.seconds));
        }
        Ok(Outcome { attack: *attack, peace, seen, broken })
    }
}
