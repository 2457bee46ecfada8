//! Opening a backend.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use wire::backend::TransactionStatus;

use super::{Backend, Condition};
use crate::config::ShardAddress;
use crate::shard::Proven;
use crate::{CancelTarget, ConnectError, Credentials, Identity, Limits, Prepared, Settings};

/// What opening needs.
pub(crate) struct Opening<'a> {
    pub(crate) address: &'a ShardAddress,
    pub(crate) identity: &'a Identity,
    pub(crate) credentials: &'a Credentials,
    pub(crate) limits: &'a Limits,
    pub(crate) proven: &'a Arc<Proven>,
}

/// Opens a backend.
///
/// # Errors
/// Network, authentication, or PostgreSQL's refusal; also when it takes longer than `connect_timeout`.
///
/// # Cancel safety
/// Dropping it closes the socket.
pub(crate) async fn open(opening: &Opening<'_>) -> Result<Backend, ConnectError> {
    let Opening {
        address,
        identity,
        credentials,
        limits,
        proven,
    } = *opening;
    let login = net::Login {
        user: identity.user.to_string(),
        database: identity.database.to_string(),
        password: credentials.password(&identity.user).cloned(),
        parameters: vec![
            ("client_encoding".to_owned(), "UTF8".to_owned()),
            ("application_name".to_owned(), "kintsugi".to_owned()),
        ],
    };
    let opened = net::connect(&address.address, &login, limits.connect_timeout).await;
    let opened = opened.map_err(|source| ConnectError {
        shard: address.uid.clone(),
        source,
    })?;
    let cancel = CancelTarget {
        shard: address.uid.clone(),
        address: address.address.clone(),
        key: opened.key,
        timeout: limits.cleanup_timeout,
        under_way: Arc::default(),
    };
    let opened_pid = cancel.key.pid;
    let now = Instant::now();
    Ok(Backend {
        connection: opened.connection,
        prepared: Prepared::new(limits.prepared_max),
        parameters: opened.parameters,
        started_us: None,
        shard: address.uid.clone(),
        identity: identity.clone(),
        cancel,
        expires_at: now + lifetime(limits.lifetime_max, opened_pid),
        idle_since: now,
        proven: proven.clone(),
        transaction_status: TransactionStatus::Idle,
        ready_expected: 0,
        has_open_batch: false,
        settings: Settings::empty(),
        unsettled: None,
        condition: Condition::Clean,
        custom: BTreeSet::new(),
    })
}

/// Up to a tenth shorter, by process, so that backends that were opened together are not closed together.
fn lifetime(longest: Duration, process_id: i32) -> Duration {
    let spread = process_id.unsigned_abs() % 100;
    longest / 1000 * (1000 - spread)
}
