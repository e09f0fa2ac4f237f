//! RTPS 2.5 §8.4.9.2 "pushing": the exchange of ECHO_REQUEST and ECHO that clocks the window between Dunlin peers, see
//! [`super::transmission`].

use dunlin_buf::Outbox;
use dunlin_core::{Behaviour, EntityId, Guid, GuidPrefix, Misbehaviour, MonoTime, Now};
use dunlin_wire::{Echo, EchoRequest, Heartbeat};

use super::Writer;
use super::readers::ReaderProxy;
use crate::WriterHistory;
use crate::proxy_index::ProxyIndex;

impl Writer {
    /// Whether a reader takes part in the exchange that clocks the window.
    pub(super) fn has_window(&self, proxy: &ReaderProxy) -> bool {
        // What does not leave the process fills no buffer.
        let local = proxy.guid().prefix == self.cfg.guid.prefix;
        self.cfg.window > 0 && proxy.reliable && proxy.cfg.vendor.does(Behaviour::SpeaksDunlin) && !local
    }

    /// What was sent up to an ECHO_REQUEST has been taken from the reader's socket. False when it is not the answer to a
    /// request of this writer, or a repetition.
    pub fn on_echo(&mut self, now: Now, source_prefix: GuidPrefix, echo: &Echo) -> bool {
        let Some(index) = self.readers.find(Guid::new(source_prefix, echo.reader_id)) else {
            self.refused = Some(Misbehaviour::NotMatched);
            return false;
        };
        if let Some(path) = self.long_datagram_paths.get_mut(Guid::new(source_prefix, echo.reader_id)) {
            if !path.answered(now.mono, echo.count) {
                self.refused = Some(Misbehaviour::UnaskedEcho);
            }
            return false;
        }
        let room = self.room_in_socket(index, echo.room);
        let window = self.transmission.window();
        let answer =
            self.readers.get_mut(index).and_then(|proxy| window.answered(now.mono, proxy, echo, room));
        let Some(answer) = answer else {
            self.refused = Some(Misbehaviour::UnaskedEcho);
            return false;
        };
        self.stats.echoes_received = self.stats.echoes_received.saturating_add(1);
        if answer.moves {
            self.transmission.survey(&self.readers);
        }
        answer.news
    }

    /// What counts of the room that a reader has in its socket, if it says something new about it: on a network there may be
    /// less on the way.
    fn room_in_socket(&self, index: ProxyIndex, told: u32) -> Option<u64> {
        let proxy = self.readers.get(index)?;
        proxy.flow.as_ref().filter(|flow| flow.is_news(told))?;
        let room = u64::from(told).min(self.cfg.window_limit as u64);
        Some(if self.are_sockets_of_host(proxy.directed()) { room } else { 0 })
    }

    /// Asks for an ECHO if half of the window was sent since the last question, or if readers that were given up have not
    /// been asked for long; `next` octets are still to follow.
    pub(super) fn ask_if_due(
        &mut self,
        now: MonoTime,
        next: usize,
        history: &dyn WriterHistory,
        out: &mut Outbox,
    ) {
        if self.transmission.window().is_question_due(now, next) {
            self.ask_for_echo(now, history, out);
        }
    }

    /// The next request, which leaves now.
    pub(super) fn echo_request(&mut self, now: MonoTime) -> EchoRequest {
        self.stats.echoes_requested = self.stats.echoes_requested.saturating_add(1);
        self.transmission.window_mut().request(now, self.cfg.guid.entity_id)
    }

    /// Asks all readers to say that they took what was sent so far, and tells them how far that is, so that they request
    /// at once what they miss of it.
    pub(super) fn ask_for_echo(&mut self, now: MonoTime, history: &dyn WriterHistory, out: &mut Outbox) {
        let pushed = self.transmission.pushed();
        let heartbeat = (!self.announcements.only_ask())
            .then(|| Heartbeat { final_flag: true, ..self.announce(EntityId::UNKNOWN, pushed, history) });
        let fragments = self.heartbeat_frag(now, pushed.next());
        let request = self.echo_request(now);
        let mut message = self.framing.begin(out);
        if let Some(heartbeat) = &heartbeat {
            message.heartbeat(heartbeat);
        }
        if let Some(fragments) = fragments {
            message.heartbeat_frag(&fragments);
        }
        message.echo_request(&request);
        message.finish(self.readers.routes());
    }
}
