//! Results for people: one HTML page that needs no network, or Markdown.

mod chart;
mod columns;
mod figures;
mod html;
mod markdown;
mod matrix;
mod table;

pub(crate) use columns::columns;
pub use figures::{Figure, figures};
#[cfg(test)]
pub(crate) use html::conditions;
pub use html::html;
pub use markdown::markdown;
pub(crate) use table::{number, whole};
