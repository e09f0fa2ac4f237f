//! What a monitor asks the recorder for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use dunlin::DomainParticipant;
use dunlin::request_reply::{Requester, Service};
use dunlin_program::Stop;

use super::earlier::Earlier;
use crate::messages::{Answer, Ask, Outcome, Recorded, SERVICE, Wish};

/// Between two requests of a monitor whose user does nothing: the recorder forgets who is silent for ten seconds.
const PERIOD: Duration = Duration::from_secs(2);

/// How long an answer is worth waiting for.
struct RequestLimits {
    /// Until a recorder is there.
    ready: dunlin::Duration,
    /// Until it answers.
    answer: dunlin::Duration,
    /// How often it is asked: a request may be lost while a router on the way is found.
    tries: usize,
}

/// Somebody waits for pictures.
const INTERACTIVE: RequestLimits =
    RequestLimits { ready: dunlin::Duration::from_secs(5), answer: dunlin::Duration::from_secs(2), tries: 3 };
/// Nobody waits.
const IN_BACKGROUND: RequestLimits =
    RequestLimits { ready: dunlin::Duration::from_secs(1), answer: dunlin::Duration::from_secs(1), tries: 1 };

/// What a page shows of the recorder.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) recorded: Vec<Recorded>,
    /// Why there is nothing, for people.
    pub(super) problem: Option<String>,
}

pub(super) struct Client {
    requester: Requester<Ask, Answer>,
    monitor: String,
    earlier: Arc<Earlier>,
    known: Mutex<Known>,
}

impl Client {
    pub(super) fn new(participant: &DomainParticipant, monitor: &str, earlier: Arc<Earlier>) -> Result<Self> {
        let requester =
            Requester::new(participant, &Service::new(SERVICE)).context("cannot ask for recordings")?;
        Ok(Self { requester, monitor: monitor.to_owned(), earlier, known: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn known(&self) -> Known {
        self.lock().clone()
    }

    pub(super) fn earlier(&self) -> &Earlier {
        &self.earlier
    }

    /// Asks for what is recorded, and renews what is shown.
    pub(super) fn run(&self, stop: &Stop) {
        loop {
            let (session, _) = self.earlier.session();
            let wish = if session == 0 { Wish::List } else { Wish::Renew };
            let told = self.ask(&Ask { wish, session, ..Ask::default() }, &IN_BACKGROUND);
            let problem = match told {
                Ok(answer) if answer.outcome == Outcome::Nothing => self.ended(session),
                Ok(_) => None,
                Err(error) => Some(format!("{error:#}")),
            };
            self.lock().problem = problem;
            if stop.wait(PERIOD) {
                return;
            }
        }
    }

    /// The recorder knows nothing of a session: unless another one has begun meanwhile, it is over.
    fn ended(&self, session: u32) -> Option<String> {
        let over = self.earlier.session().0 == session;
        over.then(|| "the recorder has ended the session: choose the time again".to_owned())
    }

    fn ask(&self, ask: &Ask, limits: &RequestLimits) -> Result<Answer> {
        self.requester.wait_for_service(limits.ready).context("no recorder is there")?;
        let ask = Ask { monitor: self.monitor.clone(), ..ask.clone() };
        for _ in 0..limits.tries {
            if let Ok(reply) = self.requester.call(&ask, limits.answer) {
                let answer = reply.data;
                if answer.outcome != Outcome::Busy {
                    self.lock().recorded.clone_from(&answer.recorded);
                }
                return Ok(answer);
            }
        }
        bail!("the recorder does not answer")
    }

    /// Asks for the pictures of a camera from a time on. The answer tells what became of it.
    pub(super) fn play(&self, camera: &str, from: i64, speed: f64) -> Result<Answer> {
        let ask = Ask { wish: Wish::Play, camera: camera.to_owned(), from, speed, ..Ask::default() };
        let answer = self.ask(&ask, &INTERACTIVE)?;
        if answer.outcome == Outcome::Done {
            self.earlier.show(answer.session);
        }
        Ok(answer)
    }

    /// Asks for nothing more.
    pub(super) fn stop(&self) -> Result<()> {
        let (session, _) = self.earlier.session();
        if session != 0 {
            self.earlier.show(0);
            self.ask(&Ask { wish: Wish::Stop, session, ..Ask::default() }, &IN_BACKGROUND)?;
        }
        Ok(())
    }
}
