//! What is looked at before the parser of XML sees a text: how deep elements are, how many attributes they have.
//!
//! The parser goes one call deeper for an element, compares the attributes of an element with each other, and copies
//! namespaces, so each of them is limited here.

/// Attributes of one element.
const ATTRIBUTES: usize = 100;
/// Declarations of namespaces in one file.
const NAMESPACES: usize = 100;

/// Something that is refused, and the octet at which it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub at: usize,
    pub why: String,
}

/// Refuses what would cost too much, and document type declarations, which can define entities and name other files.
pub(super) fn check(text: &str, depth_limit: usize) -> Result<(), Refused> {
    let (mut depth, mut namespaces, mut rest) = (0usize, 0usize, text);
    while let Some((_, behind)) = rest.split_once('<') {
        let at = text.len().saturating_sub(behind.len()).saturating_sub(1);
        let refused = |why: String| Err(Refused { at, why });
        // What ends too early is for the parser to refuse.
        let skip = |end: &str| behind.split_once(end).map_or("", |(_, after)| after);
        rest = match behind.as_bytes() {
            [b'!', b'-', b'-', ..] => skip("-->"),
            [b'!', b'[', ..] => skip("]]>"),
            [b'!', ..] => {
                return refused(
                    "document type declarations, and with them entities, are not read".to_owned(),
                );
            }
            [b'?', ..] => skip("?>"),
            [b'/', ..] => {
                depth = depth.saturating_sub(1);
                skip(">")
            }
            _ => {
                let tag = Tag::new(behind);
                if tag.attributes > ATTRIBUTES {
                    return refused(format!("this element has more than {ATTRIBUTES} attributes"));
                }
                namespaces = namespaces.saturating_add(tag.namespaces);
                if namespaces > NAMESPACES {
                    return refused(format!("more than {NAMESPACES} namespaces are declared"));
                }
                depth = depth.saturating_add(usize::from(!tag.is_empty));
                tag.after
            }
        };
        if depth > depth_limit {
            return refused(format!("elements are nested more than {depth_limit} deep"));
        }
    }
    Ok(())
}

/// A start tag.
struct Tag<'a> {
    attributes: usize,
    namespaces: usize,
    /// It is its own end.
    is_empty: bool,
    after: &'a str,
}

impl<'a> Tag<'a> {
    fn new(text: &'a str) -> Self {
        let mut tag = Self { attributes: 0, namespaces: 0, is_empty: false, after: "" };
        let mut quote = None;
        let mut bytes = text.bytes().enumerate().peekable();
        while let Some((at, byte)) = bytes.next() {
            match (quote, byte) {
                (None, b'>') => {
                    tag.after = text.get(at.saturating_add(1)..).unwrap_or("");
                    return tag;
                }
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'=') => tag.attributes = tag.attributes.saturating_add(1),
                (None, b'x') if text.get(at..).is_some_and(|rest| rest.starts_with("xmlns")) => {
                    tag.namespaces = tag.namespaces.saturating_add(1);
                }
                (None, b'/') => tag.is_empty = bytes.peek().is_some_and(|(_, next)| *next == b'>'),
                (Some(open), _) if open == byte => quote = None,
                _ => {}
            }
        }
        tag
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn costly_xml_is_refused_with_its_position() {
        let deep = "<a>".repeat(11);
        let wide = format!("<a {}/>", (0..101).map(|n| format!("a{n}='' ")).collect::<String>());
        let spaces = "<a xmlns:b='c'/>".repeat(101);
        for (text, at, why) in [
            ("<types><!DOCTYPE a []></types>", 7, "document type"),
            (deep.as_str(), 30, "more than 10 deep"),
            (wide.as_str(), 0, "100 attributes"),
            (spaces.as_str(), 1600, "100 namespaces"),
        ] {
            let refused = check(text, 10).unwrap_err();
            assert_eq!(refused.at, at, "{text:.40}");
            assert!(refused.why.contains(why), "{}", refused.why);
        }
        let fine = format!(
            "<?xml version='1.0'?><!-- <!DOCTYPE --><a b='>'><![CDATA[<!]]>{}</a>",
            "<b/>".repeat(50)
        );
        assert_eq!(check(&fine, 10), Ok(()));
        for text in ["<", "<a", "<!--", "<a b='", "", "</a></a>"] {
            assert_eq!(check(text, 10), Ok(()), "{text}");
        }
    }
}
