//! The configuration of a router, and those of other routers that it imports.

use dunlin_router::RouterConfig;
use dunlin_router::import::Import;

/// Reads the text as a configuration, and as one of another router. What is wrong has a place; what is accepted can judge any name.
pub fn routes(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match RouterConfig::from_toml("fuzz.toml", text, None) {
        Ok(config) => {
            assert!(!config.participants.is_empty() && !config.routes.is_empty());
            for route in &config.routes {
                let judged = route.topics.judge("rt/hall/temperature7");
                if let (Ok(captures), Some(template)) = (judged, &route.rename_topic) {
                    let _ = template.fill(&captures);
                }
            }
        }
        Err(error) => {
            assert!(!error.0.is_empty() && error.0.iter().all(|it| it.line > 0 && !it.text.is_empty()))
        }
    }
    if let Ok(import) = Import::from_text(text) {
        assert!(import.left_out.iter().all(|it| it.line > 0), "{:?}", import.left_out);
    }
}

const RTI: &str = "<dds><routing_service name='R'><domain_route name='D'><participant name='1'><domain_id>0</domain_id></participant>\
<participant name='2'><domain_id>1</domain_id></participant><session name='S'><auto_topic_route name='A'><input participant='1'>\
<allow_topic_name_filter>*</allow_topic_name_filter></input><output participant='2'/></auto_topic_route></session></domain_route>\
</routing_service></dds>";
const DDS_ROUTER: &str = "version: v5.0\nallowlist:\n  - name: \"rt/*\"\nparticipants:\n  - name: a\n    kind: local\n    domain: 0\n\
\x20 - name: b\n    kind: local\n    domain: 1\nroutes:\n  - src: a\n    dst:\n      - b\n";

pub(crate) fn seeds() -> Vec<(String, Vec<u8>)> {
    let gate = include_str!("../../services/router/examples/gate.toml");
    let plant = include_str!("../../services/router/examples/plant.toml");
    let all = [("gate", gate), ("plant", plant), ("rti", RTI), ("dds-router", DDS_ROUTER)];
    all.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).into()
}
