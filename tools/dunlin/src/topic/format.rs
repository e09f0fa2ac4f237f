//! Samples as text.

use std::io::Write;

use anyhow::{Result, bail};
use clap::ValueEnum;
use dunlin::dynamic_types::{AccessError, AccessFailure, PathError, Shape};
use dunlin::{DynamicData, DynamicType, DynamicView, InstanceState, SampleInfo};
use dunlin_json::{JsonView, Octets, SelectedViews, leaves_of_view};
use dunlin_program::{sanitize, sanitize_lines};
use serde::Serialize;

/// How samples are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// Blocks of lines, each sample after `---`
    Yaml,
    /// One object in one line for each sample, for jq
    Json,
    /// One line of path=value for each sample
    Line,
    /// Columns
    Table,
}

/// How sequences and arrays of octets are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum OctetsFormat {
    /// Lists of numbers
    Numbers,
    /// Strings, which `pub` takes too
    Base64,
}

impl From<OctetsFormat> for Octets {
    fn from(format: OctetsFormat) -> Self {
        match format {
            OctetsFormat::Numbers => Self::Numbers,
            OctetsFormat::Base64 => Self::Base64,
        }
    }
}

/// What is printed of each sample.
pub struct Printer {
    format: Format,
    /// Paths of the parts; all of them if there are none.
    fields: Vec<String>,
    /// Paths of the key, which is what the end of an instance has.
    keys: Vec<String>,
    info: bool,
    octets: Octets,
    /// Paths and widths of the columns of a table, as its last head had them.
    columns: Vec<(String, usize)>,
}

/// What is known about a sample besides its value.
#[derive(Serialize)]
struct About {
    source_timestamp: String,
    reception_timestamp: String,
    writer: String,
    sequence_number: i64,
    instance_state: &'static str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Body<'a> {
    All(JsonView<'a>),
    Selected(SelectedViews<'a>),
}

/// A sample with what is known about it; without data only its key is.
#[derive(Serialize)]
struct WithInfo<'a> {
    info: About,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Body<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<Body<'a>>,
}

const fn state(info: &SampleInfo) -> &'static str {
    match info.instance_state {
        InstanceState::Alive => "ALIVE",
        InstanceState::NotAliveDisposed => "NOT_ALIVE_DISPOSED",
        InstanceState::NotAliveNoWriters => "NOT_ALIVE_NO_WRITERS",
    }
}

fn about(info: &SampleInfo) -> About {
    About {
        source_timestamp: seconds(info.source_timestamp),
        reception_timestamp: seconds(info.reception_timestamp),
        writer: info.publication_handle.to_guid().to_string(),
        sequence_number: info.sequence_number.0,
        instance_state: state(info),
    }
}

/// Seconds since 1970 with nine digits after the point.
fn seconds(time: dunlin::WallTime) -> String {
    format!("{}.{:09}", time.0.div_euclid(1_000_000_000), time.0.rem_euclid(1_000_000_000))
}

/// The paths of the key members.
fn keys(ty: &DynamicType) -> Vec<String> {
    match ty.view().shape() {
        Shape::Structure(it) => {
            it.members.iter().filter(|member| member.is_key()).map(|member| member.name.clone()).collect()
        }
        _ => vec!["_d".into()],
    }
}

impl Printer {
    /// Prints samples of a type.
    ///
    /// # Errors
    /// Fields that the type does not have.
    pub fn new(ty: &DynamicType, format: Format, fields: &[String], info: bool) -> Result<Self> {
        let (fields, keys) = (fields.to_vec(), keys(ty));
        let printer = Self { format, fields, keys, info, octets: Octets::Numbers, columns: Vec::new() };
        printer.check(&DynamicData::new(ty))?;
        Ok(printer)
    }

    /// Prints octets in another form.
    pub fn with_octets(self, octets: Octets) -> Self {
        Self { octets, ..self }
    }

    /// Checks the fields against a value of the type, so that a mistake is told before anything arrives.
    fn check(&self, sample: &DynamicData) -> Result<()> {
        // What is absent from this value, or beyond the end of its sequences, may be in others.
        let serious = |error: &AccessError| {
            !matches!(error.why, AccessFailure::Path(PathError::Absent { .. } | PathError::Index { .. }))
        };
        if let Some(error) = self.fields.iter().filter_map(|field| sample.part(field).err()).find(serious) {
            bail!("--fields: {error}");
        }
        Ok(())
    }

