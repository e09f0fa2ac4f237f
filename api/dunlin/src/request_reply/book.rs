//! Which requests wait, and the replies that have come to them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use dunlin::{
    Activity, AnyDataWriter, DataReader, DdsType, Duration, InstanceHandle, Sample, SampleIdentity,
    SequenceNumber, WaitForError,
};

use super::{RequestError, lock};

/// A reply to a request.
#[derive(Clone, Debug)]
pub struct Reply<A> {
    /// What was replied.
    pub data: A,
    /// The request.
    pub request: SampleIdentity,
    /// The writer of the replier.
    pub replier: InstanceHandle,
}

/// What became of requests and replies; counts wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct RequesterStats {
    /// Requests that wait for replies, or whose replies wait to be taken.
    pub outstanding: usize,
    /// Replies to requests that nobody waits for any more.
    pub late: u32,
    /// Replies to a request that had [so many](super::Service::max_replies) waiting already.
    pub dropped: u32,
}

/// What all handles of a requester and its requests share.
pub(super) struct Book<A> {
    state: Mutex<State<A>>,
    pub(super) activity: Activity,
    max_outstanding: usize,
    max_replies: usize,
}

struct State<A> {
    waiting: BTreeMap<SequenceNumber, VecDeque<Reply<A>>>,
    /// Of each request that is being written, the highest number that was known when that began: its own is above.
    sending: Vec<SequenceNumber>,
    highest: SequenceNumber,
    /// Replies that came meanwhile, perhaps to one of those.
    early: Vec<(SequenceNumber, Reply<A>)>,
    stats: RequesterStats,
}

impl<A> Book<A> {
    pub(super) fn new(max_outstanding: usize, max_replies: usize) -> Self {
        let state = State {
            waiting: BTreeMap::new(),
            sending: Vec::new(),
            highest: SequenceNumber::ZERO,
            early: Vec::new(),
            stats: RequesterStats::default(),
        };
        Self { state: Mutex::new(state), activity: Activity::new(), max_outstanding, max_replies }
    }

    pub(super) fn stats(&self) -> RequesterStats {
        let state = lock(&self.state);
        RequesterStats { outstanding: state.waiting.len() + state.sending.len(), ..state.stats }
    }

    /// A request is about to be written.
    pub(super) fn begin(self: &Arc<Self>) -> Result<Sending<A>, RequestError> {
        let mut state = lock(&self.state);
        if state.waiting.len() + state.sending.len() >= self.max_outstanding {
            return Err(RequestError::TooManyOutstanding(self.max_outstanding));
        }
        let above = state.highest;
        state.sending.push(above);
        Ok(Sending { book: Arc::clone(self), above })
    }

    /// Files a reply with its request.
    pub(super) fn file(&self, reply: Reply<A>) {
        let mut state = lock(&self.state);
        let state = &mut *state;
        let number = reply.request.sequence_number;
        let room = state.early.len() < self.max_outstanding.saturating_mul(self.max_replies);
        let early = room && state.may_come(number);
        match state.waiting.get_mut(&number) {
            Some(replies) if replies.len() < self.max_replies => replies.push_back(reply),
            Some(_) => state.stats.dropped = state.stats.dropped.wrapping_add(1),
            None if early => state.early.push((number, reply)),
            None => state.stats.late = state.stats.late.wrapping_add(1),
        }
    }
}

/// A request that is being written, or whose writing was given up.
pub(super) struct Sending<A> {
    book: Arc<Book<A>>,
    /// The highest number before its own that is known.
    above: SequenceNumber,
}

impl<A> State<A> {
    /// Whether a request that is being written may have this number.
    fn may_come(&self, number: SequenceNumber) -> bool {
        self.sending.iter().any(|above| number > *above)
    }
}

impl<A> Sending<A> {
    /// It has this number: replies to it are filed from now on.
    pub(super) fn written(&self, number: SequenceNumber) {
        let mut state = lock(&self.book.state);
        let state = &mut *state;
        state.highest = state.highest.max(number);
        let replies = state.waiting.entry(number).or_default();
        let of_this = state.early.extract_if(.., |(early, _)| *early == number);
        replies.extend(of_this.map(|(_, reply)| reply).take(self.book.max_replies));
    }
}

impl<A> Drop for Sending<A> {
    fn drop(&mut self) {
        let mut state = lock(&self.book.state);
        if let Some(at) = state.sending.iter().position(|above| *above == self.above) {
            state.sending.swap_remove(at);
        }
        let mut early = std::mem::take(&mut state.early);
        let before = early.len();
        early.retain(|(number, _)| state.may_come(*number));
        let late = u32::try_from(before - early.len()).unwrap_or(u32::MAX);
        state.early = early;
        state.stats.late = state.stats.late.wrapping_add(late);
    }
}

