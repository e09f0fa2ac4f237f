//! The thread of pictures.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use dunlin::qos::TopicQos;
use dunlin::{DomainParticipant, Topic};
use dunlin_program::Stop;

use super::quota::{Bucket, Quota, Stopped};
use super::session::{Session, Turn, Wanted};
use super::{Order, Shared};
use crate::archive::Archive;
use crate::messages::{EARLIER, EarlierPicture};

/// Between two looks at the files.
const LOOK: Duration = Duration::from_millis(250);
/// The longest wait for an order.
const WAIT: Duration = Duration::from_millis(50);
/// Pictures of one session in a turn: others come next.
const TURNS: usize = 8;

/// Names the files that there are.
pub trait Files: Send {
    /// Those that were finished, oldest first, and the present one.
    fn files(&self) -> (Vec<PathBuf>, Option<PathBuf>);
}

pub(super) struct Playback {
    participant: DomainParticipant,
    topic: Topic<EarlierPicture>,
    archive: Archive,
    sessions: BTreeMap<String, Session>,
    /// Of monitors without a session.
    stopped: Stopped,
    shared: Arc<Shared>,
    quota: Quota,
    orders: Receiver<Order>,
}

impl Playback {
    pub(super) fn new(
        participant: &DomainParticipant,
        topic: &str,
        shared: Arc<Shared>,
        quota: Quota,
        orders: Receiver<Order>,
    ) -> Result<Self> {
        let own = participant.create_topic::<EarlierPicture>(EARLIER, &TopicQos::default());
        Ok(Self {
            participant: participant.clone(),
            topic: own.context("cannot make the topic of earlier pictures")?,
            archive: Archive::new(topic),
            sessions: BTreeMap::new(),
            stopped: Stopped::default(),
            shared,
            quota,
            orders,
        })
    }

    pub(super) fn run(&mut self, files: &impl Files, stop: &Stop) {
        let mut look = Instant::now();
        while !stop.is_set() {
            let now = Instant::now();
            if now >= look {
                look = now + LOOK;
                let (finished, present) = files.files();
                self.archive.refresh(&finished, present.as_deref());
                self.shared.state().recorded = self.archive.recorded();
            }
            self.turns(now);
            let due = self.sessions.values().map(Session::due).min();
            let wait = due.map_or(WAIT, |due| due.saturating_duration_since(Instant::now()).min(WAIT));
            match self.orders.recv_timeout(wait) {
                Ok(order) => self.obey(order, Instant::now()),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn obey(&mut self, order: Order, now: Instant) {
        match order {
            Order::Play { monitor, session, camera, from, speed } => {
                let wanted = Wanted { monitor: monitor.clone(), session, camera, from, speed };
                if let Err(error) = self.play(wanted, now) {
                    self.end(&monitor, session, Some(&error));
                }
            }
            Order::Renew { monitor, session } => {
                let known = self.sessions.get_mut(&monitor).filter(|it| it.number == session);
                known.into_iter().for_each(|it| it.renew(now));
            }
            Order::Stop { monitor, session } => self.end(&monitor, session, None),
        }
    }

    fn play(&mut self, wanted: Wanted, now: Instant) -> Result<()> {
        if let Some(known) = self.sessions.get_mut(&wanted.monitor) {
            return known.go_on(&mut self.archive, &wanted, now);
        }
        let monitor = wanted.monitor.clone();
        let left = self.stopped.go_on(&monitor);
        let bucket = left.unwrap_or_else(|| Bucket::new(self.quota.octets as f64, now));
        let order = (wanted, bucket);
        let begun = Session::begin(&self.participant, &self.topic, &mut self.archive, order, now);
        if begun.is_err() {
            self.stopped.note(&monitor, bucket, now);
        }
        self.sessions.insert(monitor, begun?);
        Ok(())
    }

    /// Gives each session its turns.
    fn turns(&mut self, now: Instant) {
        let mut over = Vec::new();
        for (monitor, session) in &mut self.sessions {
            if session.is_over(now) {
                over.push((monitor.clone(), session.number));
                continue;
            }
            for _ in 0..TURNS {
                if session.due() > now {
                    break;
                }
                let turn = session.turn(&mut self.archive, now);
                let mut state = self.shared.state();
                match turn {
                    Ok(Turn::Sent(octets)) => {
                        state.counts.pictures += 1;
                        state.counts.octets += octets as u64;
                    }
                    Ok(Turn::HeldUp) => state.counts.held_up += 1,
                    Ok(Turn::Nothing) => {}
                    // A chunk that has been removed, or is damaged: the next one follows.
                    Err(error) => {
                        dunlin_program::tell!("of what {monitor} wants something is missing: {error:#}")
                    }
                }
            }
        }
        for (monitor, session) in over {
            self.end(&monitor, session, None);
        }
    }

    fn end(&mut self, monitor: &str, session: u32, why: Option<&anyhow::Error>) {
        if let Some(why) = why {
            dunlin_program::tell!("{monitor} gets nothing: {why:#}");
        }
        if self.sessions.get(monitor).is_some_and(|it| it.number == session)
            && let Some(ended) = self.sessions.remove(monitor)
        {
            self.stopped.note(monitor, ended.bucket(), Instant::now());
        }
        let mut state = self.shared.state();
        if state.sessions.get(monitor) == Some(&session) {
            state.sessions.remove(monitor);
        }
    }
}
