//! How stable a default is, read from its stored tree.
//!
//! The tree names every function by OID, so nothing is guessed from names. A node that isn't known here counts as
//! volatile. Text in constants is stored as numbers and can't be taken for a node.

use std::collections::HashMap;

use catalog::Volatility;
use pg::Oid;

/// Nodes that are as stable as what is inside them; their functions are found by OID.
const TRANSPARENT: [&str; 19] = [
    "ARRAYCOERCEEXPR",
    "ARRAYEXPR",
    "ARRAY",
    "BOOLEANTEST",
    "BOOLEXPR",
    "CASEEXPR",
    "CASE",
    "CASETESTEXPR",
    "CASEWHEN",
    "WHEN",
    "COALESCEEXPR",
    "COALESCE",
    "CONST",
    "FUNCEXPR",
    "NULLTEST",
    "OPEXPR",
    "RELABELTYPE",
    "SCALARARRAYOPEXPR",
    "VAR",
];

/// Nodes that may look at the session's settings or at the time of the transaction.
const STABLE: [&str; 4] = ["COERCEVIAIO", "MINMAXEXPR", "MINMAX", "SQLVALUEFUNCTION"];

/// The least stable function or keyword in a stored expression.
pub(super) fn of_tree(tree: &str, functions: &HashMap<Oid, Volatility>) -> Volatility {
    let mut found = Volatility::Immutable;
    for (at, _) in tree.match_indices('{') {
        let name = tree[at + 1..].split([' ', '}', '\n']).next().unwrap_or("");
        found = found.max(if TRANSPARENT.contains(&name) {
            Volatility::Immutable
        } else if STABLE.contains(&name) {
            Volatility::Stable
        } else {
            Volatility::Volatile
        });
    }
    for field in [":funcid ", ":opfuncid ", ":hashfuncid ", ":negfuncid "] {
        for (at, _) in tree.match_indices(field) {
            let digits = &tree[at + field.len()..];
            let end = digits
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(digits.len());
            let function = digits[..end].parse().map_or(Oid::INVALID, Oid);
            let optional = field == ":hashfuncid " || field == ":negfuncid ";
            if optional && function == Oid::INVALID {
                continue;
            }
            found = found.max(
                functions
                    .get(&function)
                    .copied()
                    .unwrap_or(Volatility::Volatile),
            );
        }
    }
    found
}

/// The expression is one call of `nextval` with the name of a sequence that PostgreSQL tracks, and nothing else.
pub(super) fn is_plain_nextval(expression: &str) -> bool {
    let Some(name) = expression
        .strip_prefix("nextval('")
        .and_then(|rest| rest.strip_suffix("'::regclass)"))
    else {
        return false;
    };
    !name.replace("''", "").contains('\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volatility(tree: &str) -> Volatility {
        let functions = [
            (Oid(1574), Volatility::Volatile),
            (Oid(870), Volatility::Immutable),
        ];
        of_tree(tree, &functions.into_iter().collect())
    }

    #[test]
    fn functions_are_known_by_oid_and_unknown_nodes_are_volatile() {
        assert_eq!(
            volatility("{CONST :consttype 25 :constvalue 5 [ 20 0 0 0 120 ]}"),
            Volatility::Immutable
        );
        assert_eq!(
            volatility("{FUNCEXPR :funcid 870 :args ({CONST :constvalue <>})}"),
            Volatility::Immutable
        );
        assert_eq!(
            volatility("{FUNCEXPR :funcid 1574 :args ({CONST})}"),
            Volatility::Volatile
        );
        assert_eq!(
            volatility("{FUNCEXPR :funcid 99999 :args <>}"),
            Volatility::Volatile
        );
        assert_eq!(
            volatility("{SQLVALUEFUNCTION :op 3 :type 1184}"),
            Volatility::Stable
        );
        assert_eq!(volatility("{XMLEXPR :op 1}"), Volatility::Volatile);
        assert_eq!(
            volatility("{COERCETODOMAIN :arg {CONST}}"),
            Volatility::Volatile
        );
    }

    #[test]
    fn a_plain_nextval_is_nothing_more() {
        assert!(is_plain_nextval("nextval('public.s'::regclass)"));
        assert!(is_plain_nextval("nextval('\"it''s\"'::regclass)"));
        assert!(!is_plain_nextval("nextval(('public.s'::text)::regclass)"));
        assert!(!is_plain_nextval(
            "nextval('a'::regclass) + nextval('b'::regclass)"
        ));
        assert!(!is_plain_nextval("(nextval('a'::regclass))::text"));
    }
}
