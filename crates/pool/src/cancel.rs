//! Cancelling what runs on a backend.

use std::sync::Arc;
use std::time::Duration;

use crate::ConnectError;

/// What is needed to cancel what runs on one backend.
#[derive(Clone, Debug)]
pub struct CancelTarget {
    pub(crate) shard: Arc<str>,
    pub(crate) address: net::Address,
    pub(crate) key: wire::startup::CancelKey,
    pub(crate) timeout: Duration,
}

/// Asks PostgreSQL to cancel what runs on the backend, and waits until the server has closed the connection that carried
/// the request: by then the signal has been sent. The caller holds the lease of the backend until this returns, so
/// that the cancel can't meet a statement of the next holder.
///
/// # Errors
/// When the shard can't be reached in time. The request may then still arrive: the caller poisons the backend.
///
/// # Cancel safety
/// Not cancel safe: the caller poisons the backend when it gives up.
pub async fn cancel(target: &CancelTarget) -> Result<(), ConnectError> {
    let result = net::cancel(&target.address, &target.key, target.timeout).await;
    result.map_err(|source| ConnectError {
        shard: target.shard.clone(),
        source,
    })
}
