//! Lines on standard output that hold nobody up: a thread writes them, so that a reader who does not read stops neither
//! the listeners nor the end of the program.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dunlin_program::{Stop, sanitize};

/// Lines that may wait to be written before the one who prints samples waits too.
const ROOM: usize = 256;
/// Lines that wait at most: of listeners, which cannot wait, the rest is counted.
const MOST: usize = 16_384;
/// How often one who waits for room looks whether the program is to end.
const LOOK: Duration = Duration::from_millis(50);

/// Where lines are printed; clones share it.
#[derive(Clone)]
pub struct Output {
    shared: Arc<Shared>,
    stop: Stop,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    lines: VecDeque<String>,
    /// Lines that were left out, as nobody took the others.
    left_out: u64,
    /// The thread writes a line that is no longer in the queue.
    writing: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'q>(&self, queue: MutexGuard<'q, Queue>, time: Duration) -> MutexGuard<'q, Queue> {
        self.changed.wait_timeout(queue, time).unwrap_or_else(PoisonError::into_inner).0
    }

    fn write_to(&self, mut to: impl Write, stop: &Stop) {
        let mut queue = self.lock();
        loop {
            let Some(mut line) = queue.lines.pop_front() else {
                queue = self.wait(queue, Duration::from_secs(3600));
                continue;
            };
            if queue.left_out > 0 && queue.lines.is_empty() {
                line.push_str(&format!(
                    "warning: {} lines are left out here\n",
                    std::mem::take(&mut queue.left_out)
                ));
            }
            queue.writing = true;
            drop(queue);
            let written = to.write_all(line.as_bytes()).and_then(|()| to.flush());
            queue = self.lock();
            queue.writing = false;
            self.changed.notify_all();
            if written.is_err() {
                // Nobody will read any more.
                stop.set();
            }
        }
    }
}

impl Output {
    /// Writes to `to`; sets `stop` when that is closed.
    pub fn new(to: impl Write + Send + 'static, stop: &Stop) -> Self {
        let shared = Arc::new(Shared::default());
        let output = Self { shared: Arc::clone(&shared), stop: stop.clone() };
        let stop = stop.clone();
        std::thread::spawn(move || shared.write_to(to, &stop));
        output
    }

    /// Prints a line from a listener: never waits. Colours and names may be those of strangers.
    pub fn tell(&self, line: impl Into<String>) {
        let line = sanitize(&line.into()) + "\n";
        let mut queue = self.shared.lock();
        if queue.lines.len() < MOST {
            queue.lines.push_back(line);
        } else {
            queue.left_out += 1;
        }
        self.shared.changed.notify_all();
    }

    /// Prints a line, and waits until there is room for it or the program is to end.
    pub fn print(&self, line: impl Into<String>) {
        let mut queue = self.shared.lock();
        while queue.lines.len() >= ROOM && !self.stop.is_set() {
            queue = self.shared.wait(queue, LOOK);
        }
        let room = queue.lines.len() < ROOM;
        drop(queue);
        if room {
            self.tell(line);
        }
    }

    /// Waits until everything is written, at most for `time`.
    pub fn finish(&self, time: Duration) {
        let deadline = Instant::now() + time;
        let mut queue = self.shared.lock();
        while queue.writing || !queue.lines.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            queue = self.shared.wait(queue, left);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Takes a line for each permit.
    struct Reluctant(Receiver<()>, Sender<String>);

    impl Write for Reluctant {
        fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
            self.0.recv().map_err(std::io::Error::other)?;
            self.1.send(String::from_utf8_lossy(octets).into_owned()).map_err(std::io::Error::other)?;
            Ok(octets.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_who_does_not_read_stops_only_those_who_print_much() {
        let (permit, permits) = channel();
        let (lines, written) = channel();
        let stop = Stop::default();
        let output = Output::new(Reluctant(permits, lines), &stop);
        (0..ROOM).for_each(|n| output.print(n.to_string()));
        output.tell("from a listener");
        let printing = {
            let output = output.clone();
            std::thread::spawn(move || (0..ROOM).for_each(|n| output.print(format!("more {n}"))))
        };
        output.finish(Duration::from_millis(1));
        assert!(!printing.is_finished());
        permit.send(()).unwrap();
        assert_eq!(written.recv().unwrap(), "0\n");
        stop.set();
        printing.join().unwrap();
    }

    #[test]
    fn listener_output_is_bounded_and_free_of_control_characters() {
        let (permit, permits) = channel();
        let (lines, written) = channel();
        let output = Output::new(Reluctant(permits, lines), &Stop::default());
        (0..2 * MOST).for_each(|n| output.tell(format!("\u{1b}[2J{n}")));
        assert!(output.shared.lock().lines.len() <= MOST);
        (0..=MOST).for_each(|_| permit.send(()).unwrap());
        assert_eq!(written.recv().unwrap(), "\u{fffd}[2J0\n");
        let told = std::iter::from_fn(|| written.recv_timeout(Duration::from_secs(20)).ok());
        let last = told.take(MOST).find(|line| line.contains("lines are left out here\n"));
        assert!(last.is_some());
    }

    #[test]
    fn a_closed_output_ends_the_program() {
        let (permit, permits) = channel();
        let (lines, written) = channel();
        drop(written);
        let stop = Stop::default();
        let output = Output::new(Reluctant(permits, lines), &stop);
        permit.send(()).unwrap();
        output.print("nobody reads this");
        assert!(stop.wait(Duration::from_secs(20)));
    }
}
