//! Several transports of one participant, used as one.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use dunlin_buf::{BufPool, Outbox, SharedBytes};
use dunlin_core::{Locator, Path};

use crate::{Channel, Lender, Locators, RecvMode, SendMode, SendReport, Transport, TransportStats};

/// Transports side by side. Each carries the locators that are its affair, so no two may carry the same ones. The first keeps the
/// names of its channels; those of the others are [`Channel::Added`].
pub struct Together {
    all: Vec<Arc<dyn Transport>>,
    channels: Vec<Channel>,
    /// Whose the added channels are, and what they are called there.
    added: Vec<(Arc<dyn Transport>, Channel)>,
}

impl Together {
    /// Puts transports together; `None` if there are none. One alone stays as it is.
    #[must_use]
    pub fn of(all: Vec<Arc<dyn Transport>>) -> Option<Arc<dyn Transport>> {
        let (first, others) = all.split_first()?;
        if others.is_empty() {
            return Some(Arc::clone(first));
        }
        let channels_of = |one: &Arc<dyn Transport>| {
            one.channels().iter().map(|channel| (Arc::clone(one), *channel)).collect()
        };
        let added: Vec<(Arc<dyn Transport>, Channel)> =
            others.iter().flat_map(channels_of as fn(&_) -> Vec<_>).collect();
        let numbers = (0..added.len()).filter_map(|number| u8::try_from(number).ok()).map(Channel::Added);
        let channels = first.channels().iter().copied().chain(numbers).collect();
        Some(Arc::new(Self { channels, added, all }))
    }

    fn first(&self) -> &dyn Transport {
        &*self.all[0]
    }

    fn carrier(&self, of: &Locator) -> Option<&Arc<dyn Transport>> {
        self.all.iter().find(|transport| transport.carries(of))
    }
}

impl Transport for Together {
    fn name(&self) -> &'static str {
        self.first().name()
    }

    fn carries(&self, locator: &Locator) -> bool {
        self.carrier(locator).is_some()
    }

    fn channels(&self) -> &[Channel] {
        &self.channels
    }

    fn send(&self, datagrams: &Outbox, mode: SendMode) -> SendReport {
        let mut report = SendReport::default();
        self.all.iter().for_each(|transport| report.add(transport.send(datagrams, mode)));
        // Each skips what the others carry; what nobody carries was skipped by all.
        let copies: usize = datagrams.datagrams().map(|datagram| datagram.destinations().len()).sum();
        report.skipped = report.skipped.saturating_sub(copies * (self.all.len() - 1));
        report
    }

    fn recv(
        &self,
        channel: Channel,
        mode: RecvMode,
        pool: &mut BufPool,
        out: &mut Vec<(SharedBytes, Locator)>,
    ) -> io::Result<()> {
        let Channel::Added(number) = channel else { return self.first().recv(channel, mode, pool, out) };
        let (transport, channel) = self.added.get(usize::from(number)).ok_or_else(crate::closed)?;
        transport.recv(*channel, mode, pool, out)
    }

    fn gathers(&self) -> bool {
        self.first().gathers()
    }

    fn wait(
        &self,
        channels: &[Channel],
        ready: &mut Vec<Channel>,
        patience: Option<Duration>,
    ) -> io::Result<()> {
        self.first().wait(channels, ready, patience)
    }

    fn shutdown(&self) {
        self.all.iter().for_each(|transport| transport.shutdown());
    }

    fn locators(&self) -> Locators {
        let mut locators = Locators::default();
        for one in self.all.iter().map(|transport| transport.locators()) {
            locators.metatraffic_unicast.extend(one.metatraffic_unicast);
            locators.metatraffic_multicast.extend(one.metatraffic_multicast);
            locators.default_unicast.extend(one.default_unicast);
            locators.default_multicast.extend(one.default_multicast);
        }
        locators
    }

    fn source_ports(&self) -> Vec<u16> {
        self.all.iter().flat_map(|transport| transport.source_ports()).collect()
    }

    fn announce_to(&self) -> Vec<Locator> {
        self.all.iter().flat_map(|transport| transport.announce_to()).collect()
    }

    /// That of the one that carries least: a change has fragments of one size, whichever way they take.
    fn max_message_size(&self) -> usize {
        self.all.iter().map(|transport| transport.max_message_size()).min().unwrap_or(0)
    }

    fn path(&self, to: &Locator) -> Path {
        self.carrier(to).map_or(Path::unknown(to.kind), |transport| transport.path(to))
    }

    /// That of the one with least, of those that know.
    fn receive_room(&self) -> usize {
        self.all.iter().map(|transport| transport.receive_room()).filter(|room| *room > 0).min().unwrap_or(0)
    }

    fn lender(&self, len: usize) -> Option<Box<dyn Lender>> {
        self.all.iter().find_map(|transport| transport.lender(len))
    }

    fn refresh(&self) -> bool {
        self.all.iter().fold(false, |changed, transport| transport.refresh() | changed)
    }

    fn opens(&self, to: &Locator) -> bool {
        self.carrier(to).is_some_and(|transport| transport.opens(to))
    }

    fn open_path(&self, to: &Locator) -> Result<(), String> {
        let carrier = self.carrier(to).ok_or_else(|| format!("no transport carries {:?}", to.kind))?;
        carrier.open_path(to)
    }

    fn close_path(&self, to: &Locator) {
        self.all.iter().for_each(|transport| transport.close_path(to));
    }

    fn lost(&self, to: &Locator) -> Option<String> {
        self.carrier(to)?.lost(to)
    }

    fn may_return(&self, to: &Locator) -> bool {
        self.carrier(to).is_some_and(|carrier| carrier.may_return(to))
    }

    fn notes(&self) -> Vec<String> {
        self.all.iter().flat_map(|transport| transport.notes()).collect()
    }

    fn warnings(&self) -> Vec<String> {
        self.all.iter().flat_map(|transport| transport.warnings()).collect()
    }

    fn troubles(&self) -> Vec<String> {
        self.all.iter().flat_map(|transport| transport.troubles()).collect()
    }

    fn stats(&self) -> TransportStats {
        self.all.iter().fold(TransportStats::default(), |sum, transport| sum.with(&transport.stats()))
    }
}

