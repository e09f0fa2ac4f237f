//! What one monitor gets.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use dunlin::qos::{DataRepresentationId, DataWriterQos, PublisherQos};
use dunlin::{DataWriter, DomainParticipant, Topic};

use super::quota::Bucket;
use crate::archive::{Archive, Cursor, Picture, Step};
use crate::messages::{EarlierPicture, partition_of};

/// A monitor that is silent for so long has gone.
const LEASE: Duration = Duration::from_secs(10);
/// Pictures that wait for a monitor; for a slower one the oldest goes.
const DEPTH: i32 = 64;
/// A longer gap in a recording is passed over.
const GAP: i64 = 2_000_000_000;
/// When the end of what is recorded was reached: until somebody looks again.
const AGAIN: Duration = Duration::from_millis(100);
/// After a picture that had to wait for the quota.
const WAIT: Duration = Duration::from_millis(5);

/// What a turn gave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// A picture of so many octets was sent.
    Sent(usize),
    /// A picture waits for the quota.
    HeldUp,
    /// Nothing was due.
    Nothing,
}

pub(super) struct Session {
    pub(super) number: u32,
    monitor: String,
    cursor: Cursor,
    speed: f64,
    bucket: Bucket,
    writer: DataWriter<EarlierPicture>,
    heard: Instant,
    /// A reception, and when it is shown.
    base: (i64, Instant),
    next: Option<Picture>,
    due: Instant,
    is_held_up: bool,
}

/// What a monitor has asked for.
pub(super) struct Wanted {
    pub(super) monitor: String,
    pub(super) session: u32,
    pub(super) camera: String,
    pub(super) from: i64,
    pub(super) speed: f64,
}

fn writer_of(
    participant: &DomainParticipant,
    topic: &Topic<EarlierPicture>,
    monitor: &str,
) -> Result<DataWriter<EarlierPicture>> {
    let publisher =
        participant.create_publisher(&PublisherQos::default().partition([partition_of(monitor)]))?;
    // XCDR1 is what every other vendor reads. It keeps the latest pictures, so that it waits for nobody, and a monitor that is found
    // behind a router after the first pictures were sent gets them, too.
    let qos = DataWriterQos::default().reliable().transient_local().keep_last(DEPTH);
    let qos = qos.representation(&[DataRepresentationId::Xcdr1]);
    publisher.create_datawriter(topic, &qos).context("cannot make the writer for a monitor")
}

impl Session {
    pub(super) fn begin(
        participant: &DomainParticipant,
        topic: &Topic<EarlierPicture>,
        archive: &mut Archive,
        (wanted, bucket): (Wanted, Bucket),
        now: Instant,
    ) -> Result<Self> {
        let writer = writer_of(participant, topic, &wanted.monitor)?;
        let cursor = Cursor::at(archive, &wanted.camera, wanted.from)?;
        Ok(Self {
            number: wanted.session,
            monitor: wanted.monitor,
            cursor,
            speed: wanted.speed,
            bucket,
            writer,
            heard: now,
            base: (wanted.from, now),
            next: None,
            due: now,
            is_held_up: false,
        })
    }

    /// The same monitor wants something else: its reader has found the writer already.
    pub(super) fn go_on(&mut self, archive: &mut Archive, wanted: &Wanted, now: Instant) -> Result<()> {
        self.cursor = Cursor::at(archive, &wanted.camera, wanted.from)?;
        (self.number, self.speed) = (wanted.session, wanted.speed);
        (self.base, self.next, self.due, self.heard) = ((wanted.from, now), None, now, now);
        Ok(())
    }

    /// What is left of the quota.
    pub(super) const fn bucket(&self) -> Bucket {
        self.bucket
    }

    pub(super) fn renew(&mut self, now: Instant) {
        self.heard = now;
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.heard) > LEASE
    }

    /// When it wants its next turn.
    pub(super) const fn due(&self) -> Instant {
        self.due
    }

    /// Sends the next picture if it is due; reads at most one chunk.
    ///
    /// # Errors
    /// When a chunk cannot be read, or nothing can be written any more.
    pub(super) fn turn(&mut self, archive: &mut Archive, now: Instant) -> Result<Turn> {
        // Until its reader is there, nothing would arrive.
        if self.writer.matched_subscriptions().is_empty() {
            self.base.1 = now;
            self.due = now + WAIT;
            return Ok(Turn::Nothing);
        }
        let picture = match self.next.take() {
            Some(picture) => picture,
            None => match self.cursor.step(archive)? {
                Step::Picture(picture) => *picture,
                Step::Further => return Ok(Turn::Nothing),
                Step::End => {
                    self.due = now + AGAIN;
                    return Ok(Turn::Nothing);
                }
            },
        };
        self.due = self.when(picture.received, now);
        if self.due > now {
            self.next = Some(picture);
            return Ok(Turn::Nothing);
        }
        self.send(picture, now)
    }

    /// When a picture is to be sent. Gaps are passed over, and what could not be sent in time is not caught up with.
    fn when(&mut self, received: i64, now: Instant) -> Instant {
        let after = received.saturating_sub(self.base.0);
        if after <= 0 {
            return now;
        }
        let due = self.base.1 + Duration::from_secs_f64(after as f64 / 1e9 / self.speed);
        let gap = i64::try_from(due.saturating_duration_since(now).as_nanos()).unwrap_or(i64::MAX);
        let late = now.saturating_duration_since(due) > Duration::from_nanos(GAP.unsigned_abs());
        if late || gap as f64 * self.speed > GAP as f64 {
            self.base = (received, now);
            return now;
        }
        due
    }

    fn send(&mut self, picture: Picture, now: Instant) -> Result<Turn> {
        let octets = picture.frame.payload.len();
        if !self.bucket.take(octets as f64, now) {
            let first = !std::mem::replace(&mut self.is_held_up, true);
            (self.next, self.due) = (Some(picture), now + WAIT);
            return Ok(if first { Turn::HeldUp } else { Turn::Nothing });
        }
        self.is_held_up = false;
        let Picture { received, frame } = picture;
        let (monitor, session) = (self.monitor.clone(), self.number);
        let sample = EarlierPicture { monitor, session, received, picture: frame };
        self.writer.write(&sample).context("cannot write a picture")?;
        Ok(Turn::Sent(octets))
    }
}
