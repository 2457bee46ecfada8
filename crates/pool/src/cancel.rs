//! Cancelling what runs on a backend.

use std::sync::Arc;
use std::time::Duration;

use crate::config::Endpoint;
use crate::{ConnectError, connect};

/// What is needed to cancel what runs on one backend.
#[derive(Clone, Debug)]
pub struct CancelTarget {
    pub(crate) shard: Arc<str>,
    pub(crate) endpoint: Endpoint,
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
    let work = async {
        let mut connection = connect::socket(&target.shard, &target.endpoint).await?;
        wire::Startup::Cancel(target.key.clone()).encode(connection.output());
        let sent = match connection.flush().await {
            // The server may close right after it has read the request.
            Ok(()) => loop {
                match connection.fill().await {
                    Ok(0) => break Ok(()),
                    Ok(count) => connection.consume(count),
                    Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {
                        break Ok(());
                    }
                    Err(error) => break Err(error),
                }
            },
            Err(error) => Err(error),
        };
        sent.map_err(|source| connect::unreachable(&target.shard, &target.endpoint, source))
    };
    match tokio::time::timeout(target.timeout, work).await {
        Ok(result) => result,
        Err(_elapsed) => Err(connect::timeout(
            &target.shard,
            &target.endpoint,
            target.timeout,
        )),
    }
}
