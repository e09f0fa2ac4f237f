//! Unions (DDS-XTypes 1.3 §7.2.4.4.7).

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use dunlin_cdr::Extensibility;

use super::{Keys, Rules, Verdict, one, sorted, within};
use crate::model::{Case, Union, member_flag};

/// The case of each label.
fn by_label(union: &Union) -> BTreeMap<i64, &Case> {
    union.cases.iter().flat_map(|case| case.labels.iter().map(move |label| (*label, case))).collect()
}

fn default_case(union: &Union) -> Option<&Case> {
    union.cases.iter().find(|case| case.is_default())
}

impl Rules<'_> {
    pub(super) fn unions(
        &mut self,
        form: Extensibility,
        reader: &Union,
        writer: &Union,
        keys: Keys,
    ) -> Verdict {
        let keyed = |union: &Union| union.discriminator.flags & member_flag::KEY != 0;
        if keys == Keys::Count && keyed(reader) != keyed(writer) {
            return Err(one("the discriminator is a key on one side only"));
        }
        self.strong(&reader.discriminator.ty, &writer.discriminator.ty, Keys::Erased)
            .map_err(|found| within("discriminator", found))?;
        let (own, theirs) = (by_label(reader), by_label(writer));
        self.step(own.len().saturating_add(theirs.len()))?;
        if !self.policy.ignore_member_names {
            names(reader, writer)?;
        }
        let labels = |cases: &BTreeMap<i64, &Case>| sorted(cases.keys().copied());
        let defaults = (default_case(reader), default_case(writer));
        if form == Extensibility::Final
            && (labels(&own) != labels(&theirs) || defaults.0.is_some() != defaults.1.is_some())
        {
            return Err(one("the union is final and has other labels"));
        }
        let common = own.keys().any(|label| theirs.contains_key(label));
        let empty = own.is_empty() || theirs.is_empty();
        if !common && !empty {
            return Err(one("the unions have no label in common"));
        }
        if form == Extensibility::Mutable {
            ids(&own, &theirs)?;
        }
        let mut pairs: Vec<(&Case, &Case)> = Vec::new();
        for (label, case) in &theirs {
            pairs.extend(own.get(label).copied().or(defaults.0).map(|own| (own, *case)));
        }
        if let Some(default) = defaults.1 {
            let only = own.iter().filter(|(label, _)| !theirs.contains_key(label));
            pairs.extend(only.map(|(_, case)| (*case, default)));
            pairs.extend(defaults.0.map(|own| (own, default)));
        }
        for (own, theirs) in pairs {
            self.any(&own.member.ty, &theirs.member.ty, Keys::Erased)
                .map_err(|found| within(&format!("{}", own.member.name), found))?;
        }
        Ok(())
    }
}

/// In a mutable union the member of a case is found by its id (§7.4.3.5.3): under another one it would read as its default, whatever
/// the policy says of names.
fn ids(reader: &BTreeMap<i64, &Case>, writer: &BTreeMap<i64, &Case>) -> Verdict {
    for (label, own) in reader {
        let Some(theirs) = writer.get(label) else { continue };
        let (own, theirs) = (&own.member, &theirs.member);
        if own.id != theirs.id {
            let reason = format!(
                "the case of a mutable union has the member id {}, that of the writer {}",
                own.id, theirs.id
            );
            return Err(within(&format!("{}", own.name), one(reason)));
        }
    }
    Ok(())
}

/// Members with one name have one id, and the other way round.
fn names(reader: &Union, writer: &Union) -> Verdict {
    let ids: BTreeMap<_, u32> =
        writer.cases.iter().map(|case| (case.member.name.hash, case.member.id)).collect();
    let hashes: BTreeMap<u32, _> =
        writer.cases.iter().map(|case| (case.member.id, case.member.name.hash)).collect();
    for case in &reader.cases {
        let member = &case.member;
        let other_id = ids.get(&member.name.hash).is_some_and(|id| *id != member.id);
        let other_name = hashes.get(&member.id).is_some_and(|hash| *hash != member.name.hash);
        if other_id || other_name {
            return Err(within(&format!("{}", member.name), one("name and id are not those of the writer")));
        }
    }
    Ok(())
}
