//! Where a verified participant is believed to receive, and from where it is believed to speak. RTPS 2.5 §8.5.3.2 lets anybody
//! announce any locator in any name; see `docs/hostile-input.md` for why that is not enough here.

use alloc::{boxed::Box, sync::Arc, vec::Vec};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use dunlin_core::{Duration, Locator, LocatorKind, MonoTime};

use crate::{
    config::{Locators, SourcePorts},
    goodbye::Latest,
};

/// Most addresses beside the announced ones from which a participant is believed to speak.
const MAX_HEARD_AT: usize = 8;
/// A participant is asked at a new place again after this time, and then after twice as long each time.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// So often a participant is asked at a new place because of one announcement.
const MOST_QUESTIONS: u32 = 5;
/// What comes from where a participant was so long after it is said to have moved shows that it has not.
const ON_THE_WAY: Duration = Duration::from_millis(500);
/// An announcement that proves nothing for so long makes room for another one.
const TRIAL: Duration = Duration::from_secs(3);
/// A new place is sent at most so many times the octets that named it.
const MOST_PER_OCTET: usize = 3;

/// Whether anybody can name this place, and write it as the source of what he sends, without having it: not so where a path has
/// to be opened first.
pub(crate) fn is_judged(locator: &Locator) -> bool {
    matches!(locator.kind, LocatorKind::UDP_V4 | LocatorKind::UDP_V6)
}

fn address(locator: &Locator) -> Option<IpAddr> {
    locator.ip().filter(|_| is_judged(locator)).map(|ip| ip.to_canonical())
}

/// The addresses of these places, each once, in no more memory than they take: there is one such list for each participant.
fn compact<'a>(places: impl Iterator<Item = &'a Locator>) -> Vec<IpAddr> {
    let mut addresses: Vec<IpAddr> = places.filter_map(address).collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses.shrink_to_fit();
    addresses
}

/// What a socket of this host speaks from to another one by way of loopback. One that is bound to another address of 127.0.0.0/8 is
/// announced.
fn is_localhost(ip: IpAddr) -> bool {
    ip == IpAddr::V4(Ipv4Addr::LOCALHOST) || ip == IpAddr::V6(Ipv6Addr::LOCALHOST)
}

/// The addresses from which a participant is believed to speak, and the ports if they can be told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sources {
    addresses: Arc<[IpAddr]>,
    same_host: bool,
    ports: SourcePorts,
}

impl Sources {
    /// Whether what came from there can be of the participant.
    #[must_use]
    pub fn admit(&self, from: &Locator) -> bool {
        let Some(ip) = address(from) else { return true };
        let is_port = self.ports == SourcePorts::default() || is_one_of(&self.ports, from);
        is_port && (self.addresses.contains(&ip) || (self.same_host && is_localhost(ip)))
    }
}

fn is_one_of(ports: &SourcePorts, from: &Locator) -> bool {
    ports.iter().any(|port| *port != 0 && u32::from(*port) == from.port)
}

/// What is known of the places of a participant.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// From where its announcement came.
    named_from: Option<IpAddr>,
    /// Where it has shown that it receives.
    proven: Vec<IpAddr>,
    /// From where it says that it speaks.
    announced: Vec<IpAddr>,
    /// From where else it has shown that it does.
    heard_at: Vec<IpAddr>,
    /// Whether it has shown that it speaks from a port that it announces: nothing on the way writes another one.
    keeps_ports: bool,
    sources: Sources,
    /// Its places that are not proven.
    pub(crate) trial: Option<Box<Trial>>,
    /// It is not asked at new places before that because of one more announcement.
    rests_until: MonoTime,
    /// Who claims to be it from elsewhere, and for which of the SEDP writers that fits.
    suspect: Option<(IpAddr, [bool; 2])>,
    /// It is asked no earlier whether it speaks from elsewhere.
    ask_after: MonoTime,
    ask_wait: Duration,
}

