//! A group of which writers are discovered late, come, go and crash: its sets are whole or not there (RTPS 2.5 §8.7.6).

use dunlin::Topic;

use super::*;

/// A publisher that has writers of two topics and creates some of a third, and a subscriber.
struct Stage {
    a: Node,
    b: Node,
    sources: Sources,
    views: Views,
    topic: Topic<Reading>,
    seen: BTreeMap<u32, Vec<usize>>,
}

fn stage(sim: &mut Sim, topics: &[&str]) -> Result<Stage> {
    let (a, b) = (sim.node("a"), sim.node("b"));
    let sources = a.run(|| sources(publisher_qos(Group, true, true), &volatile_writer(), &TOPICS[..2]))?;
    let views = b.run(|| views(subscriber_qos(Group, true, true), &volatile_reader(), topics))?;
    let participant = sources.publisher.participant();
    let topic = a.run(|| participant.create_topic::<Reading>(TOPICS[2], &TopicQos::default()))?;
    let met = || {
        (0..2).filter(|at| topics.contains(&TOPICS[*at])).all(|at| {
            sources.writers[at].matched_subscriptions().len() == 1
                && views.readers[at].matched_publications().len() == 1
        })
    };
    sim.run_until(met, secs(60))?;
    sim.run_for(secs(5))?;
    Ok(Stage { a, b, sources, views, topic, seen: BTreeMap::new() })
}

impl Stage {
    fn third(&self) -> Result<DataWriter<Reading>> {
        let publisher = &self.sources.publisher;
        Ok(self.a.run(|| publisher.create_datawriter(&self.topic, &volatile_writer()))?)
    }

    fn delete(&self, writer: &DataWriter<Reading>) -> Result {
        Ok(self.a.run(|| self.sources.publisher.delete_datawriter(writer))?)
    }

    /// A set with a sample of each writer, the third one's between those of the others.
    fn write_set(&self, set: u32, third: Option<&DataWriter<Reading>>) -> Result {
        let [first, second] = &self.sources.writers[..] else { unreachable!("there are two") };
        self.a.run(|| {
            self.sources.publisher.begin_coherent_changes()?;
            for writer in [Some(first), third, Some(second)].into_iter().flatten() {
                writer.write(&reading(set))?;
            }
            Ok(self.sources.publisher.end_coherent_changes()?)
        })
    }

    /// Takes what is there, and sees to it that each set is there at once.
    fn look(&mut self) {
        let now = self.b.run(|| {
            self.views.subscriber.begin_access().unwrap();
            let mut now: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
            for (index, reader) in self.views.readers.iter().enumerate() {
                for set in taken(reader) {
                    now.entry(set).or_insert_with(|| vec![0; self.views.readers.len()])[index] += 1;
                }
            }
            self.views.subscriber.end_access().expect("begun");
            now
        });
        for (set, counts) in now {
            assert_eq!(self.seen.insert(set, counts), None, "set {set} is seen at once");
        }
    }

    fn look_until_seen(&mut self, sim: &mut Sim, set: u32, limit: i64) -> Result {
        for _ in 0..limit * 100 {
            sim.run_for(millis(10))?;
            self.look();
            if self.seen.contains_key(&set) {
                return Ok(());
            }
        }
        panic!("set {set} is not seen within {limit} s");
    }
}

/// Its announcement and what it writes are on their way at the same time, and any of that is lost now and then. It is deleted
/// once its set is seen, so the next one has to do without.
#[test]
fn a_set_waits_for_a_writer_that_was_just_created() {
    Sim::builder().loss(0.3).delay(millis(1), millis(10)).seeds(0..20, |sim| {
        let mut stage = stage(sim, &TOPICS)?;
        for set in 0..8 {
            let third = if set % 2 == 0 { Some(stage.third()?) } else { None };
            stage.write_set(set, third.as_ref())?;
            stage.look_until_seen(sim, set, 30)?;
            assert_eq!(stage.seen[&set], [1, 1, usize::from(third.is_some())], "set {set} is whole");
            third.iter().try_for_each(|writer| stage.delete(writer))?;
        }
        Ok(())
    });
}

