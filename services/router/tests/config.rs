//! Configurations: what is understood, and what is said of mistakes.

use std::path::Path;

use dunlin_router::config::{Create, RouterConfig};
use dunlin_router::import::Import;

fn errors(text: &str) -> String {
    RouterConfig::from_toml("gate.toml", text, None).unwrap_err().to_string()
}

const TWO: &str = "name = \"gate\"\nparticipant.inner.domain = 0\nparticipant.outer.domain = 1\n";

#[test]
fn the_examples_are_understood() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let gate = RouterConfig::from_file(&folder.join("gate.toml")).unwrap();
    assert_eq!(gate.routes.len(), 2);
    assert_eq!((&*gate.routes[0].from, &*gate.routes[1].from), ("inner", "outer"));
    let plant = RouterConfig::from_file(&folder.join("plant.toml")).unwrap();
    assert_eq!(plant.routes.len(), 4);
    assert_eq!(plant.routes[2].create, Create::Both);
    assert_eq!((plant.limits.flows, plant.limits.samples, plant.limits.instances), (2000, 1000, 10_000));
    assert_eq!(plant.status.participants, ["office"]);
}

#[test]
fn configuration_errors_name_line_and_remedy() {
    for (text, wanted) in [
        ("name = ", "gate.toml:1: not valid TOML"),
        ("participant.a.domain = 0\n[[route]]\nfrom = \"a\"\nto = \"a\"", "needs name ="),
        (
            &*format!("{TWO}[[route]]\nfrm = \"inner\"\nto = \"outer\""),
            "gate.toml:5: there is no key route.frm; did you mean from?",
        ),
        (
            &*format!("{TWO}[[route]]\nfrom = \"iner\"\nto = \"outer\""),
            "gate.toml:5: there is no participant \"iner\"; did you mean \"inner\"?",
        ),
        (&*format!("{TWO}[[route]]\nbetween = [\"inner\"]"), "between names two participants"),
        (
            &*format!("{TWO}[[route]]\nfrom = \"inner\"\nto = \"outer\"\ntopics = [\"a**\"]"),
            "gate.toml:7: topics = \"a**\": ** is no wildcard",
        ),
        (
            &*format!(
                "{TWO}[[route]]\nfrom = \"inner\"\nto = \"outer\"\ntopics = [\"a\"]\nrename_topic = \"$1\""
            ),
            "$1 stands for nothing",
        ),
        (&*format!("{TWO}[[route]]\nfrom = \"inner\"\nto = \"outer\"\nat_most = \"10\""), "such as \"10Hz\""),
        (
            &*format!("{TWO}[[route]]\nfrom = \"inner\"\nto = \"outer\"\nseparation = \"10\""),
            "a time with its unit",
        ),
        (&*format!("{TWO}[[route]]\nfrom = \"inner\"\nto = \"outer\"\none_of = 0"), "a whole number from 1"),
        (
            &*format!("{TWO}[[route]]\nfrom = \"inner\"\nto = \"outer\"\ncreate = \"now\""),
            "\"writer\" or \"both\"",
        ),
        (
            &*format!("{TWO}[[route]]\nfrom = \"inner\"\nto = \"outer\"\nprofile = \"x\""),
            "participant.outer needs config =",
        ),
        (&*format!("{TWO}participant.more.domain = 300"), "a whole number from 0 to 232"),
        (TWO, "there is no route"),
        (&*format!("{TWO}[limit]\nsamples = 1"), "there is no key limit; did you mean limits?"),
        (&*format!("{TWO}participant.x = 5"), "participant.x = 5: expected a section"),
    ] {
        let told = errors(text);
        assert!(told.contains(wanted), "{text}\n{told}\n{wanted}");
    }
}

#[test]
fn profiles_and_configurations_of_participants_come_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("outer.toml");
    std::fs::write(&file, "[profile.slow.writer]\nreliability.kind = \"best_effort\"\n").unwrap();
    let text = "name = \"gate\"\nparticipant.inner.domain = 0\n[participant.outer]\ndomain = 1\nconfig = \"outer.toml\"\n\
                [[route]]\nfrom = \"inner\"\nto = \"outer\"\nprofile = ";
    let read = |profile: &str| {
        RouterConfig::from_toml("gate.toml", &format!("{text}\"{profile}\""), Some(folder.path()))
    };
    assert!(read("slow").is_ok());
    assert!(read("slo").unwrap_err().to_string().contains("did you mean 'slow'?"));
    std::fs::write(&file, "[network]\nmulticas = true\n").unwrap();
    assert!(read("slow").unwrap_err().to_string().contains("multicast"));
}

