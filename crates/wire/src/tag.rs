//! Command tags: what `CommandComplete` says was done.

/// The rows that a tag counts: the last number of `SELECT 3`, `INSERT 0 5`, `UPDATE 2`, `COPY 7`.
#[must_use]
pub fn rows(tag: &str) -> Option<u64> {
    tag.rsplit(' ').next()?.parse().ok()
}

/// The tag without its row count: `INSERT 0` of `INSERT 0 5`, `BEGIN` of `BEGIN`.
#[must_use]
pub fn verb(tag: &str) -> &str {
    match tag.rsplit_once(' ') {
        Some((verb, last)) if last.bytes().all(|c| c.is_ascii_digit()) => verb,
        _ => tag,
    }
}

/// The same tag with another row count, if it counts rows.
#[must_use]
pub fn with_rows(tag: &str, count: u64) -> String {
    match rows(tag) {
        Some(_) => format!("{} {count}", verb(tag)),
        None => tag.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_the_last_number() {
        for (tag, count) in [
            ("SELECT 3", Some(3)),
            ("INSERT 0 5", Some(5)),
            ("BEGIN", None),
            ("CREATE TABLE", None),
        ] {
            assert_eq!(rows(tag), count, "{tag}");
        }
        assert_eq!(with_rows("INSERT 0 5", 9), "INSERT 0 9");
        assert_eq!(with_rows("CREATE TABLE", 9), "CREATE TABLE");
    }
}
