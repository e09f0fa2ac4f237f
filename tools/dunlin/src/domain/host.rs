//! Which process on which host a participant is, as far as it tells.

use dunlin::qos::Property;
use serde::Serialize;

/// What a participant tells of its process. What it does not tell is missing.
#[derive(Serialize, Clone, Default)]
pub struct Process {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The name of the program, without its folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// Names of properties: of RTI Connext and Dunlin, of Cyclone DDS, of Fast DDS.
const HOST: [&str; 3] = ["dds.sys_info.hostname", "__Hostname", "fastdds.physical_data.host"];
const PROCESS: [&str; 2] = ["dds.sys_info.executable_filepath", "__ProcessName"];
const PROCESS_ID: [&str; 3] = ["dds.sys_info.process_id", "__Pid", "fastdds.physical_data.process"];
const USER: [&str; 2] = ["dds.sys_info.username", "fastdds.physical_data.user"];

impl Process {
    /// What these properties tell.
    pub fn of(property: &Property) -> Self {
        let first = |names: &[&str]| {
            let mut named = property.values.iter().filter(|(name, _)| names.contains(&name.as_str()));
            named.find(|(_, value)| !value.is_empty()).map(|(_, value)| value.clone())
        };
        // Connext tells the path of the program, perhaps one of Windows.
        let file = |path: String| path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        Self {
            host: first(&HOST),
            process: first(&PROCESS).map(file),
            process_id: first(&PROCESS_ID),
            user: first(&USER),
        }
    }

    /// The program and its number, for people.
    pub fn label(&self) -> String {
        match (&self.process, &self.process_id) {
            (Some(name), Some(id)) => format!("{name} {id}"),
            (one, other) => one.as_ref().or(other.as_ref()).cloned().unwrap_or_else(|| "-".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[(&str, &str)]) -> Process {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Process::of(&Property { values: values.collect() })
    }

    #[test]
    fn vendors_tell_their_process_under_their_own_names() {
        let cyclone = of(&[("__Hostname", "lab"), ("__Pid", "12"), ("__ProcessName", "sensor")]);
        assert_eq!((cyclone.host.as_deref(), cyclone.label().as_str()), (Some("lab"), "sensor 12"));
        let connext = of(&[
            ("dds.sys_info.executable_filepath", "C:\\bin\\sensor.exe"),
            ("dds.sys_info.process_id", "7"),
            ("dds.sys_info.username", "anna"),
        ]);
        assert_eq!((connext.label().as_str(), connext.user.as_deref()), ("sensor.exe 7", Some("anna")));
        let fast = of(&[("fastdds.physical_data.host", "lab"), ("fastdds.physical_data.process", "9")]);
        assert_eq!((fast.host.as_deref(), fast.label().as_str()), (Some("lab"), "9"));
        assert_eq!(of(&[("__Pid", "")]).label(), "-");
    }
}
