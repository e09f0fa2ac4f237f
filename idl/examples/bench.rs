//! How long a generated file of 10,000 lines takes, in processor time: `cargo run --release -p dunlin-idl --example bench [LINES]`.
#![forbid(unsafe_code)]

use std::fmt::Write as _;
use std::time::Duration;

use dunlin_idl::backend::{Backend, Input};
use dunlin_idl::cpp::Cpp;
use dunlin_idl::python::Python;
use dunlin_idl::rust::Rust;
use dunlin_idl::{Memory, Options, compile, format};
use rustix::time::{ClockId, clock_gettime};

#[path = "../tests/common/large.rs"]
mod large;

fn main() {
    let lines = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10_000);
    let text = large::text(lines);
    let files = Memory::default().with("a.idl", text.clone());
    let mut report = format!("{} lines, {} KiB", text.lines().count(), text.len() / 1024);
    let backends: [(&str, Box<dyn Backend>); 3] =
        [("Rust", Box::new(Rust::default())), ("C++", Box::new(Cpp)), ("Python", Box::new(Python))];
    let mut best = [Duration::MAX; 5];
    for _ in 0..5 {
        let start = processor_time();
        let result = compile("a.idl", &Options::default(), &files);
        let mut times = vec![processor_time() - start];
        let model = result.model.as_ref().unwrap_or_else(|| panic!("{}", result.render(false)));
        let input = Input { model, main: result.main, path: "a.idl", includes: true };
        for (_, backend) in &backends {
            let start = processor_time();
            assert!(backend.generate(&input).is_ok_and(|code| code.files[0].1.len() > text.len()));
            times.push(processor_time() - start);
        }
        let start = processor_time();
        assert!(format("a.idl", &text).is_ok());
        times.push(processor_time() - start);
        for (best, time) in best.iter_mut().zip(times) {
            *best = time.min(*best);
        }
    }
    let [checked, code @ .., formatted] = best;
    let _ = write!(report, ": checked in {checked:.1?}");
    for ((language, _), time) in backends.iter().zip(code) {
        let _ = write!(report, ", {language} made in {time:.1?}");
    }
    println!("{report}, formatted in {formatted:.1?}");
}

/// Of this thread: other programs do not count.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}
