//! What all sessions of a router share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use pool::{Pools, StatementId};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use topology::Topology;

use crate::access::Access;
use crate::cache::PlanCache;
use crate::cancel::Cancels;
use crate::catalogs::Catalogs;
use crate::statement::Shaped;

/// What all sessions of a router share.
pub struct House {
    /// What statements run in.
    pub environment: Arc<execute::Environment>,
    /// The shards' pools.
    pub pools: Pools,
    /// The catalogs of the databases.
    pub catalogs: Catalogs,
    /// Where rows live; the newest revision.
    pub topology: ArcSwap<Topology>,
    /// Plans by shape.
    pub plans: PlanCache<Shaped>,
    /// Who can be cancelled.
    pub cancels: Arc<Cancels>,
    /// Who may come in.
    pub access: Access,
    /// Cancelled when the router ends: sessions that wait for their client tell it so and end.
    pub closing: CancellationToken,
    /// Bounds.
    pub limits: Limits,
    /// A permit for each client that may still come in: `limits.clients_max` at first.
    pub seats: Arc<Semaphore>,
    /// Statements prepared so far.
    pub statements: AtomicU64,
}

/// Bounds on what sessions may use.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most clients at a time.
    pub clients_max: usize,
    /// How long a statement waits for a backend.
    pub lease_wait: Duration,
    /// The longest message of a client, in bytes.
    pub message_bytes_max: usize,
    /// How long a client may take to log in.
    pub login_timeout: Duration,
    /// The most prepared statements of one session.
    pub prepared_max: usize,
    /// The most shapes in the plan cache.
    pub shapes_max: usize,
}

// === impl House ===

impl House {
    /// A number for a statement that is prepared on backends.
    pub fn next_statement(&self) -> StatementId {
        StatementId(self.statements.fetch_add(1, Ordering::Relaxed))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            clients_max: 10_000,
            lease_wait: Duration::from_secs(15),
            message_bytes_max: 1 << 30,
            login_timeout: Duration::from_mins(1),
            prepared_max: 10_000,
            shapes_max: 20_000,
        }
    }
}
