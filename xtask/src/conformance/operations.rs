//! The operations of the PIM (DDS 1.4 §2.2.2), each of which needs a row in the section of its entity.

use std::collections::BTreeSet;

/// The beginning of a section's title, and what its rows have to name. An operation that several entities of a section have is
/// named once; what every entity has stands under "Entities".
const OPERATIONS: [(&str, &[&str]); 6] = [
    (
        "Entities",
        &[
            "set_qos",
            "get_qos",
            "set_listener",
            "get_listener",
            "get_statuscondition",
            "get_status_changes",
            "enable",
            "get_instance_handle",
        ],
    ),
    (
        "DomainParticipantFactory",
        &[
            "get_instance",
            "create_participant",
            "delete_participant",
            "lookup_participant",
            "set_default_participant_qos",
            "get_default_participant_qos",
            "set_qos",
            "get_qos",
        ],
    ),
    (
        "DomainParticipant",
        &[
            "create_publisher",
            "delete_publisher",
            "create_subscriber",
            "delete_subscriber",
            "create_topic",
            "delete_topic",
            "create_contentfilteredtopic",
            "delete_contentfilteredtopic",
            "create_multitopic",
            "delete_multitopic",
            "find_topic",
            "lookup_topicdescription",
            "get_builtin_subscriber",
            "ignore_participant",
            "ignore_topic",
            "ignore_publication",
            "ignore_subscription",
            "get_domain_id",
            "delete_contained_entities",
            "assert_liveliness",
            "set_default_publisher_qos",
            "get_default_publisher_qos",
            "set_default_subscriber_qos",
            "get_default_subscriber_qos",
            "set_default_topic_qos",
            "get_default_topic_qos",
            "get_discovered_participants",
            "get_discovered_participant_data",
            "get_discovered_topics",
            "get_discovered_topic_data",
            "contains_entity",
            "get_current_time",
        ],
    ),
    (
        "Topic",
        &[
            "get_type_name",
            "get_name",
            "get_participant",
            "get_inconsistent_topic_status",
            "get_filter_expression",
            "get_expression_parameters",
            "set_expression_parameters",
            "get_related_topic",
            "get_subscription_expression",
            "register_type",
        ],
    ),
    (
        "Publisher and DataWriter",
        &[
            "create_datawriter",
            "delete_datawriter",
            "lookup_datawriter",
            "suspend_publications",
            "resume_publications",
            "begin_coherent_changes",
            "end_coherent_changes",
            "wait_for_acknowledgments",
            "get_participant",
            "delete_contained_entities",
            "set_default_datawriter_qos",
            "get_default_datawriter_qos",
            "copy_from_topic_qos",
            "register_instance",
            "register_instance_w_timestamp",
            "unregister_instance",
            "unregister_instance_w_timestamp",
            "get_key_value",
            "lookup_instance",
            "write",
            "write_w_timestamp",
            "dispose",
            "dispose_w_timestamp",
            "get_liveliness_lost_status",
            "get_offered_deadline_missed_status",
            "get_offered_incompatible_qos_status",
            "get_publication_matched_status",
            "get_topic",
            "get_publisher",
            "assert_liveliness",
            "get_matched_subscription_data",
            "get_matched_subscriptions",
        ],
    ),
    (
        "Subscriber and DataReader",
        &[
            "create_datareader",
            "delete_datareader",
            "lookup_datareader",
            "begin_access",
            "end_access",
            "get_datareaders",
            "notify_datareaders",
            "get_participant",
            "delete_contained_entities",
            "set_default_datareader_qos",
            "get_default_datareader_qos",
            "copy_from_topic_qos",
            "read",
            "take",
            "read_w_condition",
            "take_w_condition",
            "read_next_sample",
            "take_next_sample",
            "read_instance",
            "take_instance",
            "read_next_instance",
            "take_next_instance",
            "read_next_instance_w_condition",
            "take_next_instance_w_condition",
            "return_loan",
            "get_key_value",
            "lookup_instance",
            "create_readcondition",
            "create_querycondition",
            "delete_readcondition",
            "get_liveliness_changed_status",
            "get_requested_deadline_missed_status",
            "get_requested_incompatible_qos_status",
            "get_sample_lost_status",
            "get_sample_rejected_status",
            "get_subscription_matched_status",
            "get_topicdescription",
            "get_subscriber",
            "wait_for_historical_data",
            "get_matched_publication_data",
            "get_matched_publications",
        ],
    ),
];

