//! Judges the samples of a subscriber.

use std::collections::BTreeMap;

use crate::line::{Line, Sample};
use crate::scenario::Check;
use crate::verdict::Verdict;

/// What a subscriber's lines look like from the first sample on; `next` is `None` when nothing comes any more.
pub fn check(kind: Check, wanted: usize, first: Sample, next: &mut dyn FnMut() -> Option<Line>) -> Verdict {
    let mut samples = Samples { first: Some(first), next };
    match kind {
        Check::Any => verdict(samples.take().is_some_and(|sample| sample.size != 0)),
        Check::NoLoss => steps(&mut samples, wanted, |before, size| size == before + 1),
        Check::Increasing => steps(&mut samples, wanted, |before, size| size > before),
        Check::Thinned => steps(&mut samples, wanted, |before, size| (9..=19).contains(&(size - before))),
        Check::SmallSizes => every(&mut samples, wanted, |sample| (1..=20).contains(&sample.size)),
        Check::Payload => every(&mut samples, wanted, |sample| sample.last_octet == Some(255)),
        Check::NothingOld => verdict(samples.take().is_some_and(|sample| sample.size >= 5)),
        Check::FromTheFirst => verdict(samples.take().is_some_and(|sample| sample.size == 1)),
        Check::Sizes => sizes(&mut samples, wanted),
        Check::Colors => colors(&mut samples, wanted),
        Check::Lifespan => lifespan(&mut samples, wanted),
        Check::NoWriters => endings(&mut samples, false),
        Check::Disposed => endings(&mut samples, true),
        Check::Order => order(&mut samples, wanted),
        Check::Sets => sets(&mut samples, wanted, 12),
        Check::GroupSets => sets(&mut samples, wanted, 36),
        Check::Deadline => match (samples.next)() {
            Some(Line::RequestedDeadlineMissed) => Verdict::DeadlineMissed,
            _ => Verdict::Wrong,
        },
    }
}

struct Samples<'n> {
    first: Option<Sample>,
    next: &'n mut dyn FnMut() -> Option<Line>,
}

impl Samples<'_> {
    fn line(&mut self) -> Option<Line> {
        self.first.take().map(Line::Sample).or_else(|| (self.next)())
    }

    fn take(&mut self) -> Option<Sample> {
        loop {
            match self.line()? {
                Line::Sample(sample) => return Some(sample),
                _ => continue,
            }
        }
    }
}

fn verdict(well: bool) -> Verdict {
    if well { Verdict::Ok } else { Verdict::Wrong }
}

fn every(samples: &mut Samples<'_>, wanted: usize, well: impl Fn(&Sample) -> bool) -> Verdict {
    for _ in 0..wanted {
        match samples.take() {
            None => return Verdict::NoData,
            Some(sample) if !well(&sample) => return Verdict::Wrong,
            Some(_) => {}
        }
    }
    Verdict::Ok
}

/// Each size of a colour against the one before, until the first colour has so many samples.
fn steps(samples: &mut Samples<'_>, wanted: usize, well: impl Fn(i64, i64) -> bool) -> Verdict {
    let mut before = BTreeMap::<String, i64>::new();
    let mut first_color = None;
    let mut count = 0;
    while count < wanted {
        let Some(Sample { color, size, .. }) = samples.take() else { return Verdict::NoData };
        count += usize::from(*first_color.get_or_insert_with(|| color.clone()) == color);
        if before.insert(color, size).is_some_and(|before| !well(before, size)) {
            return Verdict::Wrong;
        }
    }
    Verdict::Ok
}

/// One writer, or several. A single change is the stronger writer that takes over.
fn sizes(samples: &mut Samples<'_>, wanted: usize) -> Verdict {
    let Some(Sample { mut size, .. }) = samples.take() else { return Verdict::NoData };
    let mut changes = 0;
    for _ in 1..wanted {
        let Some(sample) = samples.take() else { return Verdict::NoData };
        changes += usize::from(sample.size != size);
        size = sample.size;
        if changes > 1 {
            return Verdict::FromSeveral;
        }
    }
    Verdict::FromOne
}

fn colors(samples: &mut Samples<'_>, wanted: usize) -> Verdict {
    let Some(first) = samples.take() else { return Verdict::NoData };
    for _ in 1..wanted {
        match samples.take() {
            None => return Verdict::NoData,
            Some(sample) if sample.color != first.color => return Verdict::FromSeveral,
            Some(_) => {}
        }
    }
    Verdict::FromOne
}

