//! RTPS 2.5 §9.4.5 and §9.4.5: what DATA and DATA_FRAG have in common, the way to inline QoS and payload.

use super::{NotUnderstood, Reject};
use crate::cursor::Cursor;
use crate::{Malformation, ParameterList, pid};

const OFFSET_FIELD_END: usize = 4;

/// Reads `extraFlags` and `octetsToInlineQos` and returns the bytes from where inline QoS or payload begin.
/// `fixed_len` is the length of the fixed fields, which must not be overlapped.
pub(super) fn after_fixed_fields<'a>(
    cursor: &mut Cursor<'a>,
    body: &'a [u8],
    fixed_len: usize,
) -> Result<&'a [u8], Malformation> {
    cursor.u16()?;
    let start = OFFSET_FIELD_END.saturating_add(usize::from(cursor.u16()?));
    if start < fixed_len {
        return Err(Malformation::InlineQosOffset);
    }
    body.get(start..).ok_or(Malformation::InlineQosOffset)
}

/// Splits `bytes` into the inline QoS, when `present`, and the bytes after it.
pub(super) fn split<'a>(
    bytes: &'a [u8],
    cursor: &Cursor<'a>,
    present: bool,
) -> Result<(Option<ParameterList<'a>>, &'a [u8]), Reject> {
    if !present {
        return Ok((None, bytes));
    }
    let (list, consumed) = ParameterList::scan(bytes, cursor.endianness())?;
    for parameter in &list {
        if pid::is_incomprehensible(parameter.pid) {
            return Err(Reject::NotUnderstood(NotUnderstood::Parameter(parameter.pid)));
        }
        if parameter.value.len() < least_len(parameter.pid) {
            return Err(Malformation::ParameterValue.into());
        }
    }
    let rest = bytes.get(consumed..).ok_or(Malformation::ParameterListEnd)?;
    Ok((Some(list), rest))
}

/// Bytes that the value of an inline parameter has at least (§9.6.4), for those without which a change would be taken
/// for another one.
const fn least_len(pid: u16) -> usize {
    match pid {
        pid::STATUS_INFO => 4,
        pid::COHERENT_SET | pid::GROUP_COHERENT_SET | pid::GROUP_SEQ_NUM => 8,
        pid::KEY_HASH => 16,
        pid::ORIGINAL_WRITER_INFO => 24,
        _ => 0,
    }
}