/// Of conditions and wait-sets, and of the listeners.
const CONDITIONS: (&str, &[&str]) = (
    "Conditions and wait-sets",
    &[
        "get_trigger_value",
        "set_trigger_value",
        "get_enabled_statuses",
        "set_enabled_statuses",
        "get_entity",
        "get_datareader",
        "get_sample_state_mask",
        "get_view_state_mask",
        "get_instance_state_mask",
        "get_query_expression",
        "get_query_parameters",
        "set_query_parameters",
        "attach_condition",
        "detach_condition",
        "wait",
        "get_conditions",
    ],
);

/// What is told to listeners (§2.2.4.1).
const LISTENERS: (&str, &[&str]) = (
    "Listeners",
    &[
        "on_inconsistent_topic",
        "on_offered_deadline_missed",
        "on_offered_incompatible_qos",
        "on_liveliness_lost",
        "on_publication_matched",
        "on_requested_deadline_missed",
        "on_requested_incompatible_qos",
        "on_sample_rejected",
        "on_liveliness_changed",
        "on_data_available",
        "on_subscription_matched",
        "on_sample_lost",
        "on_data_on_readers",
    ],
);

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
}

/// The operations that no row names, of rows with the titles of their sections.
pub fn missing(rows: &[(&str, &str)]) -> Vec<String> {
    let all = OPERATIONS.iter().chain([&CONDITIONS, &LISTENERS]);
    let mut missing = Vec::new();
    for (section, operations) in all {
        // Titles end with the clause: "DomainParticipant (§…)" is not "DomainParticipantFactory (§…)".
        let within =
            |title: &str| title.strip_prefix(section).is_some_and(|rest| rest.starts_with([' ', ',']));
        let of_section = rows.iter().filter(|(title, _)| within(title));
        let named: BTreeSet<&str> = of_section.flat_map(|(_, name)| words(name)).collect();
        let left = operations.iter().filter(|operation| !named.contains(*operation));
        missing
            .extend(left.map(|operation| format!("the operation {operation} of \"{section}\" has no row")));
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_without_a_row_in_their_section_are_named() {
        let all = |section: &str, but: &str| -> String {
            let found = OPERATIONS.iter().chain([&CONDITIONS, &LISTENERS]).find(|(name, _)| *name == section);
            let operations = found.unwrap().1.iter().filter(|operation| **operation != but);
            operations.copied().collect::<Vec<_>>().join(", ")
        };
        let sections: Vec<&str> =
            OPERATIONS.iter().chain([&CONDITIONS, &LISTENERS]).map(|(section, _)| *section).collect();
        let titles: Vec<String> = sections.iter().map(|section| format!("{section} (§2)")).collect();
        let rows_but = |section: &str, but: &str| -> Vec<String> {
            sections.iter().map(|one| all(one, if *one == section { but } else { "" })).collect()
        };
        let missing_of = |names: &[String]| {
            let rows = titles.iter().zip(names);
            missing(&rows.map(|(title, name)| (title.as_str(), name.as_str())).collect::<Vec<_>>())
        };
        assert_eq!(missing_of(&rows_but("", "")), [""; 0]);
        // That another section, or a longer name, has the word is no help.
        assert_eq!(
            missing_of(&rows_but("DomainParticipant", "delete_contained_entities")),
            ["the operation delete_contained_entities of \"DomainParticipant\" has no row"]
        );
        let found = missing_of(&rows_but("Subscriber and DataReader", "read"));
        assert_eq!(found, ["the operation read of \"Subscriber and DataReader\" has no row"]);
        assert!(missing(&[]).len() > 140);
    }
}
