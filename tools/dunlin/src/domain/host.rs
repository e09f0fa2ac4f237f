//! Which process on which host a participant is, as far as it tells.

use dunlin::ProcessInfo;
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
    /// Program and number, for people.
    #[serde(skip)]
    label: Option<String>,
}

impl Process {
    /// What these properties tell.
    pub fn of(property: &Property) -> Self {
        let info = ProcessInfo::of(property);
        let label = (!info.is_unknown()).then(|| info.to_string());
        Self { host: info.host, process: info.program, process_id: info.process_id, user: info.user, label }
    }

    /// The program and its number, for people, if one of them is known.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }
}
