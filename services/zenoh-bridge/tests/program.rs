//! The program itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use dunlin_test_program::{Place, Running, text};
use dunlin_zenoh_bridge::BridgeConfig;

const PROGRAM: &str = env!("CARGO_BIN_EXE_dunlin-zenoh-bridge");

fn output(words: &[&str]) -> Output {
    Command::new(PROGRAM).args(words).stdin(Stdio::null()).output().unwrap()
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name)
}

const SITE: &str = "name = \"x\"\n[zenoh]\nlisten = \"tcp/127.0.0.1:0\"\n[[route]]\nconvention = \"dds\"\n";

#[test]
fn check_looks_and_tells_the_line() {
    for name in ["site.toml", "other-site.toml", "robot.toml", "services.toml"] {
        let well = output(&["--check", example(name).to_str().unwrap()]);
        assert!(well.status.success() && well.stderr.is_empty(), "{}", text(&well.stderr));
    }
    let place = Place::new("zenoh-check");
    let wrong = place.file("wrong.toml", &SITE.replace("listen", "lisen"));
    for words in [&["--check", wrong.to_str().unwrap()][..], &[wrong.to_str().unwrap()]] {
        let told = output(words);
        assert_eq!(told.status.code(), Some(1));
        let told = text(&told.stderr);
        assert!(told.contains("wrong.toml:3: there is no key zenoh.lisen; did you mean listen?"), "{told}");
    }
}

#[test]
fn every_configuration_error_names_its_remedy() {
    let cases = [
        (SITE.replace("name = \"x\"", ""), "needs name"),
        (SITE.replace("name = \"x\"", "name = \"a/b\""), "1 to 64 bytes without /"),
        (SITE.replace("[zenoh]\nlisten = \"tcp/127.0.0.1:0\"\n", ""), "write [zenoh] with"),
        (SITE.replace("listen = \"tcp/127.0.0.1:0\"", ""), "zenoh reaches nobody: write connect"),
        (SITE.replace("listen", "mode = \"hub\"\nlisten"), "expected \"peer\", \"client\" or \"router\""),
        (SITE.replace("tcp/", "nonsense"), "connect"),
        (SITE.replace("[[route]]\nconvention = \"dds\"\n", ""), "write [[route]]"),
        (SITE.replace("\"dds\"", "\"ros\""), "expected \"dds\" or \"ros2dds\""),
        (format!("{SITE}scope = \"a//b\"\n"), "none of them empty"),
        (format!("{SITE}scope = \"a/**\"\n"), "a key has none of"),
        (format!("{SITE}priority = 8\n"), "from 1 to 7"),
        (format!("{SITE}direction = \"out\"\n"), "expected \"both\" or \"to-zenoh\""),
        (format!("{SITE}topics = \"a**\"\n"), "** is no wildcard"),
        (format!("{SITE}[limits]\nsample_mib = 0\n"), "from 1 to 2047"),
        (format!("{SITE}[dds]\ndomain = 233\n"), "from 0 to 232"),
        (format!("{SITE}[dds]\nconfig = \"none.toml\"\n"), "none.toml"),
        (format!("{SITE}[status]\nperiods = \"1s\"\n"), "did you mean period?"),
    ];
    for (file, wanted) in cases {
        match BridgeConfig::from_toml("site.toml", &file, Some(Path::new("/nowhere"))) {
            Ok(_) => assert_eq!(wanted, "connect", "accepted: {file}"),
            Err(error) => {
                assert!(error.to_string().contains(wanted) || wanted == "connect", "{error}\n{file}")
            }
        }
    }
}

fn site(place: &Place) -> PathBuf {
    place.file("site.toml", &format!("{SITE}[status]\nperiod = \"50ms\"\n"))
}

#[test]
fn counters_are_printed_and_a_signal_ends_the_program() {
    for signal in ["-TERM", "-INT"] {
        let place = Place::new("zenoh-ends");
        let file = site(&place);
        let running = Running::start(&mut place.command(PROGRAM, &[file.to_str().unwrap()]));
        running.tells("is in force");
        running.tells("0 routes to zenoh, 0 from it; nothing has passed");
        running.stops_well(signal);
    }
}

#[test]
fn a_full_standard_error_does_not_end_the_bridge() {
    let place = Place::new("zenoh-full");
    let file = site(&place);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut child = place.command(PROGRAM, &[file.to_str().unwrap()]).stderr(full).spawn().unwrap();
    let process = child.id();
    dunlin_test_program::eventually("it has run for a while", || {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        let threads = std::fs::read_dir(format!("/proc/{process}/task")).map_or(0, Iterator::count);
        threads > 4
    });
    let status = Command::new("kill").args(["-TERM", &process.to_string()]).status().unwrap();
    assert!(status.success() && child.wait().unwrap().success());
}

#[test]
fn an_endpoint_in_use_is_reported() {
    let place = Place::new("zenoh-taken");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let file = place.file("site.toml", &SITE.replace(":0\"", &format!(":{port}\"")));
    let mut command = place.command(PROGRAM, &[file.to_str().unwrap()]);
    let told = command.output().unwrap();
    assert_eq!(told.status.code(), Some(1));
    assert!(text(&told.stderr).contains("the zenoh session cannot be opened"), "{}", text(&told.stderr));
}
