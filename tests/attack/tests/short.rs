//! The short test: those attacks whose bounds hold wherever this runs.

use std::process::Command;

#[test]
fn the_short_attacks_stay_within_their_bounds() {
    let output = Command::new(env!("CARGO_BIN_EXE_dunlin-attack")).arg("--short").output();
    let output = output.expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("attacks stay within their bounds"), "{text}");
}
