//! Writes and reads samples in shared memory, without a copy. The program does not know their type when it is compiled.

use std::error::Error;

use dunlin::qos::DataWriterQos;
use dunlin::{AnyDataReader, AnyDataWriter, Publisher, SerializedData, Topic};

pub type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Bytes of the encapsulation header, which precedes the value.
const HEADER: usize = 4;

/// Creates a writer that lends memory for values of up to `longest` bytes.
pub fn create_writer(
    publisher: &Publisher,
    topic: &Topic<SerializedData>,
    longest: usize,
) -> Result<AnyDataWriter> {
    let qos = DataWriterQos::default().reliable().keep_all();
    let writer = AnyDataWriter::from(&publisher.create_datawriter(topic, &qos)?);
    writer.set_longest_loan(HEADER + longest)?;
    Ok(writer)
}

/// Writes one sample. `serialize` gets `longest` zero bytes, serializes the value into them, and returns its length in bytes.
pub fn write(writer: &AnyDataWriter, longest: usize, serialize: impl FnOnce(&mut [u8]) -> usize) -> Result {
    // The loan already contains the header: the representation that the writer offers, in little-endian order.
    let mut loan = writer.loan_payload(HEADER + longest)?;
    let len = serialize(&mut loan[HEADER..]);
    loan.truncate(HEADER + len);
    writer.write_loaned_payload(loan)?;
    Ok(())
}

/// Passes each sample that has arrived, with its header, to `at`. Returns how many are in the memory of their writer.
pub fn look(reader: &AnyDataReader, mut at: impl FnMut(&[u8])) -> Result<usize> {
    let taken = reader.take_payloads(100)?;
    taken.iter().filter_map(|sample| sample.payload.as_ref()).for_each(|payload| at(payload));
    // When the samples are dropped, their memory returns to the writer.
    Ok(taken.iter().filter(|sample| sample.is_shared()).count())
}
