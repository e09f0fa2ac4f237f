//! Filtering by content at the reader (DDS 1.4 §2.2.2.3.3 ContentFilteredTopic; RTPS 2.5 §8.7.3).

use alloc::sync::Arc;

use dunlin_cdr::DecodeOptions;
use dunlin_discovery::ContentFilterProperty;
use dunlin_filter::{Filter, Verdict};
use dunlin_rtps::{ChangeKind, Received};
use dunlin_wire::params::content_filter_passed;

/// The filter of a reader of a content-filtered topic: what it announces and what it does.
#[derive(Clone, Debug)]
pub struct ContentFilter {
    property: Arc<ContentFilterProperty>,
    signature: [u8; 16],
    filter: Filter,
    revision: u32,
}

impl ContentFilter {
    /// A filter that is announced as `property`. Of two filters for one reader the one with the higher revision is in
    /// force, whichever is set last.
    #[must_use]
    pub fn new(property: ContentFilterProperty, filter: Filter, revision: u32) -> Self {
        Self { signature: property.signature(), property: Arc::new(property), filter, revision }
    }

    /// What is announced.
    #[must_use]
    pub fn property(&self) -> &Arc<ContentFilterProperty> {
        &self.property
    }

    pub(crate) const fn is_newer_than(&self, other: &Self) -> bool {
        self.revision.wrapping_sub(other.revision).cast_signed() > 0
    }

    /// What becomes of a change; `known` says whether the reader knows its instance.
    ///
    /// The end of a known instance always passes: the reader saw it begin. Of an unknown one it passes if the key alone
    /// shows that samples of it would.
    pub(crate) fn decide(&self, change: &Received<'_>, options: DecodeOptions, known: bool) -> Verdict {
        let payload = change.payload.as_deref();
        if change.kind != ChangeKind::Alive {
            return match payload {
                _ if known => Verdict::Passed,
                Some(key) if change.key_only && self.filter.is_about_key() => {
                    self.filter.check_key(key, options)
                }
                Some(sample) if !change.key_only => self.filter.check(sample, options),
                _ => Verdict::Rejected,
            };
        }
        // Without data the change only carries inline QoS.
        let Some(sample) = payload.filter(|_| !change.key_only) else { return Verdict::Passed };
        let inline_qos = change.inline_qos.as_ref();
        match inline_qos.and_then(|list| content_filter_passed(list, &self.signature)) {
            Some(true) => Verdict::Passed,
            Some(false) => Verdict::Rejected,
            None => self.filter.check(sample, options),
        }
    }
}

/// What became of the changes that a content filter looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ContentFilterStats {
    /// They satisfied the filter.
    pub passed: usize,
    /// They did not.
    pub rejected: usize,
    /// What the filter asks for could not be read from them; they did not pass.
    pub unreadable: usize,
    /// They did not arrive, because their writers found that they did not satisfy it, or came too soon for the
    /// TIME_BASED_FILTER, as far as these have said so.
    pub at_writer: u64,
}

impl ContentFilterStats {
    pub(crate) fn count(&mut self, verdict: Verdict) {
        let counter = match verdict {
            Verdict::Passed => &mut self.passed,
            Verdict::Rejected => &mut self.rejected,
            Verdict::Unreadable => &mut self.unreadable,
        };
        *counter = counter.wrapping_add(1);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use alloc::{string::String, vec::Vec};

    use Verdict::{Passed, Rejected, Unreadable};
    use dunlin_buf::SharedBytes;
    use dunlin_cdr::{DdsType, Representation, key_payload, to_payload};
    use dunlin_core::{Guid, Identities, SequenceNumber};
    use dunlin_wire::{Endianness, ParameterList, ParameterListBuilder, pid};

    use super::*;

    #[derive(DdsType)]
    struct Sample {
        #[dds(key)]
        id: i32,
        value: i32,
    }

    fn filter(expression: &str) -> ContentFilter {
        let property = ContentFilterProperty {
            content_filtered_topic_name: "Some".into(),
            related_topic_name: "All".into(),
            filter_class_name: ContentFilterProperty::SQL.into(),
            filter_expression: expression.into(),
            expression_parameters: Vec::new(),
        };
        ContentFilter::new(property, Filter::new::<Sample>(expression, &[] as &[String]).unwrap(), 0)
    }

    fn change(kind: ChangeKind, id: i32, value: Option<i32>) -> Received<'static> {
        let mut payload = Vec::new();
        match value {
            Some(value) => to_payload(&Sample { id, value }, Representation::Xcdr1, &mut payload).unwrap(),
            None => key_payload(&Sample { id, value: 0 }, Representation::Xcdr1, &mut payload).unwrap(),
        }
        Received {
            writer: Guid::UNKNOWN,
            sn: SequenceNumber(1),
            kind,
            key_hash: None,
            source_timestamp: None,
            payload: Some(SharedBytes::from(payload)),
            key_only: value.is_none(),
            inline_qos: None,
            identities: Identities::default(),
            reassembled: false,
        }
    }

