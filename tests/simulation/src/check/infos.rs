//! What SampleInfo says of the samples of one `take`, against what the takes before said (DDS 1.4 §2.2.2.5.1). The
//! reader takes everything each time, so view states, generations and ranks follow from what it sees.

use std::collections::BTreeMap;

use dunlin_cache::{CachedSample, InstanceState, SampleInfo, ViewState};
use dunlin_core::InstanceHandle;

/// Nothing, or the kind of what is wrong and what it is.
type Verdict = Result<(), (&'static str, String)>;

/// What a reader last saw of an instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Glimpse {
    state: InstanceState,
    /// Of the last sample.
    generations: (u32, u32),
    /// The largest sum of any sample.
    latest: u32,
}

fn generations(info: &SampleInfo) -> (u32, u32) {
    (info.disposed_generation_count, info.no_writers_generation_count)
}

fn sum((disposed, no_writers): (u32, u32)) -> u32 {
    disposed + no_writers
}

/// Takes note of a collection; what is wrong with it, each with its kind. Samples that stand in the order of their source
/// timestamps may have arrived in another one, and then their generations are not in order.
pub fn look(
    seen: &mut BTreeMap<InstanceHandle, Glimpse>,
    taken: &[CachedSample],
    by_source: bool,
) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let mut by_instance: BTreeMap<InstanceHandle, Vec<&CachedSample>> = BTreeMap::new();
    for sample in taken {
        by_instance.entry(sample.info.instance_handle).or_default().push(sample);
    }
    for (instance, samples) in by_instance {
        let before = seen.get(&instance).copied();
        if let Err((kind, text)) = judge(before, &samples, by_source) {
            found.push((kind, format!("instance {:?}: {text}", &instance.0[..4])));
        }
        if let Some(last) = samples.last() {
            let generations = generations(&last.info);
            let latest = samples.iter().map(|sample| sum(self::generations(&sample.info))).max().unwrap_or(0);
            seen.insert(instance, Glimpse { state: last.info.instance_state, generations, latest });
        }
    }
    found
}

fn judge(before: Option<Glimpse>, samples: &[&CachedSample], by_source: bool) -> Verdict {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return Ok(()) };
    let (first, last) = (&first.info, &last.info);
    let current = sum(generations(last)) + last.absolute_generation_rank;
    let mut latest = (0, 0);
    for (index, sample) in samples.iter().enumerate() {
        let info = &sample.info;
        let own = generations(info);
        let ranks = (info.sample_rank, info.generation_rank, info.absolute_generation_rank);
        let rank = samples.len() - 1 - index;
        let right =
            (rank as u32, sum(generations(last)).saturating_sub(sum(own)), current.saturating_sub(sum(own)));
        if ranks != right {
            return Err(("ranks", format!("ranks {ranks:?}, not {right:?}")));
        }
        if !by_source && (own.0 < latest.0 || own.1 < latest.1) {
            return Err(("generations", format!("generations {own:?} after {latest:?}")));
        }
        latest = own;
        if (info.view_state, info.instance_state) != (last.view_state, last.instance_state) {
            return Err(("two states", "two states at one time".into()));
        }
        if info.valid_data != sample.payload.is_some() {
            return Err(("valid_data", format!("valid_data is {}", info.valid_data)));
        }
    }
    judge_view(before, first, current, by_source)
}

/// NEW is what was not seen before, or not since it came back to life.
fn judge_view(before: Option<Glimpse>, first: &SampleInfo, current: u32, by_source: bool) -> Verdict {
    let new = first.view_state == ViewState::New;
    let right = match before {
        None => new,
        Some(Glimpse { state: InstanceState::Alive, generations: known, latest }) => {
            let own = generations(first);
            let later = own.0 >= known.0 && own.1 >= known.1;
            (later || by_source) && new == (current > latest)
        }
        // It may have been forgotten, and then it begins anew.
        Some(Glimpse { latest, .. }) => new || current == latest,
    };
    if right {
        return Ok(());
    }
    Err(("view state", format!("{:?} in generation {current}, last seen {before:?}", first.view_state)))
}
