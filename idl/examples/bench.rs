//! How long a generated file of 10,000 lines takes: `cargo run --release -p dunlin-idl --example bench [LINES]`.
#![forbid(unsafe_code)]

use dunlin_idl::rust::{RustOptions, generate};
use dunlin_idl::{Memory, Options, compile, format};
use std::fmt::Write as _;
use std::time::Instant;

fn text(lines: usize) -> String {
    let mut text = String::from("#define BOUND 16\n#define MEMBER(type, name) type name\n");
    let mut written = 2;
    for i in 0.. {
        if written >= lines {
            break;
        }
        let previous = i.max(1) - 1;
        let base = if i == 0 { "octet".to_owned() } else { format!("M{previous}::S{previous}") };
        let block = format!(
            "module M{i} {{\n    /// A colour.\n    enum Color{i} {{\n        RED{i},\n        @value({i} + 7) GREEN{i}\n    }};\n\
             \x20   const long SIZE{i} = ({i} << 1) % 13 + 1;\n    @bit_bound(16)\n    bitmask Flags{i} {{\n        A,\n        @position(9) B\n    }};\n\
             \x20   typedef sequence<string<BOUND>, SIZE{i}> Names{i};\n    struct S{i} {{\n        @key string id;\n        Color{i} color; // behind\n\
             \x20       @optional Names{i} names;\n        {base} inner;\n        double matrix[SIZE{i}][3];\n        map<long, Flags{i}> flags;\n\
             \x20       @default(5) @range(min = 0, max = 9) long level;\n        MEMBER(long, last);\n    }};\n    union U{i} switch (Color{i}) {{\n\
             \x20       case RED{i}: S{i} whole;\n        default: long number;\n    }};\n}};\n"
        );
        written += block.lines().count();
        text += &block;
    }
    text
}

fn main() {
    let lines = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10_000);
    let text = text(lines);
    let files = Memory::default().with("a.idl", text.clone());
    let mut report = format!("{} lines, {} KiB", text.lines().count(), text.len() / 1024);
    let mut best = [f64::MAX; 3];
    for _ in 0..5 {
        let start = Instant::now();
        let result = compile("a.idl", &Options::default(), &files);
        let compiled = start.elapsed();
        let model = result.model.as_ref().unwrap_or_else(|| panic!("{}", result.render(false)));
        let start = Instant::now();
        let code = generate(model, result.main, &RustOptions::default()).map(|(code, _)| code);
        let generated = start.elapsed();
        assert!(code.is_ok_and(|code| code.len() > text.len()));
        let start = Instant::now();
        assert!(format("a.idl", &text).is_ok());
        for (best, time) in best.iter_mut().zip([compiled, generated, start.elapsed()]) {
            *best = best.min(time.as_secs_f64() * 1000.0);
        }
    }
    let [compiled, generated, formatted] = best;
    let _ = write!(
        report,
        ": checked in {compiled:.1} ms, Rust made in {generated:.1} ms, formatted in {formatted:.1} ms"
    );
    println!("{report}");
}