    #[test]
    fn a_disposal_passes_the_filter_for_readers_that_know_the_instance() {
        let decide = |expression, change: &Received<'_>, known| {
            filter(expression).decide(change, DecodeOptions::default(), known)
        };
        for kind in [ChangeKind::Disposed, ChangeKind::Unregistered, ChangeKind::DisposedUnregistered] {
            let end = change(kind, 1, None);
            assert_eq!(decide("value = 1", &end, true), Passed);
            assert_eq!(decide("value = 1", &end, false), Rejected);
            assert_eq!((decide("id = 1", &end, false), decide("id = 2", &end, false)), (Passed, Rejected));
            assert_eq!(decide("", &end, false), Passed);
            let with_sample = change(kind, 1, Some(1));
            assert_eq!(decide("value = 1", &with_sample, false), Passed);
            let hash_only = Received { payload: None, ..change(kind, 1, None) };
            assert_eq!(
                (decide("id = 1", &hash_only, false), decide("id = 2", &hash_only, true)),
                (Rejected, Passed)
            );
        }
        let broken = Received {
            payload: Some(SharedBytes::copy_from(&[0, 1, 0, 0, 5])),
            ..change(ChangeKind::Alive, 1, Some(1))
        };
        assert_eq!(decide("value = 1", &broken, true), Unreadable);
        let no_data = Received { payload: None, ..change(ChangeKind::Alive, 1, Some(1)) };
        assert_eq!(decide("value = 1", &no_data, false), Passed);
    }

    #[test]
    fn the_content_filter_info_of_the_same_filter_is_used() {
        let filter = filter("value = 1");
        let list = |signature: [u8; 16], bits: u32| {
            let mut list = ParameterListBuilder::with_endianness(Endianness::Little);
            list.put_with(pid::CONTENT_FILTER_INFO, |out| {
                out.length(1);
                out.u32(bits);
                out.length(2);
                out.bytes(&[7; 16]);
                out.bytes(&signature);
            });
            list.finish()
        };
        let decide = |value, octets: &[u8]| {
            let (parsed, _) = ParameterList::parse(octets, Endianness::Little).unwrap();
            let change = Received { inline_qos: Some(parsed), ..change(ChangeKind::Alive, 1, Some(value)) };
            filter.decide(&change, DecodeOptions::default(), true)
        };
        assert_eq!(decide(1, &list(filter.signature, 0x8000_0000)), Rejected);
        assert_eq!(decide(2, &list(filter.signature, 0x4000_0000)), Passed);
        for bits in [0, 0xffff_ffff] {
            assert_eq!(
                (decide(1, &list([8; 16], bits)), decide(2, &list([8; 16], bits))),
                (Passed, Rejected)
            );
        }
        assert_eq!(decide(1, &[1, 0, 0, 0]), Passed);
    }

    #[test]
    fn the_later_revision_wins() {
        let at = |revision| ContentFilter { revision, ..filter("") };
        assert!(at(1).is_newer_than(&at(0)) && at(0).is_newer_than(&at(u32::MAX)));
        assert!(!at(1).is_newer_than(&at(1)) && !at(1).is_newer_than(&at(2)));
    }
}