/// Each read of the first colour finds the two or three samples that have not expired, and misses some between.
fn lifespan(samples: &mut Samples<'_>, wanted: usize) -> Verdict {
    let Some(first) = samples.take() else { return Verdict::NoData };
    let (mut before, mut run, mut count, mut gaps) = (first.size, 1, 1, 0);
    while count < wanted {
        let Some(sample) = samples.take() else { return Verdict::NoData };
        if sample.color != first.color {
            continue;
        }
        count += 1;
        if sample.size == before + 1 {
            run += 1;
        } else {
            let lonely_beginning = gaps == 0 && run == 1;
            if sample.size <= before || !(lonely_beginning || (2..=3).contains(&run)) {
                return Verdict::Wrong;
            }
            gaps += 1;
            run = 1;
        }
        before = sample.size;
    }
    verdict(gaps > 0 && run <= 3)
}

/// Every colour that had samples ends as it must, and not otherwise.
fn endings(samples: &mut Samples<'_>, disposed: bool) -> Verdict {
    let (mut seen, mut ended) = (BTreeMap::new(), BTreeMap::new());
    loop {
        let (color, is_disposed) = match samples.line() {
            None => return Verdict::NoData,
            Some(Line::Sample(sample)) => {
                seen.insert(sample.color, ());
                continue;
            }
            Some(Line::Disposed(color)) => (color, true),
            Some(Line::NoWriters(color)) => (color, false),
            Some(_) => continue,
        };
        if is_disposed != disposed || !seen.contains_key(&color) {
            return Verdict::Wrong;
        }
        ended.insert(color, ());
        if ended.len() == seen.len() {
            return Verdict::Ok;
        }
    }
}

/// Whether neighbours within a round are mostly of one colour. It must be the same in every round.
fn order(samples: &mut Samples<'_>, wanted: usize) -> Verdict {
    let (mut round, mut found, mut count) = (Vec::<String>::new(), None, 0);
    let mut first_color = None;
    while count < wanted {
        match samples.line() {
            None => return Verdict::NoData,
            Some(Line::Sample(sample)) => {
                count +=
                    usize::from(*first_color.get_or_insert_with(|| sample.color.clone()) == sample.color);
                round.push(sample.color);
            }
            Some(Line::Round) => {
                let colors = std::mem::take(&mut round);
                if colors.len() <= 6 {
                    continue;
                }
                let equal = colors.windows(2).filter(|pair| pair[0] == pair[1]).count();
                let by_instance = equal > colors.len() - 1 - equal;
                let now = if by_instance { Verdict::ByInstance } else { Verdict::ByTopic };
                if *found.get_or_insert(now) != now {
                    return Verdict::Wrong;
                }
            }
            Some(_) => {}
        }
    }
    found.unwrap_or(Verdict::NoData)
}

