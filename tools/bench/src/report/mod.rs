//! Results for people: one HTML page that needs no network, or Markdown.

mod chart;
mod html;
mod markdown;
mod table;

pub use html::html;
pub use markdown::markdown;
pub(crate) use table::whole;
