//! What is behind a shard's lock: pure bookkeeping, no I/O but closing sockets.
#![expect(
    clippy::vec_box,
    reason = "a backend moves between lists and leases often, and is large"
)]

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::backend::Backend;
use crate::{ConnectError, Identity, Lease, LeaseError, Settings};

const BACKOFF_MIN: Duration = Duration::from_millis(50);
const BACKOFF_MAX: Duration = Duration::from_secs(1);
/// When a server that had no room is asked again.
const FULL_PAUSE: Duration = Duration::from_millis(200);
/// Buffers of a backend that was idle for this long are given back.
const RELAX_AFTER: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(super) struct State {
    idle: HashMap<Identity, Vec<Box<Backend>>>,
    pub(super) waiters: VecDeque<Waiter>,
    /// Idle, leased, in cleaning and being opened.
    pub(super) open: usize,
    /// Being opened.
    pub(super) connecting: usize,
    pub(super) outage: Option<Outage>,
    pub(super) is_closing: bool,
    /// Nobody has looked yet whether it can be served.
    pub(super) is_held: bool,
    last_number: u64,
}

/// A request that waits.
pub(super) struct Waiter {
    number: u64,
    pub(super) identity: Identity,
    pub(super) sender: oneshot::Sender<Result<Lease, LeaseError>>,
}

/// The shard can't be reached, or has no room.
pub(super) struct Outage {
    failures: u32,
    pub(super) retry_at: Instant,
    pub(super) error: Arc<ConnectError>,
}

// === impl State ===

impl State {
    /// The backend of this identity that was used last and suits the settings.
    pub(super) fn pop(
        &mut self,
        identity: &Identity,
        settings: Option<&Settings>,
    ) -> Option<Box<Backend>> {
        let list = self.idle.get_mut(identity)?;
        let Some(settings) = settings else {
            return list.pop();
        };
        let at = list.iter().rposition(|backend| backend.suits(settings))?;
        Some(list.remove(at))
    }

    pub(super) fn push(&mut self, backend: Box<Backend>) {
        if let Some(idle) = self.idle.get_mut(&backend.identity) {
            idle.push(backend);
        } else {
            self.idle.insert(backend.identity.clone(), vec![backend]);
        }
    }

    /// Whether a request may wait at all.
    pub(super) fn admit(&self, shard: &Arc<str>) -> Result<(), LeaseError> {
        if self.is_closing {
            return Err(LeaseError::ShuttingDown);
        }
        if self.is_held {
            return Err(LeaseError::Held {
                shard: shard.clone(),
            });
        }
        match &self.outage {
            Some(outage) if self.open == 0 && outage.refuses() => Err(outage.to_error(shard)),
            _ => Ok(()),
        }
    }

    pub(super) fn enqueue(
        &mut self,
        identity: Identity,
        sender: oneshot::Sender<Result<Lease, LeaseError>>,
    ) -> u64 {
        self.last_number += 1;
        self.waiters.push_back(Waiter {
            number: self.last_number,
            identity,
            sender,
        });
        self.last_number
    }

    pub(super) fn forget(&mut self, number: u64) {
        self.waiters.retain(|waiter| waiter.number != number);
    }

    /// The one of this identity that has waited longest.
    pub(super) fn take_waiter(&mut self, identity: &Identity) -> Option<Waiter> {
        let at = self
            .waiters
            .iter()
            .position(|waiter| waiter.identity == *identity)?;
        self.waiters.remove(at)
    }

    /// Gives an error to some of those who wait.
    pub(super) fn refuse(&mut self, which: impl Fn(&Waiter) -> bool, error: &LeaseError) {
        for waiter in std::mem::take(&mut self.waiters) {
            if which(&waiter) {
                // Whoever stopped waiting needs no answer.
                drop(waiter.sender.send(Err(error.clone())));
            } else {
                self.waiters.push_back(waiter);
            }
        }
    }

    /// Another backend may be opened now: in an outage one at a time, when it is due.
    pub(super) fn may_attempt(&self) -> bool {
        !self.is_closing
            && self
                .outage
                .as_ref()
                .is_none_or(|outage| self.connecting == 0 && outage.is_due())
    }

    /// Closes the backend that was idle longest, of whatever identity, to make room.
    pub(super) fn evict(&mut self) -> bool {
        let lists = self.idle.values_mut().filter(|list| !list.is_empty());
        let oldest = lists.min_by_key(|list| list.first().map(|backend| backend.idle_since));
        let Some(list) = oldest else { return false };
        let mut backend = list.remove(0);
        backend.say_goodbye();
        self.open -= 1;
        true
    }

    /// Takes the backends that were idle for too long or are too old; of the others, memory of idle buffers is given back.
    pub(super) fn expired(&mut self, idle_timeout: Duration) -> Vec<Box<Backend>> {
        let mut expired = Vec::new();
        self.idle.retain(|_, list| {
            let is_expired = |backend: &mut Box<Backend>| {
                backend.idle_since.elapsed() > idle_timeout || Instant::now() >= backend.expires_at
            };
            expired.extend(list.extract_if(.., is_expired));
            let resting = |backend: &&mut Box<Backend>| backend.idle_since.elapsed() > RELAX_AFTER;
            list.iter_mut()
                .filter(resting)
                .for_each(|backend| backend.connection.relax());
            !list.is_empty()
        });
        expired
    }

    pub(super) fn take_idle(&mut self) -> Vec<Box<Backend>> {
        std::mem::take(&mut self.idle)
            .into_values()
            .flatten()
            .collect()
    }

    pub(super) fn idle_count(&self) -> usize {
        self.idle.values().map(Vec::len).sum()
    }
}

// === impl Outage ===

impl Outage {
    /// One more failure.
    pub(super) fn after(before: Option<&Self>, error: Arc<ConnectError>) -> Self {
        let failures = before.map_or(0, |outage| outage.failures) + 1;
        let pause = if error.is_full() {
            FULL_PAUSE
        } else {
            BACKOFF_MIN
                .saturating_mul(1 << (failures - 1).min(5))
                .min(BACKOFF_MAX)
        };
        Self {
            failures,
            retry_at: Instant::now() + pause,
            error,
        }
    }

    pub(super) fn is_due(&self) -> bool {
        Instant::now() >= self.retry_at
    }

    /// Requests that find nothing open are refused at once instead of waiting.
    pub(super) fn refuses(&self) -> bool {
        !self.error.is_full() && !self.is_due()
    }

    pub(super) fn to_error(&self, shard: &Arc<str>) -> LeaseError {
        LeaseError::Down {
            shard: shard.clone(),
            retry_in: self.retry_at.saturating_duration_since(Instant::now()),
            source: self.error.clone(),
        }
    }
}
