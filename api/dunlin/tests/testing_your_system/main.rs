//! The worked example of `docs/testing-your-system.md`. `cargo xtask tidy` checks that the page shows exactly what runs here.

mod example;
