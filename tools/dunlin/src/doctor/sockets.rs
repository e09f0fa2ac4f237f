//! How much the kernel lets a socket keep.

use std::fs;

use super::report::Report;

/// What Dunlin asks for.
const WANTED: u64 = 4 << 20;

fn sysctl(name: &str) -> Option<u64> {
    let path = format!("/proc/sys/{}", name.replace('.', "/"));
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Looks at the limits of the kernel.
pub fn buffers(report: &mut Report) {
    judge("receive", "net.core.rmem_max", sysctl("net.core.rmem_max"), report);
    judge("send", "net.core.wmem_max", sysctl("net.core.wmem_max"), report);
}

fn judge(what: &str, key: &str, limit: Option<u64>, report: &mut Report) {
    match limit {
        None => report.note(format!("{what} buffers: {key} cannot be read"), "look at it with `sysctl`"),
        Some(limit) if limit < WANTED && what == "receive" => report.note(
            format!("{what} buffers: {key} is {limit}, Dunlin would take up to {WANTED}"),
            format!(
                "bursts of large samples from fast senders may be repaired more than once: sysctl -w {key}={WANTED}, and a file in /etc/sysctl.d to keep it"
            ),
        ),
        Some(limit) => report.ok(format!("{what} buffers: {key} is {limit}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_receive_buffers_get_an_advice() {
        let mut report = Report::default();
        judge("receive", "net.core.rmem_max", Some(212_992), &mut report);
        judge("receive", "net.core.rmem_max", Some(WANTED), &mut report);
        judge("send", "net.core.wmem_max", Some(212_992), &mut report);
        judge("receive", "net.core.rmem_max", None, &mut report);
        let text = report.to_string();
        assert!(text.contains("sysctl -w net.core.rmem_max=4194304"), "{text}");
        assert!(text.ends_with("2 ok, 2 notes, 0 problems\n"), "{text}");
        assert_eq!((sysctl("no.such.key"), sysctl("kernel.pid_max").is_some()), (None, true));
    }
}
