//! Where frames and browsers meet.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde::Serialize;

use super::camera::{Camera, CameraStatus};
use super::packet::Packet;
use super::queue::PacketQueue;
use super::transcode;
use super::{Publisher, Received};
use crate::frame::Encoding;
use crate::stats::Durations;

/// Cameras that are remembered; frames of further ones are left out.
const MAX_CAMERAS: usize = 256;
/// Octets that are kept of all cameras for browsers that come later: whoever writes to the topic makes up cameras as he likes.
const MAX_KEPT: usize = 256 << 20;
/// The longest name of a camera, in octets.
const MAX_NAME: usize = 256;

/// What a client can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// H.264 and JPEG.
    Native,
    /// JPEG only.
    Jpeg,
}

impl Mode {
    /// Whether frames of this coding go to the client as they are.
    #[must_use]
    pub fn shows(self, encoding: Encoding) -> bool {
        match encoding {
            Encoding::Mjpeg => true,
            Encoding::H264 => self == Mode::Native,
            _ => false,
        }
    }
}

/// All cameras, all clients.
#[derive(Default)]
pub struct Hub {
    state: Mutex<State>,
    only: Option<String>,
}

#[derive(Default)]
struct State {
    cameras: BTreeMap<String, Camera>,
    clients: Vec<Client>,
    next_client: u64,
    publishers: Vec<Publisher>,
    left_out: u64,
    /// Cameras whose frames are made into JPEG images, and the queue of the thread that does it.
    transcoders: BTreeMap<String, Arc<PacketQueue>>,
}

struct Client {
    id: u64,
    /// `None` until there is a camera.
    camera: Option<String>,
    mode: Mode,
    queue: Arc<PacketQueue>,
}

/// The place of one client; it is given up when this is dropped.
pub struct Subscription {
    hub: Arc<Hub>,
    id: u64,
    /// Frames for the client.
    pub queue: Arc<PacketQueue>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.queue.close();
        self.hub.lock().clients.retain(|client| client.id != self.id);
    }
}

impl Subscription {
    /// The camera that the client gets, once there is one.
    #[must_use]
    pub fn camera(&self) -> Option<String> {
        let state = self.hub.lock();
        state.clients.iter().find(|client| client.id == self.id).and_then(|client| client.camera.clone())
    }
}

/// What the page shows of everything.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Cameras that sent frames, by name.
    pub cameras: Vec<CameraStatus>,
    /// Publishers found by discovery.
    pub publishers: Vec<Publisher>,
    /// Browsers connected.
    pub clients: usize,
    /// Frames of cameras beyond those that are remembered.
    pub left_out: u64,
}

/// Totals over all cameras.
pub struct Totals {
    /// Frames received.
    pub received: u64,
    /// Frames lost.
    pub lost: u64,
    /// Capture to reception.
    pub latency: Durations,
}

