//! The lines of the page that start the parts one by one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(90);

/// The shell and what it has started.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // Whatever of it is still there.
        let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", self.0.id())]).status();
        let _ = self.0.wait();
    }
}

fn state(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /state.json HTTP/1.0\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_lines_of_the_page_run() {
    let folder = tempfile::tempdir().unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_dunlin-surveillance")).parent().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/parts.sh");
    let mut command = Command::new("sh");
    command
        .arg(script)
        .current_dir(folder.path())
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command.env("PATH", format!("{}:{}", programs.display(), std::env::var("PATH").unwrap()));
    command.env("DUNLIN_NETWORK_INTERFACES", "lo");
    command.env("DUNLIN_DOMAIN_TAG", format!("surveillance-parts-{}", std::process::id()));
    let mut group = Group(command.spawn().unwrap());
    let mut lines = BufReader::new(group.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    let page = lines
        .find_map(|line| Some(line.split_once("open http://")?.1.trim_end_matches('/').to_owned()))
        .unwrap();
    // Nobody may stop reading what they say.
    std::thread::spawn(move || lines.count());
    let deadline = Instant::now() + PATIENCE;
    loop {
        let told = state(&page);
        if told.contains("\"live\":[\"front\"]") && told.contains("\"camera\":\"front\"") {
            return;
        }
        assert!(Instant::now() < deadline, "{told}");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}
