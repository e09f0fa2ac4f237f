//! What must hold. Nothing here asks the code under test how it should be: the models are written apart from it.

pub mod delivery;
mod hostile;
pub mod infos;
pub mod instances;
mod limits;
pub mod loss;
mod matching;
mod near;
mod sets;
pub mod timing;
mod young;

pub(crate) use instances::owners;
pub(crate) use limits::quiet;
pub(crate) use matching::convergence;
pub use sets::Sets;
pub(crate) use sets::{count as count_sets, taken as taken_sets, waits_for};

use crate::log::{ReaderLog, WriterLog};
use crate::run::Run;

/// When all has arrived: what readers have, what they think of instances, who was refused and why.
pub(crate) fn at_rest(run: &mut Run<'_>) {
    let mut found = Vec::new();
    delivery::complete(run, &mut found);
    sets::whole(run, &mut found);
    instances::states(run, &mut found);
    limits::histories(run, &mut found);
    matching::introduced(run, &mut found);
    found.into_iter().for_each(|violation| run.log.note(violation));
}

/// Seconds after that: what a minimum separation has delayed is there.
pub(crate) fn at_the_end(run: &mut Run<'_>) {
    let mut found = Vec::new();
    delivery::last_values(run, &mut found);
    delivery::told(run, &mut found);
    near::contradicted(run, &mut found);
    found.into_iter().for_each(|violation| run.log.note(violation));
}

/// What holds of a run as a whole, however it ended.
pub(crate) fn whole_run(run: &mut Run<'_>) {
    let mut found = Vec::new();
    timing::deadlines_of_writers(run, &mut found);
    timing::deadlines_of_readers(run, &mut found);
    timing::liveliness_lost(run, &mut found);
    timing::separations(run, &mut found);
    young::young(run, &mut found);
    matching::once(run, &mut found);
    limits::traffic(run, &mut found);
    limits::peaks(run, &mut found);
    hostile::amplification(run, &mut found);
    hostile::well_formed(run, &mut found);
    near::parted(run, &mut found);
    found.into_iter().for_each(|violation| run.log.note(violation));
}

/// The pairs of live writers and readers of one topic on nodes that got nothing corrupted.
fn pairs<'a>(run: &'a Run<'_>) -> impl Iterator<Item = (usize, &'a WriterLog, usize, &'a ReaderLog)> {
    let writers = run.log.writers.iter().enumerate().filter(|(_, writer)| writer.ended.is_none());
    writers.flat_map(move |(w, writer)| {
        let readers = run.log.readers.iter().enumerate().filter(|(_, reader)| reader.ended.is_none());
        readers.filter_map(move |(r, reader)| {
            let (one, other) = (&run.scenario.endpoints[writer.plan], &run.scenario.endpoints[reader.plan]);
            let clean = !run.scenario.is_tainted(writer.node) && !run.scenario.is_tainted(reader.node);
            (one.topic == other.topic && clean).then_some((w, writer, r, reader))
        })
    })
}