impl Places {
    /// The participant was verified by what came from `from`, as a whole.
    pub(crate) fn verified(&mut self, announced: &Locators, from: &Locator, ports: &SourcePorts) {
        self.proven = compact(announced.metatraffic_unicast.iter());
        self.says(announced);
        self.speaks_from(from, ports);
    }

    /// What is announced of it came from there.
    pub(crate) fn named_from(&mut self, from: &Locator) {
        self.named_from = address(from);
    }

    /// Whether what came from there can be of who announced these locators: it has named the place, or spoke from there.
    pub(crate) fn is_named_by(
        &self,
        from: &Locator,
        announced: &Locators,
        same_host: bool,
        own: &Locators,
    ) -> bool {
        let Some(ip) = address(from) else { return true };
        let named = |locators: &Locators| locators.unicast().filter_map(address).any(|known| known == ip);
        self.named_from == Some(ip) || named(announced) || (same_host && (is_localhost(ip) || named(own)))
    }

    /// Takes note of what it announces itself.
    pub(crate) fn says(&mut self, announced: &Locators) {
        self.announced = compact(announced.unicast());
    }

    /// It has shown that it speaks from there, and has announced these ports. A router may write other ones.
    pub(crate) fn speaks_from(&mut self, from: &Locator, ports: &SourcePorts) {
        let Some(ip) = address(from) else { return };
        self.keeps_ports = is_one_of(ports, from);
        if self.announced.contains(&ip) {
            return;
        }
        self.heard_at.retain(|known| *known != ip);
        if self.heard_at.len() >= MAX_HEARD_AT {
            self.heard_at.remove(0);
        }
        self.heard_at.push(ip);
    }

    /// It is no longer where it was.
    pub(crate) fn moved(&mut self) {
        self.heard_at.clear();
    }

    /// It has shown that it receives there.
    pub(crate) fn receives_at(&mut self, place: &Locator) {
        self.proven.extend(address(place).filter(|ip| !self.proven.contains(ip)));
    }

    pub(crate) fn is_proven(&self, place: &Locator) -> bool {
        address(place).is_none_or(|ip| self.proven.contains(&ip))
    }

    /// Forgets what it has shown of places that it does not announce any more.
    pub(crate) fn retain_proven(&mut self, announced: &Locators) {
        let named = |ip: &IpAddr| announced.metatraffic_unicast.iter().any(|it| address(it) == Some(*ip));
        self.proven.retain(named);
    }

    pub(crate) const fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Brings the sources up to date; the new ones if they have changed.
    pub(crate) fn survey(
        &mut self,
        same_host: bool,
        own: &Locators,
        (direct, ports): (&[Locator], SourcePorts),
    ) -> Option<Sources> {
        let of_host = own.unicast().filter(|_| same_host).chain(direct).filter_map(address);
        let mut addresses: Vec<IpAddr> = self.announced.iter().chain(&self.heard_at).copied().collect();
        addresses.extend(of_host);
        addresses.sort_unstable();
        addresses.dedup();
        let ports = if self.keeps_ports { ports } else { SourcePorts::default() };
        let sources = Sources { addresses: addresses.into(), same_host, ports };
        if self.sources == sources {
            return None;
        }
        self.sources = sources;
        Some(self.sources.clone())
    }

    /// It is asked at new places now.
    pub(crate) fn note_asked(&mut self, now: MonoTime) {
        self.rests_until = now.plus(FIRST_WAIT);
    }

    /// When it is to be asked at new places that were named, unless that is known already: anybody can make announcements as fast as
    /// the network carries them, but not questions.
    pub(crate) fn when_to_ask(&mut self, now: MonoTime) -> Option<MonoTime> {
        let trial = self.trial.as_mut().filter(|trial| trial.next.is_none())?;
        let at = now.max(self.rests_until);
        trial.next = Some(at);
        Some(at)
    }

