//! Counters of writers and readers, which only grow, and what readers keep now. (RTPS 2.5 §8.4)

/// What a writer has done since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WriterStats {
    /// Changes sent for the first time.
    pub samples_sent: u64,
    /// DATA_FRAG submessages sent for the first time.
    pub fragments_sent: u64,
    /// Datagrams with new data, each counted once whatever the number of destinations.
    pub datagrams_sent: u64,
    /// Octets of those datagrams.
    pub octets_sent: u64,
    /// Changes too large for the wire (above 2^32-1 octets); they are announced as irrelevant.
    pub oversized: u64,
    /// HEARTBEAT submessages sent.
    pub heartbeats_sent: u64,
    /// HEARTBEAT_FRAG submessages sent.
    pub heartbeat_frags_sent: u64,
    /// GAP submessages sent.
    pub gaps_sent: u64,
    /// Whole changes sent again (or sent late) because a reader asked, or sent late because they came too soon for it.
    pub repairs_sent: u64,
    /// Changes that were not sent to a reader because of its filter or its minimum separation, counted for each such reader.
    pub samples_filtered: u64,
    /// Filters of readers that were evaluated on new changes: readers with the same filter share one evaluation.
    pub filters_evaluated: u64,
    /// Steps of some nanoseconds that evaluating filters took.
    pub filter_steps: u64,
    /// Filters of readers that took too many steps on a sample, and are not used any more: those readers get everything.
    pub filters_dropped: u64,
    /// Fragments sent again because a reader asked.
    pub repair_fragments_sent: u64,
    /// Octets of datagrams with repairs.
    pub repair_octets_sent: u64,
    /// Repairs that went by multicast to several readers at once.
    pub shared_repairs: u64,
    /// Times a repair had to wait for its budget or for the pacer.
    pub repairs_deferred: u64,
    /// Requests left out because the same change was just repaired.
    pub requests_suppressed: u64,
    /// ACKNACK submessages accepted.
    pub acknacks_received: u64,
    /// NACK_FRAG submessages accepted.
    pub nack_frags_received: u64,
    /// ACKNACK and NACK_FRAG submessages ignored: repeated, or from a reader that is not matched.
    pub requests_ignored: u64,
    /// Times new data had to wait for the pacer.
    pub paced: u64,
    /// Times new data had to wait for readers to take what was in flight.
    pub window_full: u64,
    /// ECHO_REQUEST submessages sent.
    pub echoes_requested: u64,
    /// Those of them that repeated one without an answer.
    pub window_probes: u64,
    /// ECHO submessages that said something new.
    pub echoes_received: u64,
    /// Times a reader was not waited for any more because it did not answer.
    pub readers_overdue: u64,
    /// Readers that are inactive now: what they do not acknowledge is not kept for them.
    pub readers_inactive: u64,
    /// Times a reader became inactive.
    pub readers_inactivated: u64,
    /// Changes removed that an inactive reader had not acknowledged, each counted once.
    pub released_unacknowledged: u64,
}

/// What a reader has done since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReaderStats {
    /// Changes the sink accepted.
    pub delivered: u64,
    /// Changes the sink rejected, counted at every offer.
    pub rejected: u64,
    /// Changes received more than once.
    pub duplicates: u64,
    /// Changes that came before by another way, and were dropped.
    pub copies: u64,
    /// Changes that can never be delivered.
    pub lost: u64,
    /// Changes that arrived before an earlier one and were kept.
    pub out_of_order: u64,
    /// Changes that arrived too far ahead and were not kept.
    pub out_of_order_dropped: u64,
    /// Changes directed at another reader.
    pub directed_elsewhere: u64,
    /// DATA, DATA_FRAG, HEARTBEAT, HEARTBEAT_FRAG and GAP submessages from writers that are not matched.
    pub unmatched: u64,
    /// Fragments put in place.
    pub fragments_received: u64,
    /// Fragments received more than once.
    pub duplicate_fragments: u64,
    /// DATA_FRAG submessages that contradict themselves or an earlier one.
    pub fragments_refused: u64,
    /// Changes put together from fragments.
    pub reassembled: u64,
    /// Partly received changes given up for want of room or because they were superseded.
    pub partials_evicted: u64,
    /// Changes larger than the reader takes.
    pub oversized: u64,
    /// HEARTBEAT submessages accepted.
    pub heartbeats_received: u64,
    /// HEARTBEAT and HEARTBEAT_FRAG submessages ignored because they are repeated or contradictory.
    pub heartbeats_ignored: u64,
    /// GAP submessages accepted.
    pub gaps_received: u64,
    /// Changes that writers said in GAPs to have filtered for this reader.
    pub filtered_at_writer: u64,
    /// ACKNACK submessages sent.
    pub acknacks_sent: u64,
    /// NACK_FRAG submessages sent.
    pub nack_frags_sent: u64,
    /// ECHO submessages sent.
    pub echoes_sent: u64,
    /// Changes kept now until the ones before them arrive.
    pub out_of_order_now: u64,
    /// Octets of those.
    pub out_of_order_octets: u64,
    /// Octets of changes in parts now.
    pub reassembly_octets: u64,
    /// Changes that a reader which orders by source timestamp refused, because theirs are too far in the future; they are among
    /// the lost ones of SAMPLE_LOST, not of `lost`.
    pub from_future: u64,
    /// Samples that a newer one of their instance replaced before anybody had seen them: KEEP_LAST is full, and the application
    /// slower than the writer.
    pub replaced_unseen: u64,
    /// Samples of other participants refused because this one keeps as many instances or octets as its quotas allow, counted at every
    /// offer; they are among those of SAMPLE_REJECTED.
    pub over_quota: u64,
}