impl Hub {
    /// A hub for all cameras, or for `only` one.
    #[must_use]
    pub fn new(only: Option<String>) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), only })
    }

    /// Takes a frame to whoever wants it; returns whether it is one of those to be shown.
    pub fn on_frame(self: &Arc<Self>, received: &Received, now: Instant) -> bool {
        let id = received.frame.camera_id.as_str();
        if self.only.as_deref().is_some_and(|only| only != id) {
            return false;
        }
        let mut state = self.lock();
        if !state.cameras.contains_key(id) {
            if state.cameras.len() >= MAX_CAMERAS || id.len() > MAX_NAME {
                state.left_out += 1;
                return false;
            }
            state.cameras.insert(id.to_owned(), Camera::default());
        }
        let Some(packet) = state.cameras.get_mut(id).and_then(|camera| camera.on_frame(received, now)) else {
            return false;
        };
        state.keep_in_bounds();
        for client in &mut state.clients {
            client.camera.get_or_insert_with(|| id.to_owned());
        }
        state.deliver(id, &packet, |mode| mode.shows(packet.encoding));
        if let Some(queue) = state.transcoders.get(id) {
            queue.push(packet);
        } else {
            self.transcode_if_wanted(&mut state, id);
        }
        true
    }

    /// Takes a frame that was made into a JPEG image to the clients that need it so.
    pub fn on_jpeg(&self, camera: &str, source: Encoding, packet: &Packet) {
        self.lock().deliver(camera, packet, |mode| !mode.shows(source));
    }

    /// A new client for `camera`, or for the first one there is.
    #[must_use]
    pub fn subscribe(self: &Arc<Self>, camera: Option<&str>, mode: Mode) -> Subscription {
        let mut state = self.lock();
        let camera = camera.map(str::to_owned).or_else(|| state.first_camera());
        let queue = Arc::new(PacketQueue::default());
        let known = camera.as_ref().and_then(|id| state.cameras.get(id));
        if let Some(known) = known.filter(|known| mode.shows(known.encoding)) {
            for packet in known.group() {
                queue.push(packet.kept(Instant::now()));
            }
        }
        let id = state.next_client;
        state.next_client += 1;
        state.clients.push(Client { id, camera: camera.clone(), mode, queue: queue.clone() });
        if let Some(camera) = camera {
            self.transcode_if_wanted(&mut state, &camera);
        }
        Subscription { hub: self.clone(), id, queue }
    }

    /// Ends a second of statistics; `publishers` is what discovery knows now.
    pub fn tick(&self, publishers: Vec<Publisher>, now: Instant) {
        let mut state = self.lock();
        state.publishers = publishers;
        for (id, camera) in &mut state.cameras {
            camera.tick(id, now);
        }
    }

    /// Octets that are kept for browsers that come later.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.lock().kept()
    }

    /// What is known of everything.
    #[must_use]
    pub fn status(&self) -> Status {
        let state = self.lock();
        Status {
            cameras: state.cameras.values().map(|camera| camera.status.clone()).collect(),
            publishers: state.publishers.clone(),
            clients: state.clients.len(),
            left_out: state.left_out,
        }
    }

    /// Totals over all cameras.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut totals = Totals { received: 0, lost: 0, latency: Durations::new() };
        for camera in self.lock().cameras.values() {
            let (received, lost) = camera.counts();
            totals.received += received;
            totals.lost = totals.lost.saturating_add(lost);
            camera.add_latencies(&mut totals.latency);
        }
        totals
    }

    /// Whether a client needs JPEG images made of this camera's frames. When not, its thread is forgotten.
    #[must_use]
    pub fn keep_transcoding(&self, camera: &str, queue: &Arc<PacketQueue>) -> bool {
        let mut state = self.lock();
        let wanted = state.wants_transcoding(camera);
        if !wanted && state.transcoders.get(camera).is_some_and(|known| Arc::ptr_eq(known, queue)) {
            state.transcoders.remove(camera);
        }
        wanted
    }

    fn transcode_if_wanted(self: &Arc<Self>, state: &mut State, id: &str) {
        if state.transcoders.contains_key(id) || !state.wants_transcoding(id) {
            return;
        }
        let queue = Arc::new(PacketQueue::default());
        for packet in state.cameras.get(id).map_or(&[][..], |camera| camera.group()) {
            queue.push(packet.kept(Instant::now()));
        }
        if transcode::start(self.clone(), id.to_owned(), queue.clone()) {
            state.transcoders.insert(id.to_owned(), queue);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn kept(&self) -> usize {
        self.cameras.values().map(Camera::group_bytes).sum()
    }

    /// Forgets what takes most as long as it is too much altogether.
    fn keep_in_bounds(&mut self) {
        while self.kept() > MAX_KEPT {
            let Some(largest) = self.cameras.values_mut().max_by_key(|camera| camera.group_bytes()) else {
                return;
            };
            largest.forget_group();
        }
    }

    fn deliver(&self, camera: &str, packet: &Packet, to: impl Fn(Mode) -> bool) {
        for client in &self.clients {
            if client.camera.as_deref() == Some(camera) && to(client.mode) {
                client.queue.push(packet.clone());
            }
        }
    }

    /// The first camera that is live, else the first at all.
    fn first_camera(&self) -> Option<String> {
        let live = self.cameras.iter().find(|(_, camera)| camera.status.live);
        live.or_else(|| self.cameras.iter().next()).map(|(id, _)| id.clone())
    }

    fn wants_transcoding(&self, id: &str) -> bool {
        let Some(encoding) = self.cameras.get(id).map(|camera| camera.encoding) else {
            return false;
        };
        let wants = |client: &Client| client.camera.as_deref() == Some(id) && !client.mode.shows(encoding);
        transcode::possible(encoding) && self.clients.iter().any(wants)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::frame::Frame;
    use crate::view::WriterId;

    fn received(camera: &str, number: u64, encoding: Encoding) -> Received {
        let frame = Frame {
            camera_id: camera.to_owned(),
            number,
            encoding,
            key: number.is_multiple_of(5),
            width: 4,
            height: 2,
            payload: vec![50; 8],
            ..Frame::default()
        };
        Received { frame, writer: WriterId([1; 16]), received_at: 0 }
    }

    fn drain(subscription: &Subscription) -> usize {
        std::iter::from_fn(|| subscription.queue.try_pop()).count()
    }

    #[test]
    fn a_client_gets_its_camera_from_the_last_key_frame_on() {
        let hub = Hub::new(None);
        for number in 0..8 {
            hub.on_frame(&received("a", number, Encoding::H264), Instant::now());
            hub.on_frame(&received("b", number, Encoding::H264), Instant::now());
        }
        let client = hub.subscribe(Some("b"), Mode::Native);
        assert_eq!(drain(&client), 3, "frames 5, 6 and 7");
        hub.on_frame(&received("a", 8, Encoding::H264), Instant::now());
        hub.on_frame(&received("b", 8, Encoding::H264), Instant::now());
        assert_eq!(drain(&client), 1);
        assert_eq!(hub.status().clients, 1);
        drop(client);
        assert_eq!(hub.status().clients, 0);
    }

    #[test]
    fn a_client_without_a_choice_gets_the_first_camera_that_comes() {
        let hub = Hub::new(None);
        let client = hub.subscribe(None, Mode::Native);
        assert_eq!(client.camera(), None);
        hub.on_frame(&received("late", 0, Encoding::Mjpeg), Instant::now());
        hub.on_frame(&received("later", 0, Encoding::Mjpeg), Instant::now());
        assert_eq!((client.camera().as_deref(), drain(&client)), (Some("late"), 1));
    }

    #[test]
    fn raw_pictures_come_as_jpeg() {
        let hub = Hub::new(None);
        let client = hub.subscribe(None, Mode::Native);
        hub.on_frame(&received("a", 0, Encoding::RawGray8), Instant::now());
        let packet = client.queue.wait(Duration::from_secs(20)).expect("a JPEG image");
        assert_eq!((packet.encoding, &packet.payload()[..2]), (Encoding::Mjpeg, &[0xFF, 0xD8][..]));
    }

    #[test]
    fn hub_with_a_camera_filter_ignores_other_cameras() {
        let hub = Hub::new(Some("a".to_owned()));
        assert!(hub.on_frame(&received("a", 0, Encoding::Mjpeg), Instant::now()));
        assert!(!hub.on_frame(&received("b", 0, Encoding::Mjpeg), Instant::now()));
        assert_eq!(hub.totals().received, 1);
    }

    #[test]
    fn memory_for_cameras_is_bounded() {
        let hub = Hub::new(None);
        for i in 0..MAX_CAMERAS + 10 {
            hub.on_frame(&received(&i.to_string(), 0, Encoding::Mjpeg), Instant::now());
        }
        hub.on_frame(&received(&"x".repeat(MAX_NAME + 1), 0, Encoding::Mjpeg), Instant::now());
        hub.tick(Vec::new(), Instant::now());
        let status = hub.status();
        assert_eq!((status.cameras.len(), status.left_out), (MAX_CAMERAS, 11));
    }
}
