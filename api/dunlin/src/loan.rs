//! Samples that are written and read where they lie, in memory that writer and readers of one host share.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use dunlin_buf::SharedBytes;
use dunlin_cache::{CachedSample, SampleInfo};
use dunlin_cdr::{DdsType, EncapsulationHeader, Endianness, Representation};
use dunlin_driver::WriteWait;
use dunlin_engine::WriteRequest;
use dunlin_rtps::ChangeKind;
use dunlin_shm::{Aligned, view, view_mut};

use crate::error::{LoanError, ReadError, WriteError};
use crate::reader::DataReader;
use crate::writer::DataWriter;
use crate::writer_inner::{Prepared, UNIT};

/// The encapsulation header of a value that lies in memory as it is on the wire.
fn header<T: DdsType>(representation: Representation) -> [u8; EncapsulationHeader::SIZE] {
    let header = EncapsulationHeader::new(representation, T::EXTENSIBILITY, Endianness::Little);
    let padding = size_of::<T>().next_multiple_of(UNIT) - size_of::<T>();
    EncapsulationHeader { options: padding as u16, ..header }.to_bytes()
}

/// Whether a payload is the memory of a value.
fn is_in_place<T: DdsType>(payload: &[u8]) -> bool {
    [Representation::Xcdr1, Representation::Xcdr2].iter().any(|it| payload.starts_with(&header::<T>(*it)))
}

/// A sample to be filled in place. The order of calls: [`DataWriter::loan_sample`], fill it through `DerefMut`,
/// [`DataWriter::write_loaned`]. Dropping it instead gives it back unwritten.
pub struct Loan<T> {
    memory: Box<dyn dunlin_transport::Loan>,
    shared: bool,
    sample: PhantomData<T>,
}

impl<T> Loan<T> {
    /// Whether the memory is such that readers of other processes can have the sample where it is. If not, because shared
    /// memory is switched off or all of it in use, they get copies.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.shared
    }
}

impl<T: DdsType> Deref for Loan<T> {
    type Target = T;

    fn deref(&self) -> &T {
        let Some(value) = view(self.memory.octets()) else { unreachable!("looked at when it was made") };
        value
    }
}

impl<T: DdsType> DerefMut for Loan<T> {
    fn deref_mut(&mut self) -> &mut T {
        let Some(value) = view_mut(self.memory.octets_mut()) else {
            unreachable!("looked at when it was made")
        };
        value
    }
}

impl<T: std::fmt::Debug + DdsType> std::fmt::Debug for Loan<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Loan").field(&**self).finish()
    }
}

impl<T: DdsType> DataWriter<T> {
    /// A sample in shared memory, to be filled and then written with [`write_loaned`](Self::write_loaned) without being
    /// copied or serialized. It has any content at first. When all the memory for that is in use, because readers keep what
    /// they got, the sample lies in memory of this process alone and is copied once more; this never waits.
    ///
    /// # Errors
    /// [`LoanError::NotInPlace`] unless values of the type are in memory what they are on the wire: final structures
    /// (`#[dds(final)]`, best with `#[repr(C)]`) of integers, floating-point numbers, arrays of these, and such structures
    /// (but not arrays of structures), without padding, the member with the greatest alignment first.
    pub fn loan_sample(&self) -> Result<Loan<T>, LoanError> {
        if !T::IN_PLACE.holds() {
            return Err(LoanError::NotInPlace(T::TYPE_NAME));
        }
        let len = EncapsulationHeader::SIZE + size_of::<T>().next_multiple_of(UNIT);
        let lent = self.core().lender(len).and_then(|lender| lender.lend(len));
        let shared = lent.is_some();
        let memory = lent.unwrap_or_else(|| Box::new(Aligned::new(len)));
        match view::<T>(memory.octets()) {
            Some(_) => Ok(Loan { memory, shared, sample: PhantomData }),
            None => Err(LoanError::NotInPlace(T::TYPE_NAME)),
        }
    }

    /// write of a loan: as [`write`](Self::write), for all readers, of which those on this host and of this user can
    /// [take](DataReader::take_loaned) the very memory, unless they keep half of it already; the others get copies.
    ///
    /// # Errors
    /// As [`write`](Self::write); the loan is given back then.
    pub fn write_loaned(&self, mut loan: Loan<T>) -> Result<(), WriteError> {
        loan.memory.octets_mut()[..EncapsulationHeader::SIZE]
            .copy_from_slice(&header::<T>(self.core().representation()));
        let slot = self.core().enabled()?;
        let instance = self.checked_instance(&loan, None)?;
        let key = self.unknown_key(&loan, instance)?;
        let payload = loan.memory.share();
        let request = WriteRequest { kind: ChangeKind::Alive, instance, source_timestamp: None, payload };
        self.core()
            .write_prepared(slot, Prepared { request, key, inline_qos: None }, WriteWait::default())
            .map(drop)
    }
}

enum Held<T> {
    InPlace(SharedBytes),
    /// In a box, so that a list of large samples is not large.
    Decoded(Box<T>),
}

/// A sample that a reader took where it lies, see [`DataReader::take_loaned`]. Dropping it is its return_loan: from then on
/// its memory may be used again.
pub struct LoanedSample<T> {
    /// State, time, instance and writer of the sample (SampleInfo).
    pub info: SampleInfo,
    held: Option<Held<T>>,
}

impl<T: DdsType> LoanedSample<T> {
    /// The value; `None` for a change of instance state only (`valid_data` is false).
    #[must_use]
    pub fn data(&self) -> Option<&T> {
        match self.held.as_ref()? {
            Held::InPlace(payload) => view(payload),
            Held::Decoded(value) => Some(value),
        }
    }

    /// Whether the value lies where its writer put it, in memory that both share.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        matches!(&self.held, Some(Held::InPlace(payload)) if payload.memory().is_some())
    }

    fn new(sample: CachedSample, reader: &DataReader<T>) -> Option<Self> {
        let payload = sample.payload.filter(|_| sample.info.valid_data);
        let held = match payload {
            None => None,
            // Its memory is lost: it has other octets by now.
            Some(payload) if !payload.is_intact() => return None,
            Some(payload) if is_in_place::<T>(&payload) && view::<T>(&payload).is_some() => {
                Some(Held::InPlace(payload))
            }
            Some(payload) => {
                let value = reader.decode_payload(&payload, sample.vendor)?;
                Some(Held::Decoded(Box::new(value)))
            }
        };
        Some(Self { info: sample.info, held })
    }
}

impl<T: DdsType> DataReader<T> {
    /// take without copies: samples that were [lent](DataWriter::loan_sample) are seen where they lie, and so are others of such a type where they
    /// happen to be aligned; all others are decoded, as [`take`](Self::take) does. Keep them for a moment only: a process
    /// that keeps half of what a writer can lend gets copies from then on.
    ///
    /// # Errors
    /// [`ReadError::NotEnabled`].
    pub fn take_loaned(&self, max_samples: usize) -> Result<Vec<LoanedSample<T>>, ReadError> {
        self.take_each(max_samples, |sample| LoanedSample::new(sample, self))
    }
}
