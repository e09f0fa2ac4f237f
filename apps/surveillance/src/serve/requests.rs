//! The thread that answers requests. It reads no file and waits for nobody.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::Instant;

use anyhow::{Context, Result};
use dunlin::DomainParticipant;
use dunlin::request_reply::{Replier, Service};
use dunlin_program::Stop;

use super::quota::{Gate, Quota};
use super::{Order, Shared, State};
use crate::messages::{Answer, Ask, Outcome, SERVICE, Wish, check_name};

/// How long one look for requests takes.
const LOOK: dunlin::Duration = dunlin::Duration::from_millis(100);
/// The slowest and the fastest that recordings are played.
const SPEEDS: std::ops::RangeInclusive<f64> = 0.1..=16.0;

pub(super) struct Requests {
    replier: Replier<Ask, Answer>,
    desk: Desk,
}

/// What decides on requests.
struct Desk {
    shared: Arc<Shared>,
    orders: SyncSender<Order>,
    gate: Gate,
    quota: Quota,
    /// The session that was begun last.
    session: u32,
}

impl Requests {
    pub(super) fn new(
        participant: &DomainParticipant,
        shared: Arc<Shared>,
        quota: Quota,
        orders: SyncSender<Order>,
    ) -> Result<Self> {
        let replier =
            Replier::new(participant, &Service::new(SERVICE)).context("cannot offer the service")?;
        Ok(Self { replier, desk: Desk::new(shared, quota, orders) })
    }

    pub(super) fn run(&mut self, stop: &Stop) {
        while !stop.is_set() {
            let Ok(request) = self.replier.wait(LOOK) else { continue };
            let answer = self.desk.answer(&request.data, Instant::now());
            // Who has gone meanwhile misses nothing.
            _ = self.replier.send_reply(request.id, &answer);
        }
    }
}

impl Desk {
    fn new(shared: Arc<Shared>, quota: Quota, orders: SyncSender<Order>) -> Self {
        Self { shared, orders, gate: Gate::new(quota, Instant::now()), quota, session: 0 }
    }

    fn answer(&mut self, ask: &Ask, now: Instant) -> Answer {
        let (outcome, text, session) = self.decide(ask, now);
        let mut state = self.shared.state();
        state.counts.requests += 1;
        state.counts.busy += u64::from(outcome == Outcome::Busy);
        // Who is to ask less is told less.
        let recorded = if outcome == Outcome::Busy { Vec::new() } else { state.recorded.clone() };
        Answer { outcome, text, session, recorded }
    }

    fn decide(&mut self, ask: &Ask, now: Instant) -> (Outcome, String, u32) {
        let told = |outcome, text: &str| (outcome, text.to_owned(), 0);
        if let Err(why) = check_name(&ask.monitor) {
            return (Outcome::Refused, why, 0);
        }
        if !self.gate.lets_in(&ask.monitor, now) {
            return told(Outcome::Busy, "too many requests");
        }
        let current = self.shared.state().sessions.get(&ask.monitor).copied();
        let is_current = current == Some(ask.session);
        let (monitor, session) = (ask.monitor.clone(), ask.session);
        match ask.wish {
            Wish::List => (Outcome::Done, String::new(), current.unwrap_or(0)),
            Wish::Play => self.play(ask),
            Wish::Renew | Wish::Stop if !is_current => told(Outcome::Nothing, "this session has ended"),
            Wish::Renew => self.order(Order::Renew { monitor, session }, session),
            Wish::Stop => self.order(Order::Stop { monitor, session }, session),
        }
    }

    fn play(&mut self, ask: &Ask) -> (Outcome, String, u32) {
        if !SPEEDS.contains(&ask.speed) {
            let (least, most) = (SPEEDS.start(), SPEEDS.end());
            return (Outcome::Refused, format!("the speed is between {least} and {most}"), 0);
        }
        let session = self.session.wrapping_add(1).max(1);
        {
            let mut state = self.shared.state();
            if let Err(why) = state.begin(ask, session, self.quota.sessions) {
                return why;
            }
        }
        self.session = session;
        let (monitor, camera) = (ask.monitor.clone(), ask.camera.clone());
        let order = Order::Play { monitor, session, camera, from: ask.from, speed: ask.speed };
        let answer = self.order(order, session);
        if answer.0 != Outcome::Done {
            self.shared.state().sessions.remove(&ask.monitor);
        }
        answer
    }

    fn order(&self, order: Order, session: u32) -> (Outcome, String, u32) {
        match self.orders.try_send(order) {
            Ok(()) => (Outcome::Done, String::new(), session),
            Err(TrySendError::Full(_)) => (Outcome::Busy, "too many requests wait".to_owned(), 0),
            Err(TrySendError::Disconnected(_)) => (Outcome::Nothing, "the recorder ends".to_owned(), 0),
        }
    }
}

