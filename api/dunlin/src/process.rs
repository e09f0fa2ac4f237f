//! What a participant tells of the process that it is in, so that tools can say which program on which host it is.

use std::fmt;
use std::io::Read;

use dunlin_qos::{DomainParticipantQos, Property};

/// Octets of the table of users that are looked at; it is longer only where thousands are in it.
const MOST_OF_USERS: u64 = 1 << 20;

/// Names of properties, those that Dunlin announces first: of RTI Connext, which others and their tools know, and of Cyclone DDS,
/// whose `cyclonedds ps` knows no others; then those of Fast DDS.
const HOST: [&str; 3] = ["dds.sys_info.hostname", "__Hostname", "fastdds.physical_data.host"];
const PROGRAM: [&str; 2] = ["dds.sys_info.executable_filepath", "__ProcessName"];
const PROCESS_ID: [&str; 3] = ["dds.sys_info.process_id", "__Pid", "fastdds.physical_data.process"];
const USER: [&str; 2] = ["dds.sys_info.username", "fastdds.physical_data.user"];

/// Which process on which host a participant is, as far as it announces it: Dunlin, RTI Connext, Cyclone DDS and Fast DDS do, as
/// properties. `Display` is the program with the number of the process, or what is known of the two.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProcessInfo {
    /// The name of the host.
    pub host: Option<String>,
    /// The file of the program, without its folder.
    pub program: Option<String>,
    /// The number of the process.
    pub process_id: Option<String>,
    /// The user.
    pub user: Option<String>,
}

impl ProcessInfo {
    /// What the properties of a participant say.
    #[must_use]
    pub fn of(property: &Property) -> Self {
        let first = |names: &[&str]| {
            let mut named = property.values.iter().filter(|(name, _)| names.contains(&name.as_str()));
            named.find(|(_, value)| !value.is_empty()).map(|(_, value)| value.clone())
        };
        // Connext tells the path of the program, perhaps one of Windows.
        let file = |path: String| path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        Self {
            host: first(&HOST),
            program: first(&PROGRAM).map(file),
            process_id: first(&PROCESS_ID),
            user: first(&USER),
        }
    }

    /// Whether neither program nor process is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.program.is_none() && self.process_id.is_none()
    }
}

impl fmt::Display for ProcessInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.program, &self.process_id) {
            (Some(program), Some(id)) => write!(f, "{program} {id}"),
            (Some(program), None) => f.write_str(program),
            (None, Some(id)) => write!(f, "process {id}"),
            (None, None) => f.write_str("-"),
        }
    }
}

/// Properties of this process. The folder of the program, which often has a name of somebody in it, and the user are announced only
/// `in_full`.
pub(crate) fn properties(in_full: bool) -> Vec<(String, String)> {
    let host = || Some(rustix::system::uname().nodename().to_string_lossy().into_owned());
    let id = || Some(std::process::id().to_string());
    let properties = [
        (HOST[0], host()),
        (PROCESS_ID[0], id()),
        (PROGRAM[0], program(in_full)),
        (USER[0], if in_full { user() } else { None }),
        (HOST[1], host()),
        (PROCESS_ID[1], id()),
        (PROGRAM[1], program(false)),
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

/// A participant for people: its name and its process, as far as they are known.
pub(crate) fn who(name: &str, process: &ProcessInfo) -> Option<String> {
    match (name.is_empty(), process.is_unknown()) {
        (false, false) => Some(format!("'{name}' ({process})")),
        (false, true) => Some(format!("'{name}'")),
        (true, false) => Some(process.to_string()),
        (true, true) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[(&str, &str)]) -> ProcessInfo {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        ProcessInfo::of(&Property { values: values.collect() })
    }

    #[test]
    fn process_properties_of_each_vendor_are_read() {
        let cyclone = of(&[("__Hostname", "lab"), ("__Pid", "12"), ("__ProcessName", "sensor")]);
        assert_eq!((cyclone.host.as_deref(), cyclone.to_string().as_str()), (Some("lab"), "sensor 12"));
        let connext = of(&[
            ("dds.sys_info.executable_filepath", "C:\\bin\\sensor.exe"),
            ("dds.sys_info.process_id", "7"),
            ("dds.sys_info.username", "anna"),
        ]);
        assert_eq!((connext.to_string().as_str(), connext.user.as_deref()), ("sensor.exe 7", Some("anna")));
        let fast = of(&[("fastdds.physical_data.host", "lab"), ("fastdds.physical_data.process", "9")]);
        assert_eq!((fast.host.as_deref(), fast.to_string().as_str()), (Some("lab"), "process 9"));
        assert!(of(&[("__Pid", "")]).is_unknown());
    }

    #[test]
    fn process_properties_are_announced_for_cyclone_ps_and_connext() {
        let all = properties(true);
        for names in [&HOST[..2], &PROGRAM[..2], &PROCESS_ID[..2]] {
            for name in names {
                assert!(
                    all.iter().any(|(known, value)| known == name && !value.is_empty()),
                    "{name}: {all:?}"
                );
            }
        }
        // Who reads only one of the two families learns the same.
        let only = |cyclone: bool| {
            let of_family = all.iter().filter(|(name, _)| name.starts_with("__") == cyclone);
            ProcessInfo::of(&Property { values: of_family.cloned().collect() })
        };
        let (cyclone, connext) = (only(true), only(false));
        assert_eq!((&cyclone.host, cyclone.to_string()), (&connext.host, connext.to_string()));
    }

    #[test]
    fn users_have_names() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbroken\nanna:x:1000:100::/home/anna:/bin/sh\n";
        assert_eq!(name_of(users, "0"), Some("root"));
        assert_eq!(name_of(users, "1000"), Some("anna"));
        assert_eq!(name_of(users, "100"), None);
    }

    #[test]
    fn process_properties_of_the_application_stay_and_long_ones_are_left_out() {
        let qos = DomainParticipantQos::default().property("dds.sys_info.hostname", "elsewhere");
        let with = described(&qos, &properties(false)).property.values;
        assert_eq!(with.iter().filter(|(name, _)| name == "dds.sys_info.hostname").count(), 1);
        assert_eq!(with[0].1, "elsewhere");
        let id = std::process::id().to_string();
        assert!(with.contains(&("dds.sys_info.process_id".to_owned(), id)), "{with:?}");
        assert_eq!(with.len(), 6, "nothing of the user: {with:?}");
        let full = (0..64).fold(DomainParticipantQos::default(), |qos, n| qos.property(n.to_string(), "x"));
        assert_eq!(described(&full, &properties(true)), full);
    }
}
