//! Session settings as a value that is compared, and the SQL that turns one into another.
//!
//! Invariant: two [`Settings`] are equal exactly when their lists are; the list is sorted by name, names are
//! lower case, and no name occurs twice.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// What a client's session has set, beyond what every backend starts with. Cheap to clone and to compare.
#[derive(Clone)]
pub struct Settings {
    inner: Arc<Inner>,
}

struct Inner {
    list: Box<[(Box<str>, Box<str>)]>,
    hash: u64,
}

/// Settings whose success on one backend says nothing about the next, since it hangs on objects or rights that
/// can change at any time. They are never written ahead of a statement without waiting.
const REVOCABLE: [&str; 6] = [
    "default_table_access_method",
    "default_tablespace",
    "default_text_search_config",
    "role",
    "session_authorization",
    "temp_tablespaces",
];

// === impl Settings ===

impl Settings {
    /// The settings of a list in any order; of two with the same name the later one counts. Values are as
    /// `SHOW` prints them (`set_config` reads what `SHOW` writes, lists too).
    pub fn new<N: AsRef<str>, V: AsRef<str>>(list: impl IntoIterator<Item = (N, V)>) -> Self {
        let mut map = std::collections::BTreeMap::<Box<str>, Box<str>>::new();
        for (name, value) in list {
            map.insert(
                name.as_ref().to_ascii_lowercase().into(),
                value.as_ref().into(),
            );
        }
        Self::of(map.into_iter().collect())
    }

    /// What every backend starts with.
    #[must_use]
    pub fn empty() -> Self {
        Self::of(Box::default())
    }

    /// The same, with one more or another value.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        Self::new(self.iter().chain([(name, value)]))
    }

    /// The same without one.
    #[must_use]
    pub fn without(&self, name: &str) -> Self {
        Self::new(self.iter().filter(|(n, _)| !n.eq_ignore_ascii_case(name)))
    }

    /// Names and values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.inner
            .list
            .iter()
            .map(|(name, value)| (&**name, &**value))
    }

    /// The value of a setting. `name` is lower case.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        let list = &self.inner.list;
        let at = list.binary_search_by(|(n, _)| (**n).cmp(name)).ok()?;
        list.get(at).map(|(_, value)| &**value)
    }

    /// A hash of the whole list.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.inner.hash
    }

    /// Nothing is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.list.is_empty()
    }

    /// The statements that turn a backend with the settings `from` into one with these; `None` when nothing
    /// differs. They are one simple query: all of them happen, or none.
    #[must_use]
    pub fn statements_from(&self, from: &Self) -> Option<String> {
        if self == from {
            return None;
        }
        let mut sql = String::with_capacity(128);
        let user_changes = ["session_authorization", "role"]
            .iter()
            .any(|name| self.value(name) != from.value(name));
        if user_changes {
            // The rest is set and reset as the user that logged in, whatever the old or the new role may do.
            sql.push_str("RESET SESSION AUTHORIZATION;RESET ROLE;");
        }
        let gone = from
            .iter()
            .filter(|(name, _)| !is_user(name) && self.value(name).is_none());
        for (name, _) in gone {
            sql.push_str("RESET ");
            push_name(&mut sql, name);
            sql.push(';');
        }
        let plain = self.iter().filter(|(name, _)| !is_user(name));
        let changed: Vec<_> = plain
            .filter(|(name, value)| from.value(name) != Some(value))
            .collect();
        push_settings(&mut sql, &changed);
        if user_changes {
            let user = ["session_authorization", "role"];
            for name in user {
                if let Some(value) = self.value(name) {
                    push_settings(&mut sql, &[(name, value)]);
                }
            }
        }
        Some(sql)
    }

    /// What has to be set (not reset) to come here from `from`.
    pub(crate) fn additions_from<'a>(
        &'a self,
        from: &'a Self,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.iter()
            .filter(|(name, value)| from.value(name) != Some(value))
    }

    fn of(list: Box<[(Box<str>, Box<str>)]>) -> Self {
        let mut hasher = DefaultHasher::new();
        list.hash(&mut hasher);
        let hash = hasher.finish();
        Self {
            inner: Arc::new(Inner { list, hash }),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::empty()
    }
}

impl PartialEq for Settings {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
            || (self.inner.hash == other.inner.hash && self.inner.list == other.inner.list)
    }
}

impl Eq for Settings {}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values may be secrets of the application.
        f.debug_list()
            .entries(self.iter().map(|(name, _)| name))
            .finish()
    }
}

/// Whether a success of this setting once is a success always.
pub(crate) fn is_repeatable(name: &str) -> bool {
    !REVOCABLE.contains(&name)
}

fn is_user(name: &str) -> bool {
    name == "role" || name == "session_authorization"
}

/// A setting's name as `RESET` reads it: each part of a dotted name quoted.
fn push_name(sql: &mut String, name: &str) {
    for (position, part) in name.split('.').enumerate() {
        if position > 0 {
            sql.push('.');
        }
        let _ = write!(sql, "\"{}\"", part.replace('"', "\"\""));
    }
}

fn push_settings(sql: &mut String, list: &[(&str, &str)]) {
    for (position, (name, value)) in list.iter().enumerate() {
        sql.push_str(if position == 0 { "SELECT " } else { "," });
        let _ = write!(
            sql,
            "pg_catalog.set_config({},{},false)",
            literal(name),
            literal(value)
        );
    }
    if !list.is_empty() {
        sql.push(';');
    }
}

/// A string literal that is read the same whatever `standard_conforming_strings` says.
pub(crate) fn literal(text: &str) -> String {
    if text.contains('\\') {
        format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(list: &[(&str, &str)]) -> Settings {
        Settings::new(list.iter().copied())
    }

    #[test]
    fn equal_lists_are_equal_in_any_order() {
        let one = settings(&[("a", "1"), ("B", "2")]);
        let two = settings(&[("b", "2"), ("a", "0"), ("a", "1")]);
        assert_eq!(one, two);
        assert_eq!(one.hash(), two.hash());
        assert_eq!(one.statements_from(&two), None);
    }

    #[test]
    fn only_the_difference_is_sent() {
        let from = settings(&[("app.x", "1"), ("search_path", "a, b"), ("work_mem", "4MB")]);
        let to = settings(&[
            ("datestyle", "ISO, DMY"),
            ("search_path", "a, b"),
            ("work_mem", "8MB"),
        ]);
        assert_eq!(
            to.statements_from(&from).unwrap(),
            "RESET \"app\".\"x\";SELECT pg_catalog.set_config('datestyle','ISO, DMY',false),\
             pg_catalog.set_config('work_mem','8MB',false);"
        );
    }

    #[test]
    fn the_user_changes_last_and_is_reset_first() {
        let from = settings(&[("role", "a"), ("work_mem", "4MB")]);
        let to = settings(&[("role", "b")]);
        assert_eq!(
            to.statements_from(&from).unwrap(),
            "RESET SESSION AUTHORIZATION;RESET ROLE;RESET \"work_mem\";\
             SELECT pg_catalog.set_config('role','b',false);"
        );
    }

    #[test]
    fn values_cannot_break_out() {
        let to = settings(&[("app.x", "it's \\'; DROP TABLE t; --")]);
        assert_eq!(
            to.statements_from(&Settings::empty()).unwrap(),
            "SELECT pg_catalog.set_config('app.x',E'it''s \\\\''; DROP TABLE t; --',false);"
        );
    }

    #[test]
    fn values_are_not_printed() {
        assert_eq!(
            format!("{:?}", settings(&[("app.token", "secret")])),
            "[\"app.token\"]"
        );
    }
}
