//! One shard's backends: idle, leased, being opened; and who waits for one.
//!
//! A lease is a pop under a short lock. When nothing is idle, the request queues and an opener task is started; whichever
//! comes first, a returned backend or a new one, goes to the request that waited longest. No lock is held across an
//! `await`.
//!
//! ```text
//!            open ok                lease                 drop: known state
//! opening ------------> idle <----------------> leased ---------------------+
//!    | error             | idle too long, too old |  drop: transaction open  | -> first waiter, else idle
//!    v                   v                        +-------> cleaning --------+
//! outage (one attempt   closed <------------------+             | error
//! at a time, backoff)     ^    drop: unknown state              v
//!                         +----------------------------------- closed
//! ```

mod proven;
mod state;
mod tasks;

pub(crate) use proven::Proven;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::backend::{Backend, Fate, Opening, open};
use crate::config::ShardAddress;
use crate::{
    ConnectError, Credentials, Identity, Lease, LeaseError, Limits, Settings, ShardStatus, cancel,
};
use state::{Outage, State};
use tasks::Tasks;

/// How long a server is given to act on a cancel before it is told again.
const CANCEL_AGAIN: Duration = Duration::from_millis(50);

/// One shard's pool.
pub(crate) struct Shard {
    pub(crate) address: ShardAddress,
    credentials: Credentials,
    limits: Limits,
    proven: Arc<Proven>,
    state: Mutex<State>,
    tasks: Tasks,
}

