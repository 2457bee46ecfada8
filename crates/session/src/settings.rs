//! One client's settings, with PostgreSQL's transactional rules.
//!
//! The session owns the truth; a backend gets it replayed when it is leased. A value is kept as the text that a backend
//! reported after it accepted the `SET`, so replaying it can't fail for its spelling and can't mean something else.
//!
//! Invariant: [`Settings::effective`] is what `SHOW` would say on one PostgreSQL at this moment, for every setting that
//! the client touched.

use std::collections::BTreeSet;

use pool::Settings as Values;

/// The settings of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// What the client asked for at start; `RESET` goes back to it.
    startup: Values,
    /// Now, including `SET LOCAL`.
    current: Layer,
    /// Custom settings (with a dot) that were ever set. PostgreSQL shows them as empty when nothing sets them any more.
    custom: BTreeSet<String>,
    /// What a rollback restores, outermost first: the transaction's begin, then each savepoint.
    saved: Vec<Saved>,
}

/// Session-level values and the transaction's own above them.
#[derive(Clone, Debug, Default)]
struct Layer {
    session: Values,
    local: Values,
}

#[derive(Clone, Debug)]
struct Saved {
    /// `None` for the transaction itself.
    savepoint: Option<String>,
    layer: Layer,
}

impl Settings {
    /// The settings of a client that started with `startup`.
    pub(crate) fn new(startup: Values) -> Self {
        let current = Layer {
            session: startup.clone(),
            local: Values::empty(),
        };
        let custom = BTreeSet::new();
        Self {
            startup,
            current,
            custom,
            saved: Vec::new(),
        }
    }

    /// Session-level values: what every leased backend must have.
    pub(crate) fn session(&self) -> &Values {
        &self.current.session
    }

    /// Values of `SET LOCAL`: what a backend enlisted now must have until the transaction ends.
    pub(crate) fn local(&self) -> &Values {
        &self.current.local
    }

    /// The value that the client started with.
    pub(crate) fn startup(&self, name: &str) -> Option<&str> {
        self.startup.value(&name.to_ascii_lowercase())
    }

    /// The value in force, when the client ever set it. `name` is lower case.
    pub(crate) fn effective(&self, name: &str) -> Option<&str> {
        let layer = &self.current;
        layer
            .local
            .value(name)
            .or_else(|| layer.session.value(name))
    }

    /// Notes an accepted `SET` (or `set_config`).
    pub(crate) fn set(&mut self, name: &str, value: &str, is_local: bool) {
        self.begin();
        if name.contains('.') {
            self.custom.insert(name.to_ascii_lowercase());
        }
        if is_local {
            self.current.local = self.current.local.with(name, value);
            return;
        }
        self.current.session = self.current.session.with(name, value);
        self.current.local = self.current.local.without(name);
    }

    /// Notes `RESET name`: back to the value at start, or to the server's own.
    pub(crate) fn reset(&mut self, name: &str) {
        self.begin();
        let lower = name.to_ascii_lowercase();
        self.current.session = match self.startup.value(&lower) {
            Some(value) => self.current.session.with(name, value),
            None => self.current.session.without(name),
        };
        self.current.local = self.current.local.without(name);
        self.keep_custom();
    }

    /// Notes `RESET ALL`. PostgreSQL leaves `role` and `session_authorization` alone.
    pub(crate) fn reset_all(&mut self) {
        self.begin();
        let mut fresh = self.startup.clone();
        for kept in ["role", "session_authorization"] {
            if let Some(value) = self.current.session.value(kept) {
                fresh = fresh.with(kept, value);
            }
        }
        self.current = Layer {
            session: fresh,
            local: Values::empty(),
        };
        self.keep_custom();
    }

    /// Custom settings that nothing sets any more are empty.
    fn keep_custom(&mut self) {
        for name in &self.custom {
            if self.current.session.value(name).is_none() {
                self.current.session = self.current.session.with(name, "");
            }
        }
    }

    /// Forgets `SET ROLE` and `SET SESSION AUTHORIZATION`, as `DISCARD ALL` does.
    pub(crate) fn reset_role(&mut self) {
        let session = &self.current.session;
        self.current.session = session.without("role").without("session_authorization");
    }