/// From the third round with samples on: whole sets of three sizes for each topic and colour, each following the one
/// before.
fn sets(samples: &mut Samples<'_>, wanted: usize, multiple: usize) -> Verdict {
    let mut round = BTreeMap::<(String, String), Vec<i64>>::new();
    let (mut rounds, mut judged) = (0, 0);
    while judged < wanted {
        match samples.line() {
            None => return Verdict::NoData,
            Some(Line::Sample(sample)) => {
                round.entry((sample.topic, sample.color)).or_default().push(sample.size);
            }
            Some(Line::Round) if !round.is_empty() => {
                let sizes = std::mem::take(&mut round);
                rounds += 1;
                if rounds <= 2 {
                    continue;
                }
                let whole = |sizes: &Vec<i64>| {
                    sizes
                        .chunks(3)
                        .all(|set| matches!(*set, [a, b, c] if a % 3 == 1 && b == a + 1 && c == a + 2))
                };
                let total: usize = sizes.values().map(Vec::len).sum();
                if !sizes.values().all(whole) || !total.is_multiple_of(multiple) {
                    return Verdict::Wrong;
                }
                judged += 1;
            }
            Some(_) => {}
        }
    }
    Verdict::Ok
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(color: &str, size: i64) -> Line {
        Line::Sample(Sample { topic: "Square".into(), color: color.into(), size, last_octet: Some(255) })
    }

    fn judge(kind: Check, wanted: usize, lines: Vec<Line>) -> Verdict {
        let mut lines = lines.into_iter();
        let Some(Line::Sample(first)) = lines.next() else { panic!("no sample first") };
        check(kind, wanted, first, &mut || lines.next())
    }

    fn of_sizes(kind: Check, sizes: &[i64]) -> Verdict {
        judge(kind, sizes.len(), sizes.iter().map(|size| sample("BLUE", *size)).collect())
    }

    #[test]
    fn gaps_and_repetitions_are_found() {
        assert_eq!(of_sizes(Check::NoLoss, &[7, 8, 9]), Verdict::Ok);
        assert_eq!(of_sizes(Check::NoLoss, &[7, 9]), Verdict::Wrong);
        assert_eq!(of_sizes(Check::Increasing, &[7, 9, 10]), Verdict::Ok);
        assert_eq!(of_sizes(Check::Increasing, &[7, 7]), Verdict::Wrong);
        assert_eq!(of_sizes(Check::Thinned, &[1, 10, 29]), Verdict::Ok);
        assert_eq!(of_sizes(Check::Thinned, &[1, 9]), Verdict::Wrong);
        assert_eq!(judge(Check::NoLoss, 3, vec![sample("BLUE", 1)]), Verdict::NoData);
        let two = vec![sample("BLUE", 1), sample("RED", 5), sample("BLUE", 2), sample("RED", 7)];
        assert_eq!(judge(Check::NoLoss, 3, two), Verdict::Wrong);
    }

    #[test]
    fn beginnings_and_bounds() {
        assert_eq!(of_sizes(Check::Any, &[0]), Verdict::Wrong);
        assert_eq!(of_sizes(Check::NothingOld, &[4]), Verdict::Wrong);
        assert_eq!(of_sizes(Check::FromTheFirst, &[1]), Verdict::Ok);
        assert_eq!(of_sizes(Check::SmallSizes, &[1, 20]), Verdict::Ok);
        assert_eq!(of_sizes(Check::SmallSizes, &[1, 21]), Verdict::Wrong);
        assert_eq!(of_sizes(Check::Payload, &[1]), Verdict::Ok);
    }

    #[test]
    fn check_tells_one_writer_from_several() {
        assert_eq!(of_sizes(Check::Sizes, &[20, 20, 30, 30]), Verdict::FromOne);
        assert_eq!(of_sizes(Check::Sizes, &[20, 30, 20]), Verdict::FromSeveral);
        let both = vec![sample("BLUE", 1), sample("RED", 1)];
        assert_eq!(judge(Check::Colors, 2, both), Verdict::FromSeveral);
        assert_eq!(of_sizes(Check::Colors, &[1, 1]), Verdict::FromOne);
    }

    #[test]
    fn samples_expire() {
        assert_eq!(of_sizes(Check::Lifespan, &[1, 5, 6, 10, 11, 12, 15, 16]), Verdict::Ok);
        assert_eq!(of_sizes(Check::Lifespan, &[1, 2, 3, 4, 8, 9]), Verdict::Wrong);
        assert_eq!(of_sizes(Check::Lifespan, &[1, 2, 5, 8, 9]), Verdict::Wrong);
        assert_eq!(of_sizes(Check::Lifespan, &[1, 2, 3]), Verdict::Wrong);
    }

    #[test]
    fn instances_end() {
        let end = |line: fn(String) -> Line| {
            vec![sample("BLUE", 1), sample("RED", 1), line("RED".into()), line("BLUE".into())]
        };
        assert_eq!(judge(Check::Disposed, 1, end(Line::Disposed)), Verdict::Ok);
        assert_eq!(judge(Check::NoWriters, 1, end(Line::Disposed)), Verdict::Wrong);
        assert_eq!(judge(Check::NoWriters, 1, end(Line::NoWriters)), Verdict::Ok);
        assert_eq!(judge(Check::NoWriters, 1, vec![sample("BLUE", 1)]), Verdict::NoData);
    }

    #[test]
    fn order_of_rounds() {
        let round = |colors: &str| {
            let samples = colors.chars().map(|color| sample(&color.to_string(), 1));
            samples.chain([Line::Round]).collect::<Vec<_>>()
        };
        let by_instance = [round("aaaabbbb"), round("aaabbbcc")].concat();
        assert_eq!(judge(Check::Order, 9, [by_instance.clone(), round("a")].concat()), Verdict::NoData);
        assert_eq!(judge(Check::Order, 7, by_instance.clone()), Verdict::ByInstance);
        assert_eq!(judge(Check::Order, 4, round("abababab")), Verdict::NoData);
        assert_eq!(judge(Check::Order, 5, [round("abababab"), round("ab")].concat()), Verdict::ByTopic);
        assert_eq!(
            judge(Check::Order, 12, [by_instance, round("abababab"), round("a")].concat()),
            Verdict::Wrong
        );
    }

    #[test]
    fn sets_are_whole() {
        let round = |sizes: &[i64]| {
            let each = |topic: usize, color: usize| {
                sizes.iter().map(move |size| {
                    let (topic, color) = (format!("T{topic}"), format!("C{color}"));
                    Line::Sample(Sample { topic, color, size: *size, last_octet: None })
                })
            };
            let all = (0..3).flat_map(move |topic| (0..4).flat_map(move |color| each(topic, color)));
            all.chain([Line::Round]).collect::<Vec<_>>()
        };
        let whole: Vec<_> = [&[1, 2, 3][..], &[4, 5, 6], &[7, 8, 9, 10, 11, 12]].map(round).concat();
        assert_eq!(judge(Check::GroupSets, 1, whole.clone()), Verdict::Ok);
        let torn = [whole.clone(), round(&[13, 14])].concat();
        assert_eq!(judge(Check::GroupSets, 2, torn), Verdict::Wrong);
        let shifted = [whole, round(&[14, 15, 16])].concat();
        assert_eq!(judge(Check::Sets, 2, shifted), Verdict::Wrong);
    }
}
