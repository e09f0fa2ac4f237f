//! Samples of a type that the program does not know when it is compiled, written and read where they lie.

use std::error::Error;

use dunlin::qos::DataWriterQos;
use dunlin::{AnyDataReader, AnyDataWriter, Publisher, SerializedData, Topic};

pub type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Octets of the encapsulation header, which stands before the value.
const HEADER: usize = 4;

/// A writer that lends memory for values of up to so many octets.
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

/// Writes one sample. `serialize` puts the value into memory that is zero at first, and says how many octets it took.
pub fn write(writer: &AnyDataWriter, longest: usize, serialize: impl FnOnce(&mut [u8]) -> usize) -> Result {
    // The header is there: the representation that the writer offers, in little-endian order.
    let mut loan = writer.loan_payload(HEADER + longest)?;
    let len = serialize(&mut loan[HEADER..]);
    loan.truncate(HEADER + len);
    writer.write_loaned_payload(loan)?;
    Ok(())
}

/// Looks at what has arrived, header and value, and counts what lies in memory that its writer shares.
pub fn look(reader: &AnyDataReader, mut at: impl FnMut(&[u8])) -> Result<usize> {
    let taken = reader.take_payloads(100)?;
    taken.iter().filter_map(|sample| sample.payload.as_ref()).for_each(|payload| at(payload));
    // Dropping the samples gives their memory back.
    Ok(taken.iter().filter(|sample| sample.is_shared()).count())
}