/// It does not wait to be heard: what it wrote may be lost with it, and the set then as well.
#[test]
fn a_set_of_a_writer_that_comes_and_goes_is_whole_or_not_there() {
    Sim::builder().loss(0.3).delay(millis(1), millis(10)).seeds(0..30, |sim| {
        let mut stage = stage(sim, &TOPICS)?;
        for set in 0..8 {
            let third = if set % 2 == 0 { Some(stage.third()?) } else { None };
            stage.write_set(set, third.as_ref())?;
            let pause = sim.random() as i64 % 50;
            sim.run_for(millis(pause.abs()))?;
            stage.look();
            third.iter().try_for_each(|writer| stage.delete(writer))?;
        }
        stage.write_set(99, None)?;
        stage.look_until_seen(sim, 99, 30)?;
        for (set, counts) in &stage.seen {
            let third = usize::from(set % 2 == 0 && *set != 99);
            assert_eq!(*counts, [1, 1, third], "set {set} is whole");
        }
        assert!([1, 3, 5, 7].iter().all(|set| stage.seen.contains_key(set)), "{:?}", stage.seen);
        Ok(())
    });
}

/// That it has gone may be known long after the next set has arrived, of which a part has no reader here.
#[test]
fn a_writer_that_was_deleted_before_a_set_takes_nothing_of_it() {
    Sim::builder().loss(0.3).delay(millis(1), millis(10)).seeds(0..20, |sim| {
        let mut stage = stage(sim, &[TOPICS[0], TOPICS[2]])?;
        for set in 0..6 {
            let third = if set % 2 == 0 { Some(stage.third()?) } else { None };
            stage.write_set(set, third.as_ref())?;
            stage.look_until_seen(sim, set, 30)?;
            assert_eq!(stage.seen[&set], [1, usize::from(third.is_some())], "set {set} is whole");
            if let Some(third) = third {
                // As long as it waits for acknowledgements the publisher still has it.
                let acked = third.wait_for_acknowledgments_async();
                sim.join(&stage.a.spawn(async move |_| Ok(acked.await?)), secs(10))?;
                stage.delete(&third)?;
            }
        }
        Ok(())
    });
}

/// What has arrived of it by then may be all but the announcement of a writer, and that never comes.
#[test]
fn a_set_of_a_new_writer_whose_publisher_crashes_is_whole_or_not_there() {
    let mut whole = 0;
    let mut lost = 0;
    Sim::builder().loss(0.3).delay(millis(1), millis(10)).seeds(0..40, |sim| {
        let mut stage = stage(sim, &TOPICS)?;
        let third = stage.third()?;
        stage.write_set(0, Some(&third))?;
        let pause = sim.random() % 40;
        sim.run_for(millis(pause as i64))?;
        stage.a.crash();
        for _ in 0..300 {
            sim.run_for(millis(100))?;
            stage.look();
        }
        assert!(stage.views.readers.iter().all(|reader| reader.matched_publications().is_empty()));
        match stage.seen.get(&0) {
            Some(counts) => {
                assert_eq!(*counts, [1, 1, 1]);
                whole += 1;
            }
            None => lost += 1,
        }
        Ok(())
    });
    assert!(whole > 0 && lost > 0, "{whole} and {lost}");
}

