//! XCDR1 and XCDR2 serialization, keys and key hashes.
