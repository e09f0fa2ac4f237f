//! What bridges announce on zenoh: liveliness tokens.

use crate::attachment::SourceId;
use crate::key;
use crate::offer::{Offer, from_hex, to_hex};

/// All tokens of Dunlin's bridges.
pub(crate) const ALL: &str = "@dunlin_bridge/*/*/*/*/*";
/// All tokens of zenoh-plugin-ros2dds for publishers.
pub(crate) const ALL_ROS2_PUBLISHERS: &str = "@/*/@ros2_lv/MP/*/*/*";
/// All tokens of zenoh-plugin-dds, which name a session each.
pub(crate) const ALL_DDS: &str = "zenoh-plugin-dds/*";

/// Longest name of a type that is taken from zenoh.
const MAX_NAME: usize = 1024;

/// A route of a bridge of Dunlin that passes data to zenoh.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Announced {
    pub(crate) source: SourceId,
    pub(crate) key: String,
    pub(crate) type_name: String,
    pub(crate) offer: Offer,
}

impl Announced {
    pub(crate) fn to_key(&self) -> String {
        let (bridge, key) = (to_hex(&self.source.bridge), key::escape(&self.key));
        let (ty, offer) = (key::escape(&self.type_name), self.offer.to_hex());
        format!("@dunlin_bridge/{bridge}/{}/{key}/{ty}/{offer}", self.source.route)
    }

    pub(crate) fn parse(token: &str) -> Option<Self> {
        let mut parts = token.split('/');
        let mut next = || parts.next();
        if next()? != "@dunlin_bridge" {
            return None;
        }
        let source = SourceId { bridge: from_hex(next()?)?, route: next()?.parse().ok()? };
        let (key, type_name) = (key::unescape(next()?), key::unescape(next()?));
        let offer = Offer::from_hex(next()?)?;
        let sound = next().is_none() && key.len() <= MAX_NAME && type_name.len() <= MAX_NAME;
        sound.then_some(Self { source, key, type_name, offer })
    }
}

/// Where other bridges ask for what a route has passed on.
pub(crate) fn history_key(key: &str, source: SourceId) -> String {
    format!("{key}/@dunlin/{}/{}", to_hex(&source.bridge), source.route)
}

/// Where a route tells ends of instances, which are no samples for others.
pub(crate) fn ends_key(key: &str, source: SourceId) -> String {
    format!("{key}/@dunlin_ends/{}/{}", to_hex(&source.bridge), source.route)
}

/// Where all routes of a key do.
pub(crate) fn all_ends(key: &str) -> String {
    format!("{key}/@dunlin_ends/*/*")
}

/// Which endpoints a token of zenoh-plugin-ros2dds is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RosKind {
    Publisher,
    Subscriber,
}

/// The token of zenoh-plugin-ros2dds for a topic: policies are numbers of DDS, nothing for what is not said.
pub(crate) fn ros2_token(zid: &str, kind: RosKind, key: &str, type_name: &str, offer: &Offer) -> String {
    let kind = match kind {
        RosKind::Publisher => "MP",
        RosKind::Subscriber => "MS",
    };
    let (key, ty) = (key::escape(key), key::escape(&key::ros2_type(type_name)));
    let keyed = if offer.keyed { "K" } else { "" };
    let (reliable, kept) = (u8::from(offer.reliable), u8::from(offer.kept));
    let history = offer.depth.map_or_else(|| "1,0".to_owned(), |depth| format!("0,{depth}"));
    format!("@/{zid}/@ros2_lv/{kind}/{key}/{ty}/{keyed}:{reliable}:{kept}:{history}")
}

/// The key, and whether history is kept, of a token for publishers.
pub(crate) fn parse_ros2_publisher(token: &str) -> Option<(String, bool)> {
    let mut parts = token.strip_prefix("@/")?.split('/');
    let (_zid, mark, kind) = (parts.next()?, parts.next()?, parts.next()?);
    let (key, _ty, qos) = (parts.next()?, parts.next()?, parts.next()?);
    if mark != "@ros2_lv" || kind != "MP" || key.len() > MAX_NAME || parts.next().is_some() {
        return None;
    }
    let durability = qos.split(':').nth(2)?;
    Some((key::unescape(key), matches!(durability, "1" | "2" | "3")))
}

#[cfg(test)]
mod tests {
    use dunlin::qos::DataWriterQos;

    use super::*;

    #[test]
    fn announcements_come_back() {
        let offer = Offer::of_writer(&DataWriterQos::default(), true);
        let source = SourceId { bridge: [0xab; 12], route: 4 };
        let announced = Announced { source, key: "site/a/Square".into(), type_name: "M::T".into(), offer };
        let token = announced.to_key();
        assert_eq!(Announced::parse(&token), Some(announced));
        assert!(zenoh::key_expr::keyexpr::new(&token).is_ok(), "{token}");
        assert!(zenoh::key_expr::keyexpr::new(ALL).unwrap().intersects(token.as_str().try_into().unwrap()));
        for bad in [
            "",
            "@dunlin_bridge",
            "@dunlin_bridge/x/1/a/b/c",
            &token[..token.len() - 1],
            &format!("{token}/x"),
        ] {
            assert_eq!(Announced::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn tokens_of_ros_are_those_of_the_official_plugin() {
        let qos = DataWriterQos::default().reliable().transient_local().keep_last(3);
        let offer = Offer::of_writer(&qos, false);
        let ty = "std_msgs::msg::dds_::String_";
        let token = ros2_token("7f", RosKind::Publisher, "bot/chatter", ty, &offer);
        assert_eq!(token, "@/7f/@ros2_lv/MP/bot§chatter/std_msgs§msg§String/:1:1:0,3");
        assert_eq!(parse_ros2_publisher(&token), Some(("bot/chatter".into(), true)));
        assert_eq!(parse_ros2_publisher("@/7f/@ros2_lv/MP/a/b/:::"), Some(("a".into(), false)));
        for bad in
            ["", "@/", "@/7f/@ros2_lv/MS/a/b/:::", "@/7f/@ros2_lv/MP/a/b/c", "@/7f/@ros2_lv/MP/a/b/:::/x"]
        {
            assert_eq!(parse_ros2_publisher(bad), None, "{bad}");
        }
    }
}