    /// A transaction begins, if none is open: a block of the client's, or a request that changes a setting.
    pub(crate) fn begin(&mut self) {
        if self.saved.is_empty() {
            self.saved.push(Saved {
                savepoint: None,
                layer: self.current.clone(),
            });
        }
    }

    /// Changes have not been committed or rolled back yet.
    pub(crate) fn is_open(&self) -> bool {
        !self.saved.is_empty()
    }

    /// A savepoint is set.
    pub(crate) fn savepoint(&mut self, name: &str) {
        self.saved.push(Saved {
            savepoint: Some(name.to_owned()),
            layer: self.current.clone(),
        });
    }

    /// A savepoint is released: its changes stay.
    pub(crate) fn release(&mut self, name: &str) {
        if let Some(index) = self.find(name) {
            self.saved.truncate(index);
        }
    }

    /// `ROLLBACK TO name`: its changes are undone, the savepoint stays.
    pub(crate) fn rollback_to(&mut self, name: &str) {
        if let Some(index) = self.find(name) {
            self.saved.truncate(index + 1);
            self.current = self.saved[index].layer.clone();
            self.keep_custom();
        }
    }

    /// The transaction committed: `SET LOCAL` ends.
    pub(crate) fn commit(&mut self) {
        self.saved.clear();
        self.current.local = Values::empty();
        self.keep_custom();
    }

    /// The transaction rolled back: everything since its begin is undone.
    pub(crate) fn rollback(&mut self) {
        if let Some(saved) = self.saved.first() {
            self.current = saved.layer.clone();
        }
        self.saved.clear();
        self.current.local = Values::empty();
        self.keep_custom();
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.saved
            .iter()
            .rposition(|saved| saved.savepoint.as_deref() == Some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings::new(Values::new([("timezone", "UTC")]))
    }

    #[test]
    fn rollback_undoes_a_session_set() {
        let mut settings = settings();
        settings.begin();
        settings.set("timezone", "Asia/Tokyo", false);
        assert_eq!(settings.effective("timezone"), Some("Asia/Tokyo"));
        settings.rollback();
        assert_eq!(settings.effective("timezone"), Some("UTC"));
    }

    #[test]
    fn a_request_that_fails_undoes_its_set() {
        let mut settings = settings();
        settings.set("timezone", "Asia/Tokyo", false);
        settings.commit();
        settings.set("timezone", "Europe/Rome", false);
        settings.rollback();
        assert_eq!(settings.effective("timezone"), Some("Asia/Tokyo"));
        assert!(!settings.is_open());
    }

    #[test]
    fn local_ends_with_the_transaction() {
        let mut settings = settings();
        settings.begin();
        settings.set("work_mem", "8MB", true);
        settings.set("app.tenant", "7", true);
        settings.commit();
        assert_eq!(settings.effective("work_mem"), None);
        assert_eq!(settings.effective("app.tenant"), Some(""));
    }

    #[test]
    fn rollback_to_restores_what_the_savepoint_saw() {
        let mut settings = settings();
        settings.begin();
        settings.set("a.b", "1", false);
        settings.savepoint("s");
        settings.set("a.b", "2", true);
        settings.savepoint("s");
        settings.set("a.b", "3", false);
        settings.rollback_to("s");
        assert_eq!(settings.effective("a.b"), Some("2"));
        settings.release("s");
        settings.rollback_to("s");
        assert_eq!(settings.effective("a.b"), Some("1"));
        settings.commit();
        assert_eq!(settings.effective("a.b"), Some("1"));
    }

    #[test]
    fn reset_goes_back_to_the_start() {
        let mut settings = settings();
        settings.set("timezone", "Asia/Tokyo", false);
        settings.set("work_mem", "8MB", false);
        settings.reset("timezone");
        settings.reset("work_mem");
        assert_eq!(settings.effective("timezone"), Some("UTC"));
        assert_eq!(settings.effective("work_mem"), None);
    }

    #[test]
    fn reset_all_keeps_the_role() {
        let mut settings = settings();
        settings.set("role", "tenant", false);
        settings.set("timezone", "Asia/Tokyo", false);
        settings.reset_all();
        assert_eq!(settings.effective("role"), Some("tenant"));
        assert_eq!(settings.effective("timezone"), Some("UTC"));
    }
}
