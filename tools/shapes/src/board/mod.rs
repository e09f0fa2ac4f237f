//! A board with shapes of our own, which are published, and shapes that are received.

mod received;
mod settings;

use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, ensure};
use dunlin::qos::TopicQos;
use dunlin::{DataWriter, DomainParticipant, Publisher};
use received::Subscription;
use serde::Serialize;
pub use settings::{Settings, TOPICS};

use crate::motion::Motion;
use crate::types::ShapeType;

/// Publications and subscriptions at one time.
const MAX_ENTRIES: usize = 64;
/// The longest name of a colour.
const MAX_COLOR: usize = 128;

struct Publication {
    id: u32,
    publisher: Publisher,
    writer: DataWriter<ShapeType>,
    motion: Motion,
    shape: ShapeType,
    settings: Settings,
    written: u64,
}

#[derive(Default)]
struct State {
    last_id: u32,
    publications: Vec<Publication>,
    subscriptions: Vec<Subscription>,
}

/// Shapes that are published and received.
pub struct Board {
    participant: DomainParticipant,
    state: Mutex<State>,
}

/// A shape to be drawn.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Shape {
    /// Square, Circle, Triangle or another topic.
    pub topic: String,
    /// The key.
    pub color: String,
    /// Where it is and was, the newest last.
    pub trail: Vec<(i32, i32)>,
    /// Width and height.
    pub size: i32,
    /// It is published here.
    pub own: bool,
    /// `alive`, `disposed`, or `no writers`.
    pub state: &'static str,
    /// The publication or subscription.
    pub id: u32,
}

/// A publication or subscription in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Entry {
    /// For [`Board::remove`].
    pub id: u32,
    /// Whether it publishes.
    pub publishes: bool,
    /// Name of the topic.
    pub topic: String,
    /// The colour of a publication.
    pub color: String,
    /// Its QoS.
    pub summary: String,
    /// Matched readers or writers.
    pub matched: usize,
    /// Samples written or received.
    pub samples: u64,
    /// What is wrong, such as a policy that does not fit; else empty.
    pub problem: String,
}

/// What there is to see.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct View {
    /// The domain.
    pub domain: u32,
    /// What is drawn: received shapes first, so that our own lie above them.
    pub shapes: Vec<Shape>,
    /// What there is.
    pub entries: Vec<Entry>,
}

impl Board {
    /// An empty board in the domain of `participant`.
    #[must_use]
    pub fn new(participant: DomainParticipant) -> Self {
        Self { participant, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes a shape that moves.
    ///
    /// # Errors
    /// What cannot be published so.
    pub fn publish(&self, topic: &str, color: &str, size: i32, settings: Settings) -> Result<u32> {
        settings.check()?;
        ensure!((1..=MAX_COLOR).contains(&color.len()), "a colour has 1 to {MAX_COLOR} bytes");
        ensure!((1..=200).contains(&size), "a size is 1 to 200");
        let described = self.participant.create_topic::<ShapeType>(topic, &TopicQos::default())?;
        let publisher = self.participant.create_publisher(&settings.publisher())?;
        let writer = publisher.create_datawriter(&described, &settings.writer())?;
        let shape = ShapeType { color: color.to_owned(), shapesize: size, ..ShapeType::default() };
        let mut state = self.lock();
        let id = state.next_id()?;
        let motion = Motion::random();
        state.publications.push(Publication { id, publisher, writer, motion, shape, settings, written: 0 });
        Ok(id)
    }

    /// Subscribes to a topic.
    ///
    /// # Errors
    /// What cannot be subscribed to so.
    pub fn subscribe(&self, topic: &str, settings: Settings) -> Result<u32> {
        settings.check()?;
        let id = self.lock().next_id()?;
        let subscription = Subscription::new(&self.participant, id, topic, settings)?;
        self.lock().subscriptions.push(subscription);
        Ok(id)
    }

    /// Removes a publication, whose shape is disposed, or a subscription.
    ///
    /// # Errors
    /// When there is none of this number.
    pub fn remove(&self, id: u32) -> Result<()> {
        let mut state = self.lock();
        if let Some(at) = state.publications.iter().position(|publication| publication.id == id) {
            let Publication { publisher, writer, shape, .. } = state.publications.remove(at);
            drop(state);
            writer.dispose(&shape)?;
            publisher.delete_datawriter(&writer)?;
            return Ok(());
        }
        let at = state.subscriptions.iter().position(|subscription| subscription.id == id);
        let at = at.context("there is no such publication or subscription")?;
        let removed = state.subscriptions.remove(at);
        drop(state);
        drop(removed);
        Ok(())
    }

    /// Moves and writes our shapes, and takes what was received.
    pub fn tick(&self) {
        let mut state = self.lock();
        for Publication { writer, motion, shape, written, .. } in &mut state.publications {
            motion.step(shape.shapesize / 2);
            (shape.x, shape.y) = (motion.x, motion.y);
            // A full history means that readers are slow: the next place counts.
            *written += u64::from(writer.write(shape).is_ok());
        }
        state.subscriptions.iter_mut().for_each(Subscription::take);
    }

    /// What there is to see now.
    #[must_use]
    pub fn view(&self) -> View {
        let state = self.lock();
        let received = state.subscriptions.iter().flat_map(Subscription::shapes);
        let own = state.publications.iter().map(Publication::shape);
        let publications = state.publications.iter().map(Publication::entry);
        let entries = publications.chain(state.subscriptions.iter().map(Subscription::entry));
        View {
            domain: self.participant.domain_id(),
            shapes: received.chain(own).collect(),
            entries: entries.collect(),
        }
    }
}

impl State {
    fn next_id(&mut self) -> Result<u32> {
        let entries = self.publications.len() + self.subscriptions.len();
        ensure!(entries < MAX_ENTRIES, "there are {MAX_ENTRIES} publications and subscriptions already");
        self.last_id += 1;
        Ok(self.last_id)
    }
}

impl Publication {
    fn shape(&self) -> Shape {
        Shape {
            topic: self.writer.topic_name().to_owned(),
            color: self.shape.color.clone(),
            trail: vec![(self.shape.x, self.shape.y)],
            size: self.shape.shapesize,
            own: true,
            state: "alive",
            id: self.id,
        }
    }

    fn entry(&self) -> Entry {
        let status = self.writer.offered_incompatible_qos_status();
        Entry {
            id: self.id,
            publishes: true,
            topic: self.writer.topic_name().to_owned(),
            color: self.shape.color.clone(),
            summary: self.settings.summary(),
            matched: self.writer.matched_subscriptions().len(),
            samples: self.written,
            problem: received::problem(&status),
        }
    }
}
