//! What Dunlin's programs have in common: how they end, what they print, and who may see their pages.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(unreachable_pub))]

mod output;
#[cfg(feature = "page")]
pub mod page;
mod stop;
mod text;

pub use dunlin_core::is_harmful;
pub use output::{Output, arguments, end, is_closed, stdout};
pub use stop::Stop;
pub use text::{sanitize, sanitize_json, sanitize_lines, say, tell};
