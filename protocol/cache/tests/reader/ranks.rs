//! Generation counts and ranks (DDS 1.4 §2.2.2.5.1.5 to §2.2.2.5.1.7).

use dunlin_cache::{CachedSample, Selection};
use dunlin_qos::{Presentation, PresentationAccessScope};

use crate::fixture::{Fixture, keep_all, values};

type Ranks = (u32, u32, u32, u32, u32);

/// Disposed and no-writers generations; sample, generation and absolute generation ranks.
fn ranks(samples: &[CachedSample]) -> Vec<Ranks> {
    let all = samples.iter().map(|s| s.info);
    all.map(|i| {
        (
            i.disposed_generation_count,
            i.no_writers_generation_count,
            i.sample_rank,
            i.generation_rank,
            i.absolute_generation_rank,
        )
    })
    .collect()
}

#[test]
fn write_dispose_write_unregister_write() {
    let mut f = Fixture::new(&keep_all());
    f.write(1, 1, 1);
    f.dispose(1, 1);
    f.write(1, 1, 2);
    f.unregister(1, 1);
    f.write(1, 1, 3);
    f.write(1, 1, 4);
    let all = f.read_all();
    assert_eq!(values(&all), [1, 2, 3, 4]);
    assert_eq!(ranks(&all), [(0, 0, 3, 2, 2), (1, 0, 2, 1, 1), (1, 1, 1, 0, 0), (1, 1, 0, 0, 0)]);
    // The newest in the collection is not the newest of all.
    let two = Selection { max_samples: 2, ..Default::default() };
    assert_eq!(ranks(&f.read(&two)), [(0, 0, 1, 1, 2), (1, 0, 0, 0, 1)]);
}

#[test]
fn absolute_ranks_count_generations_whose_samples_are_gone() {
    let mut f = Fixture::new(&crate::fixture::keep_last(2));
    f.write(1, 1, 1);
    let one = Selection { max_samples: 1, ..Default::default() };
    f.read(&one);
    f.dispose(1, 1);
    f.write(1, 1, 2);
    assert_eq!(ranks(&f.read(&one)), [(0, 0, 0, 0, 1)]);
    assert_eq!(ranks(&f.read_all()), [(0, 0, 1, 1, 1), (1, 0, 0, 0, 0)]);
}

#[test]
fn sample_ranks_are_counted_per_instance_when_interleaved() {
    let scope = PresentationAccessScope::Topic;
    let presentation = Presentation { access_scope: scope, coherent_access: false, ordered_access: true };
    let mut f = Fixture::with_presentation(&keep_all(), presentation);
    f.write(1, 1, 1);
    f.write(1, 2, 2);
    f.dispose(1, 1);
    f.write(1, 1, 3);
    f.write(1, 2, 4);
    let all = f.take_all();
    assert_eq!(values(&all), [1, 2, 3, 4]);
    assert_eq!(ranks(&all), [(0, 0, 1, 1, 1), (0, 0, 1, 0, 0), (1, 0, 0, 0, 0), (0, 0, 0, 0, 0)]);
}
