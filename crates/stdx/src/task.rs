//! Tasks that have a name, are joined, and end with the group that owns them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::future::Future;

use tokio::task::{AbortHandle, Id, JoinError, JoinSet};

/// Tasks owned by one place. Dropping the group cancels them; [`TaskGroup::shutdown`] also waits until
/// they are gone.
#[derive(Debug)]
pub struct TaskGroup<T = ()> {
    tasks: JoinSet<T>,
    names: HashMap<Id, Cow<'static, str>>,
}

/// A task that came to its end.
#[derive(Debug)]
pub struct Finished<T> {
    /// The name it was spawned with.
    pub name: Cow<'static, str>,
    /// How it ended.
    pub outcome: Outcome<T>,
}

/// How a task ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// It returned.
    Returned(T),
    /// It was cancelled.
    Cancelled,
    /// It panicked, with this message.
    Panicked(String),
}

// === impl TaskGroup ===

impl<T: Send + 'static> TaskGroup<T> {
    /// A group without tasks.
    #[must_use]
    pub fn new() -> Self {
        Self {
            tasks: JoinSet::new(),
            names: HashMap::new(),
        }
    }

    /// Starts a task. The handle cancels it early; it needn't be kept.
    pub fn spawn(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        future: impl Future<Output = T> + Send + 'static,
    ) -> AbortHandle {
        let handle = self.tasks.spawn(future);
        self.names.insert(handle.id(), name.into());
        handle
    }

    /// Waits for the next task to end; `None` if there are none.
    ///
    /// # Cancel safety
    /// Cancel safe: a task that ended is reported by the next call.
    pub async fn join_next(&mut self) -> Option<Finished<T>> {
        let joined = self.tasks.join_next_with_id().await?;
        Some(self.finished(joined))
    }

    /// A task that already ended, without waiting.
    pub fn try_join_next(&mut self) -> Option<Finished<T>> {
        let joined = self.tasks.try_join_next_with_id()?;
        Some(self.finished(joined))
    }

    /// Tasks that were not joined yet.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether every task was joined.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Cancels all tasks and waits until they are gone.
    pub async fn shutdown(&mut self) {
        self.tasks.shutdown().await;
        self.names.clear();
    }

    fn finished(&mut self, joined: Result<(Id, T), JoinError>) -> Finished<T> {
        let (id, outcome) = match joined {
            Ok((id, value)) => (id, Outcome::Returned(value)),
            Err(error) => (error.id(), outcome_of(error)),
        };
        Finished {
            name: self.names.remove(&id).unwrap_or_default(),
            outcome,
        }
    }
}

impl<T: Send + 'static> Default for TaskGroup<T> {
    fn default() -> Self {
        Self::new()
    }
}

fn outcome_of<T>(error: JoinError) -> Outcome<T> {
    match error.try_into_panic() {
        Err(_cancelled) => Outcome::Cancelled,
        Ok(payload) => {
            let message = payload
                .downcast_ref::<&str>()
                .map(ToString::to_string)
                .or_else(|| payload.downcast_ref::<String>().cloned());
            Outcome::Panicked(message.unwrap_or_else(|| "no message".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_outcome_with_a_name() {
        let mut group: TaskGroup = TaskGroup::new();
        group.spawn("careless", async { panic!("oops") });
        let finished = group.join_next().await.unwrap();
        assert_eq!(finished.name, "careless");
        assert_eq!(finished.outcome, Outcome::Panicked("oops".to_owned()));
        assert!(group.is_empty());
    }

    #[tokio::test]
    async fn dropping_the_group_cancels_its_tasks() {
        let (alive, mut gone) = tokio::sync::mpsc::channel::<()>(1);
        let mut group: TaskGroup = TaskGroup::new();
        group.spawn("sleeper", async move {
            let _alive = alive;
            std::future::pending::<()>().await;
        });
        drop(group);
        assert_eq!(gone.recv().await, None);
    }
}
