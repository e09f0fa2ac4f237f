//! Publishes or subscribes to shapes: see `docs/shapes.md`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    dunlin_shapes::program::main()
}
