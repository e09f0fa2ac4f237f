//! RTPS 2.5 §8.3.8.11 and §9.4.5 "InfoTimestamp".

use dunlin_core::{RtpsTime, WallTime};

use super::{FixedSubmessage, Reject, kind};
use crate::cursor::Cursor;
use crate::encoder::{Encoder, Sink};

const FLAG_INVALIDATE: u8 = 0x02;

/// Reads the timestamp; an invalid or infinite one counts as none.
pub(crate) fn parse(flags: u8, cursor: &mut Cursor<'_>) -> Result<Option<WallTime>, Reject> {
    if flags & FLAG_INVALIDATE != 0 {
        return Ok(None);
    }
    Ok(cursor.time()?.to_wall())
}

/// What an INFO_TS says, for writing it.
pub(crate) struct InfoTs(Option<RtpsTime>);

impl InfoTs {
    /// A time outside the range of the wire cannot be said; then the submessage says that there is none.
    pub(crate) fn new(timestamp: Option<WallTime>) -> Self {
        Self(timestamp.map(RtpsTime::from_wall).filter(|time| *time != RtpsTime::INVALID))
    }
}

impl FixedSubmessage for InfoTs {
    const KIND: u8 = kind::INFO_TS;

    fn flags(&self) -> u8 {
        if self.0.is_some() { 0 } else { FLAG_INVALIDATE }
    }

    fn encode<S: Sink>(&self, out: &mut Encoder<'_, S>) {
        if let Some(time) = self.0 {
            out.time(time);
        }
    }
}
