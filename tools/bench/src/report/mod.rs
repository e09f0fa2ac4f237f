//! Results for people: one HTML page that needs no network, or Markdown.

mod chart;
mod figures;
mod html;
mod markdown;
mod matrix;
mod table;

pub use figures::{Figure, figures};
pub use html::html;
pub use markdown::markdown;
pub(crate) use table::{columns, number, whole};
