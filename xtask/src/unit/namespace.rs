//! A network namespace for a program: only the loopback interface, nobody else's datagrams.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// What the namespace needs before the program starts.
const PREPARE: &str = "ip link set lo up && exec \"$0\" \"$@\"";

/// Whether one can be made here. It takes root: in a user namespace of its own a program is another user to shared memory.
pub fn available() -> bool {
    let mut command = inside(OsStr::new("true"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A command that runs a program in a new one.
pub fn inside(program: &OsStr) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", PREPARE]).arg(program);
    command
}
