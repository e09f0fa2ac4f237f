//! A disk that blocks, and one that fails: every sample that was written is recorded or counted, to the sample.

mod common;

use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use common::{Programs, Track, record, track_writer, track_writer_qos, track_writer_with};
use dunlin_recorder::{Counts, Medium, Open, Options, Recorder, StorageOptions, WhenFull};
use dunlin_test_program::{Place, eventually};

/// A disk that is stopped and let go.
#[derive(Clone, Default)]
struct Disk {
    blocked: Arc<(Mutex<bool>, Condvar)>,
    full: Arc<AtomicBool>,
}

impl Disk {
    fn block(&self, blocked: bool) {
        *self.blocked.0.lock().unwrap() = blocked;
        self.blocked.1.notify_all();
    }

    fn open(&self) -> Open {
        let disk = self.clone();
        Box::new(move |path| {
            Ok(Box::new(OnDisk { disk: disk.clone(), file: File::create_new(path)? }) as Box<dyn Medium>)
        })
    }
}

struct OnDisk {
    disk: Disk,
    file: File,
}

/// A test that fails must not leave the disk blocked: the recorder would wait for it.
struct Opens(Disk);

impl Drop for Opens {
    fn drop(&mut self) {
        self.0.block(false);
    }
}

impl Write for OnDisk {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let (blocked, changed) = &*self.disk.blocked;
        drop(changed.wait_while(blocked.lock().unwrap(), |blocked| *blocked).unwrap());
        if self.disk.full.load(Ordering::SeqCst) {
            // Half of it fits.
            let _ = self.file.write(&octets[..octets.len() / 2]);
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Medium for OnDisk {
    fn syncer(&self) -> Option<Box<dyn FnMut() -> io::Result<()> + Send>> {
        None
    }
}

fn start(place: &Place, disk: &Disk, buffer: usize, when_full: WhenFull) -> Recorder {
    let mut options = Options::new(0, StorageOptions::in_file(place.path("loss.mcap").into()));
    options.config = Some(place.config());
    options.buffer = buffer;
    options.when_full = when_full;
    Recorder::start_on(options, disk.open()).unwrap()
}

/// How many samples are in the files.
fn in_files(place: &Place, recorder_files: u32) -> usize {
    (0..recorder_files)
        .map(|n| dunlin_recorder::numbered(place.path("loss.mcap").as_ref(), n))
        .filter(|file| file.exists())
        .map(|file| record(file.to_str().unwrap()).values().map(Vec::len).sum::<usize>())
        .sum()
}

fn write(writer: &dunlin::DataWriter<Track>, positions: std::ops::Range<i64>) {
    for position in positions {
        writer.write(&Track { id: 1, position }).unwrap();
    }
}

fn all_accounted_for(counts: &Counts, place: &Place, written: i64) {
    let written = u64::try_from(written).unwrap();
    assert_eq!(counts.recorded + counts.dropped + counts.lost, written, "{counts:?}");
    assert_eq!(u64::try_from(in_files(place, 100)).unwrap(), counts.recorded, "{counts:?}");
}

#[test]
fn a_disk_that_is_too_slow_costs_what_is_counted_and_no_writer_waits() {
    let (place, disk) = (Place::new("slow"), Disk::default());
    let recorder = start(&place, &disk, 64 << 10, WhenFull::Drop);
    let writer = track_writer(&place, 0, "Square");
    writer.wait_for_readers(1, dunlin::Duration::from_secs(60)).unwrap();
    write(&writer, 0..10);
    let _opens = Opens(disk.clone());
    disk.block(true);
    let mut position = 10;
    eventually("the queue is full", || {
        write(&writer, position..position + 10);
        position += 10;
        recorder.counts().dropped > 100
    });
    writer.wait_for_acknowledgments(dunlin::Duration::from_secs(60)).unwrap();
    disk.block(false);
    let counts = recorder.finish();
    assert!(counts.dropped > 100 && counts.recorded >= 10 && !counts.is_complete(), "{counts:?}");
    all_accounted_for(&counts, &place, position);
    // The file says itself what it has not.
    let told = place.run("record", &["info", &place.path("loss.mcap")]);
    assert!(told.contains(&format!("{} not written", counts.dropped)), "{told}");
}

/// A writer with a limit has to wait for the recorder. (One without writes on at last, and keeps what is not acknowledged.)
#[test]
fn writers_wait_for_a_slow_disk_if_they_are_to() {
    let (place, disk) = (Place::new("wait"), Disk::default());
    let recorder = start(&place, &disk, 64 << 10, WhenFull::Wait);
    let qos = track_writer_qos().resource_limits(500, -1, -1).max_blocking_time(dunlin::Duration::ZERO);
    let writer = track_writer_with(&place, 0, "Square", &qos);
    writer.wait_for_readers(1, dunlin::Duration::from_secs(60)).unwrap();
    let _opens = Opens(disk.clone());
    disk.block(true);
    // As long as there is room somewhere, what was written is acknowledged.
    let mut position = 0;
    eventually("the writer has to wait for the disk", || {
        match writer.write(&Track { id: 1, position }) {
            Ok(()) => position += 1,
            Err(dunlin::WriteError::Timeout(_)) => {
                let (full, limit) = recorder.fill();
                return full + 1024 > limit
                    && writer.wait_for_acknowledgments(dunlin::Duration::from_millis(500)).is_err();
            }
            Err(error) => panic!("{error}"),
        }
        false
    });
    assert!(recorder.counts().dropped == 0, "{:?}", recorder.counts());
    disk.block(false);
    writer.wait_for_acknowledgments(dunlin::Duration::from_secs(60)).unwrap();
    let counts = recorder.finish();
    assert!(counts.is_complete(), "{counts:?}");
    all_accounted_for(&counts, &place, position);
}

#[test]
fn a_disk_that_fills_up_and_has_room_again_costs_what_is_counted() {
    let (place, disk) = (Place::new("full"), Disk::default());
    let recorder = start(&place, &disk, 1 << 20, WhenFull::Drop);
    let writer = track_writer(&place, 0, "Square");
    writer.wait_for_readers(1, dunlin::Duration::from_secs(60)).unwrap();
    write(&writer, 0..100);
    eventually("they are on the disk", || recorder.counts().recorded == 100);
    disk.full.store(true, Ordering::SeqCst);
    write(&writer, 100..200);
    eventually("they are counted", || recorder.counts().dropped == 100);
    let mut position = 200;
    eventually("no further file can be begun", || {
        write(&writer, position..position + 1);
        position += 1;
        recorder.counts().problems.iter().any(|problem| problem.contains("no file can be begun"))
    });
    let files =
        || std::fs::read_dir(std::path::Path::new(&place.path("loss.mcap")).parent().unwrap()).unwrap();
    assert_eq!(files().count(), 1, "what could not be begun is not left behind");
    disk.full.store(false, Ordering::SeqCst);
    eventually("a new file is begun", || {
        write(&writer, position..position + 1);
        position += 1;
        recorder.counts().recorded > 100
    });
    writer.wait_for_acknowledgments(dunlin::Duration::from_secs(60)).unwrap();
    let counts = recorder.finish();
    assert!(!counts.problems.is_empty() && counts.dropped >= 100);
    all_accounted_for(&counts, &place, position);
}

#[test]
fn a_file_that_failed_goes_when_it_is_not_kept_any_longer() {
    let (place, disk) = (Place::new("kept"), Disk::default());
    let file = place.path("loss.mcap");
    let keeping = StorageOptions { keep_files: Some(1), ..StorageOptions::in_file(file.clone().into()) };
    let options = Options { config: Some(place.config()), ..Options::new(0, keeping) };
    let recorder = Recorder::start_on(options, disk.open()).unwrap();
    let writer = track_writer(&place, 0, "Square");
    writer.wait_for_readers(1, dunlin::Duration::from_secs(60)).unwrap();
    disk.full.store(true, Ordering::SeqCst);
    write(&writer, 0..10);
    eventually("they are counted", || recorder.counts().dropped == 10);
    assert!(std::path::Path::new(&file).exists());
    disk.full.store(false, Ordering::SeqCst);
    let mut position = 10;
    eventually("it has gone when another one has begun", || {
        write(&writer, position..position + 1);
        position += 1;
        !std::path::Path::new(&file).exists()
    });
    assert!(recorder.present_file().is_some_and(|it| it.ends_with("loss-0001.mcap")));
}

#[test]
fn samples_received_while_paused_are_not_recorded() {
    let (place, disk) = (Place::new("pause"), Disk::default());
    let recorder = start(&place, &disk, 1 << 20, WhenFull::Drop);
    let writer = track_writer(&place, 0, "Square");
    writer.wait_for_readers(1, dunlin::Duration::from_secs(60)).unwrap();
    let acknowledged = || writer.wait_for_acknowledgments(dunlin::Duration::from_secs(60)).unwrap();
    write(&writer, 0..10);
    eventually("they are recorded", || recorder.counts().recorded == 10);
    recorder.pause(true);
    write(&writer, 10..20);
    eventually("they are left out", || recorder.counts().skipped == 10);
    recorder.pause(false);
    write(&writer, 20..30);
    acknowledged();
    let counts = recorder.finish();
    assert!(counts.recorded == 20 && counts.is_complete(), "{counts:?}");
}

#[test]
fn instances_beyond_the_limit_are_reported() {
    let place = Place::new("instances");
    let mut options = Options::new(0, StorageOptions::in_file(place.path("loss.mcap").into()));
    options.config = Some(place.config());
    options.max_instances = 3;
    let recorder = Recorder::start(options).unwrap();
    let writer = track_writer(&place, 0, "Square");
    writer.wait_for_readers(1, dunlin::Duration::from_secs(60)).unwrap();
    for id in 0..10 {
        writer.write(&Track { id, position: 0 }).unwrap();
    }
    eventually("the recorder says so", || {
        recorder.counts().problems.iter().any(|problem| problem.contains("more than 3 instances"))
    });
    let counts = recorder.finish();
    assert!(counts.recorded == 3 && !counts.is_complete(), "{counts:?}");
}
