//! The publisher and the benchmark's adapter as programs of a small board, ARMv7 in an emulator, with a viewer and readers of this
//! machine over loopback: `make small-board` builds what it takes.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use dunlin::qos::{DataReaderQos, DataWriterQos, PublisherQos, SubscriberQos, TopicQos};
use dunlin::{DataReader, DdsType, DomainParticipant};
use dunlin_program::Stop;
use dunlin_test_program::{PATIENCE, Place, eventually, text};
use dunlin_video::dds::VideoFrame;
use dunlin_video::frame::Frame;
use dunlin_video::source::{Source, fixed::Fixed};

const DOMAIN: &str = "0";
/// What the adapter's open line says beside its role.
const OPEN: &str = "domain=0 topics=1 reliable=1 keep_last=0 interface=lo address=127.0.0.1 peer=127.0.0.1";

/// A program of the small board.
fn board(place: &Place, name: &str, words: &[&str]) -> Command {
    let folder =
        std::env::var("SMALL_BOARD").expect("SMALL_BOARD names the folder with the programs for ARMv7");
    let program = PathBuf::from(folder).join(name);
    let program = program.to_str().expect("Unicode");
    let emulated: Vec<&str> =
        ["-L", "/usr/arm-linux-gnueabihf", program].iter().chain(words).copied().collect();
    place.command("qemu-arm-static", &emulated)
}

/// A reader of whole histories.
fn reader<T: DdsType>(participant: &DomainParticipant, topic: &str) -> DataReader<T> {
    let topic = participant.create_topic::<T>(topic, &TopicQos::default()).unwrap();
    let subscriber = participant.create_subscriber(&SubscriberQos::default()).unwrap();
    subscriber.create_datareader(&topic, &DataReaderQos::default().reliable().keep_all()).unwrap()
}

/// The next `count` samples.
fn take<T: DdsType + Clone>(reader: &DataReader<T>, count: usize) -> Vec<T> {
    let mut taken = Vec::new();
    eventually("the samples arrive", || {
        taken.extend(reader.take(count - taken.len()).unwrap().into_iter().filter_map(|sample| sample.data));
        taken.len() == count
    });
    taken
}

/// Publishes as `line` says; a viewer saves the frames, and what a reader beside it took comes back with what the viewer saved.
fn publish(place: &Place, line: &str, count: usize) -> (Vec<VideoFrame>, Vec<Vec<u8>>) {
    let participant = place.participant(DOMAIN.parse().unwrap());
    let reader = reader::<VideoFrame>(&participant, "Video");
    let (saved, frames) = (place.folder().join("saved"), count.to_string());
    let words = ["view", "--headless", "--frames", &frames, "--save", saved.to_str().unwrap()];
    let mut viewer = place.command(env!("CARGO_BIN_EXE_dunlin-video"), &words);
    let viewer = viewer.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let line = format!("publish {line} --keep-all --rate 0 --wait-viewers 2 --count {count}");
    let words: Vec<&str> = line.split_whitespace().collect();
    let publisher = board(place, "dunlin-video", &words).output();
    let publisher = publisher.expect("qemu-arm-static (scripts/setup.sh cross)");
    assert!(publisher.status.success(), "{}{}", text(&publisher.stdout), text(&publisher.stderr));
    assert!(
        text(&publisher.stdout).contains(&format!("published {count} frames")),
        "{}",
        text(&publisher.stdout)
    );
    let taken = take(&reader, count);
    let viewer = viewer.wait_with_output().unwrap();
    assert!(
        text(&viewer.stdout).contains(&format!("received {count} frames, lost 0")),
        "{}",
        text(&viewer.stdout)
    );
    let mut files: Vec<PathBuf> = saved.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    (taken, files.iter().map(|file| std::fs::read(file).unwrap()).collect())
}

/// Frames of a fixed size, made here and there.
fn fixed(name: &str, octets: usize, count: usize) {
    let place = Place::new(name);
    let (taken, saved) = publish(&place, &format!("--fixed-size {octets}"), count);
    let (mut source, mut frame) = (Fixed::new(octets, 0.0).unwrap(), Frame::default());
    // What is a picture the viewer saves as another one.
    let as_they_are = octets != 921_600;
    for (number, taken) in taken.iter().enumerate() {
        assert!(source.next(&Stop::default(), &mut frame).unwrap());
        assert_eq!(taken.frame_number, number as u64);
        assert!(taken.payload == frame.payload, "frame {number} of the reader");
        assert!(!as_they_are || saved[number] == frame.payload, "frame {number} of the viewer");
    }
    assert_eq!((taken.len(), saved.len()), (count, count));
}

