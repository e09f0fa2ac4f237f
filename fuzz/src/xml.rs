//! Types in XML: every message can be shown, every model printed and made code of; XML and IDL that are made of a file are the
//! same types.

use dunlin_idl::backend::{Backend, Input};
use dunlin_idl::cpp::Cpp;
use dunlin_idl::python::Python;
use dunlin_idl::rust::Rust;
use dunlin_idl::{Compilation, Limits, Memory, Notation, Options, compile, convert, dump};

use crate::seeds::IDL;

fn options() -> Options {
    let limits = Limits { tokens: 50_000, diagnostics: 20, ..Limits::default() };
    Options { limits, ..Options::default() }
}

fn code(result: &Compilation) {
    let Some(model) = &result.model else { return };
    let input = Input { model, main: result.main, path: "a.xml", includes: true };
    for backend in [&Rust::default() as &dyn Backend, &Cpp, &Python] {
        let _ = backend.generate(&input);
    }
}

/// Compiles a file, which may include itself, and does everything with the result that can be done.
pub fn xml_types(data: &[u8]) {
    let files = Memory::default().with("a.xml", data);
    let result = compile("a.xml", &options(), &files);
    assert!(result.model.is_some() || !result.diagnostics.is_empty());
    let _ = result.render(true);
    let Some(model) = &result.model else { return };
    let printed = dump(model);
    code(&result);
    for (notation, path) in [(Notation::Idl, "b.idl"), (Notation::Xml, "b.xml")] {
        let made = convert("a.xml", notation, &options(), &files);
        let text = made.text.unwrap_or_else(|| panic!("{:?}", made.diagnostics));
        // It may be a little longer or deeper than the file.
        let again = compile(path, &Options::default(), &Memory::default().with(path, text.as_str()));
        let deep = |it: &dunlin_idl::Diagnostic| it.message.contains("nested more than");
        if !again.diagnostics.iter().any(deep) {
            assert_eq!(
                again.model.as_ref().map(dump),
                Some(printed.clone()),
                "{text}\n{}",
                again.render(false)
            );
        }
    }
}

/// What the compiler makes of our IDL, and a file as others write them.
pub(crate) fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut seeds: Vec<(String, Vec<u8>)> = IDL
        .iter()
        .map(|(name, text)| {
            let text = text.replace("#include \"base.idl\"\n", "");
            let files = Memory::default().with("a.idl", text);
            let made = convert("a.idl", Notation::Xml, &Options::default(), &files);
            ((*name).to_owned(), made.text.expect("our IDL can be written as XML").into_bytes())
        })
        .collect();
    seeds.push(("others".to_owned(), OTHERS.as_bytes().to_vec()));
    seeds
}

const OTHERS: &str = r#"<dds xmlns="http://www.eprosima.com"><profiles/><types><include file="a.xml"/>
<const name="N" type="long" value="(4 * 2)"/>
<type><enum name="E" bit_bound="8"><enumerator name="A" value="1"/><enumerator name="B" defaultLiteral="1"/></enum></type>
<annotation name="Tag"><member name="n" type="int32" default="3"/></annotation>
<forward_dcl name="T" kind="struct"/><typedef name="Ts" type="nonBasic" nonBasicTypeName="T" sequenceMaxLength="-1"/>
<struct name="T" topLevel="false"><!--* docs --><member name="m" type="int32" key_type="string" mapMaxLength="7"/>
<member name="s" type="string" stringMaxLength="N" default="a &quot;b&quot;" tryConstruct="trim"/>
<member name="d" sequenceMaxLength="2"><element type="byte" sequenceMaxLength="3" external="true"/></member>
<member name="e" type="nonBasic" nonBasicTypeName="E" arrayDimensions="2,N" pointer="true"><annotate name="Tag"/></member></struct>
<union name="U"><discriminator type="char"/><case><caseDiscriminator value="a"/><caseDiscriminator value="default"/>
<member name="x" type="unsignedLong" min="1" max="5" unit="m"/></case></union>
<bitmask name="M" bit_bound="8"><bit_value name="x" position="5"/></bitmask>
<bitset name="S"><bitfield name="a" bit_bound="3"/><bitfield bit_bound="2"/></bitset></types></dds>
"#;