    /// Whether the participant may be asked now whether it speaks from elsewhere: less and less often.
    pub(crate) fn may_ask(&mut self, now: MonoTime) -> bool {
        if now < self.ask_after {
            return false;
        }
        let longest = Duration::from_secs(4);
        self.ask_wait = self.ask_wait.max(Duration::from_millis(100)).times(2).min(longest);
        self.ask_after = now.plus(self.ask_wait);
        true
    }

    /// An ACKNACK for one of the SEDP writers came from elsewhere; true once those for both fit. A wrong one costs the right one
    /// before it.
    pub(crate) fn suspect(&mut self, from: &Locator, writer: usize, fits: bool) -> bool {
        let Some(ip) = address(from) else { return false };
        let before = self.suspect.filter(|(known, _)| *known == ip).map(|(_, right)| right);
        let mut right = before.unwrap_or_default();
        if let Some(right) = right.get_mut(writer) {
            *right = true;
        }
        self.suspect = Some((ip, if fits { right } else { [false; 2] }));
        if self.suspect != Some((ip, [true; 2])) {
            return false;
        }
        self.suspect = None;
        self.ask_wait = Duration::ZERO;
        true
    }
}

/// New places of a participant, until it has shown that it receives there.
#[derive(Debug)]
pub(crate) struct Trial {
    /// The announcement that named them, unless the participant is believed to have sent it: it came from elsewhere.
    pub(crate) claim: Option<(Box<[u8]>, Latest)>,
    /// From where it came.
    pub(crate) from: Locator,
    pub(crate) asked: Vec<Asked>,
    since: MonoTime,
    questions: u32,
    wait: Duration,
    pub(crate) next: Option<MonoTime>,
    heard: usize,
    sent: usize,
}

/// A new place, and what only who receives there can know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) place: Locator,
    pub(crate) nonce: i32,
    pub(crate) answered: bool,
}

impl Trial {
    pub(crate) const fn new(
        now: MonoTime,
        from: Locator,
        claim: Option<(Box<[u8]>, Latest)>,
        asked: Vec<Asked>,
    ) -> Self {
        Self { claim, from, asked, since: now, questions: 0, wait: FIRST_WAIT, next: None, heard: 0, sent: 0 }
    }

    /// Whether another announcement may take the place of this one.
    pub(crate) fn is_stale(&self, now: MonoTime) -> bool {
        now >= self.end()
    }

    /// What is not decided until then is not believed for the time being.
    pub(crate) fn end(&self) -> MonoTime {
        self.since.plus(TRIAL)
    }

    /// The announcement, or one like it, was heard with so many octets. What was not believed is asked about once more.
    pub(crate) fn hear(&mut self, now: MonoTime, octets: usize) {
        self.heard = self.heard.saturating_add(octets);
        if self.claim.is_some() && self.next.is_none() && self.is_stale(now) {
            (self.since, self.questions, self.wait) = (now, 0, FIRST_WAIT);
        }
    }

    /// Something came from there in the name of a participant that cannot answer questions of ours.
    pub(crate) fn came_from(&mut self, from: &Locator) {
        let same = |asked: &&mut Asked| address(&asked.place).is_some_and(|ip| Some(ip) == address(from));
        self.asked.iter_mut().filter(same).for_each(|asked| asked.answered = true);
    }

    /// Takes an answer; whether it is one.
    pub(crate) fn answer(&mut self, nonce: i32) -> bool {
        let Some(asked) = self.asked.iter_mut().find(|asked| asked.nonce == nonce) else { return false };
        asked.answered = true;
        true
    }

    /// Whether the next question comes with the announcement: the second one, so that the first ones cost little, and those that
    /// answer another announcement each.
    pub(crate) const fn introduces(&self) -> bool {
        self.questions == 1 || self.questions >= MOST_QUESTIONS
    }

