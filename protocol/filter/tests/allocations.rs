//! Evaluating allocates nothing, unless a wide string is compared.

mod common;

use common::{ALL, fill, payload};
use dunlin_cdr::DecodeOptions;
use dunlin_filter::Filter;

#[test]
fn evaluation_allocates_nothing() {
    let parameters = ["'d%'", "'dunlin'", "3"];
    let filter = Filter::new::<common::Sample>(
        "name LIKE %0 AND (id > 5 OR nest.depth = %2) AND nests[1].label <> %1 AND mode = 'FAST' AND choice.Number = 40 \
         AND list[1] BETWEEN 'a' AND 'c' AND other.maybe = 5 AND spot.note = 'here' AND NOT grid[1][1] = 9",
        &parameters,
    )
    .unwrap();
    for (representation, endianness) in ALL {
        let octets = payload(&fill(), representation, endianness);
        let info = allocation_counter::measure(|| {
            for _ in 0..100 {
                assert!(filter.check(&octets, DecodeOptions::default()).passed());
            }
        });
        assert_eq!(info.count_total, 0);
    }
}
