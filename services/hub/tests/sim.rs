//! Servers and their clients in the simulator: who finds whom, what a dying server costs, and who is told why nobody is found.

mod common;

use common::{Count, millis, reader, secs, taken, writer};
use dunlin::config::{Architecture, Interest};
use dunlin::sim::{Node, Result, Sim};
use dunlin::{Cause, Config, DomainParticipant, Duration};
use dunlin_hub::{Server, ServerConfig};

fn client(servers: &[&str]) -> Config {
    let mut config = Config::default();
    config.discovery.architecture = Architecture::Centralised;
    config.discovery.servers = servers.iter().map(|server| (*server).to_owned()).collect();
    config
}

/// A node that serves, also after each restart.
fn server(sim: &mut Sim, name: &str) -> Node {
    let node = sim.node(name);
    node.on_start(|cx| async move {
        let _server = Server::start(ServerConfig::new(0))?;
        loop {
            cx.sleep(secs(3_600)).await;
        }
    });
    node
}

fn known(node: &Node, config: &Config) -> Result<DomainParticipant> {
    node.run(|| Ok(DomainParticipant::builder(0).config(config.clone()).build()?))
}

/// Writer and reader know two servers; one is killed at a point that the seed decides, and is back a second later with an empty memory.
fn kill_one(sim: &mut Sim) -> Result {
    let servers = [server(sim, "one"), server(sim, "two")];
    let config = client(&["udp://one", "udp://two"]);
    let (a, b) = (sim.node_with("a", config.clone()), sim.node_with("b", config));
    let point = millis(i64::try_from(sim.random() % 1_500)?);
    let victim = &servers[usize::from(sim.random().is_multiple_of(2))];
    let (writer, reader) = (writer(&a, "Count")?, reader(&b, "Count")?);
    let (mut written, mut killed) = (0, None);
    let begin = sim.elapsed();
    let since = |sim: &Sim, time: Duration| sim.elapsed().as_nanos() - time.as_nanos();
    while since(sim, begin) < secs(4).as_nanos() {
        if killed.is_none() && since(sim, begin) >= point.as_nanos() {
            victim.crash();
            killed = Some(sim.elapsed());
        }
        if killed.is_some_and(|at| since(sim, at) >= secs(1).as_nanos()) && !victim.is_up() {
            victim.restart();
        }
        if writer.publication_matched_status().current_count > 0 && written < 200 {
            a.run(|| writer.write(&Count { n: written }))?;
            written += 1;
        }
        sim.run_for(millis(10))?;
    }
    sim.run_for(secs(10))?;
    assert_eq!((written, taken(&b, &reader)), (200, (0..200).collect()));
    let (offered, got) = (writer.publication_matched_status(), reader.subscription_matched_status());
    assert_eq!((offered.total_count, got.total_count), (1, 1), "nobody matched anew");
    Ok(())
}

#[test]
fn a_server_that_is_killed_at_any_point_costs_no_sample_and_no_match() {
    Sim::builder().delay(millis(1), millis(3)).seeds(0..200, kill_one);
}

#[test]
fn matched_participants_go_on_without_a_discovery_server() {
    Sim::builder().loss(0.1).seeds(0..5, |sim| {
        let servers = [server(sim, "one"), server(sim, "two")];
        let config = client(&["one", "two"]);
        let (a, b) = (sim.node_with("a", config.clone()), sim.node_with("b", config.clone()));
        let (writer, reader) = (writer(&a, "Count")?, reader(&b, "Count")?);
        sim.run_until(|| reader.subscription_matched_status().current_count == 1, secs(60))?;
        sim.run_for(secs(1))?;
        servers.iter().for_each(Node::crash);
        let before = taken(&b, &reader).len();
        for n in 0..100 {
            a.run(|| writer.write(&Count { n }))?;
            sim.run_for(secs(1))?;
        }
        assert_eq!(taken(&b, &reader).len() + before, 100);
        // Who comes now finds nobody, and is told why.
        let late = sim.node_with("late", config);
        let third = self::reader(&late, "Count")?;
        sim.run_for(secs(10))?;
        let participant = known(&late, &client(&["one", "two"]))?;
        sim.run_for(secs(1))?;
        let why = late.run(|| participant.explain_topic("Count"));
        let silent = why.causes.iter().filter(|cause| matches!(cause, Cause::ServerSilent { .. })).count();
        assert!(silent == 2 && why.to_string().contains("discovery server"), "{why}");
        servers[1].restart();
        sim.run_until(|| third.subscription_matched_status().current_count == 1, secs(30))?;
        assert_eq!(reader.subscription_matched_status().total_count, 1);
        Ok(())
    });
}

#[test]
fn a_discovery_server_hides_participants_without_a_common_topic() {
    Sim::builder().seeds(0..3, |sim| {
        let _server = server(sim, "server");
        let config = client(&["server"]);
        let nodes = ["a", "b", "c"].map(|name| sim.node_with(name, config.clone()));
        let _writers = (writer(&nodes[0], "A")?, writer(&nodes[1], "B")?);
        let quiet = known(&nodes[2], &config)?;
        let mut everything = config.clone();
        everything.discovery.interest = Interest::Everything;
        let tool = sim.node("tool");
        let tool = known(&tool, &everything)?;
        sim.run_for(secs(1))?;
        assert_eq!(
            quiet.discovered_participants().len(),
            2,
            "the server, and the tool, which knows everybody"
        );
        assert_eq!(tool.discovered_participants().len(), 4);
        assert_eq!(tool.discovered_publications().len(), 2);
        Ok(())
    });
}

/// A participant that multicasts, and one that is centralised, on one host and network, have nothing to do with each other.
#[test]
fn architectures_do_not_mix_by_accident() {
    Sim::builder().seeds(0..3, |sim| {
        let _server = server(sim, "server");
        let a = sim.node_with("a", client(&["server"]));
        let b = sim.node("b");
        let (writer, reader) = (writer(&a, "A")?, reader(&b, "A")?);
        sim.run_for(secs(10))?;
        assert_eq!(writer.publication_matched_status().total_count, 0);
        assert_eq!(reader.subscription_matched_status().total_count, 0);
        Ok(())
    });
}