#[test]
#[ignore = "takes programs for ARMv7: make small-board"]
fn frames_of_a_fixed_size_arrive_octet_by_octet() {
    fixed("small-board-17590", 17_590, 40);
    fixed("small-board-581980", 581_980, 12);
    fixed("small-board-921600", 921_600, 12);
}

#[test]
#[ignore = "takes programs for ARMv7: make small-board"]
fn pictures_coded_on_the_board_arrive_octet_by_octet() {
    let place = Place::new("small-board-mjpeg");
    let (taken, saved) = publish(&place, "--pattern --encoding mjpeg --size 320x240", 20);
    assert!(taken.iter().map(|frame| &frame.payload).eq(&saved), "the reader and the viewer differ");
    for (number, taken) in taken.iter().enumerate() {
        let mut image = dunlin_video::codec::image::Image::new(2, 2).unwrap();
        dunlin_video::codec::jpeg::decode(&taken.payload, &mut image).unwrap();
        assert_eq!((taken.frame_number, image.width(), image.height()), (number as u64, 320, 240));
    }
}

/// The type of the benchmark.
#[derive(DdsType, Clone, Debug, Default)]
struct Octets {
    data: Vec<u8>,
}

/// The benchmark's adapter on the board.
struct Adapter {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Adapter {
    fn start(place: &Place, memory: bool) -> Self {
        let mut command = board(place, "dunlin-bench", &["adapter", "dunlin"]);
        command.env("DUNLIN_SHARED_MEMORY_ENABLED", memory.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    /// Says a line, and gives the answer, which has to begin so.
    fn ask(&mut self, line: &str, answer: &str) -> String {
        writeln!(self.input, "{line}").unwrap();
        let mut said = String::new();
        self.output.read_line(&mut said).unwrap();
        assert!(said.starts_with(answer), "{line}: {said}");
        said
    }

    fn close(mut self) {
        self.ask("close", "closed");
        eventually("the adapter ends", || self.child.try_wait().unwrap().is_some());
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Octets without a pattern (xorshift), another sequence for each seed.
fn octets(len: usize, seed: u64) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15 ^ seed;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..len.div_ceil(8)).flat_map(|_| next()).take(len).collect()
}

/// What is written to the adapter comes back from it, octet by octet.
fn to_and_fro(name: &str, memory: bool) {
    const LONGEST: usize = 921_600;
    let place = Place::new(name);
    let participant = place.participant(DOMAIN.parse().unwrap());
    let topic = participant.create_topic::<Octets>("BenchPing0", &TopicQos::default()).unwrap();
    let publisher = participant.create_publisher(&PublisherQos::default()).unwrap();
    let writer =
        publisher.create_datawriter(&topic, &DataWriterQos::default().reliable().keep_all()).unwrap();
    let reader = reader::<Octets>(&participant, "BenchPong0");
    let mut adapter = Adapter::start(&place, memory);
    adapter.ask(&format!("open role=ponger payload={LONGEST} {OPEN}"), "opened");
    adapter.ask(&format!("await count=1 patience_ms={}", PATIENCE.as_millis()), "matched");
    eventually("both match", || {
        let matched = writer.publication_matched_status().current_count;
        matched > 0 && reader.subscription_matched_status().current_count > 0
    });
    for (seed, len) in
        [0, 1, 64, 1_400, 17_590, 65_380, 307_200, LONGEST].into_iter().cycle().take(24).enumerate()
    {
        let sample = Octets { data: octets(len, seed as u64) };
        writer.write(&sample).unwrap();
        let back = take(&reader, 1);
        assert!(back[0].data == sample.data, "{len} octets, sample {seed}");
    }
    adapter.close();
}

#[test]
#[ignore = "takes programs for ARMv7: make small-board"]
fn the_adapter_gives_back_what_it_gets_over_udp() {
    to_and_fro("small-board-udp", false);
}

/// Words of 32 and of 64 bits share the same memory.
#[test]
#[ignore = "takes programs for ARMv7: make small-board"]
fn the_adapter_gives_back_what_it_gets_through_memory() {
    to_and_fro("small-board-memory", true);
}