#[cfg(test)]
mod tests {
    use dunlin_core::LocatorKind;

    use super::*;
    use crate::conformance::{self, Pair};
    use crate::memory::MemoryNetwork;

    const OTHER: LocatorKind = LocatorKind(0x0244_4CFF);

    /// Another transport that is a network in memory under another kind of locator.
    struct Renamed(Arc<dyn Transport>);

    fn outwards(locator: &Locator) -> Locator {
        Locator { kind: OTHER, ..*locator }
    }

    fn inwards(locator: &Locator) -> Locator {
        Locator { kind: LocatorKind::UDP_V4, ..*locator }
    }

    impl Transport for Renamed {
        fn name(&self) -> &'static str {
            "renamed"
        }

        fn carries(&self, locator: &Locator) -> bool {
            locator.kind == OTHER
        }

        fn channels(&self) -> &[Channel] {
            &[Channel::Data, Channel::Meta]
        }

        fn send(&self, datagrams: &Outbox, mode: SendMode) -> SendReport {
            let mut report = SendReport::default();
            for datagram in datagrams.datagrams() {
                let mut bytes = Vec::new();
                datagram.copy_to(&mut bytes);
                for to in datagram.destinations() {
                    if self.carries(to) {
                        report.add(self.0.send(&conformance::single(&bytes, &[inwards(to)]), mode));
                    } else {
                        report.skipped += 1;
                    }
                }
            }
            report
        }

        fn recv(
            &self,
            channel: Channel,
            mode: RecvMode,
            pool: &mut BufPool,
            out: &mut Vec<(SharedBytes, Locator)>,
        ) -> io::Result<()> {
            let before = out.len();
            self.0.recv(channel, mode, pool, out)?;
            out.iter_mut().skip(before).for_each(|(_, from)| *from = outwards(from));
            Ok(())
        }

        fn shutdown(&self) {
            self.0.shutdown();
        }

        fn locators(&self) -> Locators {
            let inner = self.0.locators();
            let renamed = |list: Vec<Locator>| list.iter().map(outwards).collect();
            Locators {
                metatraffic_unicast: renamed(inner.metatraffic_unicast),
                default_unicast: renamed(inner.default_unicast),
                ..Locators::default()
            }
        }

        fn max_message_size(&self) -> usize {
            1_400
        }

        fn path(&self, to: &Locator) -> Path {
            Path { same_host: true, ..Path::unknown(to.kind) }
        }
    }

    fn pair() -> Pair {
        let (one, other) = (MemoryNetwork::new(), MemoryNetwork::new());
        let end = || Together::of(vec![one.attach(0), Arc::new(Renamed(other.attach(0)))]).unwrap();
        (end(), end())
    }

    #[test]
    fn combined_transports_conform() {
        conformance::run(&pair);
    }

    #[test]
    fn combined_transports_each_carry_their_own_locators() {
        let (a, b) = pair();
        let to = b.locators().default_unicast;
        assert_eq!((to.len(), a.max_message_size()), (2, 1_400));
        assert_eq!([a.path(&to[0]).same_host, a.path(&to[1]).same_host], [false, true]);
        let (data, added) = (
            conformance::Listener::start(&b, Channel::Data),
            conformance::Listener::start(&b, Channel::Added(0)),
        );
        let nobodys = Locator { kind: LocatorKind(7), ..to[0] };
        let report = a.send(&conformance::single(b"both", &[to[0], nobodys, to[1]]), SendMode::Blocking);
        assert_eq!(report, SendReport { sent: 2, skipped: 1, ..SendReport::default() });
        assert_eq!((&*data.next().0, &*added.next().0), (&b"both"[..], &b"both"[..]));
        data.expect_nothing_more();
        added.expect_nothing_more();
    }

    #[test]
    fn a_single_transport_is_not_wrapped() {
        let alone: Arc<dyn Transport> = MemoryNetwork::new().attach(0);
        assert!(Arc::ptr_eq(&Together::of(vec![Arc::clone(&alone)]).unwrap(), &alone));
        assert!(Together::of(Vec::new()).is_none());
    }
}
