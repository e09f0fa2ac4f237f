//! The lines of the quick start, as they stand on its page.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{Track, track_writer};
use dunlin_test_program::{Place, text};

#[test]
fn the_lines_of_the_page_run() {
    let place = Place::new("quick");
    // What `dunlin NAME` does with the programs that lie beside it.
    let dunlin = place.path("dunlin");
    let (record, replay) = (env!("CARGO_BIN_EXE_dunlin-record"), env!("CARGO_BIN_EXE_dunlin-replay"));
    let starts = format!(
        "#!/bin/sh\nname=$1; shift\ncase $name in record) exec '{record}' \"$@\";; replay) exec '{replay}' \"$@\";; esac\n"
    );
    std::fs::write(&dunlin, starts).unwrap();
    std::fs::set_permissions(&dunlin, std::fs::Permissions::from_mode(0o755)).unwrap();
    let ends = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        scope.spawn(|| {
            let writer = track_writer(&place, 0, "Square");
            let mut position = 0;
            while !ends.load(Ordering::SeqCst) {
                // Nobody may read.
                let _ = writer.write(&Track { id: 1, position });
                position += 1;
                std::thread::park_timeout(Duration::from_millis(10));
            }
        });
        let path = format!("{}:{}", place.path(""), std::env::var("PATH").unwrap());
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/quick-start.sh");
        let mut command = Command::new("sh");
        command.arg(script).current_dir(place.path("")).env("PATH", path);
        place.keep_apart(&mut command);
        let output = command.output().unwrap();
        ends.store(true, Ordering::SeqCst);
        output
    });
    let (told, wrong) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{told}{wrong}");
    assert!(told.contains("Square") && told.contains("nothing is missing"), "{told}{wrong}");
    let played = told.lines().last().unwrap();
    let samples: u32 = played.split(' ').next().unwrap().parse().unwrap();
    assert!(samples > 0, "{told}");
}
