//! Every line that `shape_main` prints, as a whole: options in, lines out, and no other line.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long the lines of a case may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process: its options, the lines that must come, those that may.
struct Side {
    options: &'static str,
    must: Vec<String>,
    may: Vec<String>,
}

/// Whether a whole line is the one expected: `#` is a digit, `%` a number, `@` a word, everything else itself.
fn is(line: &str, expected: &str) -> bool {
    let Some(place) = expected.find(['#', '%', '@']) else { return line == expected };
    let (begin, end) = expected.split_at(place);
    let Some(rest) = line.strip_prefix(begin) else { return false };
    let other = |c: char| if end.starts_with('@') { c == ' ' } else { !c.is_ascii_digit() };
    let run = rest.find(other).unwrap_or(rest.len());
    let length = if end.starts_with('#') { run.min(1) } else { run };
    length > 0 && is(&rest[length..], &end[1..])
}

fn status(name: &str, topic: &str, rest: &str) -> String {
    format!("{name}() topic: '{topic}'  type: 'ShapeType' : {rest}")
}

/// A sample: the columns are ten wide, positions have three digits.
fn sample(topic: &str, color: &str, size: &str) -> String {
    format!("{topic:<10} {color:<10} ### ### [{size}]")
}

fn ended(topic: &str, color: &str, state: &str) -> String {
    format!("{topic:<10} {color:<10} NOT_ALIVE_{state}_INSTANCE_STATE")
}

/// What a publisher prints of a topic that has a reader, besides samples.
fn publisher(options: &'static str, topic: &str, color: &str, must: &[String]) -> Side {
    let matched = |rest| status("on_publication_matched", topic, rest);
    let lines = [
        format!("Create topic: {topic}"),
        format!("Create writer for topic: {topic} color: {color}"),
        matched("matched readers 1 (change = 1)"),
    ];
    let may = vec![matched("matched readers 0 (change = -1)")];
    Side { options, must: [&lines[..], must].concat(), may }
}

/// What a subscriber prints of a topic that has a writer, besides samples.
fn subscriber(options: &'static str, topic: &str, must: &[String]) -> Side {
    let matched = |rest| status("on_subscription_matched", topic, rest);
    let alive = |rest| status("on_liveliness_changed", topic, rest);
    let lines = [
        format!("Create topic: {topic}"),
        format!("Create reader for topic: {topic}"),
        matched("matched writers 1 (change = 1)"),
        alive("(alive = 1, not_alive = 0)"),
        // Publishers end before subscribers.
        matched("matched writers 0 (change = -1)"),
        alive("(alive = 0, not_alive = 0)"),
    ];
    Side { options, must: [&lines[..], must].concat(), may: Vec::new() }
}

impl Side {
    fn may(mut self, lines: &[String]) -> Self {
        self.may.extend_from_slice(lines);
        self
    }
}