/// A request that was sent. Dropping it cancels the wait: replies that come later are dropped. The repliers do not
/// hear of that.
pub struct PendingRequest<A: DdsType> {
    pub(super) book: Arc<Book<A>>,
    pub(super) id: SampleIdentity,
    /// The endpoints stay as long as anything is waited for.
    pub(super) reader: DataReader<A>,
    pub(super) _writer: AnyDataWriter,
}

impl<A: DdsType> std::fmt::Debug for PendingRequest<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PendingRequest({:?})", self.id)
    }
}

impl<A: DdsType> PendingRequest<A> {
    /// Which request this is.
    #[must_use]
    pub fn id(&self) -> SampleIdentity {
        self.id
    }

    /// The next reply, if one has come.
    #[must_use]
    pub fn take_reply(&self) -> Option<Reply<A>> {
        lock(&self.book.state).waiting.get_mut(&self.id.sequence_number)?.pop_front()
    }

    /// Waits for the next reply. Call it again for those of other repliers.
    ///
    /// # Errors
    /// [`RequestError::Wait`]: not in time; the reader of replies was deleted; or, as of other calls that wait, not on this
    /// thread.
    pub fn wait(&self, max_wait: Duration) -> Result<Reply<A>, RequestError> {
        let mut found = None;
        let activities = [&self.book.activity, &self.reader.activity()];
        self.reader.subscriber().participant().wait_until(&activities, max_wait, || {
            found = found.take().or_else(|| self.take_reply());
            found.is_some() || self.reader.is_deleted()
        })?;
        found.ok_or_else(|| WaitForError::AlreadyDeleted.into())
    }

    /// [`wait`](Self::wait) for async code, on any executor and without a time-out: dropping the future gives up.
    ///
    /// # Errors
    /// [`RequestError::Wait`]: the reader of replies was deleted.
    pub fn wait_async(&self) -> impl Future<Output = Result<Reply<A>, RequestError>> {
        let activities = [self.book.activity.clone(), self.reader.activity()];
        Activity::until(activities, || match self.take_reply() {
            None if self.reader.is_deleted() => Some(Err(WaitForError::AlreadyDeleted.into())),
            reply => reply.map(Ok),
        })
    }
}

impl<A: DdsType> Drop for PendingRequest<A> {
    fn drop(&mut self) {
        lock(&self.book.state).waiting.remove(&self.id.sequence_number);
    }
}

/// A sample of the topic of replies as a reply to one of this requester's requests.
pub(super) fn reply_of<A>(sample: Sample<A>) -> Option<Reply<A>> {
    let replier = sample.info.publication_handle;
    Some(Reply { data: sample.data?, request: sample.info.related_sample?, replier })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(number: i64, data: u8) -> Reply<u8> {
        let request = SampleIdentity { sequence_number: SequenceNumber(number), ..SampleIdentity::default() };
        Reply { data, request, replier: InstanceHandle::NIL }
    }

    fn waiting(book: &Book<u8>, number: i64) -> Vec<u8> {
        let state = lock(&book.state);
        state.waiting.get(&SequenceNumber(number)).into_iter().flatten().map(|reply| reply.data).collect()
    }

    #[test]
    fn replies_that_overtake_the_end_of_the_write_find_their_request() {
        let book = Arc::new(Book::new(3, 2));
        let (one, two) = (book.begin().unwrap(), book.begin().unwrap());
        book.file(reply(2, 20));
        two.written(SequenceNumber(2));
        drop(two);
        book.file(reply(1, 10));
        book.file(reply(2, 21));
        book.file(reply(2, 22));
        one.written(SequenceNumber(1));
        drop(one);
        assert_eq!((waiting(&book, 1), waiting(&book, 2)), (vec![10], vec![20, 21]));
        assert_eq!((book.stats().outstanding, book.stats().dropped, book.stats().late), (2, 1, 0));
        book.file(reply(7, 70));
        assert_eq!(book.stats().late, 1);
        let third = book.begin().unwrap();
        assert!(matches!(book.begin(), Err(RequestError::TooManyOutstanding(3))));
        book.file(reply(8, 80));
        // It was not written after all.
        drop(third);
        assert_eq!((book.stats().outstanding, book.stats().late), (2, 2));
        assert!(lock(&book.state).early.is_empty());
    }

    /// Requests that overlap without end: what comes for those that were given up does not fill the room for early replies.
    #[test]
    fn late_replies_are_forgotten_while_others_are_being_written() {
        let book = Arc::new(Book::new(2, 1));
        let mut sending = book.begin().unwrap();
        for number in 1..100 {
            let next = book.begin().unwrap();
            sending.written(SequenceNumber(number));
            lock(&book.state).waiting.clear();
            sending = next;
            book.file(reply(number, 0));
            assert!(lock(&book.state).early.len() <= 1);
        }
        book.file(reply(100, 7));
        sending.written(SequenceNumber(100));
        assert_eq!(waiting(&book, 100), [7]);
        let without_bound = Book::new(usize::MAX, usize::MAX);
        without_bound.file(reply(1, 0));
        assert_eq!(without_bound.stats().late, 1);
    }
}
