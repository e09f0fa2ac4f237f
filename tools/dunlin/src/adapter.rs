//! What `dunlin bench` measures of Dunlin and of bare sockets, as a program of its own: the memory of the whole command
//! line is not that of a participant.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(name), None) = (arguments.next(), arguments.next()) else {
        dunlin_program::tell!("usage: dunlin-adapter NAME; `dunlin bench` starts it (docs/benchmarks.md)");
        return ExitCode::FAILURE;
    };
    match dunlin_bench::serve_adapter(&name) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            dunlin_program::tell!("dunlin-adapter: {error:#}");
            ExitCode::FAILURE
        }
    }
}
