//! Processes that stay while others are killed. Each writes into a file how far it is: what is under test cannot say so.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::eventually;
use super::processes::Other;

/// The longest that anybody may stand still because others die: half of their lease, so whoever waits for its end is found.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// As often each survivor gets through within that time after every kill.
const STEPS: u64 = 50;
/// The lease of who was killed is over.
const FORGOTTEN: Duration = Duration::from_millis(2_500);

/// How many times others are killed: a few in the tests, more with `make shm-crash`.
pub fn rounds(few: u32) -> u32 {
    std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(few)
}

/// Beside the folder with the shared memory.
fn file_of(role: &str, directory: &Path) -> PathBuf {
    directory.with_file_name(role)
}

/// How a process that stays gets on.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// Steps of its own: samples written, or taken from the writer that stays.
    steps: u64,
    /// The longest time from one step to the next, in microseconds.
    longest: u64,
    /// Samples of those that are killed.
    of_others: u64,
}

/// In the process that stays: tells its progress.
pub struct Pulse {
    file: File,
    progress: Progress,
    last: Option<Instant>,
}

impl Pulse {
    pub fn new(role: &str, directory: &Path) -> Self {
        Self {
            file: File::create(file_of(role, directory)).unwrap(),
            progress: Progress::default(),
            last: None,
        }
    }

    /// One step more. From the first one on every pause counts, however long and whatever it comes from.
    pub fn step(&mut self) {
        let now = Instant::now();
        let pause = self.last.replace(now).map_or(Duration::ZERO, |last| now - last);
        self.progress.longest = self.progress.longest.max(pause.as_micros() as u64);
        self.progress.steps += 1;
        self.tell();
    }

    pub fn step_of_another(&mut self) {
        self.progress.of_others += 1;
        self.tell();
    }

    fn tell(&self) {
        let Progress { steps, longest, of_others } = self.progress;
        let octets = [steps, longest, of_others].map(u64::to_ne_bytes);
        self.file.write_all_at(octets.as_flattened(), 0).unwrap();
    }
}

struct Survivor {
    role: &'static str,
    file: PathBuf,
    _process: Other,
}

impl Survivor {
    /// Nothing yet, while it has told nothing.
    fn progress(&self) -> Progress {
        let mut octets = [[0; 8]; 3];
        let read = File::open(&self.file).and_then(|file| file.read_exact_at(octets.as_flattened_mut(), 0));
        let [steps, longest, of_others] = octets.map(u64::from_ne_bytes);
        if read.is_ok() { Progress { steps, longest, of_others } } else { Progress::default() }
    }
}

/// What stays, seen from the process that kills others.
pub struct Survivors<'a> {
    all: Vec<Survivor>,
    domain: u32,
    directory: &'a Path,
}

impl<'a> Survivors<'a> {
    /// Starts a process for each role, and waits until all exchange samples.
    pub fn start(roles: &[&'static str], domain: u32, directory: &'a Path) -> Self {
        let start = |role: &&'static str| Survivor {
            role,
            file: file_of(role, directory),
            _process: Other::start(role, domain, directory),
        };
        let all: Vec<Survivor> = roles.iter().map(start).collect();
        for survivor in &all {
            eventually(survivor.role, || survivor.progress().steps > STEPS);
        }
        Self { all, domain, directory }
    }

    /// Starts another process beside them, and kills it once it has shown that it exchanges samples with them: by a word,
    /// or by samples of its own. Then everybody goes on.
    pub fn kill_one(&self, role: &str, word: Option<&str>, after: Duration) {
        let before: Vec<u64> = self.all.iter().map(|it| it.progress().of_others).collect();
        let mut killed = Other::start(role, self.domain, self.directory);
        match word {
            Some(word) => _ = killed.says(word),
            None => eventually("samples of the other writer", || {
                let mut now = self.all.iter().zip(&before);
                now.any(|(survivor, before)| survivor.progress().of_others > *before)
            }),
        }
        std::thread::park_timeout(after);
        killed.kill();
        self.go_on(&format!("after {role} was killed"));
    }

    /// Each of them gets on within the time.
    fn go_on(&self, when: &str) {
        let (since, before) = (Instant::now(), self.all.iter().map(Survivor::progress).collect::<Vec<_>>());
        for (survivor, before) in self.all.iter().zip(before) {
            while survivor.progress().steps < before.steps + STEPS {
                let role = survivor.role;
                assert!(since.elapsed() < LONGEST_PAUSE, "{when} {role} does not get on");
                std::thread::park_timeout(Duration::from_millis(1));
            }
        }
    }

    /// Goes on until all who were killed are forgotten: nothing of them is left, and no pause was long.
    pub fn outlive(self) {
        let until = Instant::now() + FORGOTTEN;
        while Instant::now() < until {
            std::thread::park_timeout(FORGOTTEN / 10);
            self.go_on("once the others are gone");
        }
        eventually("no file is left of those who were killed", || self.only_their_files());
        for survivor in &self.all {
            let Progress { steps, longest, of_others } = survivor.progress();
            let (role, longest) = (survivor.role, Duration::from_micros(longest));
            println!(
                "{role}: {steps} steps, {of_others} samples of others, {longest:?} the longest from one step to the next"
            );
            assert!(longest < LONGEST_PAUSE, "{role} stood still for {longest:?}");
        }
        let longest = self.all.iter().map(|survivor| survivor.progress().longest).max();
        println!("longest pause of those that stay: {:?}", Duration::from_micros(longest.unwrap_or(0)));
    }

    /// Whether every file belongs to processes that have an inbox, and these are as many as have stayed.
    fn only_their_files(&self) -> bool {
        let names = std::fs::read_dir(self.directory).unwrap().map(|entry| entry.unwrap().file_name());
        let names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        let alive: BTreeSet<&str> = names.iter().filter_map(|name| name.strip_prefix("inbox-")).collect();
        let belongs = |name: &String| {
            // A number stands last.
            let ids = name.rsplit_once('-').and_then(|(before, _)| before.split_once('-'));
            ids.is_none_or(|(_kind, ids)| ids.split('-').all(|id| alive.contains(id)))
        };
        alive.len() == self.all.len() && names.iter().all(belongs)
    }
}
