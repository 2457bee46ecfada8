//! Connections to the shards: opened, leased, cleaned, checked, cancelled; and what is read from a shard about itself.
//!
//! What it is for: everything that runs statements takes a [`Lease`] here; the catalog snapshot and the facts that
//! shards must agree on are loaded here. What it promises: a lease is exclusive; a backend is handed on only when its
//! state is known (no open transaction, no half-read answer, no foreign session state); a shard that is down costs one
//! attempt at a time and concerns no other shard; waiting is bounded and first come, first served. What it must not
//! know: plans, and the sessions of clients.
//!
//! Read first: [`Pools`], [`Lease`], [`Backend`]. Then [`CatalogWatch`] and [`ShardFacts`]. Tests are in `tests/`,
//! against a real PostgreSQL, and beside the modules.

mod backend;
pub mod cancel;
mod catalog_loader;
mod catalog_watch;
mod config;
mod error;
mod facts;
mod lease;
mod pools;
mod prepared;
mod settings;
mod shard;
mod type_map;

pub use backend::{Backend, ResultSet};
pub use cancel::CancelTarget;
pub use catalog_loader::{CatalogLoader, Fingerprint, LoadError};
pub use catalog_watch::{CatalogWatch, WatchConfig};
pub use config::{Credentials, Identity, Limits, PoolConfig, ShardAddress};
pub use error::{BackendError, ConnectError, LeaseError};
pub use facts::{Problem, ShardFacts, compare, inspect};
pub use lease::Lease;
pub use pools::{Pools, ShardStatus};
pub use prepared::{Prepared, StatementId};
pub use settings::Settings;
pub use type_map::TypeMap;
