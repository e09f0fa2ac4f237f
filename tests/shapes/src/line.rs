//! The lines of the program.

/// A sample, as it is printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    pub topic: String,
    pub color: String,
    pub size: i64,
    /// The last octet of what makes the sample larger.
    pub last_octet: Option<u8>,
}

/// What a line of a subscriber says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Sample(Sample),
    /// An instance is disposed.
    Disposed(String),
    /// An instance has no writers.
    NoWriters(String),
    /// The next round of reading begins.
    Round,
    RequestedDeadlineMissed,
    IncompatibleQos,
    Other,
}

impl Line {
    /// Understands a line.
    pub fn of(text: &str) -> Self {
        if text.contains("on_requested_incompatible_qos") {
            return Self::IncompatibleQos;
        }
        if text.contains("on_requested_deadline_missed") {
            return Self::RequestedDeadlineMissed;
        }
        if text.starts_with("Reading ") && text.contains(", iteration ") {
            return Self::Round;
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            [_, color, "NOT_ALIVE_DISPOSED_INSTANCE_STATE"] => Self::Disposed(color.to_owned()),
            [_, color, "NOT_ALIVE_NO_WRITERS_INSTANCE_STATE"] => Self::NoWriters(color.to_owned()),
            [topic, color, x, y, size, ref rest @ ..] => {
                sample(topic, color, [x, y], size, rest).map_or(Self::Other, Self::Sample)
            }
            _ => Self::Other,
        }
    }
}

fn sample(topic: &str, color: &str, place: [&str; 2], size: &str, rest: &[&str]) -> Option<Sample> {
    let number = |text: &str| text.len() >= 3 && text.parse::<i32>().is_ok();
    if !place.into_iter().all(number) {
        return None;
    }
    let size = size.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?;
    let last_octet = match rest {
        [] => None,
        [octet] => Some(octet.strip_prefix('{')?.strip_suffix('}')?.parse().ok()?),
        _ => return None,
    };
    Some(Sample { topic: topic.to_owned(), color: color.to_owned(), size, last_octet })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood() {
        let blue = |size, last_octet| {
            Line::Sample(Sample { topic: "Square".into(), color: "BLUE".into(), size, last_octet })
        };
        assert_eq!(Line::of("Square     BLUE       048 129 [20]"), blue(20, None));
        assert_eq!(Line::of("Square     BLUE       048 129 [1] {255}"), blue(1, Some(255)));
        assert_eq!(Line::of("Square     BLUE       48 129 [1]"), Line::Other);
        assert_eq!(Line::of("Reading coherent sets, iteration 7"), Line::Round);
        let disposed = Line::of("Square     RED        NOT_ALIVE_DISPOSED_INSTANCE_STATE");
        assert_eq!(disposed, Line::Disposed("RED".into()));
        assert_eq!(Line::of("Done."), Line::Other);
    }
}
