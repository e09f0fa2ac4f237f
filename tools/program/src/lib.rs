//! What Dunlin's programs have in common: how they end, and who may see their pages.

#![forbid(unsafe_code)]

#[cfg(feature = "page")]
pub mod page;
mod stop;
mod text;

pub use stop::Stop;
pub use text::{harmless, harmless_lines, is_harmful, say, tell};
