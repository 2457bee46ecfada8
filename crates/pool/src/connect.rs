//! Reaching a shard's socket.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpStream, UnixStream};

use crate::ConnectError;
use crate::config::Endpoint;

/// A connected socket. The caller bounds the time.
pub(crate) async fn socket(
    shard: &Arc<str>,
    endpoint: &Endpoint,
) -> Result<net::Connection, ConnectError> {
    let result = match endpoint {
        Endpoint::Tcp { host, port } => tcp(host, *port).await,
        Endpoint::Unix(path) => UnixStream::connect(path).await.map(net::Connection::new),
    };
    result.map_err(|source| unreachable(shard, endpoint, source))
}

async fn tcp(host: &str, port: u16) -> io::Result<net::Connection> {
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    Ok(net::Connection::new(stream))
}

pub(crate) fn unreachable(
    shard: &Arc<str>,
    endpoint: &Endpoint,
    source: io::Error,
) -> ConnectError {
    ConnectError::Unreachable {
        shard: shard.clone(),
        endpoint: endpoint.to_string(),
        source,
    }
}

pub(crate) fn timeout(shard: &Arc<str>, endpoint: &Endpoint, waited: Duration) -> ConnectError {
    ConnectError::Timeout {
        shard: shard.clone(),
        endpoint: endpoint.to_string(),
        waited,
    }
}
