//! The line protocol of `tests/interop/README.md`, shared by the peers written in Rust.

use std::io::BufRead;
use std::time::{Duration, Instant};

/// What a writer of ShapeType can do.
pub trait ShapeWriter {
    fn write(&mut self, color: &str, numbers: [i32; 3]) -> Result<(), String>;
    fn dispose(&mut self, color: &str) -> Result<(), String>;
    fn unregister(&mut self, color: &str) -> Result<(), String>;
    fn matched(&mut self) -> usize;
}

fn wait_matched(writer: &mut dyn ShapeWriter, wanted: usize) -> Result<(), String> {
    let deadline = Instant::now() + Duration::from_secs(30);
    while writer.matched() < wanted {
        if Instant::now() > deadline {
            return Err("not matched".into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn command(writer: &mut dyn ShapeWriter, words: &[&str]) -> Result<(), String> {
    let number = |i: usize| words.get(i).and_then(|word| word.parse::<i32>().ok()).unwrap_or(0);
    let color = words.get(1).copied().unwrap_or_default();
    match words[0] {
        "write" => writer.write(color, [number(2), number(3), number(4)]),
        "dispose" => writer.dispose(color),
        "unregister" => writer.unregister(color),
        "wait-matched" => wait_matched(writer, number(1) as usize),
        other => Err(format!("unknown command {other}")),
    }
}

/// Runs commands from standard input until `quit` or its end.
pub fn serve(mut writer: Option<&mut dyn ShapeWriter>) {
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let words: Vec<&str> = line.split_whitespace().collect();
        match (words.first(), writer.as_deref_mut()) {
            (Some(&"quit"), _) => break,
            (Some(_), Some(writer)) => match command(writer, &words) {
                Ok(()) => println!("ok"),
                Err(error) => println!("error {error}"),
            },
            _ => {}
        }
    }
}

/// Role (`pub` or `sub`) and domain from the command line `PEER shape-pub|shape-sub DOMAIN`.
pub fn arguments() -> (String, u16) {
    let mut args = std::env::args().skip(1);
    let role = args.next().unwrap_or_default();
    let domain = args.next().and_then(|text| text.parse().ok());
    match (role.strip_prefix("shape-"), domain) {
        (Some(direction @ ("pub" | "sub")), Some(domain)) => (direction.to_owned(), domain),
        _ => {
            eprintln!("usage: PEER shape-pub|shape-sub DOMAIN");
            std::process::exit(2);
        }
    }
}
