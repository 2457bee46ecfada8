//! Both halves as one snapshot.

use std::sync::Arc;

use catalog::Catalog;

use super::part::{Part, default_is_bytes};
use super::{Answers, LoadError};

pub(super) fn catalog(
    answers: &Answers,
    builtin: &Part,
    own: Part,
    version: u64,
) -> Result<Catalog, LoadError> {
    let mut catalog = Catalog {
        version,
        ..Catalog::default()
    };
    for row in answers.rows("database") {
        row.text(0).clone_into(&mut catalog.database);
        catalog.server_version = row.number(1)?;
        catalog.ascii_case_is_plain = row.flag(4);
    }
    catalog.default_collation_is_bytes = default_is_bytes(answers);
    catalog.schemas = answers
        .rows("schemas")
        .map(|row| row.text(0).to_owned())
        .collect();
    catalog.user_operators = answers
        .rows("operators")
        .map(|row| row.text(0).to_owned())
        .collect();
    for relation in builtin.relations.iter().cloned().chain(own.relations) {
        let names = catalog
            .relations_by_name
            .entry(relation.schema.clone())
            .or_default();
        names.insert(relation.name.clone(), relation.oid);
        catalog.relations.insert(relation.oid, relation);
    }
    for one in builtin.types.iter().cloned().chain(own.types) {
        let names = catalog.types_by_name.entry(one.schema.clone()).or_default();
        names.insert(one.name.clone(), one.oid);
        catalog.types.insert(one.oid, one);
    }
    for function in builtin
        .functions
        .iter()
        .map(Arc::clone)
        .chain(own.functions)
    {
        let names = catalog
            .functions
            .entry(function.schema.clone())
            .or_default();
        names
            .entry(function.name.clone())
            .or_default()
            .push(function);
    }
    Ok(catalog)
}