impl State {
    /// Gives a monitor its session, in place of the one that it has.
    fn begin(&mut self, ask: &Ask, session: u32, most: usize) -> Result<(), (Outcome, String, u32)> {
        let recorded = self.recorded.iter().find(|it| it.camera == ask.camera);
        if recorded.is_none_or(|it| ask.from > it.last) {
            return Err((Outcome::Nothing, "nothing is recorded of this camera then".to_owned(), 0));
        }
        if self.sessions.len() >= most && !self.sessions.contains_key(&ask.monitor) {
            return Err((Outcome::Busy, format!("{most} monitors get pictures already"), 0));
        }
        self.sessions.insert(ask.monitor.clone(), session);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, sync_channel};

    use super::*;
    use crate::messages::Recorded;

    fn desk(quota: Quota, queue: usize) -> (Desk, Receiver<Order>) {
        let shared = Arc::<Shared>::default();
        shared.state().recorded = vec![Recorded { camera: "front".into(), first: 100, last: 200 }];
        let (sender, orders) = sync_channel(queue);
        (Desk::new(shared, quota, sender), orders)
    }

    fn play(monitor: &str, from: i64) -> Ask {
        let camera = "front".into();
        Ask { monitor: monitor.into(), wish: Wish::Play, camera, from, speed: 1.0, session: 0 }
    }

    #[test]
    fn malformed_requests_are_refused() {
        let (mut desk, orders) = desk(Quota::default(), 8);
        let now = Instant::now();
        for wrong in [
            Ask { monitor: "*".into(), ..play("m", 100) },
            Ask { speed: 0.0, ..play("m", 100) },
            Ask { speed: f64::NAN, ..play("m", 100) },
            Ask { speed: f64::INFINITY, ..play("m", 100) },
        ] {
            assert_eq!(desk.answer(&wrong, now).outcome, Outcome::Refused, "{wrong:?}");
        }
        for nothing in [
            play("m", 201),
            Ask { camera: "yard".into(), ..play("m", 100) },
            Ask { wish: Wish::Renew, ..play("m", 0) },
        ] {
            assert_eq!(desk.answer(&nothing, now).outcome, Outcome::Nothing, "{nothing:?}");
        }
        assert!(orders.try_recv().is_err());
    }

    #[test]
    fn a_monitor_has_one_session() {
        let (mut desk, orders) = desk(Quota::default(), 8);
        let now = Instant::now();
        let first = desk.answer(&play("m", 100), now);
        let second = desk.answer(&play("m", i64::MIN), now);
        assert_eq!((first.outcome, second.outcome), (Outcome::Done, Outcome::Done));
        assert_ne!(first.session, second.session);
        let mut ask = |wish, session| desk.answer(&Ask { wish, session, ..play("m", 0) }, now).outcome;
        assert_eq!(ask(Wish::Renew, first.session), Outcome::Nothing);
        assert_eq!(ask(Wish::Renew, second.session), Outcome::Done);
        assert_eq!(ask(Wish::Stop, second.session), Outcome::Done);
        assert_eq!(orders.try_iter().count(), 4);
        assert_eq!(desk.shared.state().recorded, second.recorded);
    }

    #[test]
    fn requests_beyond_the_quotas_are_answered_busy() {
        let now = Instant::now();
        let (mut desk_of_two, orders) = desk(Quota { sessions: 2, ..Quota::default() }, 8);
        let outcome = |desk: &mut Desk, name: &str| desk.answer(&play(name, 150), now).outcome;
        assert_eq!(outcome(&mut desk_of_two, "a"), Outcome::Done);
        assert_eq!(outcome(&mut desk_of_two, "b"), Outcome::Done);
        assert_eq!(outcome(&mut desk_of_two, "c"), Outcome::Busy);
        assert_eq!(outcome(&mut desk_of_two, "a"), Outcome::Done, "in place of its own");
        drop(orders);

        let (mut full, orders) = desk(Quota::default(), 1);
        assert_eq!(outcome(&mut full, "a"), Outcome::Done);
        assert_eq!(outcome(&mut full, "b"), Outcome::Busy, "the queue is full");
        assert_eq!(full.shared.state().sessions.len(), 1, "and it has no session");
        drop(orders);

        let (mut often, _orders) = desk(Quota { requests: 2.0, ..Quota::default() }, 8);
        let list = Ask { wish: Wish::List, ..play("a", 0) };
        let answers: Vec<_> = (0..4).map(|_| often.answer(&list, now).outcome).collect();
        assert_eq!(answers, [Outcome::Done, Outcome::Done, Outcome::Busy, Outcome::Busy]);
        assert_eq!(
            often.shared.state().counts,
            super::super::Counts { requests: 4, busy: 2, ..Default::default() }
        );
    }
}
