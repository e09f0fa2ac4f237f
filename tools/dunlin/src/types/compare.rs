//! Who can read whom, between a file and the endpoints of a topic: each pair with what the endpoint announces.

use dunlin::qos::{DataRepresentationId, TypeConsistencyEnforcement};
use dunlin::xtypes::cdr::Representation;
use dunlin::xtypes::{TypeIn, assignable};
use dunlin::{DynamicType, KnownType};
use serde::Serialize;

use super::Endpoint;
use crate::domain::qos;

/// A reader and a writer, one of the file and one or several of the topic.
#[derive(Serialize)]
pub struct Judged {
    reader: String,
    writer: String,
    /// In which the writer writes: XCDR1 or XCDR2; missing where the reader accepts neither.
    #[serde(skip_serializing_if = "Option::is_none")]
    representation: Option<&'static str>,
    /// The policy of the reader.
    type_consistency: String,
    pub fit: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differences: Vec<String>,
}

impl Judged {
    /// For people.
    pub fn text(&self) -> String {
        let Self { reader, writer, representation, .. } = self;
        let representation = representation.map(|name| format!(" in {name}")).unwrap_or_default();
        let consistency = if self.type_consistency == qos::consistency(&TypeConsistencyEnforcement::default())
        {
            String::new()
        } else {
            format!(", {}", self.type_consistency)
        };
        let fit = if self.fit { "fit" } else { "do not fit" };
        let mut text = format!("{reader} and {writer}{representation}{consistency}: {fit}\n");
        for difference in &self.differences {
            text += &format!("  {difference}\n");
        }
        text
    }
}

/// What decides besides the two types.
#[derive(PartialEq, Clone, Copy)]
struct Terms {
    /// `None` where the reader accepts nothing that the writer can write.
    representation: Option<Representation>,
    consistency: TypeConsistencyEnforcement,
}

const fn name_of(representation: Representation) -> &'static str {
    match representation {
        Representation::Xcdr1 => "XCDR1",
        Representation::Xcdr2 => "XCDR2",
    }
}

/// What a writer of the type uses that is told nothing else.
fn usual(ty: &KnownType) -> Representation {
    let ty = DynamicType::new(ty.graph.clone(), ty.root);
    ty.map_or(Representation::Xcdr2, |ty| ty.default_representation())
}

/// What a writer of the file uses for a reader: what is usual for its type if the reader accepts that, as `dunlin pub` does.
fn for_reader(reader: &Endpoint, usual: Representation) -> Option<Representation> {
    let (one, other) = match usual {
        Representation::Xcdr1 => (Representation::Xcdr1, Representation::Xcdr2),
        Representation::Xcdr2 => (Representation::Xcdr2, Representation::Xcdr1),
    };
    let id = |representation| match representation {
        Representation::Xcdr1 => DataRepresentationId::Xcdr1,
        Representation::Xcdr2 => DataRepresentationId::Xcdr2,
    };
    [one, other].into_iter().find(|representation| reader.representation.accepts(id(*representation)))
}

/// Endpoints with the same terms, which get the same judgement.
fn grouped<'a>(
    endpoints: impl Iterator<Item = &'a Endpoint>,
    terms: impl Fn(&Endpoint) -> Terms,
) -> Vec<(Terms, Vec<&'a Endpoint>)> {
    let mut groups: Vec<(Terms, Vec<&Endpoint>)> = Vec::new();
    for endpoint in endpoints {
        let terms = terms(endpoint);
        match groups.iter_mut().find(|(known, _)| *known == terms) {
            Some((_, group)) => group.push(endpoint),
            None => groups.push((terms, vec![endpoint])),
        }
    }
    groups
}

/// `the writer 01…:00000102 ('sensor', Dunlin) and 2 more`.
fn label(kind: &str, group: &[&Endpoint]) -> String {
    let Some(first) = group.first() else { return format!("a {kind} of the topic's type (there is none)") };
    let more = if group.len() > 1 { format!(" and {} more", group.len() - 1) } else { String::new() };
    format!("the {kind} {} ('{}', {}){more}", first.guid, first.participant, first.vendor)
}

/// Judges readers of a file with the topic's writers, and the topic's readers with writers of the file.
pub fn with_file(file: &str, here: &KnownType, there: &KnownType, endpoints: &[Endpoint]) -> Vec<Judged> {
    let default = TypeConsistencyEnforcement::default();
    let (writers, readers): (Vec<_>, Vec<_>) =
        endpoints.iter().partition(|endpoint| endpoint.guid.entity_id.is_writer());
    let mut written = grouped(writers.into_iter(), |writer| {
        let offered = match writer.representation.offered() {
            DataRepresentationId::Xcdr1 => Some(Representation::Xcdr1),
            DataRepresentationId::Xcdr2 => Some(Representation::Xcdr2),
            _ => None,
        };
        Terms { representation: offered, consistency: default }
    });
    if written.is_empty() {
        written.push((Terms { representation: Some(usual(there)), consistency: default }, Vec::new()));
    }
    let ours = usual(here);
    let mut read = grouped(readers.into_iter(), |reader| Terms {
        representation: for_reader(reader, ours),
        consistency: reader.consistency,
    });
    if read.is_empty() {
        read.push((Terms { representation: Some(ours), consistency: default }, Vec::new()));
    }
    let written = written.iter().map(|(terms, group)| {
        judge((here, format!("a reader of {file}")), (there, label("writer", group)), *terms)
    });
    let read = read.iter().map(|(terms, group)| {
        judge((there, label("reader", group)), (here, format!("a writer of {file}")), *terms)
    });
    written.chain(read).collect()
}

fn side(ty: &KnownType) -> TypeIn<'_> {
    TypeIn { graph: &ty.graph, index: ty.root }
}

fn judge(reader: (&KnownType, String), writer: (&KnownType, String), terms: Terms) -> Judged {
    let differences = match terms.representation {
        None => vec!["the one on the topic's side knows neither XCDR1 nor XCDR2".to_owned()],
        Some(representation) => {
            let verdict = assignable(side(reader.0), side(writer.0), &terms.consistency, representation);
            verdict.err().unwrap_or_default().iter().map(ToString::to_string).collect()
        }
    };
    Judged {
        reader: reader.1,
        writer: writer.1,
        representation: terms.representation.map(name_of),
        type_consistency: qos::consistency(&terms.consistency),
        fit: differences.is_empty(),
        differences,
    }
}
