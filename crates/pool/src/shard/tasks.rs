//! The shard's own tasks: ended when the pool is dropped.

use parking_lot::Mutex;
use stdx::TaskGroup;

#[derive(Default)]
pub(super) struct Tasks {
    group: Mutex<TaskGroup>,
}

impl Tasks {
    /// Starts a task. Those that have ended are forgotten here.
    pub(super) fn spawn(
        &self,
        name: &'static str,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        let mut group = self.group.lock();
        while let Some(finished) = group.try_join_next() {
            if let stdx::Outcome::Panicked(message) = finished.outcome {
                tracing::error!(task = %finished.name, message, "task of a pool panicked");
            }
        }
        group.spawn(name, task);
    }
}
