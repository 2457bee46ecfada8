//! Cancelling what runs on a backend.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::ConnectError;

/// What is needed to cancel what runs on one backend.
#[derive(Clone, Debug)]
pub struct CancelTarget {
    pub(crate) shard: Arc<str>,
    pub(crate) address: net::Address,
    pub(crate) key: wire::startup::CancelKey,
    pub(crate) timeout: Duration,
    /// Requests that may still arrive; the backend isn't handed on while there are any.
    pub(crate) under_way: Arc<AtomicUsize>,
}

/// Asks PostgreSQL to cancel what runs on the backend, and waits until the server has closed the connection that carried
/// the request: by then the signal has been sent. A backend that is given back before, or whose request may still be on
/// its way because this failed, is closed, so that the cancel can't meet a statement of the next holder.
///
/// # Errors
/// When the shard can't be reached in time. The request may then still arrive.
///
/// # Cancel safety
/// Cancel safe: the backend is then closed when it is given back.
pub async fn cancel(target: &CancelTarget) -> Result<(), ConnectError> {
    target.under_way.fetch_add(1, Ordering::SeqCst);
    match net::cancel(&target.address, &target.key, target.timeout).await {
        Ok(()) => {
            target.under_way.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        }
        Err(source) => Err(ConnectError {
            shard: target.shard.clone(),
            source,
        }),
    }
}
