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
