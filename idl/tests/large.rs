//! Long files take time in proportion to their length, in the checker and in every back end.

use std::time::Duration;

use dunlin_idl::backend::{Backend, Input};
use dunlin_idl::cpp::Cpp;
use dunlin_idl::python::Python;
use dunlin_idl::rust::Rust;
use dunlin_idl::{Memory, Options, compile};
use rustix::time::{ClockId, clock_gettime};

#[path = "common/large.rs"]
mod large;

/// What twice the lines may take. In proportion it is 2; with the square it would be 4.
const MOST_TIMES: f64 = 2.6;
/// What 10,000 lines may take: the compiler and three back ends.
const MOST: Duration = Duration::from_secs(1);
/// Attempts, of which the fastest counts: other programs take caches and clock rate away, never add them.
const ATTEMPTS: usize = 12;

/// Processor time of this thread: that others run meanwhile does not count.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

/// Compiles so many lines and makes code of them.
fn time_of(lines: usize) -> Duration {
    let text = large::text(lines);
    let most = text.len();
    let files = Memory::default().with("a.idl", text);
    let start = processor_time();
    let result = compile("a.idl", &Options::default(), &files);
    let model = result.model.as_ref().unwrap_or_else(|| panic!("{}", result.render(false)));
    let input = Input { model, main: result.main, path: "a.idl", includes: true };
    for backend in [&Rust::default() as &dyn Backend, &Cpp, &Python] {
        let generated = backend.generate(&input).unwrap();
        assert!(generated.files[0].1.len() > most, "less code than IDL");
    }
    processor_time() - start
}

#[test]
fn twice_the_lines_take_twice_the_time() {
    let (mut once, mut twice) = (Duration::MAX, Duration::MAX);
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            dunlin_notes::retried("time taken: other programs disturb it");
        }
        once = once.min(time_of(10_000));
        twice = twice.min(time_of(20_000));
        if once < MOST && twice < once.mul_f64(MOST_TIMES) {
            return;
        }
    }
    panic!("10,000 lines take {once:?}, 20,000 lines {twice:?}");
}
