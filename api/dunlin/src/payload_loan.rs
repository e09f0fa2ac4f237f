//! Payloads in memory that a writer shares with readers of its host: loans for who knows the type of a topic only at run time.

use std::ops::{Deref, DerefMut};

use dunlin_cache::key_hash;
use dunlin_cdr::{EncapsulationHeader, Endianness, KeyHash};
use dunlin_core::{InstanceHandle, SampleIdentity};
use dunlin_transport::Loan;

use crate::error::{LoanError, WriteError};
use crate::serialized::SerializedData;
use crate::write_params::WriteParams;
use crate::writer::DataWriter;
use crate::writer_inner::UNIT;

/// Bytes of the shortest payload.
const SHORTEST: usize = EncapsulationHeader::SIZE;
/// Bytes of the longest payload: messages say its length in 32 bits.
const LONGEST: usize = u32::MAX as usize / UNIT * UNIT;

/// A payload to be filled in place, of any type. The order of calls: `loan_payload` of an [`AnyDataWriter`](crate::AnyDataWriter),
/// fill it through `DerefMut`, [`truncate`](Self::truncate) it if less was needed, then `write_loaned_payload`. Dropping it
/// instead gives it back unwritten.
///
/// The first four bytes are the encapsulation header (DDS-XTypes 1.3 §7.6.3.1.2). At first it says the representation that the
/// writer offers, in little-endian order; who serializes in another byte order, or another form of it, writes another header.
/// All bytes behind it are zero at first.
pub struct PayloadLoan {
    memory: Box<dyn Loan>,
    /// Bytes without the padding at the end.
    len: usize,
    shared: bool,
    key_hash: Option<KeyHash>,
}

impl PayloadLoan {
    fn new((memory, shared): (Box<dyn Loan>, bool), len: usize, header: EncapsulationHeader) -> Self {
        let mut loan = Self { memory, len, shared, key_hash: None };
        loan[..SHORTEST].copy_from_slice(&header.to_bytes());
        loan
    }

    /// Whether the memory is such that readers of other processes can have the sample where it is. If not, because shared
    /// memory is switched off, has no room for such samples, or is all in use, they get copies.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// Shortens the loan to its first `len` bytes, header included. It keeps at least the four bytes of the header. Nothing happens
    /// if the loan is not longer. For programs that find out how long a sample is by serializing it.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len.max(SHORTEST));
    }

    /// With the key hash, which a topic needs that has nothing of its type but the name, see
    /// [`SerializedData::with_key_hash`]; others compute it.
    #[must_use]
    pub fn with_key_hash(self, key_hash: [u8; 16]) -> Self {
        Self { key_hash: Some(key_hash), ..self }
    }

    /// With the key hash of an instance, of a reader of any participant.
    #[must_use]
    pub fn of_instance(self, instance: InstanceHandle) -> Self {
        Self { key_hash: Some(key_hash(instance)), ..self }
    }

    /// The sample that it is, padded as its header then says.
    fn into_sample(mut self) -> SerializedData {
        let whole = self.len.next_multiple_of(UNIT);
        self.memory.truncate(whole);
        let octets = self.memory.octets_mut();
        if let padding @ 1.. = whole - self.len {
            octets[self.len..].fill(0);
            // The last two bits of the options count it.
            octets[SHORTEST - 1] = octets[SHORTEST - 1] & !0b11 | padding as u8;
        }
        SerializedData::lent(self.memory.share(), self.key_hash)
    }
}

impl Deref for PayloadLoan {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory.octets()[..self.len]
    }
}

impl DerefMut for PayloadLoan {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory.octets_mut()[..self.len]
    }
}

impl std::fmt::Debug for PayloadLoan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PayloadLoan({} bytes, {})", self.len, if self.shared { "shared" } else { "not shared" })
    }
}

/// A payload can have so many bytes.
fn check(len: usize) -> Result<(), LoanError> {
    if (SHORTEST..=LONGEST).contains(&len) { Ok(()) } else { Err(LoanError::NoPayload(len)) }
}

/// Loans without the type of the samples, for [`AnyDataWriter`](crate::AnyDataWriter) too.
impl DataWriter<SerializedData> {
    /// Settles how long the payloads can be that this writer lends, in bytes with the encapsulation header. Call it before the
    /// first [`loan_payload`](Self::loan_payload): otherwise the length of that loan is the longest. The writer's pool is divided
    /// into slots of this size, 4 to 1,024 of them.
    ///
    /// # Errors
    /// [`LoanError::NoPayload`] below four bytes and from 4 GiB on; [`LoanError::Settled`] if it is another number already.
    pub fn set_longest_loan(&self, longest: usize) -> Result<(), LoanError> {
        check(longest)?;
        let settled = self.core().payload_lender(longest).longest;
        if settled == longest { Ok(()) } else { Err(LoanError::Settled(settled)) }
    }

    /// A payload of `len` bytes in shared memory, encapsulation header included. Fill it, and write it with
    /// [`write_loaned_payload`](Self::write_loaned_payload) without a copy. It is filled with zeros, so that nothing of an older
    /// sample reaches readers; that takes about as long as writing so many bytes once. If all slots are in use, because readers
    /// keep what they got, or if the longest loan is above half of `shared_memory.ring_size` or above 16 MiB, the payload is
    /// ordinary memory of this process, and is copied to other processes. The call never waits.
    ///
    /// # Errors
    /// [`LoanError::TooLong`] for more than [`set_longest_loan`](Self::set_longest_loan) or the first loan settled;
    /// [`LoanError::NoPayload`] below four bytes and from 4 GiB on.
    pub fn loan_payload(&self, len: usize) -> Result<PayloadLoan, LoanError> {
        check(len)?;
        let lender = self.core().payload_lender(len);
        if len > lender.longest {
            return Err(LoanError::TooLong { asked: len, longest: lender.longest });
        }
        let header = EncapsulationHeader::new(
            self.core().representation(),
            self.support().extensibility(),
            Endianness::Little,
        );
        Ok(PayloadLoan::new(lender.lend(len), len, header))
    }

    /// write of a loan: as [`write`](Self::write) of the same bytes. Readers on this host and of this user can
    /// [take](crate::DataReader::take_payloads) the same memory, unless their process holds half of the slots already. All other
    /// readers get copies. The instance is found in the bytes, or by the [key hash](PayloadLoan::with_key_hash). A length that is
    /// no multiple of four is padded with zeros, which the header counts (DDS-XTypes 1.3 §7.6.3.1.2). Bytes in another
    /// representation than the writer's are converted, see [`SerializedData`], and then copied. A loan of another participant's
    /// writer may be copied too.
    ///
    /// # Errors
    /// As [`write`](Self::write); the loan is given back then.
    pub fn write_loaned_payload(&self, loan: PayloadLoan) -> Result<(), WriteError> {
        self.write(&loan.into_sample())
    }

    /// write of a loan with parameters, see [`write_loaned_payload`](Self::write_loaned_payload) and
    /// [`write_with`](Self::write_with).
    ///
    /// # Errors
    /// As [`write_with`](Self::write_with); the loan is given back then.
    pub fn write_loaned_payload_with(
        &self,
        loan: PayloadLoan,
        params: &WriteParams,
    ) -> Result<SampleIdentity, WriteError> {
        self.write_with(&loan.into_sample(), params)
    }
}