    /// Where to ask now with a message of so many octets; they count as sent.
    pub(crate) fn ask(&mut self, now: MonoTime, octets: usize) -> Vec<Asked> {
        let credit = self.heard.saturating_mul(MOST_PER_OCTET).saturating_sub(self.sent);
        let affordable = credit.checked_div(octets).unwrap_or(0);
        let open = self.asked.iter().filter(|asked| !asked.answered);
        let asked: Vec<Asked> = open.take(affordable).copied().collect();
        self.sent = self.sent.saturating_add(octets.saturating_mul(asked.len()));
        self.questions = self.questions.saturating_add(1);
        self.next = (self.questions < MOST_QUESTIONS).then(|| now.plus(self.wait));
        self.wait = self.wait.times(2);
        asked
    }

    /// Whether what was announced may be taken up: one of the places is proven, and the participant has named it itself, or has not
    /// answered from where it was although it was asked there as often.
    pub(crate) fn is_won(&self, heard: MonoTime) -> bool {
        let silent = self.questions >= MOST_QUESTIONS && heard <= self.since.plus(ON_THE_WAY);
        (self.claim.is_none() || silent) && self.asked.iter().any(|asked| asked.answered)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use dunlin_core::SequenceNumber;

    use super::*;

    fn at(n: u8) -> Locator {
        Locator::udp_v4(Ipv4Addr::new(10, 0, 0, n), 7410)
    }

    fn ms(n: u64) -> MonoTime {
        MonoTime(n * 1_000_000)
    }

    fn announced(places: &[u8]) -> Locators {
        let places: Vec<Locator> = places.iter().map(|n| at(*n)).collect();
        Locators { metatraffic_unicast: places.clone(), default_unicast: places, ..Locators::default() }
    }

    fn trial(claim: bool) -> Trial {
        let latest = Latest::new(ms(0), SequenceNumber(1), None);
        let asked = |n| Asked { place: at(n), nonce: i32::from(n), answered: false };
        Trial::new(ms(0), at(9), claim.then(|| (Box::from([1].as_slice()), latest)), vec![asked(1), asked(2)])
    }

    /// Asks until no time for another question is set; the times in milliseconds.
    fn ask_to_the_end(trial: &mut Trial, start: u64) -> Vec<u64> {
        let mut times = vec![start];
        trial.ask(ms(start), 10);
        while let Some(next) = trial.next {
            times.push(next.0 / 1_000_000);
            trial.ask(next, 10);
        }
        times
    }

    #[test]
    fn a_participant_speaks_from_where_it_says_and_where_it_was_verified() {
        let mut places = Places::default();
        places.verified(&announced(&[1, 2]), &at(3), &[0; 4]);
        let sources = places.survey(false, &announced(&[7]), (&[], [0; 4])).expect("they are news");
        let admitted = |sources: &Sources| (1..8).filter(|n| sources.admit(&at(*n))).collect::<Vec<_>>();
        assert_eq!(admitted(&sources), [1, 2, 3]);
        assert!(places.survey(false, &announced(&[7]), (&[], [0; 4])).is_none(), "they have not changed");
        let loopback = Locator::udp_v4(Ipv4Addr::LOCALHOST, 1);
        assert!(!sources.admit(&loopback) && sources.admit(&Locator::LOCAL));
        assert!(
            sources.admit(&Locator::shared_memory([1; 8], 2)),
            "a path that was opened shows who is there"
        );
        let of_host = places.survey(true, &announced(&[7]), (&[], [0; 4])).expect("it is on this host");
        let another = Locator::udp_v4(Ipv4Addr::new(127, 0, 0, 66), 1);
        assert!(!of_host.admit(&another), "anybody of this host may be there");
        assert!(of_host.admit(&loopback) && admitted(&of_host) == [1, 2, 3, 7]);
        (20..40).for_each(|n| places.speaks_from(&at(n), &[0; 4]));
        assert!(places.heard_at.len() == MAX_HEARD_AT && places.heard_at.contains(&at(39).ip().unwrap()));
    }

    #[test]
    fn ports_are_compared_once_one_of_them_was_seen() {
        let (here, ports) = (Locator { port: 5_001, ..at(1) }, [5_000, 5_001, 0, 0]);
        let admitted = |places: &mut Places, of_places: &[u8]| {
            places.survey(true, &announced(of_places), (&[], ports)).expect("they are news")
        };
        let mut places = Places::default();
        places.verified(&announced(&[1]), &here, &ports);
        let sources = admitted(&mut places, &[7]);
        let from = |ip: u8, port: u32| Locator { port, ..at(ip) };
        assert!(
            sources.admit(&from(1, 5_000))
                && sources.admit(&from(1, 5_001))
                && sources.admit(&from(7, 5_000))
        );
        assert!(!sources.admit(&at(1)) && !sources.admit(&from(1, 0)) && !sources.admit(&from(2, 5_000)));
        let loopback = |port| Locator::udp_v4(Ipv4Addr::LOCALHOST, port);
        assert!(sources.admit(&loopback(5_000)) && !sources.admit(&loopback(5_002)), "of the same host");
        assert!(sources.admit(&Locator::shared_memory([1; 8], 2)), "a path that was opened");
        places.speaks_from(&at(1), &ports);
        let sources = admitted(&mut places, &[7]);
        assert!(sources.admit(&at(1)) && sources.admit(&from(1, 9)), "something on the way writes others");
        let mut translated = Places::default();
        translated.verified(&announced(&[1]), &at(1), &ports);
        assert!(admitted(&mut translated, &[7]).admit(&from(1, 9)), "the same from the start");
    }

    #[test]
    fn a_moved_participant_needs_two_matching_sequence_numbers_in_a_row() {
        let mut places = Places::default();
        assert!(!places.suspect(&at(1), 0, true) && !places.suspect(&at(1), 0, true));
        assert!(!places.suspect(&at(1), 1, false), "a wrong one costs the right one");
        assert!(!places.suspect(&at(1), 1, true) && !places.suspect(&at(2), 0, true), "somebody else");
        assert!(!places.suspect(&at(1), 1, true) && places.suspect(&at(1), 0, true));
    }

    #[test]
    fn questions_become_rare() {
        let mut places = Places::default();
        let asked: Vec<u64> = (0..30_000).filter(|n| places.may_ask(ms(*n))).collect();
        assert_eq!(asked[..6], [0, 200, 600, 1_400, 3_000, 6_200]);
        assert_eq!(asked.len(), 11);
    }

    #[test]
    fn an_unverified_address_gets_at_most_three_times_what_announced_it() {
        let mut trial = trial(false);
        assert_eq!(trial.ask(ms(0), 10).len(), 0);
        trial.hear(ms(0), 10);
        assert_eq!(
            (trial.ask(ms(1), 10).len(), trial.ask(ms(2), 10).len(), trial.ask(ms(3), 10).len()),
            (2, 1, 0)
        );
        assert!(!trial.is_won(ms(0)) && !trial.answer(7) && trial.answer(2) && trial.is_won(ms(4)));
    }

    #[test]
    fn a_new_address_is_accepted_when_the_old_one_does_not_answer() {
        let mut trial = trial(true);
        trial.hear(ms(0), 1_000);
        assert!(trial.answer(1) && !trial.is_won(ms(0)), "it was not asked yet");
        assert_eq!(ask_to_the_end(&mut trial, 0), [0, 100, 300, 700, 1_500]);
        assert!(trial.is_won(ms(400)) && !trial.is_won(ms(600)), "what was under way, and an answer");
        trial.hear(ms(60_000), 1);
        assert!(!trial.is_won(ms(600)), "it has to be asked once more");
        assert_eq!(ask_to_the_end(&mut trial, 60_000).len(), 5);
        assert!(!trial.is_won(ms(60_600)) && trial.is_won(ms(60_400)));
    }
}
