//! Earlier pictures, as they come for this monitor.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};
use dunlin::qos::{DataReaderQos, SubscriberQos, TopicQos};
use dunlin::{DataReader, DomainParticipant, StateMasks, WaitSet};
use dunlin_program::Stop;
use dunlin_video::view::hub::Hub;
use dunlin_video::view::{Received, WriterId};

use crate::messages::{EARLIER, EarlierPicture, partition_of};

/// How long one look for pictures takes.
const LOOK: dunlin::Duration = dunlin::Duration::from_millis(100);
/// Pictures that wait to be taken; of more the oldest goes.
const DEPTH: i32 = 64;
/// Pictures taken at a time.
const BATCH: usize = 16;

/// What is shown of the past.
pub(super) struct Earlier {
    reader: DataReader<EarlierPicture>,
    wait_set: WaitSet,
    state: Mutex<State>,
}

struct State {
    /// 0 for none.
    session: u32,
    /// Where browsers get the pictures of the session; each has its own, so that nothing is taken for a loss.
    hub: Arc<Hub>,
    /// Reception of the picture that came last.
    last: i64,
    pictures: u64,
}

impl Earlier {
    pub(super) fn new(participant: &DomainParticipant, monitor: &str) -> Result<Self> {
        let topic = participant.create_topic::<EarlierPicture>(EARLIER, &TopicQos::default())?;
        let qos = SubscriberQos::default().partition([partition_of(monitor)]);
        let subscriber = participant.create_subscriber(&qos)?;
        let qos = DataReaderQos::default().reliable().transient_local().keep_last(DEPTH);
        let reader =
            subscriber.create_datareader(&topic, &qos).context("cannot make the reader of pictures")?;
        let wait_set = WaitSet::new();
        wait_set.attach_condition(reader.create_readcondition(StateMasks::ANY)?.condition());
        let state = Mutex::new(State { session: 0, hub: Hub::new(None), last: 0, pictures: 0 });
        Ok(Self { reader, wait_set, state })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows pictures of this session from now on, and no others.
    pub(super) fn show(&self, session: u32) {
        let mut state = self.state();
        (state.session, state.hub, state.last) = (session, Hub::new(None), 0);
    }

    /// The session that is shown, and the reception of the picture that came last.
    pub(super) fn session(&self) -> (u32, i64) {
        let state = self.state();
        (state.session, state.last)
    }

    pub(super) fn hub(&self) -> Arc<Hub> {
        Arc::clone(&self.state().hub)
    }

    /// Pictures that were shown so far.
    pub(super) fn pictures(&self) -> u64 {
        self.state().pictures
    }

    pub(super) fn run(&self, stop: &Stop) {
        while !stop.is_set() {
            if self.wait_set.wait(LOOK).is_err() {
                continue;
            }
            for sample in self.reader.take(BATCH).unwrap_or_default() {
                if let Some(picture) = sample.data {
                    self.on_picture(picture, sample.info.publication_handle.0);
                }
            }
        }
    }

    fn on_picture(&self, picture: EarlierPicture, writer: [u8; 16]) {
        let mut state = self.state();
        if picture.session != state.session {
            return;
        }
        (state.last, state.pictures) = (picture.received, state.pictures + 1);
        let hub = Arc::clone(&state.hub);
        drop(state);
        let received_at = picture.received;
        hub.on_frame(
            &Received { frame: picture.picture.into_frame(), writer: WriterId(writer), received_at },
            Instant::now(),
        );
    }
}
