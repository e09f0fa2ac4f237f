//! RTPS 2.5 §9.4.2.11 "ParameterList" and §9.6.3 "Parameter Ids": reading and writing lists of parameters, as used by
//! inline QoS and discovery.

mod builder;
mod inline;
mod list;
pub mod pid;
mod reader;
mod writer;

pub use builder::ParameterListBuilder;
pub use inline::{
    InlineQosBuffer, OriginalWriterInfo, PASSED_FILTER_LEN, coherent_set, content_filter_passed,
    directed_write, find_in_open_list, group_coherent_set, group_sequence_number, inline_qos_for_status,
    key_hash, original_writer_info, passed_filter, related_sample_identity, status_info, writer_group_info,
};
pub use list::{Parameter, ParameterList, Parameters};
pub use reader::{
    ParamReader, Strings, as_bool, as_duration, as_duration_of_nanos, as_entity_id, as_guid, as_i32,
    as_locator, as_octets, as_protocol_version, as_sequence_number, as_str, as_strings, as_u32, as_vendor_id,
};
pub use writer::ParamWriter;