impl Shard {
    pub(crate) fn new(
        address: ShardAddress,
        credentials: Credentials,
        limits: Limits,
    ) -> Arc<Self> {
        let shard = Arc::new(Self {
            address,
            credentials,
            limits,
            proven: Arc::default(),
            state: Mutex::default(),
            tasks: Tasks::default(),
        });
        let weak = Arc::downgrade(&shard);
        shard.tasks.spawn("upkeep", async move {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                let Some(shard) = weak.upgrade() else { return };
                shard.upkeep();
            }
        });
        shard
    }

    /// See [`crate::Pools::lease_for`].
    pub(crate) async fn lease(
        self: &Arc<Self>,
        identity: &Identity,
        settings: Option<&Settings>,
        wait: Duration,
    ) -> Result<Lease, LeaseError> {
        loop {
            let popped = self.state.lock().pop(identity, settings);
            let Some(mut backend) = popped else { break };
            if backend.is_alive() {
                return Ok(Lease::new(backend, self.clone()));
            }
            self.close(backend);
        }
        let deadline = Instant::now() + wait;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut lease = self.queue(identity, left).await?;
            if settings.is_none_or(|settings| lease.suits(settings)) {
                return Ok(lease);
            }
            // Somebody else's came back first. It makes room for a new one.
            lease.poison();
        }
    }

    async fn queue(
        self: &Arc<Self>,
        identity: &Identity,
        wait: Duration,
    ) -> Result<Lease, LeaseError> {
        let (sender, mut receiver) = oneshot::channel();
        let number = {
            let mut state = self.state.lock();
            state.admit(&self.address.uid)?;
            let number = state.enqueue(identity.clone(), sender);
            self.replenish(&mut state);
            number
        };
        let result = match tokio::time::timeout(wait, &mut receiver).await {
            Ok(result) => result.ok(),
            Err(_elapsed) => {
                self.state.lock().forget(number);
                receiver.close();
                receiver.try_recv().ok()
            }
        };
        result.unwrap_or_else(|| Err(self.timed_out(wait)))
    }

    /// See [`crate::Pools::hold`].
    pub(crate) fn set_held(&self, is_held: bool) {
        self.state.lock().is_held = is_held;
    }

    fn timed_out(&self, waited: Duration) -> LeaseError {
        let state = self.state.lock();
        match &state.outage {
            Some(outage) if state.open == 0 => LeaseError::Connect(outage.error.clone()),
            _ => LeaseError::Exhausted {
                shard: self.address.uid.clone(),
                limit: self.limits.backends_max,
                waited,
            },
        }
    }

    /// Starts openers for waiters who have none coming, as far as the limit and an outage allow.
    fn replenish(self: &Arc<Self>, state: &mut State) {
        state.waiters.retain(|waiter| !waiter.sender.is_closed());
        while state.connecting < state.waiters.len() && state.may_attempt() {
            if state.open >= self.limits.backends_max && !state.evict() {
                return;
            }
            let Some(waiter) = state.waiters.get(state.connecting) else {
                return;
            };
            let identity = waiter.identity.clone();
            state.open += 1;
            state.connecting += 1;
            let shard = self.clone();
            self.tasks
                .spawn("open", async move { shard.open_one(identity).await });
        }
    }

    async fn open_one(self: Arc<Self>, identity: Identity) {
        let opening = Opening {
            address: &self.address,
            identity: &identity,
            credentials: &self.credentials,
            limits: &self.limits,
            proven: &self.proven,
        };
        match Box::pin(open(&opening)).await {
            Ok(backend) => {
                {
                    let mut state = self.state.lock();
                    state.connecting -= 1;
                    // Logins that a full server still accepted don't mean that it has room now.
                    let is_over = |outage: &mut Outage| !outage.error.is_full() || outage.is_due();
                    if state.outage.take_if(is_over).is_some() {
                        tracing::info!(shard = %self.address.uid, "shard answers again");
                    }
                }
                self.hand_over(Box::new(backend));
            }
            Err(error) => self.opening_failed(&identity, error).await,
        }
    }

    async fn opening_failed(self: &Arc<Self>, identity: &Identity, error: ConnectError) {
        let error = Arc::new(error);
        let retry_at = {
            let mut state = self.state.lock();
            state.connecting -= 1;
            state.open -= 1;
            if error.concerns_shard() {
                let outage = Outage::after(state.outage.as_ref(), error.clone());
                if state.outage.is_none() {
                    tracing::warn!(
                        shard = %self.address.uid,
                        error = %stdx::Chain(&error),
                        "shard can't be reached"
                    );
                }
                let retry_at = outage.retry_at;
                state.outage = Some(outage);
                // A server that is full has room again when somebody leaves; waiting for that is bounded.
                if !error.is_full() {
                    state.refuse(|_| true, &LeaseError::Connect(error));
                }
                retry_at
            } else {
                state.refuse(
                    |waiter| waiter.identity == *identity,
                    &LeaseError::Connect(error),
                );
                Instant::now()
            }
        };
        tokio::time::sleep_until(retry_at).await;
        let mut state = self.state.lock();
        self.replenish(&mut state);
    }

    /// Takes a backend back from a lease.
    pub(crate) fn give_back(self: &Arc<Self>, mut backend: Box<Backend>) {
        let is_alone = tokio::runtime::Handle::try_current().is_err();
        match backend.fate() {
            Fate::Keep if Instant::now() < backend.expires_at => {
                self.hand_over(backend);
            }
            Fate::Keep | Fate::Close => self.close(backend),
            Fate::Clean | Fate::CancelAndClose if is_alone => self.close(backend),
            Fate::Clean => {
                let shard = self.clone();
                self.tasks.spawn("clean", async move {
                    let limit = shard.limits.cleanup_timeout;
                    match tokio::time::timeout(limit, Box::pin(backend.clean())).await {
                        Ok(Ok(())) => shard.give_back(backend),
                        Ok(Err(_)) | Err(_) => shard.close(backend),
                    }
                });
            }
            Fate::CancelAndClose => {
                let shard = self.clone();
                self.tasks.spawn("cancel", async move {
                    let limit = shard.limits.cleanup_timeout;
                    // Past the limit it is closed as it is.
                    let _ = tokio::time::timeout(limit, end_statement(&mut backend)).await;
                    shard.close(backend);
                });
            }
        }
    }

    /// Gives a backend in a known state to whoever waits, else to the idle ones.
    fn hand_over(self: &Arc<Self>, mut backend: Box<Backend>) {
        backend.idle_since = Instant::now();
        let mut state = self.state.lock();
        if state.is_closing {
            drop(state);
            return self.close(backend);
        }
        let is_full = state.open >= self.limits.backends_max && state.connecting == 0;
        let front = state
            .waiters
            .iter()
            .position(|waiter| !waiter.sender.is_closed());
        let front_differs = front
            .and_then(|at| state.waiters.get(at))
            .is_some_and(|waiter| waiter.identity != backend.identity);
        if is_full && front_differs {
            drop(state);
            // The one who waited longest needs another identity, and there is no room for it otherwise.
            return self.close(backend);
        }
        while let Some(waiter) = state.take_waiter(&backend.identity) {
            match waiter.sender.send(Ok(Lease::new(backend, self.clone()))) {
                Ok(()) => return,
                Err(unsent) => match unsent.ok().and_then(Lease::into_backend) {
                    Some(returned) => backend = returned,
                    None => return,
                },
            }
        }
        state.push(backend);
        self.replenish(&mut state);
    }

    /// Closes a backend and makes room.
    fn close(self: &Arc<Self>, mut backend: Box<Backend>) {
        backend.say_goodbye();
        drop(backend);
        let mut state = self.state.lock();
        state.open = state.open.saturating_sub(1);
        if state.open == 0
            && let Some(outage) = &state.outage
            && outage.refuses()
        {
            let error = outage.to_error(&self.address.uid);
            state.refuse(|_| true, &error);
        }
        if tokio::runtime::Handle::try_current().is_ok() {
            self.replenish(&mut state);
        }
    }

    /// Closes what was idle for too long or is too old, and gives memory of idle buffers back.
    fn upkeep(self: &Arc<Self>) {
        let expired = self.state.lock().expired(self.limits.idle_timeout);
        for backend in expired {
            self.close(backend);
        }
    }

    pub(crate) fn status(&self) -> ShardStatus {
        let state = self.state.lock();
        let idle = state.idle_count();
        ShardStatus {
            uid: self.address.uid.clone(),
            idle,
            connecting: state.connecting,
            leased: state.open.saturating_sub(idle + state.connecting),
            waiting: state.waiters.len(),
            limit: self.limits.backends_max,
            outage: state.outage.as_ref().map(|outage| outage.error.to_string()),
        }
    }

    /// Refuses new leases, closes the idle backends; leased ones are closed when they come back.
    pub(crate) fn shut_down(self: &Arc<Self>) {
        let idle = {
            let mut state = self.state.lock();
            state.is_closing = true;
            state.refuse(|_| true, &LeaseError::ShuttingDown);
            state.take_idle()
        };
        for backend in idle {
            self.close(backend);
        }
    }
}

/// Cancels what runs on the backend until the server has closed the connection. Once is not enough: a cancel that
/// overtakes its statement finds nothing to cancel, and a server that computes does not see that nobody listens.
async fn end_statement(backend: &mut Backend) {
    let mut pause = CANCEL_AGAIN;
    loop {
        if let Err(error) = cancel::cancel(&backend.cancel_target()).await {
            tracing::debug!(error = %stdx::Chain(&error), "cancel did not get through");
        }
        let drained = tokio::time::timeout(pause, backend.connection.drain());
        if drained.await.is_ok() {
            return;
        }
        pause *= 2;
    }
}