#[test]
fn rti_routing_service_is_imported_as_far_as_it_maps() {
    let xml = r#"<dds>
  <qos_library name="Q"/>
  <routing_service name="Gate">
    <administration><domain_id>9</domain_id></administration>
    <domain_route name="Bridge">
      <participant name="One"><domain_id>3</domain_id></participant>
      <participant name="Two"><domain_id>4</domain_id><domain_participant_qos/></participant>
      <session name="S">
        <thread_pool><size>2</size></thread_pool>
        <topic_route name="Squares">
          <publish_with_original_info>true</publish_with_original_info>
          <input participant="One"><topic_name>Square</topic_name><registered_type_name>ShapeType</registered_type_name>
            <content_filter><expression>x &gt; 10</expression></content_filter></input>
          <output participant="Two"><topic_name>Boxes</topic_name><registered_type_name>ShapeType</registered_type_name></output>
        </topic_route>
        <auto_topic_route name="All">
          <input participant="Two"><allow_topic_name_filter>A*, B*</allow_topic_name_filter><deny_topic_name_filter>rti/*</deny_topic_name_filter></input>
          <output participant="One"/>
        </auto_topic_route>
      </session>
    </domain_route>
  </routing_service>
</dds>"#;
    let import = Import::from_text(xml).unwrap();
    let config = RouterConfig::from_toml("imported", &import.toml, None).unwrap();
    assert_eq!((config.name.as_str(), config.participants.len(), config.routes.len()), ("Gate", 2, 2));
    assert_eq!((config.participants[0].domain, config.participants[1].domain), (3, 4));
    assert_eq!(config.routes[0].filter.as_deref(), Some("x > 10"));
    assert!(config.routes[0].rename_topic.is_some() && config.routes[0].rename_type.is_none());
    assert!(
        config.routes[1].topics.judge("Alpha").is_ok() && config.routes[1].topics.judge("rti/x").is_err()
    );
    let told: Vec<String> = import.left_out.iter().map(ToString::to_string).collect();
    for wanted in [
        "line 2: <qos_library>",
        "line 4: <administration>",
        "line 7: <domain_participant_qos>",
        "line 9: <thread_pool>",
    ] {
        assert!(told.iter().any(|line| line.starts_with(wanted)), "{wanted}: {told:?}");
    }
    assert_eq!(told.len(), 4, "{told:?}");
}

#[test]
fn dds_router_is_imported_as_far_as_it_maps() {
    let yaml = "version: v5.0\n\nallowlist:\n  - name: \"rt/*\"\nblocklist:\n  - name: \"rt/debug*\"\n\
                participants:\n  - name: P0\n    kind: local\n    domain: 0\n  - name: P1\n    kind: local\n    domain: 1\n\
                \x20 - name: W\n    kind: wan\n    listening-addresses:\n      - ip: 1.2.3.4\nroutes:\n  - src: P0\n    dst:\n      - P1\n\
                specs:\n  threads: 4\n";
    let import = Import::from_text(yaml).unwrap();
    let config = RouterConfig::from_toml("imported", &import.toml, None).unwrap();
    assert_eq!(config.participants.len(), 2);
    assert_eq!(config.routes.len(), 2);
    assert!(
        config.routes[0].topics.judge("rt/a").is_ok() && config.routes[0].topics.judge("rt/debug1").is_err()
    );
    let told: Vec<String> = import.left_out.iter().map(ToString::to_string).collect();
    for wanted in ["specs:", "kind \"wan\"", "listening-addresses"] {
        assert!(told.iter().any(|line| line.contains(wanted)), "{wanted}: {told:?}");
    }
    assert!(Import::from_text("participants: 3").is_err() && Import::from_text("<a/>").is_err());
}

#[test]
fn damaged_configurations_do_no_harm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for file in ["gate.toml", "plant.toml"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        for at in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            for damaged in [
                text[..at].to_owned(),
                format!("{}[{}", &text[..at], &text[at..]),
                format!("{}\"{}", &text[..at], &text[at..]),
                format!("{}= 99999999999999999999\n{}", &text[..at], &text[at..]),
            ] {
                if let Err(error) = RouterConfig::from_toml("damaged.toml", &damaged, None) {
                    assert!(
                        !error.0.is_empty() && error.0.len() <= 20 && error.0.iter().all(|it| it.line > 0)
                    );
                }
                _ = Import::from_text(&damaged);
            }
        }
    }
}
