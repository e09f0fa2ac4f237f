//! RTPS 2.5 §8.3.8.8 and §9.4.5 "InfoDestination".

use dunlin_core::GuidPrefix;

use super::{FixedSubmessage, Reject, kind};
use crate::cursor::Cursor;
use crate::encoder::{Encoder, Sink};

pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<GuidPrefix, Reject> {
    Ok(cursor.guid_prefix()?)
}

/// The participant to which the following submessages go, for writing it.
pub(crate) struct InfoDst(pub(crate) GuidPrefix);

impl FixedSubmessage for InfoDst {
    const KIND: u8 = kind::INFO_DST;

    fn flags(&self) -> u8 {
        0
    }

    fn encode<S: Sink>(&self, out: &mut Encoder<'_, S>) {
        out.guid_prefix(self.0);
    }
}
