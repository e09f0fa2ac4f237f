//! RTPS 2.5 §8.4.9.1, best-effort: finding out whether datagrams of several frames reach readers that never say what they miss, see
//! `readers::long_datagram_path`.

use dunlin_buf::Outbox;
use dunlin_core::{Behaviour, Guid, MonoTime};
use dunlin_wire::{EchoRequest, MessageBuilder, size};

use super::Writer;
use super::readers::{Question, ReaderProxy};
use super::transmission::{FRAMES_MOST, filling};

/// Octets of a question behind data, and where it goes.
const QUESTION: usize = size::INFO_DST + size::ECHO_REQUEST;

impl Writer {
    /// A reader was added, or its locators have changed: nothing is known of the way to it.
    pub(super) fn begin_long_datagram_path(&mut self, reader: Guid) {
        let local = reader.prefix == self.cfg.guid.prefix;
        let answers = |proxy: &ReaderProxy| !proxy.reliable && proxy.cfg.vendor.does(Behaviour::SpeaksDunlin);
        if self.cfg.paths.is_some() && !local && self.readers.by_guid(reader).is_some_and(answers) {
            self.long_datagram_paths.begin(reader);
        }
    }

    /// A large change is about to leave in frames: readers whose way is not known are tried when it is time.
    pub(super) fn try_long_datagram_paths(&mut self, now: MonoTime, out: &mut Outbox) {
        if !self.may_join_frames() {
            return;
        }
        let octets = filling(self.cfg.max_message_size, FRAMES_MOST);
        let (framing, writer_id) = (&self.framing, self.cfg.guid.entity_id);
        for (reader, path) in self.long_datagram_paths.iter_mut() {
            let Some(proxy) = self.readers.by_guid(reader) else { continue };
            if path.question(now) != Question::Trial {
                continue;
            }
            let (short, long) = path.tried(now, octets);
            for (count, octets) in [(short, 0), (long, octets)] {
                let mut message = framing.begin(out);
                message.info_dst(reader.prefix);
                message.echo_request(&EchoRequest { reader_id: reader.entity_id, writer_id, count });
                let room = octets.saturating_sub(message.len().saturating_add(size::SUBMESSAGE_HEADER));
                if room > 0 {
                    message.pad(room & !3);
                }
                message.finish(proxy.directed());
            }
        }
    }

    /// The last datagram of a large change asks one of those readers whether it arrives, when it is time; it may have so many octets.
    pub(super) fn check_long_datagram_path(
        &mut self,
        now: MonoTime,
        message: &mut MessageBuilder<'_>,
        longest: usize,
    ) {
        if message.len().saturating_add(QUESTION) > longest {
            return;
        }
        let writer_id = self.cfg.guid.entity_id;
        let asked = self.long_datagram_paths.iter_mut().find_map(|(reader, path)| {
            (path.question(now) == Question::Check).then(|| (reader, path.checked(now)))
        });
        let Some((reader, count)) = asked else { return };
        message.info_dst(reader.prefix);
        message.echo_request(&EchoRequest { reader_id: reader.entity_id, writer_id, count });
    }

    /// So many octets of new data have left in frames or in several.
    pub(super) fn note_long_datagram_paths(&mut self, octets: u64) {
        self.long_datagram_paths.iter_mut().for_each(|(_, path)| path.sent(octets));
    }
}
