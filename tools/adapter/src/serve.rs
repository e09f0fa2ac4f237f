//! The loop of an adapter.

use std::io::{BufRead, Read as _, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::roles::{Blast, Game, Pinger, Sink, blast, ponger};
use crate::{Implementation, Line, Open, Role, Session};

/// The longest command, octets. What is longer is cut, and then no command.
const MAX_LINE: u64 = 64 << 10;

/// Answers commands until `close` or the end of the input.
///
/// # Errors
/// The standard input or output fails. What an implementation refuses is an answer.
pub fn serve(implementation: &dyn Implementation) -> Result<()> {
    let mut adapter = Adapter { implementation, sides: Vec::new() };
    let mut output = std::io::stdout();
    let mut input = std::io::stdin().lock();
    loop {
        let mut line = String::new();
        if input.by_ref().take(MAX_LINE).read_line(&mut line)? == 0 {
            break;
        }
        let answer = match line.parse().and_then(|line| adapter.obey(&line)) {
            Ok(answer) => answer,
            Err(error) => Line::new("error").with("text", format!("{error:#}")),
        };
        writeln!(output, "{answer}")?;
        output.flush()?;
        if answer.word() == "closed" {
            break;
        }
    }
    Ok(())
}

struct Adapter<'a> {
    implementation: &'a dyn Implementation,
    sides: Vec<Side>,
}

/// One role that is open. A process has several when both ends of a measurement are in it.
struct Side {
    session: Box<dyn Session>,
    payload: usize,
    duty: Duty,
}

enum Duty {
    Ping(Arc<Pinger>),
    Pong,
    Write,
    Count(Arc<Sink>),
}

