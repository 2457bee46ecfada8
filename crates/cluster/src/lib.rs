//! Local PostgreSQL clusters: found, made, started, stopped and found again.
//!
//! What it is for: `kintsugi dev` runs its shards with it, and the tests their plain PostgreSQL.
//! What it promises: a cluster that was started is stopped cleanly, or found and stopped at the
//! next start when its parent died; nobody else can use a cluster's folder meanwhile; data is
//! durable unless [`Durability::Fast`] was asked for; servers listen on 127.0.0.1 only.
//! What it must not know: routers, shards, topologies, and SQL beyond `CREATE DATABASE`.
//!
//! Read first: [`Binaries`] (which PostgreSQL), [`Spec`] (what is wanted), [`LocalCluster`] (what
//! runs). Tests are in `tests/` and beside the modules.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let binaries = cluster::Binaries::find()?;
//! let spec = cluster::Spec::new("/tmp/example/store-1");
//! let mut server = cluster::LocalCluster::start(&binaries, spec).await?;
//! println!("{}", server.url("postgres"));
//! server.stop().await?;
//! # Ok(())
//! # }
//! ```

mod account;
mod binaries;
mod error;
mod home;
mod leftover;
mod make;
mod server;
mod spec;

pub use account::Account;
pub use binaries::Binaries;
pub use error::{FindError, StartError, StopError};
pub use home::{Placement, place};
pub use server::LocalCluster;
pub use spec::{Auth, Durability, Spec};
