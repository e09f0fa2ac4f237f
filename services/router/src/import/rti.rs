//! The XML of RTI Routing Service: `routing_service`, `domain_route`, `session`, `topic_route`, `auto_topic_route`.

use roxmltree::{Document, Node, ParsingOptions};

use super::{Draft, Import, ImportError, LeftOut, literal, print};

/// Most nodes of a document.
const MAX_NODES: u32 = 100_000;

struct Reading<'d> {
    document: &'d Document<'d>,
    left_out: Vec<LeftOut>,
    participants: Vec<(String, u32)>,
    routes: Vec<Draft>,
}

pub(super) fn import(text: &str) -> Result<Import, ImportError> {
    let options = ParsingOptions { nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| ImportError(format!("not valid XML: {error}")))?;
    let service = document
        .descendants()
        .find(|node| node.has_tag_name("routing_service"))
        .ok_or_else(|| ImportError("there is no <routing_service>".into()))?;
    let mut reading =
        Reading { document: &document, left_out: Vec::new(), participants: Vec::new(), routes: Vec::new() };
    for top in document.root_element().children().filter(Node::is_element).filter(|node| *node != service) {
        let why = if top.has_tag_name("routing_service") {
            "only the first routing_service is carried over"
        } else {
            "write QoS as a profile of the participant's configuration"
        };
        reading.leave_out(top, why);
    }
    for child in service.children().filter(Node::is_element) {
        match child.tag_name().name() {
            "domain_route" => reading.domain_route(child),
            "annotation" => {}
            _ => reading.leave_out(child, "there is no such setting"),
        }
    }
    if reading.participants.is_empty() {
        return Err(ImportError("there is no <participant> in a <domain_route>".into()));
    }
    let toml = print(service.attribute("name").unwrap_or("router"), &reading.participants, &reading.routes);
    Ok(Import { dialect: "RTI Routing Service", toml, left_out: reading.left_out })
}

fn text_of(node: Node<'_, '_>) -> String {
    node.text().unwrap_or_default().trim().to_owned()
}

fn names(node: Node<'_, '_>) -> Vec<String> {
    text_of(node).split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

impl Reading<'_> {
    fn leave_out(&mut self, node: Node<'_, '_>, why: &str) {
        let line = self.document.text_pos_at(node.range().start).row as usize;
        self.left_out.push(LeftOut { line, text: format!("<{}>: {why}", node.tag_name().name()) });
    }

    fn domain_route(&mut self, node: Node<'_, '_>) {
        let domain_route = node.attribute("name").unwrap_or("domain_route").to_owned();
        for child in node.children().filter(Node::is_element) {
            match child.tag_name().name() {
                "participant" | "participant_1" | "participant_2" => self.participant(&domain_route, child),
                "session" => self.session(&domain_route, child),
                _ => self.leave_out(child, "there is no such setting"),
            }
        }
    }

    fn participant(&mut self, domain_route: &str, node: Node<'_, '_>) {
        let (mut domain, tag) = (0, node.tag_name().name());
        for child in node.children().filter(Node::is_element) {
            match (child.tag_name().name(), text_of(child).parse()) {
                ("domain_id", Ok(id)) => domain = id,
                ("domain_id", Err(_)) => self.leave_out(child, "it is no number; 0 is taken"),
                _ => self.leave_out(child, "write it into the configuration that the participant names"),
            }
        }
        let own = node.attribute("name").unwrap_or(tag.strip_prefix("participant_").unwrap_or(tag));
        self.participants.push((format!("{domain_route}.{own}"), domain));
    }

    fn session(&mut self, domain_route: &str, node: Node<'_, '_>) {
        for child in node.children().filter(Node::is_element) {
            match child.tag_name().name() {
                "topic_route" | "auto_topic_route" => self.route(domain_route, child),
                _ => self.leave_out(
                    child,
                    "sessions have no settings here: samples are passed on where they arrive",
                ),
            }
        }
    }

    fn route(&mut self, domain_route: &str, node: Node<'_, '_>) {
        let kind = node.tag_name().name();
        let own =
            node.attribute("name").map_or_else(|| format!("{kind}{}", self.routes.len() + 1), str::to_owned);
        let mut draft = Draft { name: format!("{domain_route}.{own}"), ..Draft::default() };
        for child in node.children().filter(Node::is_element) {
            match child.tag_name().name() {
                "input" | "dds_input" if draft.from.is_empty() => {
                    draft.from = format!("{domain_route}.{}", child.attribute("participant").unwrap_or("1"));
                    self.input(&mut draft, child);
                }
                "output" | "dds_output" => {
                    draft
                        .to
                        .push(format!("{domain_route}.{}", child.attribute("participant").unwrap_or("2")));
                    self.output(&mut draft, child);
                }
                // These are as a router here always does it.
                "publish_with_original_info"
                | "publish_with_original_timestamp"
                | "propagate_dispose"
                | "propagate_unregister"
                    if text_of(child) == "true" => {}
                "creation_mode" if text_of(child).contains("ON_DOMAIN_AND_ROUTE_MATCH") => draft.both = true,
                "input" | "dds_input" => self.leave_out(child, "a route has one input: write another route"),
                "transformation" | "processor" => self.leave_out(child, "there are no plug-ins"),
                _ => self.leave_out(child, "there is no such setting"),
            }
        }
        let known = |name: &String| self.participants.iter().any(|(known, _)| known == name);
        if known(&draft.from) && !draft.to.is_empty() && draft.to.iter().all(known) {
            self.routes.push(draft);
        } else {
            self.leave_out(node, "its input or output names no participant of the domain route");
        }
    }

    fn input(&mut self, draft: &mut Draft, node: Node<'_, '_>) {
        for child in node.children().filter(Node::is_element) {
            match child.tag_name().name() {
                "topic_name" => draft.topics = vec![text_of(child)],
                "registered_type_name" => draft.types = vec![text_of(child)],
                "allow_topic_name_filter" => draft.topics = names(child),
                "allow_registered_type_name_filter" => draft.types = names(child),
                "deny_topic_name_filter" => draft.deny_topics = names(child),
                "deny_registered_type_name_filter" => draft.deny_types = names(child),
                "content_filter" => {
                    let expression = child.descendants().find(|node| node.has_tag_name("expression"));
                    draft.filter = expression.map(text_of);
                    if let Some(parameters) = child
                        .children()
                        .find(|it| it.has_tag_name("parameter") || it.has_tag_name("parameters"))
                    {
                        self.leave_out(parameters, "write the values into the expression");
                    }
                }
                _ => self.leave_out(child, "the QoS of inputs is that of the writers"),
            }
        }
    }

    fn output(&mut self, draft: &mut Draft, node: Node<'_, '_>) {
        for child in node.children().filter(Node::is_element) {
            match child.tag_name().name() {
                "topic_name" if draft.topics != [text_of(child)] => {
                    draft.rename_topic = Some(literal(&text_of(child)))
                }
                "registered_type_name" if draft.types != [text_of(child)] => {
                    draft.rename_type = Some(literal(&text_of(child)));
                }
                "topic_name" | "registered_type_name" => {}
                "allow_topic_name_filter" | "allow_registered_type_name_filter" if text_of(child) == "*" => {}
                _ => self.leave_out(
                    child,
                    "write QoS as a profile of the participant's configuration, and name it in the route",
                ),
            }
        }
    }
}
