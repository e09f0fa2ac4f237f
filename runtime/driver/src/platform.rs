//! What a participant runs on: the real machine, or one that [`Machine`] describes.

use std::sync::Arc;

use dunlin_core::{GuidPrefix, MonoTime, Now, Rng};
use dunlin_engine::GoodbyeSecret;

use crate::config::JoinError;
use crate::machine::{Machine, Sockets};
use crate::timer::Timer;
use crate::{clock, identity};

#[derive(Clone)]
pub(crate) enum Platform {
    /// The timer thread of the group.
    Real(Arc<Timer>),
    /// The real machine, for a group without threads: who pumps it looks at the timers.
    Pumped,
    Machine(Arc<dyn Machine>, Arc<dyn Sockets>),
}

impl Platform {
    pub(crate) fn is_real(&self) -> bool {
        !matches!(self, Self::Machine(..))
    }

    pub(crate) fn is_pumped(&self) -> bool {
        matches!(self, Self::Pumped)
    }

    pub(crate) fn machine(&self) -> Option<&Arc<dyn Machine>> {
        match self {
            Self::Real(_) | Self::Pumped => None,
            Self::Machine(machine, _) => Some(machine),
        }
    }

    pub(crate) fn now(&self) -> Now {
        match self {
            Self::Real(_) | Self::Pumped => clock::now(),
            Self::Machine(machine, _) => machine.now(),
        }
    }

    /// The monotonic clock alone.
    pub(crate) fn mono(&self) -> MonoTime {
        match self {
            Self::Real(_) | Self::Pumped => clock::mono(),
            Self::Machine(machine, _) => machine.now().mono,
        }
    }

    /// Sees to it that the timers are looked at by then.
    pub(crate) fn wake_by(&self, deadline: MonoTime) {
        match self {
            Self::Real(timer) => timer.wake_by(deadline),
            Self::Pumped => {}
            Self::Machine(_, sockets) => sockets.wake_by(deadline),
        }
    }

    /// A name for a new participant, entropy for it, and what only it knows.
    pub(crate) fn identity(&self) -> Result<(GuidPrefix, u64, GoodbyeSecret), JoinError> {
        match self {
            Self::Real(_) | Self::Pumped => {
                Ok((identity::next_prefix()?, identity::seed()?, identity::goodbye_secret()?))
            }
            Self::Machine(machine, _) => {
                let (prefix, seed) = machine.identity();
                Ok((prefix, seed, Rng::new(seed.rotate_left(32)).octets()))
            }
        }
    }
}
