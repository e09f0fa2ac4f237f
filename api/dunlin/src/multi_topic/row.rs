//! Rows as serialized samples.

use super::plan::Plan;
use dunlin_cdr::{
    CdrError, CdrWrite, EncapsulationHeader, Encoder, Endianness, Extensibility, MemberDescription,
    MemberFlags, Scalar, TypeDescription,
};
use dunlin_filter::Value;

/// The value of a member.
struct Part<'a> {
    ty: &'static TypeDescription,
    value: Scalar<'a>,
}

impl CdrWrite for Part<'_> {
    fn write(&self, e: &mut Encoder<'_>) -> Result<(), CdrError> {
        // The plan has seen to it that the types are the same.
        self.ty_fits(e.write_scalar(self.ty, &self.value)?);
        Ok(())
    }
}

impl Part<'_> {
    fn ty_fits(&self, written: bool) {
        debug_assert!(written, "{:?} is no {}", self.value, self.ty);
    }
}

fn scalar<'a>(value: &'a Value<'_>) -> Scalar<'a> {
    match value {
        Value::Boolean(value) => Scalar::Boolean(*value),
        Value::Integer(value) => match i64::try_from(*value) {
            Ok(value) => Scalar::Signed(value),
            Err(_) => Scalar::Unsigned(*value as u64),
        },
        Value::Float(value) => Scalar::Float(*value),
        // A character came from at most sixteen bits.
        Value::Character(value) => Scalar::Character(*value as u16),
        Value::Text(text) => Scalar::Text(text),
    }
}

impl Plan {
    /// The payload of a row; `value` tells what is in a cell. `None` if a member that is not optional has no value.
    pub fn payload<'v>(
        &self,
        value: impl Fn(super::plan::Cell) -> Option<&'v Value<'static>>,
    ) -> Option<Vec<u8>> {
        let extensibility = self.row.extensibility;
        let mut header = EncapsulationHeader::new(self.representation, extensibility, Endianness::Little);
        let mut out = header.to_bytes().to_vec();
        let mut parts = Vec::new();
        for (position, cell) in self.cells.iter().enumerate() {
            let member = self.row.member(position)?;
            let part = cell.and_then(&value).map(|value| Part { ty: member.ty.get(), value: scalar(value) });
            if part.is_none() && !member.is_optional() {
                return None;
            }
            parts.push((member, part));
        }
        let mut encoder = Encoder::new(&mut out, self.representation, Endianness::Little);
        let written = encoder.write_struct(extensibility, |e| {
            parts.iter().try_for_each(|(member, part)| write(e, extensibility, member, part.as_ref()))
        });
        written.ok()?;
        let padding = out.len().wrapping_neg() & 3;
        out.resize(out.len() + padding, 0);
        header.options = padding as u16;
        out[..4].copy_from_slice(&header.to_bytes());
        Some(out)
    }
}

fn write(
    e: &mut Encoder<'_>,
    extensibility: Extensibility,
    member: &MemberDescription,
    part: Option<&Part<'_>>,
) -> Result<(), CdrError> {
    let must_understand = member.is_key() || member.flags.contains(MemberFlags::MUST_UNDERSTAND);
    match (extensibility, member.is_optional(), part) {
        (Extensibility::Mutable, ..) => e.write_optional_member(member.id, must_understand, part),
        (_, true, part) => e.write_optional(member.id, must_understand, part),
        (_, false, Some(part)) => part.write(e),
        (_, false, None) => Ok(()),
    }
}
