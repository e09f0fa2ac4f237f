//! How long loans may be.

use dunlin::{LoanError, ReturnCode};

use crate::{HEAD, Two, decoded, take, topic, writer_of};

#[test]
fn the_longest_loan_is_settled_by_the_writer_or_by_the_first_one() {
    let two = Two::new();
    let (told, untold) = (&two.writer, &writer_of(&two.writing, &topic(&two.writing)));
    told.set_longest_loan(1_001).unwrap();
    told.set_longest_loan(1_001).unwrap();
    let settled = told.set_longest_loan(1_002).unwrap_err();
    assert_eq!(
        (&settled, settled.return_code()),
        (&LoanError::Settled(1_001), ReturnCode::PreconditionNotMet)
    );
    drop(untold.loan_payload(1_001).unwrap());
    assert_eq!(untold.set_longest_loan(2_000), Err(LoanError::Settled(1_001)));
    for writer in [told, untold] {
        for len in [4, 5, 1_001] {
            let loan = writer.loan_payload(len).unwrap();
            assert_eq!((loan.len(), loan.is_shared()), (len, true));
        }
        let refused = writer.loan_payload(1_002).map(drop).unwrap_err();
        assert_eq!(refused, LoanError::TooLong { asked: 1_002, longest: 1_001 });
        assert_eq!(refused.return_code(), ReturnCode::BadParameter);
        let why = refused.to_string();
        assert!(
            why.starts_with("1002 bytes are more than the 1001") && why.contains("set_longest_loan"),
            "{why}"
        );
    }
}

#[test]
fn lengths_that_no_payload_has_are_refused_and_settle_nothing() {
    let two = Two::new();
    for len in [0, 3, 1 << 32, usize::MAX] {
        assert_eq!(two.writer.loan_payload(len).map(drop), Err(LoanError::NoPayload(len)));
        assert_eq!(two.writer.set_longest_loan(len), Err(LoanError::NoPayload(len)));
    }
    two.writer.set_longest_loan(100).unwrap();
}

/// As a sample of a Rust type that is so long: it is written from an ordinary buffer.
#[test]
fn what_is_too_long_for_shared_memory_is_lent_without() {
    let two = Two::new();
    // More than half of the ring.
    let len = 200_000;
    let mut loan = two.writer.loan_payload(HEAD + len).unwrap();
    assert!(!loan.is_shared() && loan[4..].iter().all(|octet| *octet == 0));
    loan[12..HEAD].copy_from_slice(&(len as u32).to_le_bytes());
    loan[HEAD..].fill(6);
    two.writer.write_loaned_payload(loan).unwrap();
    let taken = take(&two.reader, 1);
    assert!(!taken[0].is_shared());
    assert_eq!(decoded(taken[0].payload.as_ref().unwrap()).octets, vec![6; len]);
}
