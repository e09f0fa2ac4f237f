use dunlin_core::{Duration, Rng};
use dunlin_qos::{DurabilityKind, HistoryKind, ReliabilityKind};

use super::*;
use crate::Multicast;

const DDS_XML: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.omg.org/spec/DDS-XML">
  <!-- <nothing> -->
  <qos_library name="Ships">
    <qos_profile name="Base">
      <datawriter_qos>
        <reliability><kind>RELIABLE_RELIABILITY_QOS</kind>
          <max_blocking_time><sec>2</sec><nanosec>500000000</nanosec></max_blocking_time></reliability>
        <durability><kind>TRANSIENT_LOCAL_DURABILITY_QOS</kind></durability>
        <resource_limits><max_samples>LENGTH_UNLIMITED</max_samples></resource_limits>
      </datawriter_qos>
      <publisher_qos><partition><name><element>North</element><element>South/*</element></name></partition></publisher_qos>
      <participant_qos><entity_factory><autoenable_created_entities>false</autoenable_created_entities></entity_factory></participant_qos>
    </qos_profile>
    <qos_profile name="Radar" base_name="Base">
      <datawriter_qos topic_filter="Track*"><history><kind>KEEP_LAST_HISTORY_QOS</kind><depth>7</depth></history>
        <deadline><period><sec>DURATION_INFINITE_SEC</sec><nanosec>DURATION_INFINITE_NSEC</nanosec></period></deadline></datawriter_qos>
      <datareader_qos><reader_resource_limits><max_remote_writers>4</max_remote_writers></reader_resource_limits>
        <time_based_filter><minimum_separation><sec>0</sec><nanosec>1000000</nanosec></minimum_separation></time_based_filter>
        <liveliness><kind>MANUAL_BY_MOON</kind></liveliness></datareader_qos>
    </qos_profile>
  </qos_library>
</dds>"#;

#[test]
fn profiles_of_dds_xml() {
    let import = Import::from_xml(DDS_XML).unwrap();
    assert_eq!(import.dialect, Dialect::DdsXml);
    let profiles = Config::from_toml("i.toml", &import.toml).unwrap().profiles;
    let qos = profiles.writer_qos("Ships::Radar", "Tracks").unwrap();
    assert_eq!((qos.history.kind, qos.history.depth), (HistoryKind::KeepLast, 7));
    assert_eq!(qos.reliability.max_blocking_time, Duration::from_millis(2_500));
    assert_eq!(qos.durability.kind, DurabilityKind::TransientLocal);
    assert_eq!(profiles.writer_qos("Ships::Radar", "Other").unwrap().history.depth, 1);
    assert_eq!(profiles.publisher_qos("Ships::Base").unwrap().partition.names, ["North", "South/*"]);
    assert!(!profiles.participant_qos("Ships::Base").unwrap().entity_factory.autoenable_created_entities);
    let separation = profiles.reader_qos("Ships::Radar", "T").unwrap().time_based_filter.minimum_separation;
    assert_eq!(separation, Duration::from_millis(1));
    let report: Vec<String> = import.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(report.len(), 2, "{report:?}");
    assert!(report[0].starts_with("line 18: reader_resource_limits.max_remote_writers"), "{report:?}");
    assert!(report[1].contains("liveliness.kind") && report[1].contains("manual_by_topic"), "{report:?}");
}

#[test]
fn profiles_of_fast_dds() {
    let text = r#"<dds><profiles xmlns="http://www.eprosima.com">
      <participant profile_name="p"><rtps><userData><value>3.1</value></userData><useBuiltinTransports>true</useBuiltinTransports></rtps></participant>
      <data_writer profile_name="w" is_default_profile="true">
        <topic><historyQos><kind>KEEP_ALL</kind></historyQos><resourceLimitsQos><max_samples>50</max_samples></resourceLimitsQos></topic>
        <qos><reliability><kind>RELIABLE</kind><max_blocking_time><sec>1</sec></max_blocking_time></reliability>
          <latencyBudget><duration><nanosec>5000</nanosec></duration></latencyBudget>
          <ownershipStrength><value>9</value></ownershipStrength>
          <lifespan><duration>DURATION_INFINITY</duration></lifespan>
          <partition><names><name>A</name></names></partition>
          <publishMode><kind>ASYNCHRONOUS</kind></publishMode></qos>
      </data_writer>
      <transport_descriptors/>
    </profiles></dds>"#;
    let import = Import::from_xml(text).unwrap();
    assert_eq!(import.dialect, Dialect::FastDds);
    let profiles = Config::from_toml("i.toml", &import.toml).unwrap().profiles;
    let qos = profiles.writer_qos("w", "T").unwrap();
    assert_eq!((qos.history.kind, qos.resource_limits.max_samples), (HistoryKind::KeepAll, 50));
    assert_eq!((qos.latency_budget.duration, qos.ownership_strength.value), (Duration::from_nanos(5000), 9));
    assert_eq!(qos.reliability.kind, ReliabilityKind::Reliable);
    assert_eq!(profiles.publisher_qos("w").unwrap().partition.names, ["A"], "ours are the publisher's");
    assert_eq!(profiles.participant_qos("p").unwrap().user_data.0, [3, 1]);
    let report = import.left_out.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    for part in [
        "publish_mode.kind",
        "transport_descriptors",
        "useBuiltinTransports",
        "line 3: is_default_profile of <data_writer>: a profile is used by name alone",
        "line 1: defaults: what the profiles do not say",
    ] {
        assert!(report.contains(part), "{report}");
    }
    assert_eq!(import.left_out.len(), 5, "{report}");
}

#[test]
fn the_participant_of_fast_dds() {
    let text = r#"<profiles>
      <transport_descriptors>
        <transport_descriptor><transport_id>udp</transport_id><type>UDPv4</type><TTL>3</TTL>
          <interfaceWhiteList><address>192.168.7.3</address><interface>eth0</interface></interfaceWhiteList></transport_descriptor>
        <transport_descriptor><transport_id>new</transport_id><type>UDPv4</type>
          <interfaces><allowlist><interface name="wlan0"/></allowlist><blocklist><interface name="docker0"/></blocklist></interfaces></transport_descriptor>
        <transport_descriptor><transport_id>shm</transport_id><type>SHM</type></transport_descriptor>
      </transport_descriptors>
      <participant profile_name="other"><domainId>9</domainId></participant>
      <participant profile_name="robot" is_default_profile="true">
        <domainId>4</domainId>
        <rtps>
          <builtin>
            <discovery_config><leaseDuration><sec>20</sec></leaseDuration>
              <leaseAnnouncement><sec>2</sec><nanosec>500000000</nanosec></leaseAnnouncement>
              <EDP>SIMPLE</EDP></discovery_config>
            <initialPeersList>
              <locator><udpv4><address>192.168.7.20</address><port>7410</port></udpv4></locator>
              <locator><udpv4><address>192.168.7.21</address></udpv4></locator>
              <locator><udpv6><address>fe80::1</address><port>7412</port></udpv6></locator>
              <locator><udpv4><address>239.255.0.1</address></udpv4></locator>
              <locator><tcpv4><physical_port>5100</physical_port></tcpv4></locator>
            </initialPeersList>
          </builtin>
          <userTransports><transport_id>udp</transport_id><transport_id>new</transport_id></userTransports>
        </rtps>
      </participant></profiles>"#;
    let import = Import::from_xml(text).unwrap();
    let config = Config::from_toml("i.toml", &import.toml).unwrap();
    assert_eq!(config.domain.id, 4);
    assert_eq!(config.discovery.lease_duration, Duration::from_secs(20));
    assert_eq!(config.discovery.announcement_period, Duration::from_millis(2_500));
    assert_eq!(config.discovery.peers, ["192.168.7.20:7410", "192.168.7.21", "[fe80::1]:7412"]);
    assert_eq!(config.network.interfaces, ["192.168.7.3", "eth0", "wlan0"]);
    let mut report: Vec<String> = import.left_out.iter().map(|left| left.what.clone()).collect();
    report.sort();
    let expected = [
        "<EDP>",
        "<TTL>",
        "<blocklist>",
        "<domainId>",
        "<locator> of <initialPeersList>",
        "is_default_profile of <participant>",
        "peer 239.255.0.1",
        "transport 'shm'",
    ];
    assert_eq!(report, expected);
    // A lease that ends before the next announcement is told and left out.
    let short = "<profiles><participant profile_name='p'><rtps><builtin><discovery_config><leaseDuration><sec>1</sec>\
                 </leaseDuration></discovery_config></builtin></rtps></participant></profiles>";
    let import = Import::from_xml(short).unwrap();
    assert!(!import.toml.contains("lease"), "{}", import.toml);
    assert_eq!(import.left_out[0].what, "<leaseDuration>");
}

/// What is carried over is what was written, or it is reported.
#[test]
fn texts_and_octets_keep_their_values() {
    let standard = |policies: &str| {
        let text = format!(
            "<dds><qos_library name='L' note='n'><qos_profile name='P' is_default_qos='true'>{policies}</qos_profile>\
             </qos_library></dds>"
        );
        let import = Import::from_xml(&text).unwrap();
        let report: Vec<String> =
            import.left_out.iter().map(|left| format!("{}: {}", left.what, left.why)).collect();
        (Config::from_toml("i.toml", &import.toml).unwrap().profiles, report)
    };
    let user_data =
        |value: &str| standard(&format!("<datawriter_qos><user_data>{value}</user_data></datawriter_qos>"));
    for (value, octets) in [
        ("<value>84, 0x6F,0XfF</value>", &[84, 0x6f, 0xff][..]),
        ("<value>7</value>", &[7]),
        ("<value><!-- x -->84<!-- y -->,85</value>", &[84, 85]),
        ("<value/>", &[]),
    ] {
        let (profiles, report) = user_data(value);
        assert_eq!(profiles.writer_qos("L::P", "T").unwrap().user_data.0, octets, "{value}");
        assert_eq!(report.len(), 2, "{report:?}");
        assert!(report[0].starts_with("note of <qos_library>"), "{report:?}");
        assert!(report[1].starts_with("is_default_qos of <qos_profile>"), "{report:?}");
    }
    for value in
        ["<value>ABC</value>", "<value>256</value>", "<value>3.1</value>", "<valueB64>QUJD</valueB64>"]
    {
        let (profiles, report) = user_data(value);
        assert!(profiles.writer_qos("L::P", "T").unwrap().user_data.0.is_empty(), "{value}");
        assert!(report.iter().any(|line| line.starts_with("user_data.value")), "{value}: {report:?}");
    }
    let (profiles, report) = standard(
        "<publisher_qos><partition><name>North</name></partition></publisher_qos>\
         <datareader_qos><history depth='3'><kind>Keep_All_HISTORY_QOS</kind></history>\
         <representation><value>XCDR2</value></representation></datareader_qos>",
    );
    assert_eq!(profiles.publisher_qos("L::P").unwrap().partition.names, ["North"]);
    let qos = profiles.reader_qos("L::P", "T").unwrap();
    assert_eq!((qos.history.kind, qos.representation.ids.len()), (HistoryKind::KeepAll, 1));
    assert!(report.iter().any(|line| line.starts_with("depth of <history>")), "{report:?}");
    let fast = "<profiles><participant profile_name='p'><rtps><userData><value>3.10</value></userData></rtps></participant></profiles>";
    let import = Import::from_xml(fast).unwrap();
    assert!(
        import.left_out.len() == 1 && import.left_out[0].why.contains("hexadecimal"),
        "{:?}",
        import.left_out
    );
}

#[test]
fn the_configuration_of_cyclone_dds() {
    let text = r#"<CycloneDDS xmlns="https://cdds.io/config"><Domain Id="7">
      <General><Interfaces><NetworkInterface name="eth0" priority="default"/><NetworkInterface address="192.0.2.7"/></Interfaces>
        <AllowMulticast>spdp</AllowMulticast><MaxMessageSize>14720 B</MaxMessageSize><Transport>udp6</Transport></General>
      <Discovery><Peers><Peer Address="192.0.2.9"/><Peer address="host:7410"/></Peers>
        <ParticipantIndex>none</ParticipantIndex><LeaseDuration>20s</LeaseDuration><Ports><Base>8000</Base></Ports>
        <SPDPInterval>often</SPDPInterval></Discovery>
      <Internal><SocketReceiveBufferSize min="10MB" max="20MB"/><SquashParticipants>true</SquashParticipants></Internal>
      <Tracing><Verbosity>finest</Verbosity></Tracing></Domain></CycloneDDS>"#;
    let import = Import::from_xml(text).unwrap();
    assert_eq!(import.dialect, Dialect::CycloneDds);
    let config = Config::from_toml("i.toml", &import.toml).unwrap();
    assert_eq!((config.domain.id, config.network.multicast), (7, Multicast::Spdp));
    assert_eq!(config.network.interfaces, ["eth0", "192.0.2.7"]);
    assert_eq!(config.discovery.peers, ["192.0.2.9", "host:7410"]);
    assert_eq!((config.network.ipv4, config.network.ipv6, config.ports.base), (false, true, 8000));
    assert_eq!(config.discovery.lease_duration, Duration::from_secs(20));
    assert_eq!(config.get("network.receive_buffer").as_deref(), Some("\"10MiB\""), "as it counts them");
    let report = import.left_out.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    for part in ["priority of", "SPDPInterval", "max of", "SquashParticipants", "Tracing/Verbosity"] {
        assert!(report.contains(part), "{report}");
    }
    assert_eq!(import.left_out.len(), 5, "{report}");
}

#[test]
fn interfaces_of_older_cyclone_dds_are_imported() {
    for (written, interfaces) in
        [("auto", &[][..]), ("eth0", &["eth0"]), ("192.0.2.7, eth1", &["192.0.2.7", "eth1"])]
    {
        let text = format!(
            "<CycloneDDS><Domain><General><NetworkInterfaceAddress>{written}</NetworkInterfaceAddress></General></Domain></CycloneDDS>"
        );
        let import = Import::from_xml(&text).unwrap();
        assert!(import.left_out.is_empty(), "{:?}", import.left_out);
        let config = Config::from_toml("i.toml", &import.toml).unwrap();
        assert_eq!(config.network.interfaces, interfaces);
    }
}

/// What does not go with the rest, or with our defaults, does not take the rest with it.
#[test]
fn keys_of_cyclone_dds_that_contradict_others_are_left_out() {
    let imported = |discovery: &str| {
        let text = format!(
            "<CycloneDDS><Domain><General><MaxMessageSize>64 kB</MaxMessageSize></General>\
             <Discovery><Tag>t</Tag>{discovery}</Discovery></Domain></CycloneDDS>"
        );
        let import = Import::from_xml(&text).unwrap();
        let report: Vec<String> = import.left_out.iter().map(ToString::to_string).collect();
        (Config::from_toml("i.toml", &import.toml).unwrap(), report.join("\n"))
    };
    // Its lease is 10 s by default, as is ours, and it takes a longer period.
    let (config, report) = imported("<SPDPInterval>30s</SPDPInterval>");
    assert_eq!(
        (config.domain.tag.as_str(), config.discovery.announcement_period),
        ("t", Duration::from_secs(3))
    );
    assert!(
        report.contains("Domain/Discovery/SPDPInterval: ") && report.contains("shorter than"),
        "{report}"
    );
    assert!(report.contains("MaxMessageSize") && report.contains("from 1KiB to 65507B"), "{report}");
    let (config, report) = imported("<SPDPInterval>30s</SPDPInterval><LeaseDuration>1hr</LeaseDuration>");
    assert_eq!(config.discovery.announcement_period, Duration::from_secs(30));
    assert_eq!(config.discovery.lease_duration, Duration::from_secs(3_600));
    assert_eq!(report.lines().count(), 1, "{report}");
}

/// In Fast DDS a limit that is not above zero is none.
#[test]
fn limits_of_fast_dds_that_are_none() {
    let text = "<profiles><data_reader profile_name='r'><topic><resourceLimitsQos><max_samples>0</max_samples>\
        <max_instances>-5</max_instances><max_samples_per_instance>7</max_samples_per_instance></resourceLimitsQos>\
        </topic></data_reader></profiles>";
    let import = Import::from_xml(text).unwrap();
    let profiles = Config::from_toml("i.toml", &import.toml).unwrap().profiles;
    let limits = profiles.reader_qos("r", "T").unwrap().resource_limits;
    assert_eq!((limits.max_samples, limits.max_instances, limits.max_samples_per_instance), (-1, -1, 7));
}

/// However profiles and their sections are distributed over a text, it is refused soon.
#[cfg(not(miri))]
#[test]
fn profiles_that_would_take_hours_to_try_are_refused() {
    let begin = std::time::Instant::now();
    let section = |n: usize| {
        format!("<datareader_qos topic_filter='*a*{n}*'><history><depth>1</depth></history></datareader_qos>")
    };
    let base: String = (0..5_000).map(section).collect();
    let derived: String = (0..10_000).map(|n| format!("<qos_profile name='{n}' base_name='b'/>")).collect();
    let text = format!(
        "<dds><qos_library name='l'><qos_profile name='b'>{base}</qos_profile>{derived}</qos_library></dds>"
    );
    let error = Import::from_xml(&text).unwrap_err().to_string();
    assert!(error.contains("so many sections"), "{error}");
    let missing: String = (0..10_000).map(|n| format!("[profile.{n:040}]\nbase='{n:041}'\n")).collect();
    assert!(Config::from_toml("f", &missing).unwrap_err().to_string().contains("1000 profiles"));
    let keys: String = (0..100_000).map(|n| format!("k{n}=1\n")).collect();
    assert!(Config::from_toml("f", &format!("[network]\n{keys}")).is_err());
    let properties: String = (0..50_000).map(|n| format!("property.k{n}='1'\n")).collect();
    let error = Config::from_toml("f", &format!("[profile.p.participant]\n{properties}")).unwrap_err();
    assert!(error.to_string().contains("more than 1000 settings"), "{error}");
    let stars = format!("[[profile.p.reader]]\ntopic='{}'\nhistory.depth=1\n", "*a".repeat(200_000));
    assert!(Config::from_toml("f", &stars).unwrap_err().to_string().contains("more than 256 bytes"));
    assert!(begin.elapsed() < std::time::Duration::from_secs(30), "{:?}", begin.elapsed());
}

#[test]
fn files_of_no_known_configuration_are_refused() {
    let fails = |text: &str| Import::from_xml(text).unwrap_err().to_string();
    assert!(fails("<html/>").contains("<html>"));
    assert!(fails("<dds>").contains("cannot read the XML"));
    let bomb = "<!DOCTYPE d [<!ENTITY a \"xxxxxxxxxx\"><!ENTITY b \"&a;&a;&a;\">]><dds>&b;</dds>";
    assert!(fails(bomb).contains("DTD"), "{}", fails(bomb));
    assert!(fails("<dds>&file;</dds>").contains("cannot read"));
    assert!(fails(&format!("{}{}", "<dds>".repeat(65), "</dds>".repeat(65))).contains("deep"));
    assert!(fails(&"<dds>".repeat(100_000)).contains("deep"));
    for hidden in ["<a x='/>'>", "<!-- <a ' --><a>", "<![CDATA[<a ']]><a>", "<?p <a '?><a y=\"'\">"] {
        assert!(fails(&format!("<dds>{}", hidden.repeat(20_000))).contains("deep"), "{hidden}");
    }
    assert!(fails(&" ".repeat(MAX_TEXT + 1)).contains("1 MiB"));
    assert!(fails(&format!("<dds>{}</dds>", "<a/>".repeat(150_000))).contains("nodes"));
    let depth = "<dds><qos_library name='l'><qos_profile name='p'><datareader_qos><history><depth>0</depth></history>\
                 </datareader_qos></qos_profile></qos_library></dds>";
    assert!(fails(depth).contains("HISTORY"), "{}", fails(depth));
    let circle = "<dds><qos_library name='l'><qos_profile name='p' base_name='p'/></qos_library></dds>";
    assert!(fails(circle).contains("circle"));
}

/// Whatever is imported is a configuration, and the report is bounded.
#[test]
fn mutated_texts_never_panic_and_what_comes_out_is_valid() {
    let fast = "<profiles><data_writer profile_name='w'><qos><reliability><kind>RELIABLE</kind></reliability></qos></data_writer></profiles>";
    let cyclone = "<CycloneDDS><Domain Id='any'><General><AllowMulticast>true</AllowMulticast></General></Domain></CycloneDDS>";
    let pieces = [
        "<element>",
        "</kind>",
        "base_name=\"Radar\"",
        "&lt;",
        "2147483648",
        "-1",
        "\"",
        "<a/>",
        "*",
        "\u{7f}",
        "::",
    ];
    let mut rng = Rng::new(4);
    let mut read = 0;
    for round in 0..if cfg!(miri) { 20 } else { 3_000 } {
        let mut text = [DDS_XML, fast, cyclone][round % 3].to_owned();
        for _ in 0..=rng.below(3) {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let at = places[rng.below(places.len() as u64) as usize];
            match rng.below(3) {
                0 => text.insert_str(at, pieces[rng.below(pieces.len() as u64) as usize]),
                1 => _ = text.remove(at),
                _ => text = text.replacen(["KEEP", "name", "kind", "7"][rng.below(4) as usize], "x", 1),
            }
        }
        if let Ok(import) = Import::from_xml(&text) {
            Config::from_toml("i.toml", &import.toml).unwrap();
            assert!(import.left_out.len() <= MAX_REPORT);
            read += 1;
        }
    }
    assert!(cfg!(miri) || read > 300, "{read}");
}
