//! What the tests share: a scripted client, the oracle, and a proxy that makes faults.
//!
//! What it promises: the client shows exactly what came over the wire and reads nothing into it; the
//! oracle compares and never excuses a difference; the proxy does what its plan says and nothing else.
//! What it must not know: how the router does its work.
//!
//! Read first: [`client::Client`], [`oracle`], [`proxy::Proxy`]. The oracle's cases are plain data in
//! the project's `tests/oracle` folder; the program `oracle` runs them.

pub mod client;
pub mod oracle;
pub mod proxy;
pub mod router;
