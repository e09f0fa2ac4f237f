//! The worked example of `docs/testing-your-system.md`, which is to show exactly what runs here.

mod example;

#[test]
fn the_page_shows_this_example() {
    let page = include_str!("../../../../docs/testing-your-system.md");
    let example = format!("```rust\n{}```\n", include_str!("example.rs"));
    assert!(page.contains(&example), "copy tests/testing_your_system/example.rs into the page");
}
