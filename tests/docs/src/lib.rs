//! Code blocks of Markdown pages.
//!
//! Behind its language the first line of a block says how the block is known to be right:
//!
//! - `file=PATH`: the block is this file of the repository, whole;
//! - `project=PATH`: it is a file of the project that the reader makes, and a test makes it too;
//! - `part=PATH`: its lines stand in this file, in the same order;
//! - `output=NAME`: a program of the page prints it, and a test compares;
//! - `parsed`: commands whose arguments, or a configuration whose keys, a test of `tools/dunlin` looks at;
//! - `not-run`: no test runs it.
#![forbid(unsafe_code)]

/// A code block of a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block<'a> {
    /// The line of the page with its opening fence, from 1.
    pub line: usize,
    /// `rust`, `sh` and so on, perhaps empty.
    pub language: &'a str,
    /// What stands behind the language.
    pub proof: &'a str,
    /// What is between the fences; each line ends with a line feed.
    pub text: String,
}

impl<'a> Block<'a> {
    /// The value of `NAME=VALUE` behind the language.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&'a str> {
        self.proof.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }
}

/// The code blocks of a page, in order.
#[must_use]
pub fn blocks(page: &str) -> Vec<Block<'_>> {
    let (mut blocks, mut open) = (Vec::new(), None::<Block<'_>>);
    for (at, line) in page.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        match (&mut open, fence) {
            (None, Some(info)) => {
                let (language, proof) = info.split_once(' ').unwrap_or((info, ""));
                open = Some(Block { line: at + 1, language, proof, text: String::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

/// Whether all lines of a block stand in a file in the same order, whatever their indentation. Empty lines and comments that end
/// with `…` stand for what was left out.
#[must_use]
pub fn is_part(block: &str, file: &str) -> bool {
    let mut lines = file.lines().map(str::trim);
    let wanted = block.lines().map(str::trim).filter(|line| !line.is_empty() && !line.ends_with('…'));
    wanted.into_iter().all(|wanted| lines.any(|line| line == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_blocks_have_their_language_and_their_proof() {
        let page = "a\n```rust file=a/b.rs\nfn main() {\n}\n```\n  ```text\n  x\n  ```\n```\n```\n";
        let blocks = blocks(page);
        assert_eq!(blocks.len(), 3);
        assert_eq!((blocks[0].line, blocks[0].language), (2, "rust"));
        assert_eq!((blocks[0].value("file"), blocks[0].value("part")), (Some("a/b.rs"), None));
        assert_eq!(blocks[0].text, "fn main() {\n}\n");
        assert_eq!((blocks[1].language, blocks[1].proof), ("text", ""));
        assert_eq!((blocks[2].language, blocks[2].text.as_str()), ("", ""));
    }

    #[test]
    fn a_part_has_lines_of_the_file_in_their_order() {
        let file = "fn main() {\n    one();\n    two();\n    three();\n}\n";
        assert!(is_part("one();\n\n// …\nthree();\n", file));
        assert!(!is_part("three();\none();\n", file));
        assert!(!is_part("four();\n", file));
    }
}
