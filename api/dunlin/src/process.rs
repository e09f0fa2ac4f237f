//! What a participant tells of the process that it is in, so that tools can say which program on which host it is.

use dunlin_qos::DomainParticipantQos;
use std::io::Read;

/// Octets of the table of users that are looked at; it is longer only where thousands are in it.
const MOST_OF_USERS: u64 = 1 << 20;

/// Properties of this process, under the names that RTI Connext uses, which others and their tools know. The folder of the
/// program, which often has a name of somebody in it, and the user are told only `in_full`.
pub(crate) fn properties(in_full: bool) -> Vec<(String, String)> {
    let properties = [
        ("dds.sys_info.hostname", Some(rustix::system::uname().nodename().to_string_lossy().into_owned())),
        ("dds.sys_info.process_id", Some(std::process::id().to_string())),
        ("dds.sys_info.executable_filepath", program(in_full)),
        ("dds.sys_info.username", if in_full { user() } else { None }),
    ];
    let known = properties.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    known.filter(|(_, value)| !value.is_empty()).collect()
}

/// The program's file, with its folder or without.
fn program(in_full: bool) -> Option<String> {
    let path = std::env::current_exe().ok()?;
    let told = if in_full { path.as_os_str() } else { path.file_name()? };
    Some(told.to_string_lossy().into_owned())
}

/// The QoS with properties of the process. Those that the application set itself stay as they are, and nothing is added that
/// makes them too many.
pub(crate) fn described(qos: &DomainParticipantQos, process: &[(String, String)]) -> DomainParticipantQos {
    let mut with = qos.clone();
    for (name, value) in process {
        if with.property.values.iter().any(|(known, _)| known == name) {
            continue;
        }
        with.property.values.push((name.clone(), value.clone()));
        if with.check_consistency().is_err() {
            with.property.values.pop();
        }
    }
    with
}

/// The name of the user, or its number.
fn user() -> Option<String> {
    let id = rustix::process::geteuid().as_raw().to_string();
    let mut users = String::new();
    let file = std::fs::File::open("/etc/passwd").ok();
    // Users of a directory service are not in there: the environment knows the name of whoever logged in.
    let read = file.and_then(|file| file.take(MOST_OF_USERS).read_to_string(&mut users).ok());
    let named = read.and_then(|_| name_of(&users, &id).map(str::to_owned));
    named.or_else(|| std::env::var("USER").ok()).or(Some(id))
}

/// The name of a user in the format of passwd(5).
fn name_of<'a>(users: &'a str, id: &str) -> Option<&'a str> {
    let mut lines = users.lines().map(|line| line.split(':'));
    lines.find_map(|mut line| {
        let name = line.next()?;
        (line.nth(1)? == id).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_names() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbroken\nanna:x:1000:100::/home/anna:/bin/sh\n";
        assert_eq!(name_of(users, "0"), Some("root"));
        assert_eq!(name_of(users, "1000"), Some("anna"));
        assert_eq!(name_of(users, "100"), None);
    }

    #[test]
    fn what_the_application_says_stays_and_too_much_is_left_out() {
        let qos = DomainParticipantQos::default().property("dds.sys_info.hostname", "elsewhere");
        let with = described(&qos, &properties(false)).property.values;
        assert_eq!(with.iter().filter(|(name, _)| name == "dds.sys_info.hostname").count(), 1);
        assert_eq!(with[0].1, "elsewhere");
        let id = std::process::id().to_string();
        assert!(with.contains(&("dds.sys_info.process_id".to_owned(), id)), "{with:?}");
        assert_eq!(with.len(), 3, "nothing of the user: {with:?}");
        let full = (0..64).fold(DomainParticipantQos::default(), |qos, n| qos.property(n.to_string(), "x"));
        assert_eq!(described(&full, &properties(true)), full);
    }
}
