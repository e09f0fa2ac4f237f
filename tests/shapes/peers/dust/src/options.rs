//! The options of shape_main that this peer understands.

use std::collections::BTreeMap;

const FLAGS: [&str; 9] = ["-P", "-S", "-b", "-r", "-w", "-R", "--coherent", "--ordered", "--take-read"];

pub struct Options(BTreeMap<String, String>);

impl Options {
    pub fn of_process() -> Self {
        let mut words = std::env::args().skip(1);
        let mut options = BTreeMap::new();
        while let Some(word) = words.next() {
            let value =
                if FLAGS.contains(&&*word) { String::new() } else { words.next().unwrap_or_default() };
            options.insert(word, value);
        }
        Self(options)
    }

    pub fn has(&self, option: &str) -> bool {
        self.0.contains_key(option)
    }

    pub fn text(&self, option: &str, otherwise: &str) -> String {
        self.0.get(option).map_or(otherwise, String::as_str).to_owned()
    }

    pub fn number(&self, option: &str, otherwise: i32) -> i32 {
        self.0.get(option).and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    }
}
