//! ContentFilterProperty_t: RTPS 2.5 §9.6.3.4, what a reader of a content-filtered topic announces, so that writers may
//! filter for it; and the signature of §9.6.4.1 under which they say what came of it.

use alloc::{string::String, vec::Vec};

use dunlin_wire::{ParamReader, ParameterListBuilder, pid};
use md5::{Digest, Md5};

/// Most octets of an announced filter; a longer one is not remembered, which only means that the reader filters alone.
const MAX_OCTETS: usize = 32 * 1024;

/// A filter as it is announced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentFilterProperty {
    /// Name of the content-filtered topic.
    pub content_filtered_topic_name: String,
    /// Name of the topic whose samples are filtered.
    pub related_topic_name: String,
    /// The language of the expression.
    pub filter_class_name: String,
    /// The expression.
    pub filter_expression: String,
    /// Its parameters.
    pub expression_parameters: Vec<String>,
}

impl ContentFilterProperty {
    /// The class of the query language of DDS 1.4 Annex B.
    pub const SQL: &str = "DDSSQL";

    /// What names this filter in the inline QoS of samples: the MD5 digest of its strings, each with its NUL.
    #[must_use]
    pub fn signature(&self) -> [u8; 16] {
        let mut digest = Md5::new();
        for text in self.strings() {
            digest.update(text.as_bytes());
            digest.update([0]);
        }
        let mut signature = [0; 16];
        signature.iter_mut().zip(digest.finalize()).for_each(|(to, from)| *to = from);
        signature
    }

    /// Whether the filter is small enough to be announced.
    #[must_use]
    pub fn can_be_announced(&self) -> bool {
        // Each string has its length, NUL and padding.
        let octets =
            self.strings().fold(4usize, |sum, text| sum.saturating_add(text.len()).saturating_add(8));
        octets <= MAX_OCTETS && self.strings().all(|text| !text.contains('\0'))
    }

    fn strings(&self) -> impl Iterator<Item = &str> {
        let fixed = [
            &self.content_filtered_topic_name,
            &self.related_topic_name,
            &self.filter_class_name,
            &self.filter_expression,
        ];
        fixed.into_iter().chain(&self.expression_parameters).map(String::as_str)
    }

    pub(crate) fn put(&self, list: &mut ParameterListBuilder) {
        list.put_with(pid::CONTENT_FILTER_PROPERTY, |out| {
            self.strings().take(4).for_each(|text| out.string(text));
            out.strings(self.expression_parameters.iter().map(String::as_str));
        });
    }

    /// What a parameter says; `None` if it is malformed or too long.
    pub(crate) fn read(mut value: ParamReader<'_>) -> Option<Self> {
        if value.remaining() > MAX_OCTETS {
            return None;
        }
        let mut next = || value.string().ok().map(String::from);
        let (content_filtered_topic_name, related_topic_name) = (next()?, next()?);
        let (filter_class_name, filter_expression) = (next()?, next()?);
        let expression_parameters = value.strings().ok()?.map(String::from).collect();
        Some(Self {
            content_filtered_topic_name,
            related_topic_name,
            filter_class_name,
            filter_expression,
            expression_parameters,
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::{string::ToString, sync::Arc, vec};

    use dunlin_core::{EntityId, GuidPrefix, VendorId};
    use dunlin_wire::Endianness;

    use super::*;
    use crate::codec::{Rules, decode_reader, encode_reader};
    use crate::{EndpointLocators, LocalReader, Quotas};

    fn filter() -> ContentFilterProperty {
        ContentFilterProperty {
            content_filtered_topic_name: "Near".to_string(),
            related_topic_name: "Square".to_string(),
            filter_class_name: ContentFilterProperty::SQL.to_string(),
            filter_expression: "x < %0".to_string(),
            expression_parameters: vec!["100".to_string(), "'é'".to_string()],
        }
    }

    #[test]
    fn content_filter_is_announced_with_the_reader() {
        let local = LocalReader {
            entity_id: EntityId([0, 0, 1, 7]),
            topic_name: "Square".to_string(),
            type_name: "ShapeType".to_string(),
            qos: dunlin_qos::DataReaderQos::default(),
            subscriber_qos: dunlin_qos::SubscriberQos::default(),
            topic_data: dunlin_qos::TopicData::default(),
            type_information: None,
            locators: EndpointLocators::default(),
            related: None,
            content_filter: Some(Arc::new(filter())),
        };
        let own = local.describe(GuidPrefix([1; 12]), VendorId::DUNLIN);
        let left_out = core::cell::Cell::new(0);
        let quotas = Quotas::default();
        let rules = Rules {
            quotas: &quotas,
            durations_in_nanoseconds: false,
            vendor: VendorId::DUNLIN,
            left_out: &left_out,
        };
        let read = decode_reader(&encode_reader(&own), None, VendorId::DUNLIN, rules).unwrap();
        assert_eq!(read.content_filter.as_deref(), Some(&filter()));
    }

    #[test]
    fn octets_of_the_parameter() {
        let mut list = ParameterListBuilder::with_endianness(Endianness::Big);
        filter().put(&mut list);
        let octets = list.finish();
        let expected = b"\0\x35\0\x48\0\0\0\x05Near\0\0\0\0\0\0\0\x07Square\0\0\0\0\0\x07DDSSQL\0\0\
            \0\0\0\x07x < %0\0\0\0\0\0\x02\0\0\0\x04100\0\0\0\0\x05'\xc3\xa9'\0\0\0\0\0\x01\0\0";
        assert_eq!(octets, expected);
        for len in 0..octets.len() - 4 {
            let value = ParamReader::new(&octets[4..len.max(4)], Endianness::Big);
            assert!(ContentFilterProperty::read(value).is_none_or(|read| read == filter()), "{len}");
        }
        let huge = vec![0; MAX_OCTETS + 1];
        assert!(ContentFilterProperty::read(ParamReader::new(&huge, Endianness::Big)).is_none());
    }

    #[test]
    fn signatures_are_digests_of_the_strings() {
        // md5("Near\0Square\0DDSSQL\0x < %0\0100\0'é'\0"), by another program.
        let expected =
            [0x3c, 0x79, 0x98, 0x7e, 0x08, 0xdc, 0x33, 0xfe, 0xdb, 0xdf, 0xf0, 0x7d, 0xe7, 0x82, 0x14, 0x6f];
        assert_eq!(filter().signature(), expected);
        let other = ContentFilterProperty { expression_parameters: vec!["100".to_string()], ..filter() };
        assert_ne!(filter().signature(), other.signature());
    }

    #[test]
    fn size_limits() {
        assert!(filter().can_be_announced());
        let long = ContentFilterProperty { filter_expression: "x".repeat(MAX_OCTETS), ..filter() };
        assert!(!long.can_be_announced());
        let nul = ContentFilterProperty { filter_expression: "x = '\0'".to_string(), ..filter() };
        assert!(!nul.can_be_announced());
    }
}
