//! The programs themselves over the loopback interface: what is recorded, replayed and recorded again is the same, and a recorder
//! that is killed keeps what was in closed chunks.

mod common;

use std::fs::File;
use std::io::BufReader;

use common::{Programs, Track, record, track_writer};
use dunlin_recorder::event::EventKind;
use dunlin_recorder::file::{Compression, Ending, Recording, Selection, rewrite};
use dunlin_test_program::{Place, eventually, minds_where_its_answer_goes, text};

#[test]
fn a_replayed_recording_is_recorded_identically() {
    let place = Place::new("again");
    let (first, second) = (place.path("first.mcap"), place.path("second.mcap"));
    let recorder = place.start("record", &["-o", &first]);
    recorder.tells("recording domain");
    let writers = [track_writer(&place, 0, "Square"), track_writer(&place, 0, "Circle")];
    for writer in &writers {
        writer.wait_for_readers(1, dunlin::Duration::from_secs(60)).unwrap();
    }
    for n in 0..200 {
        for (id, writer) in writers.iter().enumerate() {
            let sample = Track { id: u32::try_from(id).unwrap() + n % 3, position: i64::from(n) };
            writer.write(&sample).unwrap();
            match n % 20 {
                7 => writer.dispose(&sample).unwrap(),
                15 => writer.unregister_instance(&sample).unwrap(),
                _ => {}
            }
        }
    }
    for writer in &writers {
        writer.wait_for_acknowledgments(dunlin::Duration::from_secs(60)).unwrap();
    }
    recorder.stops_well("-INT");
    let was = record(&first);
    assert_eq!(was.values().map(Vec::len).sum::<usize>(), 2 * 220);
    drop(writers);

    let recorder = place.start("record", &["-o", &second]);
    recorder.tells("recording domain");
    let player =
        place.start("replay", &[&first, "--original", "--rate", "0", "--readers", "1", "--wait", "60"]);
    player.ends_well();
    recorder.stops_well("-TERM");
    let mut again = record(&second);
    // The player's writers end, and with that unregister what they have: that was not recorded first.
    again.retain(|writer, changes| {
        let is_first = was.contains_key(writer);
        assert!(is_first || changes.iter().all(|(_, _, kind, _)| *kind == EventKind::Unregister));
        is_first
    });
    assert!(again == was, "{} and {} changes", again.len(), was.len());
    answers_mind_where_they_go(&place, &first);
}

fn answers_mind_where_they_go(place: &Place, file: &str) {
    let mut copies = 0;
    for words in [
        &["record", "info", file][..],
        &["record", "info", "--json", file],
        &["record", "repair", file, "-o"],
        &["record", "cut", file, "-o"],
        &["record", "--help"],
        &["replay", file, "--rate", "0"],
    ] {
        minds_where_its_answer_goes(|| {
            let mut command = place.program(words[0], &words[1..]);
            if words.ends_with(&["-o"]) {
                copies += 1;
                command.arg(format!("copy-{copies}.mcap"));
            }
            command
        });
    }
}

#[test]
fn topics_are_chosen_and_renamed_and_parts_are_played() {
    let place = Place::new("part");
    let file = place.path("part.mcap");
    let recorder = place.start("record", &["Squ*", "-o", &file]);
    recorder.tells("recording domain");
    let (square, circle) = (track_writer(&place, 0, "Square"), track_writer(&place, 0, "Circle"));
    square.wait_for_readers(1, dunlin::Duration::from_secs(60)).unwrap();
    for position in 0..10 {
        square.write(&Track { id: 1, position }).unwrap();
        circle.write(&Track { id: 1, position }).unwrap();
    }
    square.wait_for_acknowledgments(dunlin::Duration::from_secs(60)).unwrap();
    recorder.stops_well("-INT");
    let told = place.run("record", &["info", &file]);
    assert!(told.contains("Square") && !told.contains("Circle") && told.contains("it is whole"), "{told}");

    let reader = common::track_reader(&place, 1, "Box");
    let words = [&file, "--remap", "Square=Box", "--domain", "1", "--step", "--readers", "1", "--wait", "60"];
    let mut player = place.start("replay", &words);
    let mut seen = Vec::new();
    for _ in 0..4 {
        player.line("");
        let wanted = seen.len() + 1;
        eventually("a sample comes for each line", || {
            let taken = reader.take(10).unwrap();
            seen.extend(taken.into_iter().filter_map(|sample| sample.data).map(|track| track.position));
            seen.len() >= wanted
        });
    }
    assert_eq!(seen, [0, 1, 2, 3]);
    player.signal("-INT");
    player.ends_well();
}