impl Adapter<'_> {
    fn obey(&mut self, line: &Line) -> Result<Line> {
        match line.word() {
            "hello" => {
                let about = self.implementation.about(&line.under("x."))?;
                let can: Vec<String> = about.can.iter().map(ToString::to_string).collect();
                let answer = Line::new("hello").with("name", about.name).with("version", about.version);
                Ok(answer.with("can", can.join(",")).with("waits", about.waits).with("built", about.built))
            }
            "open" => self.open(line),
            "await" => self.await_peers(line),
            "ping" => self.ping(line),
            "blast" => self.blast(line),
            "count" => self.count(line),
            "close" => {
                self.sides.clear();
                Ok(Line::new("closed"))
            }
            word => bail!("{word} is no command"),
        }
    }

    fn open(&mut self, line: &Line) -> Result<Line> {
        let role: Role = line.text("role").context("open: role is missing")?.parse()?;
        let topics: usize = line.get("topics")?;
        let prefix = line.text("topic").unwrap_or("Bench");
        let names = |suffix: &str| (0..topics).map(|n| format!("{prefix}{suffix}{n}")).collect::<Vec<_>>();
        let payload = line.get("payload")?;
        let answer = if line.text("answer").is_some() { line.get("answer")? } else { payload };
        let (written, arriving) = match role {
            Role::Pinger => (payload, answer),
            Role::Ponger => (answer, payload),
            Role::Source | Role::Sink => (payload, payload),
        };
        let (duty, on_payload, writes, reads) = match role {
            Role::Pinger => {
                let pinger = Arc::new(Pinger::new(vec![0x5A; payload]));
                let on_payload = pinger.on_payload();
                (Duty::Ping(pinger), on_payload, names("Ping"), names("Pong"))
            }
            Role::Ponger => (Duty::Pong, ponger(answer), names("Pong"), names("Ping")),
            Role::Source => (Duty::Write, ponger(0), names("Ping"), Vec::new()),
            Role::Sink => {
                let sink = Arc::new(Sink::default());
                let on_payload = sink.on_payload();
                (Duty::Count(sink), on_payload, Vec::new(), names("Ping"))
            }
        };
        let keep_last: i32 = line.get("keep_last")?;
        let open = Open {
            domain: line.get("domain")?,
            writes,
            reads,
            payload: written,
            arriving,
            reliable: line.get::<u8>("reliable")? != 0,
            keep_last: (keep_last > 0).then_some(keep_last),
            interface: line.text("interface").unwrap_or("lo").to_string(),
            address: line.text("address").unwrap_or("127.0.0.1").to_string(),
            peer: line.text("peer").unwrap_or("127.0.0.1").to_string(),
            options: line.under("x."),
        };
        let begin = Instant::now();
        let session = self.implementation.open(&open, on_payload)?;
        self.sides.push(Side { session, payload: open.payload, duty });
        Ok(Line::new("opened").with("micros", begin.elapsed().as_micros()))
    }

    fn await_peers(&self, line: &Line) -> Result<Line> {
        let (count, patience) =
            (line.get::<usize>("count")?, Duration::from_millis(line.get("patience_ms")?));
        let begin = Instant::now();
        let fewest = || self.sides.iter().map(|side| side.session.matched()).min().unwrap_or(0);
        while fewest() < count {
            if begin.elapsed() > patience {
                bail!("found {} of {count} within {} ms", fewest(), patience.as_millis());
            }
            std::thread::park_timeout(Duration::from_micros(200));
        }
        Ok(Line::new("matched").with("micros", begin.elapsed().as_micros()))
    }

    fn ping(&self, line: &Line) -> Result<Line> {
        let side = self.sides.iter().find_map(|side| match &side.duty {
            Duty::Ping(pinger) => Some((side, pinger)),
            _ => None,
        });
        let (side, pinger) = side.context("ping: nothing is open as pinger")?;
        let game = Game {
            warm_up: line.get("warm_up")?,
            count: line.get("count")?,
            patience: Duration::from_millis(line.get("patience_ms")?),
            by_turns: line.get::<u8>("by_turns")? != 0,
        };
        let nanos = pinger.play(&*side.session, game)?;
        dump(line.text("file").context("ping: file is missing")?, &nanos)?;
        Ok(Line::new("done").with("count", nanos.len()))
    }

    fn blast(&self, line: &Line) -> Result<Line> {
        let side = self.sides.iter().find(|side| matches!(side.duty, Duty::Write));
        let side = side.context("blast: nothing is open as source")?;
        let plan = Blast {
            payload: side.payload,
            rate: line.get("rate")?,
            time: Duration::from_millis(line.get("millis")?),
            count: line.get("count")?,
            by_chance: line.get::<u8>("by_chance")? != 0,
            sleeps: line.text("sleeps") == Some("1"),
        };
        let written = blast(&*side.session, plan)?;
        let answer = Line::new("sent").with("samples", written.samples).with("refused", written.refused);
        let answer = answer.with("nanos", written.nanos).with("late", written.late);
        let whole = |nanos: f64| nanos.round() as u64;
        Ok(match written.calls.summary() {
            Some((mean, spread)) => answer.with("call_mean", whole(mean)).with("call_spread", whole(spread)),
            None => answer,
        })
    }

    /// What has arrived; with `file`, the delays are written there; with `reset`, counting begins anew.
    fn count(&self, line: &Line) -> Result<Line> {
        let sink = self.sides.iter().find_map(|side| match &side.duty {
            Duty::Count(sink) => Some(sink),
            _ => None,
        });
        let seen = sink.context("count: nothing is open as sink")?.seen(line.get::<u8>("reset")? != 0);
        if let Some(file) = line.text("file") {
            dump(file, &seen.delays)?;
        }
        let answer = Line::new("counted").with("samples", seen.samples).with("octets", seen.octets);
        Ok(answer.with("out_of_order", seen.out_of_order).with("nanos", seen.nanos()))
    }
}

/// Nanoseconds as little-endian words of eight octets.
fn dump(file: &str, nanos: &[u64]) -> Result<()> {
    let octets: Vec<u8> = nanos.iter().flat_map(|nanos| nanos.to_le_bytes()).collect();
    std::fs::write(file, octets).with_context(|| format!("writing {file}"))
}