/// Those who have no reader for a writer, or ignore it, know of it all the same and do not wait.
#[test]
fn coherent_sets_do_not_wait_for_a_writer_without_a_local_reader() {
    for ignores in [false, true] {
        let mut sim = Sim::new(3);
        let mut stage = stage(&mut sim, if ignores { &TOPICS } else { &TOPICS[..2] }).unwrap();
        let third = stage.third().unwrap();
        if ignores {
            let heard = || stage.views.readers[2].matched_publications().len() == 1;
            sim.run_until(heard, secs(10)).unwrap();
            let participant = stage.views.subscriber.participant();
            stage.b.run(|| participant.ignore_publication(third.instance_handle())).unwrap();
        }
        for set in 0..3 {
            stage.write_set(set, Some(&third)).unwrap();
            stage.look_until_seen(&mut sim, set, 1).unwrap();
            assert_eq!(stage.seen[&set][..2], [1, 1]);
        }
        // Another one, of which nobody has heard yet.
        let another = stage.third().unwrap();
        stage.write_set(3, Some(&another)).unwrap();
        stage.look_until_seen(&mut sim, 3, 1).unwrap();
        assert_eq!(stage.seen[&3].iter().sum::<usize>(), if ignores { 3 } else { 2 });
        stage.delete(&third).unwrap();
        stage.write_set(4, None).unwrap();
        stage.look_until_seen(&mut sim, 4, 1).unwrap();
    }
}

/// Of what was written before, that has no writer any more which the reader could have known, nothing is shown in part; what
/// came later is not held up by it.
#[test]
fn late_joiners_see_no_part_of_a_set_whose_writer_has_gone() {
    let mut sim = Sim::new(4);
    let (a, b) = (sim.node("a"), sim.node("b"));
    let sources = a.run(|| sources(publisher_qos(Group, true, true), &writer_qos(), &TOPICS)).unwrap();
    let write_set = |set: u32, writers: &[usize]| {
        a.run(|| {
            sources.publisher.begin_coherent_changes().unwrap();
            writers.iter().for_each(|at| sources.writers[*at].write(&reading(set)).unwrap());
            sources.publisher.end_coherent_changes().unwrap();
        });
    };
    write_set(0, &[0, 2, 1]);
    a.run(|| sources.publisher.delete_datawriter(&sources.writers[2])).unwrap();
    write_set(1, &[0, 1]);
    let views = b.run(|| views(subscriber_qos(Group, true, true), &reader_qos(), &TOPICS)).unwrap();
    let mut seen = Vec::new();
    sim.run_until(
        || {
            seen.extend(b.run(|| taken_of_all(&views)));
            seen.len() >= 2
        },
        secs(8),
    )
    .unwrap();
    sim.run_for(secs(20)).unwrap();
    seen.extend(b.run(|| taken_of_all(&views)));
    assert_eq!((seen, lost(&views)), (vec![1, 1], vec![1, 1, 0]));
}

/// They discover all writers together, and no announcement tells which of them there were when the first set was written.
#[test]
fn late_joiners_see_the_sets_from_before_a_writer_was_created() {
    for seed in 0..4 {
        let mut sim = Sim::builder().seed(seed).loss(0.1).build();
        let (a, b) = (sim.node("a"), sim.node("b"));
        let qos = publisher_qos(Group, true, true);
        let sources = a.run(|| sources(qos, &writer_qos(), &TOPICS[..2])).unwrap();
        let publisher = &sources.publisher;
        // It lives on: a writer is deleted with its last handle.
        let _third = a.run(|| {
            let write = |writers: &[&DataWriter<Reading>], set: u32| {
                publisher.begin_coherent_changes().unwrap();
                writers.iter().for_each(|writer| writer.write(&reading(set)).unwrap());
                publisher.end_coherent_changes().unwrap();
            };
            let [first, second] = &sources.writers[..] else { unreachable!("there are two") };
            write(&[first, second], 0);
            let topic = publisher.participant().create_topic(TOPICS[2], &TopicQos::default()).unwrap();
            let third = publisher.create_datawriter(&topic, &writer_qos()).unwrap();
            write(&[first, &third, second], 1);
            third
        });
        let topics = [TOPICS[0], TOPICS[2]];
        let views = b.run(|| views(subscriber_qos(Group, true, true), &reader_qos(), &topics)).unwrap();
        let mut seen = Vec::new();
        sim.run_until(
            || {
                seen.extend(b.run(|| taken_of_all(&views)));
                seen.len() >= 3
            },
            secs(8),
        )
        .unwrap();
        seen.sort_unstable();
        assert_eq!((seen, lost(&views)), (vec![0, 1, 1], vec![0, 0]), "{seed}");
    }
}