/// What was in closed chunks is there; a chunk is closed after 0.4 s at most.
#[test]
fn a_recorder_that_is_killed_has_all_that_was_in_closed_chunks() {
    let place = Place::new("kill");
    let file = place.path("kill.mcap");
    let mut recorder = place.start("record", &["-o", &file]);
    recorder.tells("recording domain");
    let writer = track_writer(&place, 0, "Square");
    writer.wait_for_readers(1, dunlin::Duration::from_secs(60)).unwrap();
    for position in 0..500 {
        writer.write(&Track { id: 1, position }).unwrap();
    }
    let samples = |file: &str| record(file).values().map(Vec::len).sum::<usize>();
    eventually("the chunk is closed though nothing else comes", || samples(&file) == 500);
    for position in 500..1000 {
        writer.write(&Track { id: 1, position }).unwrap();
    }
    writer.wait_for_acknowledgments(dunlin::Duration::from_secs(60)).unwrap();
    recorder.kill();
    let opened = Recording::open(file.as_ref()).unwrap();
    assert!(matches!(opened.ending(), Ending::Cut { .. }));
    let repaired = place.path("repaired.mcap");
    place.run("record", &["repair", &file, "-o", &repaired]);
    assert_eq!(*Recording::open(repaired.as_ref()).unwrap().ending(), Ending::Whole);
    let there = record(&repaired);
    let numbers: Vec<i64> = there.values().flatten().map(|(number, ..)| *number).collect();
    assert!((500..=1000).contains(&numbers.len()), "{}", numbers.len());
    // The beginning, without a gap.
    assert!(numbers.iter().copied().eq((1..).take(numbers.len())), "{numbers:?}");
}

#[test]
fn files_are_split_and_the_oldest_go() {
    let place = Place::new("split");
    let file = place.path("ring.mcap");
    let words = ["-o", &file, "--split-size", "1kB", "--keep-files", "2"];
    let recorder = place.start("record", &words);
    recorder.tells("recording domain");
    let writer = track_writer(&place, 0, "Square");
    writer.wait_for_readers(1, dunlin::Duration::from_secs(60)).unwrap();
    let path = |n| dunlin_recorder::numbered(file.as_ref(), n);
    let mut position = 0;
    eventually("the fourth file is begun and the first is gone", || {
        writer.write(&Track { id: 1, position }).unwrap();
        position += 1;
        path(3).exists() && !path(0).exists()
    });
    writer.wait_for_acknowledgments(dunlin::Duration::from_secs(60)).unwrap();
    recorder.stops_well("-INT");
    let kept: Vec<_> = (0..100).map(path).filter(|path| path.exists()).collect();
    assert_eq!(kept.len(), 2, "{kept:?}");
    for file in kept {
        assert_eq!(*Recording::open(&file).unwrap().ending(), Ending::Whole);
    }
}

#[test]
fn a_recording_that_cannot_be_created_sets_the_exit_code() {
    let place = Place::new("full");
    // It takes what the recorder begins with into its buffer, and nothing.
    let output = place.program("record", &["-o", "/dev/full"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("/dev/full"), "{}", text(&output.stderr));
}

#[test]
fn wrong_files_are_reported() {
    let place = Place::new("wrong");
    let none = place.path("none.mcap");
    std::fs::write(&none, b"this is no recording").unwrap();
    for words in [&["info", &none][..], &["repair", &none, "-o", "/nowhere/x"], &["cut", &none, "-o", "x"]] {
        let output = place.program("record", words).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
    }
    let output = place.program("replay", &[&none]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("it is no MCAP file"), "{}", text(&output.stderr));
    // What is there is not written over.
    let output = place.program("record", &["-o", &none]).output().unwrap();
    assert!(text(&output.stderr).contains("exists"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read(&none).unwrap(), b"this is no recording");
    let mut out = Vec::new();
    let mut input = BufReader::new(File::open(&none).unwrap());
    assert!(rewrite(&mut input, &mut out, Compression::None, &Selection::default()).is_err());
}

#[test]
fn unreadable_parts_of_a_recording_set_the_exit_code() {
    let place = Place::new("damaged");
    let file = place.path("damaged.mcap");
    let recorder = place.start("record", &["-o", &file]);
    recorder.tells("recording domain");
    let writer = track_writer(&place, 0, "Square");
    writer.wait_for_readers(1, dunlin::Duration::from_secs(60)).unwrap();
    for count in 1..=2 {
        writer.write(&Track { id: 1, position: 0 }).unwrap();
        eventually("the chunk is closed", || record(&file).values().map(Vec::len).sum::<usize>() == count);
    }
    recorder.stops_well("-INT");
    let last = *Recording::open(file.as_ref()).unwrap().contents().chunks.last().unwrap();
    let mut octets = std::fs::read(&file).unwrap();
    octets[usize::try_from(last.offset + last.length).unwrap() - 5] ^= 0xFF;
    std::fs::write(&file, octets).unwrap();
    let replay = |words: &[&str]| {
        let words = [&[file.as_str(), "--rate", "0", "--wait", "0s"], words].concat();
        place.program("replay", &words).output().unwrap()
    };
    let all = replay(&[]);
    assert_eq!(all.status.code(), Some(3), "{}", text(&all.stderr));
    let beginning = replay(&["--to", "1ms"]);
    assert_eq!(beginning.status.code(), Some(0), "{}", text(&beginning.stderr));
}
