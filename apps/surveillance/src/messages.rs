//! What monitors ask and get, as in `idl/Surveillance.idl`.

use dunlin::DdsType;
use dunlin_video::dds::VideoFrame;

/// The service of a recorder.
pub const SERVICE: &str = "Recording";
/// The topic of earlier pictures.
pub const EARLIER: &str = "EarlierPicture";
/// The longest name of a monitor, in octets.
pub const MAX_NAME: usize = 64;

/// What a monitor wants.
#[derive(DdsType, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[dds(name = "surveillance::Wish", final)]
pub enum Wish {
    /// Which recordings are there?
    #[default]
    #[dds(name = "LIST")]
    List,
    /// Send pictures of a camera from a time on, in place of what was sent before.
    #[dds(name = "PLAY")]
    Play,
    /// Go on.
    #[dds(name = "RENEW")]
    Renew,
    /// Send nothing more.
    #[dds(name = "STOP")]
    Stop,
}

/// A request.
#[derive(DdsType, Clone, Debug, Default, PartialEq)]
#[dds(name = "surveillance::Ask", final)]
pub struct Ask {
    /// Name of the monitor.
    pub monitor: String,
    /// What it wants.
    pub wish: Wish,
    /// Which camera.
    pub camera: String,
    /// From which reception on, in nanoseconds since the Unix epoch.
    pub from: i64,
    /// 1 is as fast as it was recorded.
    pub speed: f64,
    /// What is renewed or stopped.
    pub session: u32,
}

/// What became of a request.
#[derive(DdsType, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[dds(name = "surveillance::Outcome", final)]
pub enum Outcome {
    /// It is done.
    #[default]
    #[dds(name = "DONE")]
    Done,
    /// Too many requests, or too many monitors.
    #[dds(name = "BUSY")]
    Busy,
    /// There is no such recording, or the session has ended.
    #[dds(name = "NOTHING")]
    Nothing,
    /// It makes no sense.
    #[dds(name = "REFUSED")]
    Refused,
}

/// What there is of a camera.
#[derive(DdsType, Clone, Debug, Default, PartialEq, Eq)]
#[dds(name = "surveillance::Recorded", final)]
pub struct Recorded {
    /// Its name.
    pub camera: String,
    /// First reception, in nanoseconds since the Unix epoch.
    pub first: i64,
    /// Last reception.
    pub last: i64,
}

/// The reply.
#[derive(DdsType, Clone, Debug, Default, PartialEq, Eq)]
#[dds(name = "surveillance::Answer", final)]
pub struct Answer {
    /// What became of the request.
    pub outcome: Outcome,
    /// Why, for people.
    pub text: String,
    /// Names what was begun.
    pub session: u32,
    /// All recordings.
    pub recorded: Vec<Recorded>,
}

/// A picture for one monitor.
#[derive(DdsType, Clone, Debug, Default, PartialEq, Eq)]
#[dds(name = "surveillance::EarlierPicture", final)]
pub struct EarlierPicture {
    /// Who gets it.
    #[dds(key)]
    pub monitor: String,
    /// What it asked for.
    pub session: u32,
    /// Reception by the recorder, in nanoseconds since the Unix epoch.
    pub received: i64,
    /// The picture as it was recorded.
    pub picture: VideoFrame,
}

/// The partition in which a monitor gets earlier pictures.
#[must_use]
pub fn partition_of(monitor: &str) -> String {
    format!("monitor/{monitor}")
}

/// Why a monitor cannot have this name.
///
/// # Errors
/// What is wrong with it, for people.
pub fn check_name(name: &str) -> Result<(), String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(allowed) {
        return Err(format!("a monitor's name has 1 to {MAX_NAME} letters, digits, '-', '_' and '.'"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_names() {
        assert!(check_name("gate-1.north_2").is_ok());
        for wrong in ["", "*", "a/b", "a b", "ä", "[a-z]", &"x".repeat(MAX_NAME + 1)] {
            assert!(check_name(wrong).is_err(), "{wrong}");
        }
    }

    /// The types are those of the IDL: names, order and kinds of members.
    #[test]
    fn the_idl_tells_the_same() {
        use dunlin::cdr::description;
        let text =
            concat!(include_str!("../../video/idl/VideoFrame.idl"), include_str!("../idl/Surveillance.idl"));
        let text = text.replace("#include \"VideoFrame.idl\"", "");
        let files = dunlin_idl::Memory::default().with("all.idl", text);
        let model = dunlin_idl::compile("all.idl", &dunlin_idl::Options::default(), &files)
            .model
            .expect("it is correct");
        let same = |name: &str, own: &'static dunlin::cdr::TypeDescription| {
            let (graph, root) = dunlin_idl::xtypes::type_graph_of(&model, name).expect(name);
            let (own_graph, own_root) = dunlin::xtypes::from_description(own);
            assert_eq!(dunlin::xtypes::to_idl(&graph, root), dunlin::xtypes::to_idl(&own_graph, own_root));
        };
        same("surveillance::Ask", description::<Ask>());
        same("surveillance::Answer", description::<Answer>());
        same("surveillance::EarlierPicture", description::<EarlierPicture>());
    }
}