    fn body<'a>(&'a self, data: &DynamicView<'a>, info: &SampleInfo) -> Body<'a> {
        if self.fields.is_empty() && info.valid_data {
            return Body::All(JsonView::of(data.clone()).with_octets(self.octets));
        }
        let fields = if info.valid_data { &self.fields } else { &self.keys };
        let part = |field: &'a String| (field.as_str(), data.get(field).ok().flatten());
        Body::Selected(SelectedViews(fields.iter().map(part).collect(), self.octets))
    }

    /// Prints a sample, or the end of an instance, of which the key alone is known.
    pub fn print(&mut self, data: &DynamicView<'_>, info: &SampleInfo, out: &mut impl Write) -> Result<()> {
        if matches!(self.format, Format::Line | Format::Table) {
            return self.print_leaves(data, info, out);
        }
        let body = self.body(data, info);
        let told = self.info || !info.valid_data;
        let text = if told {
            let (data, key) = if info.valid_data { (Some(body), None) } else { (None, Some(body)) };
            self.text(&WithInfo { info: about(info), data, key })?
        } else {
            self.text(&body)?
        };
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    fn text(&self, value: &impl Serialize) -> Result<String> {
        Ok(match self.format {
            Format::Yaml => format!("---\n{}", sanitize_lines(&serde_norway::to_string(value)?)),
            _ => crate::output::json(value)?,
        })
    }

    fn print_leaves(
        &mut self,
        data: &DynamicView<'_>,
        info: &SampleInfo,
        out: &mut impl Write,
    ) -> Result<()> {
        let mut cells = Vec::new();
        if self.info {
            let about = about(info);
            cells.push(("source_timestamp".to_owned(), about.source_timestamp));
            cells.push(("reception_timestamp".to_owned(), about.reception_timestamp));
            cells.push(("writer".to_owned(), about.writer));
        }
        if self.fields.is_empty() && info.valid_data {
            cells.extend(leaves_of_view(data, "", self.octets)?);
        }
        for field in if info.valid_data { &self.fields } else { &self.keys } {
            cells.extend(leaves_of_view(data, field, self.octets)?);
        }
        if !info.valid_data {
            cells.push(("instance_state".to_owned(), state(info).to_owned()));
        }
        for (path, text) in &mut cells {
            (*path, *text) = (sanitize(path), sanitize(text));
        }
        // The end of an instance does not have the columns of a table.
        if self.format == Format::Line || !info.valid_data {
            let words: Vec<String> = cells.iter().map(|(path, text)| format!("{path}={text}")).collect();
            writeln!(out, "{}", words.join(" "))?;
        } else {
            self.print_row(&cells, out)?;
        }
        Ok(out.flush()?)
    }

    /// A sample in which something else is absent, or of another length, has other parts: then there is another head.
    fn print_row(&mut self, cells: &[(String, String)], out: &mut impl Write) -> Result<()> {
        if !self.columns.iter().map(|(path, _)| path).eq(cells.iter().map(|(path, _)| path)) {
            let width = |(path, text): &(String, String)| path.chars().count().max(text.chars().count());
            self.columns = cells.iter().map(|cell| (cell.0.clone(), width(cell))).collect();
            row(&self.columns, cells.iter().map(|(path, _)| path), out)?;
        }
        row(&self.columns, cells.iter().map(|(_, text)| text), out)
    }
}

fn row<'a>(
    columns: &[(String, usize)],
    texts: impl Iterator<Item = &'a String>,
    out: &mut impl Write,
) -> Result<()> {
    let cells: Vec<String> = texts.zip(columns).map(|(text, &(_, width))| format!("{text:width$}")).collect();
    writeln!(out, "{}", cells.join("  ").trim_end())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every value stands below its name, also where a part of one sample is absent from another.
    #[test]
    fn a_table_has_another_head_for_other_parts() {
        let idl = "struct Place { long x; long y; }; struct S { @optional Place at; long n; };";
        let loader = dunlin_idl::Memory::default().with("s.idl", idl);
        let compiled = dunlin_idl::compile("s.idl", &dunlin_idl::Options::default(), &loader);
        let (graph, index) = dunlin_idl::xtypes::type_graph_of(&compiled.model.unwrap(), "S").unwrap();
        let ty = DynamicType::new(graph, index).unwrap();
        let mut printer = Printer::new(&ty, Format::Table, &[], false).unwrap();
        let mut out = Vec::new();
        for json in ["{\"at\":{\"x\":1,\"y\":2},\"n\":3}", "{\"n\":4}", "{\"n\":5}"] {
            let data = dunlin_json::from_json(&ty, &serde_json::from_str(json).unwrap()).unwrap();
            let cells = dunlin_json::leaves(&data, "");
            printer.print_row(&cells, &mut out).unwrap();
        }
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "at.x  at.y  n\n1     2     3\nat    n\nnull  4\nnull  5\n");
    }
}