struct Running<'c> {
    side: &'c Side,
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl<'c> Running<'c> {
    fn start(side: &'c Side, domain: u32) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_shape_main"))
            .args(["-d", &domain.to_string()])
            .args(side.options.split(' ').map(|word| word.replace('_', " ")))
            .env("DUNLIN_NETWORK_INTERFACES", "lo")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self { side, child, lines, seen: Vec::new() }
    }

    fn missing(&self) -> Vec<&String> {
        let come = |expected: &&String| !self.seen.iter().any(|line| is(line, expected));
        self.side.must.iter().filter(come).collect()
    }

    /// Reads until all lines have come that are expected before the end of the other side.
    fn wait(&mut self, later: &[&str]) {
        let of_now = |line: &&String| !later.iter().any(|words| line.contains(words));
        self.read_while(|running| running.missing().into_iter().any(|line| of_now(&line)));
    }

    fn read_while(&mut self, waiting: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while waiting(self) {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("{}: {:?} is missing in {:#?}", self.side.options, self.missing(), self.seen);
            };
            self.seen.push(line);
        }
    }

    /// Ends it, and judges each line; all of them.
    fn end(mut self) -> Vec<String> {
        if self.child.try_wait().unwrap().is_none() {
            let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
            kill_process(pid, Signal::INT).unwrap();
        }
        self.seen.extend(self.lines.iter());
        let options = self.side.options;
        assert!(self.child.wait().unwrap().success(), "{options}");
        assert_eq!(self.seen.pop().as_deref(), Some("Done."), "{options}");
        assert!(self.missing().is_empty(), "{options}: {:?} is missing in {:#?}", self.missing(), self.seen);
        for line in &self.seen {
            let known = self.side.must.iter().chain(&self.side.may).any(|expected| is(line, expected));
            assert!(known, "{options}: not one of the lines: {line}");
        }
        std::mem::take(&mut self.seen)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // It has ended, unless a line was missing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a subscriber prints once the publisher has gone.
const AT_THE_END: [&str; 3] = ["matched writers 0", "alive = 0", "NOT_ALIVE_NO_WRITERS"];

/// Both sides of a case, in a domain of their own.
fn run(domain: u32, writes: &Side, reads: &Side) {
    let mut reader = Running::start(reads, domain);
    let mut writer = Running::start(writes, domain);
    reader.wait(&AT_THE_END);
    writer.wait(&[]);
    writer.end();
    reader.wait(&[]);
    reader.end();
}

fn run_all(first: u32, cases: &[(Side, Side)]) {
    let base = 20 + std::process::id() % 8 * 24 + first;
    std::thread::scope(|scope| {
        for (place, (writes, reads)) in cases.iter().enumerate() {
            let domain = base + u32::try_from(place).unwrap();
            scope.spawn(move || run(domain, writes, reads));
        }
    });
}

#[test]
fn lines_of_samples_and_their_ends() {
    let gone = |topic: &str, color: &str| ended(topic, color, "NO_WRITERS");
    let four = |topic: &str, line: &dyn Fn(&str, &str) -> String| {
        ["BLUE", "BLUE1", "BLUE2", "BLUE3"].map(|color| line(topic, color))
    };
    let with = |color: &str| sample("Lines", color, "30") + " {255}";
    let sized = |topic: &str, size: &str| sample(topic, "BLUE", size);
    let of_four = |topic: &str, color: &str| sample(topic, color, "20");
    let disposed = |topic: &str, color: &str| ended(topic, color, "DISPOSED");
    let left = |topic: &str, color: &str| ended(topic, color, "NO_WRITERS");
    run_all(
        0,
        &[
            (
                publisher(
                    "-P -w -c RED -z 30 --additional-payload-size 7 -t Lines",
                    "Lines",
                    "RED",
                    &[with("RED")],
                ),
                subscriber("-S -t Lines", "Lines", &[with("RED"), gone("Lines", "RED")]),
            ),
            (
                publisher(
                    "-P -w -z 0 --size-modulo 2 -x 2 -b -t Sizes",
                    "Sizes",
                    "BLUE",
                    &[sized("Sizes", "1"), sized("Sizes", "2")],
                ),
                subscriber(
                    "-S -x 2 -b -R -t Sizes",
                    "Sizes",
                    &[sized("Sizes", "1"), sized("Sizes", "2"), gone("Sizes", "BLUE")],
                ),
            ),
            (
                publisher(
                    "-P -k 0 -D l --num-instances 4 --num-iterations 200 --final-instance-state d -t ALongNameOfATopic",
                    "ALongNameOfATopic",
                    "BLUE",
                    &[],
                ),
                subscriber(
                    "-S -k 0 -D l --take-read -t ALongNameOfATopic",
                    "ALongNameOfATopic",
                    &[four("ALongNameOfATopic", &of_four), four("ALongNameOfATopic", &disposed)].concat(),
                )
                .may(&four("ALongNameOfATopic", &left)),
            ),
            (
                publisher(
                    "-P -k 0 -D p --num-instances 4 --num-iterations 200 --final-instance-state u -t Left",
                    "Left",
                    "BLUE",
                    &[],
                ),
                subscriber(
                    "-S -k 0 -D t -t Left",
                    "Left",
                    &[four("Left", &of_four), four("Left", &left)].concat(),
                ),
            ),
        ],
    );
}

#[test]
fn lines_of_filters_sets_topics_and_warnings() {
    let sized = |topic: &str, size: &str| sample(topic, "BLUE", size);
    let gone = |topic: &str| ended(topic, "BLUE", "NO_WRITERS");
    let mut filtered =
        subscriber("-S --cft shapesize_<_3 -t Cut", "Cut", &[sized("Cut", "1"), sized("Cut", "2")]);
    filtered.must[1] = "Create reader for topic: Cut_filtered".into();
    let mut colored =
        subscriber("-S -c BLUE -p p* --time-filter 1 -t Hue", "Hue", &[sized("Hue", "20"), gone("Hue")]);
    colored.must[1] = "Create reader for topic: Hue_filtered".into();
    let set = ["Started Coherent Set", "Finished Coherent Set"].map(String::from);
    let reading = |what: &str| format!("Reading {what}, iteration %");
    let coherent = "-P -k 0 --coherent --ordered --access-scope t --coherent-sample-count 2 -t Set";
    let two = |line: &dyn Fn(&str) -> Vec<String>| [line("Two"), line("Two1")].concat();
    let second_of_publisher = publisher("", "Two1", "BLUE", &[]);
    run_all(
        4,
        &[
            (publisher("-P -z 0 --size-modulo 9 -t Cut", "Cut", "BLUE", &[]), filtered.may(&[gone("Cut")])),
            (publisher("-P -p p1 --lifespan 9000 -t Hue", "Hue", "BLUE", &[]), colored),
            (
                publisher(coherent, "Set", "BLUE", &set),
                subscriber(
                    "-S -k 0 --coherent --ordered --access-scope t --take-read -t Set",
                    "Set",
                    &[
                        reading("coherent sets"),
                        reading("with ordered access"),
                        sized("Set", "20"),
                        gone("Set"),
                    ],
                ),
            ),
            (
                publisher(
                    "-P -w --num-topics 2 -t Two",
                    "Two",
                    "BLUE",
                    &two(&|topic| publisher("", topic, "BLUE", &[sized(topic, "20")]).must),
                )
                .may(&second_of_publisher.may),
                subscriber(
                    "-S --num-topics 2 -t Two",
                    "Two",
                    &two(&|topic| subscriber("", topic, &[sized(topic, "20"), gone(topic)]).must),
                ),
            ),
            (
                publisher(
                    "-P -v d --cft x_>_0 --take-read --periodic-announcement 500 --datafrag-size 1000 --read-period 50 -t Odd",
                    "Odd",
                    "BLUE",
                    &[
                        "participant @ in domain %",
                        "warning: a publisher ignores --cft",
                        "warning: a publisher ignores --take-read",
                        "warning: a publisher ignores --read-period",
                    ]
                    .map(String::from),
                ),
                subscriber(
                    "-S -w -z 20 --num-instances 1 --write-period 5 -t Odd",
                    "Odd",
                    &[
                        "warning: a subscriber ignores -w".into(),
                        "warning: a subscriber ignores -z".into(),
                        "warning: a subscriber ignores --write-period".into(),
                        "warning: a subscriber ignores --num-instances".into(),
                        sized("Odd", "20"),
                        gone("Odd"),
                    ],
                ),
            ),
        ],
    );
}

/// Each side tells the number and name of the policy, and no match.
#[test]
fn lines_of_policies_that_do_not_fit() {
    let case = |writes: &'static str, reads: &'static str, topic: &str, policy: &str| {
        let created = format!("Create topic: {topic}");
        let writer = vec![
            created.clone(),
            format!("Create writer for topic: {topic} color: BLUE"),
            status("on_offered_incompatible_qos", topic, policy),
        ];
        let reader = vec![
            created,
            format!("Create reader for topic: {topic}"),
            status("on_requested_incompatible_qos", topic, policy),
        ];
        let side = |options, must| Side { options, must, may: Vec::new() };
        // Who reads at intervals says so.
        let rounds = ["Reading with ordered access, iteration %".to_owned()];
        (side(writes, writer), side(reads, reader).may(if reads.contains("ordered") { &rounds } else { &[] }))
    };
    run_all(
        9,
        &[
            case("-P -D v -t Durability", "-S -D l -t Durability", "Durability", "2 (DURABILITY)"),
            case("-P -t Order", "-S --ordered --access-scope t -t Order", "Order", "3 (PRESENTATION)"),
            case("-P -f 7000 -t Late", "-S -f 5000 -t Late", "Late", "4 (DEADLINE)"),
            case("-P -s 3 -t Own", "-S -s -1 -t Own", "Own", "6 (OWNERSHIP)"),
            case("-P -b -t Weak", "-S -r -t Weak", "Weak", "11 (RELIABILITY)"),
            case("-P -x 2 -t Form", "-S -x 1 -t Form", "Form", "23 (DATAREPRESENTATION)"),
        ],
    );
}

#[test]
fn lines_of_deadlines() {
    let missed = |name, topic| status(name, topic, "(total = %, change = %)");
    run_all(
        15,
        &[(
            publisher(
                "-P -w -f 300 --write-period 1000 -t Late",
                "Late",
                "BLUE",
                &[missed("on_offered_deadline_missed", "Late"), sample("Late", "BLUE", "20")],
            ),
            subscriber(
                "-S -f 300 -t Late",
                "Late",
                &[
                    missed("on_requested_deadline_missed", "Late"),
                    sample("Late", "BLUE", "20"),
                    ended("Late", "BLUE", "NO_WRITERS"),
                ],
            ),
        )],
    );
}

/// Somebody uses the name of the topic with another type.
#[test]
fn lines_of_a_topic_with_another_type() {
    #[derive(dunlin::DdsType, Clone, Debug, Default)]
    struct Other {
        n: u32,
    }
    let domain = 20 + std::process::id() % 8 * 24 + 17;
    let told = || "on_inconsistent_topic() topic: 'Mixed'  type: 'ShapeType'".to_owned();
    let writes = Side {
        options: "-P -t Mixed",
        must: vec!["Create topic: Mixed".into(), "Create writer for topic: Mixed color: BLUE".into(), told()],
        may: Vec::new(),
    };
    let mut writer = Running::start(&writes, domain);
    let mut config = dunlin::Config::default();
    config.set("network.interfaces", "lo").unwrap();
    let participant = dunlin::DomainParticipant::builder(domain).config(config).build().unwrap();
    let topic = participant.create_topic::<Other>("Mixed", &dunlin::qos::TopicQos::default()).unwrap();
    let subscriber = participant.create_subscriber(&dunlin::qos::SubscriberQos::default()).unwrap();
    let reader = subscriber.create_datareader(&topic, &dunlin::qos::DataReaderQos::default()).unwrap();
    writer.wait(&[]);
    writer.end();
    assert!(reader.matched_publications().is_empty());
}

/// Samples of two topics that are written in turn and read in one order: a reading comprises several of each topic.
#[test]
fn lines_of_a_group_in_order() {
    let rounds = ["Reading with ordered access, iteration %".to_owned()];
    let of = |side: &dyn Fn(&str) -> Side| [side("Both").must, side("Both1").must].concat();
    let shown = |topic: &str| [sample(topic, "BLUE", "20"), ended(topic, "BLUE", "NO_WRITERS")];
    let parted = |topic: &str| status("on_publication_matched", topic, "matched readers 0 (change = -1)");
    let writes = publisher(
        "-P -k 0 --ordered --access-scope g --num-topics 2 -t Both",
        "Both",
        "BLUE",
        &publisher("", "Both1", "BLUE", &[]).must,
    )
    .may(&[parted("Both1")]);
    let must = of(&|topic| subscriber("", topic, &shown(topic)));
    let options = "-S -k 0 --ordered --access-scope g --num-topics 2 -t Both";
    let reads = Side { options, must, may: Vec::new() }.may(&rounds);
    let domain = 20 + std::process::id() % 8 * 24 + 18;
    let (mut reader, mut writer) = (Running::start(&reads, domain), Running::start(&writes, domain));
    let topics = ["Both", "Both1"];
    let topic_of =
        |line: &String| topics.into_iter().position(|topic| is(line, &sample(topic, "BLUE", "20")));
    reader.wait(&AT_THE_END);
    writer.wait(&[]);
    let few = |seen: &[String], of| seen.iter().filter(|line| topic_of(line) == Some(of)).count() < 20;
    reader.read_while(|reader| few(&reader.seen, 0) || few(&reader.seen, 1));
    writer.end();
    reader.wait(&[]);
    let seen: Vec<usize> = reader.end().iter().filter_map(topic_of).collect();
    // The topics are not matched at one moment: of the first one several samples may come before the other.
    let both: Vec<usize> = seen.iter().copied().skip_while(|topic| *topic == seen[0]).collect();
    assert!(both.len() >= 39 && both.windows(2).all(|two| two[0] != two[1]), "not in turn: {seen:?}");
}

#[test]
fn lines_are_compared_as_a_whole() {
    assert!(is("a 048 b", "a ### b") && is("a 48 b", "a % b") && is("a 0:c1 b", "a @ b") && is("x", "x"));
    for line in ["a 048 b c", "a  b", "[x] a 048 b", "a 48 b", "a 0048 b", "a 048"] {
        assert!(!is(line, "a ### b"), "{line}");
    }
    assert!(!is("a x b", "a % b") && !is("a  b", "a @ b"));
}
