//! One browser: frames and status go out, choices and acknowledgements come in.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use super::hub::{Hub, Mode, Subscription};

/// Frames on the way to a browser that has not told yet that it has dealt with them. Without this limit a browser
/// that decodes too slowly would pile them up in its own memory.
const WINDOW: u64 = 24;
/// A browser that takes nothing for so long has gone.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest message from a browser, in octets.
pub const MAX_COMMAND: usize = 4096;

/// What a browser may ask for, as JSON; several members may come at once.
#[derive(Debug, Default, Deserialize, PartialEq, Eq)]
pub struct Command {
    /// Show this camera.
    camera: Option<String>,
    /// `native` for H.264 and JPEG, `jpeg` for JPEG only.
    mode: Option<String>,
    /// Frames dealt with since the connection began.
    ack: Option<u64>,
}

struct Session {
    hub: Arc<Hub>,
    subscription: Subscription,
    mode: Mode,
    sent: u64,
    acked: u64,
    /// Frames skipped in earlier subscriptions of this connection.
    skipped: u64,
}

/// Serves one browser until it goes.
pub async fn serve(socket: WebSocket, hub: Arc<Hub>) {
    let (mut out, mut commands) = socket.split();
    let mut session = Session::new(hub);
    // A browser knows what it will see before it sees it.
    let mut message = session.status();
    let second = Duration::from_secs(1);
    let mut seconds = interval_at(Instant::now() + second, second);
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        match timeout(PATIENCE, out.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return,
        }
        message = loop {
            let may_send = session.sent - session.acked < WINDOW;
            // Frames come last: a browser is heard however many frames there are.
            tokio::select! {
                biased;
                command = commands.next() => match command {
                    Some(Ok(Message::Text(text))) => {
                        if let Some(answer) = session.on_command(&text) {
                            break answer;
                        }
                    }
                    Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Binary(_))) => {}
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                },
                _ = seconds.tick() => break session.status(),
                packet = session.subscription.queue.next(), if may_send => {
                    session.sent += 1;
                    break Message::Binary(packet.message);
                }
            }
        };
    }
}

impl Session {
    fn new(hub: Arc<Hub>) -> Self {
        let mode = Mode::Native;
        let subscription = hub.subscribe(None, mode);
        Self { hub, subscription, mode, sent: 0, acked: 0, skipped: 0 }
    }

    /// Carries out a command; gives the message to send at once, if any.
    fn on_command(&mut self, text: &str) -> Option<Message> {
        let command: Command = serde_json::from_str(text).ok()?;
        if let Some(ack) = command.ack {
            self.acked = ack.clamp(self.acked, self.sent);
        }
        let mode = match command.mode.as_deref() {
            Some("native") => Mode::Native,
            Some("jpeg") => Mode::Jpeg,
            _ => self.mode,
        };
        if command.camera.is_none() && mode == self.mode {
            return None;
        }
        let camera = command.camera.or_else(|| self.subscription.camera());
        self.mode = mode;
        self.skipped += self.subscription.queue.skipped();
        self.subscription = self.hub.subscribe(camera.as_deref(), mode);
        // Tells where the frames of one choice end and those of the next begin.
        let text = json!({ "type": "switched", "camera": camera, "mode": command.mode }).to_string();
        Some(Message::Text(text.into()))
    }

    fn status(&self) -> Message {
        let text = json!({
            "type": "status",
            "camera": self.subscription.camera(),
            "skipped": self.skipped + self.subscription.queue.skipped(),
            "transcodes": cfg!(feature = "h264"),
            "hub": self.hub.status(),
        });
        Message::Text(text.to_string().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_stay_within_what_was_sent() {
        let mut session = Session::new(Hub::new(None));
        session.sent = 10;
        assert!(session.on_command(r#"{"ack":4}"#).is_none());
        assert_eq!(session.acked, 4);
        session.on_command(r#"{"ack":2}"#);
        assert_eq!(session.acked, 4);
        session.on_command(r#"{"ack":99}"#);
        assert_eq!(session.acked, 10);
    }

    #[test]
    fn a_choice_is_confirmed_and_rubbish_is_not() {
        let mut session = Session::new(Hub::new(None));
        assert!(session.on_command("rubbish").is_none());
        assert!(session.on_command(r#"{"mode":"native"}"#).is_none(), "no change");
        let Some(Message::Text(answer)) = session.on_command(r#"{"camera":"b","mode":"jpeg"}"#) else {
            panic!("no answer");
        };
        assert!(answer.contains(r#""camera":"b""#) && answer.contains("switched"));
        assert_eq!((session.mode, session.subscription.camera().as_deref()), (Mode::Jpeg, Some("b")));
    }
}
