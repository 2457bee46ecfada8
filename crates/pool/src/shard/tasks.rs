//! The shard's own tasks: ended when the pool is dropped.

use parking_lot::Mutex;
use tokio::task::JoinSet;

#[derive(Default)]
pub(super) struct Tasks {
    set: Mutex<JoinSet<()>>,
}

impl Tasks {
    /// Starts a task. Those that have ended are forgotten here.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut set = self.set.lock();
        while set.try_join_next().is_some() {}
        set.spawn(task);
    }
}
