//! Opening a backend: socket, start-up packet, authentication, first `ReadyForQuery`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use postgres_protocol::authentication::{md5_hash, sasl};
use tokio::time::Instant;
use wire::backend::{Authentication, Message, TransactionStatus};

use super::{Backend, Condition};
use crate::config::ShardAddress;
use crate::shard::Proven;
use crate::{
    CancelTarget, ConnectError, Credentials, Identity, Limits, Prepared, Settings, connect,
};

/// What opening needs.
pub(crate) struct Opening<'a> {
    pub(crate) address: &'a ShardAddress,
    pub(crate) identity: &'a Identity,
    pub(crate) credentials: &'a Credentials,
    pub(crate) limits: &'a Limits,
    pub(crate) proven: &'a Arc<Proven>,
}

/// A login under way.
struct Login<'a> {
    opening: &'a Opening<'a>,
    connection: net::Connection,
    scram: Option<sasl::ScramSha256>,
    parameters: BTreeMap<String, String>,
    key: Option<(i32, bytes::Bytes)>,
}

/// Opens a backend.
///
/// # Errors
/// Network, authentication, or PostgreSQL's refusal; also when it takes longer than `connect_timeout`.
///
/// # Cancel safety
/// Dropping it closes the socket.
pub(crate) async fn open(opening: &Opening<'_>) -> Result<Backend, ConnectError> {
    let limit: Duration = opening.limits.connect_timeout;
    match tokio::time::timeout(limit, Login::run(opening)).await {
        Ok(result) => result,
        Err(_elapsed) => Err(connect::timeout(
            &opening.address.uid,
            &opening.address.endpoint,
            limit,
        )),
    }
}

// === impl Login ===

impl<'a> Login<'a> {
    async fn run(opening: &'a Opening<'a>) -> Result<Backend, ConnectError> {
        let address = opening.address;
        let connection = connect::socket(&address.uid, &address.endpoint).await?;
        let mut login = Self {
            opening,
            connection,
            scram: None,
            parameters: BTreeMap::new(),
            key: None,
        };
        login.send_startup();
        loop {
            login.flush().await?;
            let frame = login.frame().await?;
            let Ok(message) = Message::parse(frame.tag, &frame.body) else {
                return Err(login.violation("malformed message"));
            };
            if let Message::ReadyForQuery(status) = message {
                return login.finish(status);
            }
            login.take(message)?;
        }
    }

    fn send_startup(&mut self) {
        let identity = self.opening.identity;
        let parameters = [
            ("user", &*identity.user),
            ("database", &*identity.database),
            ("client_encoding", "UTF8"),
            ("application_name", "kintsugi"),
        ];
        let start = wire::startup::SessionStart {
            minor: 0,
            parameters: parameters.map(|(n, v)| (n.to_owned(), v.to_owned())).into(),
        };
        wire::Startup::Session(start).encode(self.connection.output());
    }

    fn take(&mut self, message: Message<'_>) -> Result<(), ConnectError> {
        match message {
            Message::Authentication(step) => self.authenticate(&step),
            Message::ParameterStatus { name, value } => {
                self.parameters.insert(name.to_owned(), value.to_owned());
                Ok(())
            }
            Message::BackendKeyData { pid, secret } => {
                self.key = Some((pid, bytes::Bytes::copy_from_slice(secret)));
                Ok(())
            }
            Message::NoticeResponse(_) => Ok(()),
            Message::ErrorResponse(diagnostic) => Err(ConnectError::Refused {
                shard: self.opening.address.uid.clone(),
                diagnostic,
            }),
            _ => Err(self.violation("unexpected message")),
        }
    }

    fn authenticate(&mut self, step: &Authentication<'_>) -> Result<(), ConnectError> {
        match step {
            Authentication::Ok => Ok(()),
            Authentication::CleartextPassword => {
                let mut password = self.password()?.as_bytes().to_vec();
                password.push(0);
                self.answer(&password);
                Ok(())
            }
            Authentication::Md5Password { salt } => {
                let user = self.opening.identity.user.as_bytes();
                let mut hash = md5_hash(user, self.password()?.as_bytes(), *salt).into_bytes();
                hash.push(0);
                self.answer(&hash);
                Ok(())
            }
            Authentication::Sasl { mechanisms } => self.begin_scram(mechanisms),
            Authentication::SaslContinue(data) => {
                let mut scram = self
                    .scram
                    .take()
                    .ok_or_else(|| self.violation("SASL out of place"))?;
                scram
                    .update(data)
                    .map_err(|error| self.denied(error.to_string()))?;
                self.answer(scram.message());
                self.scram = Some(scram);
                Ok(())
            }
            Authentication::SaslFinal(data) => {
                let mut scram = self
                    .scram
                    .take()
                    .ok_or_else(|| self.violation("SASL out of place"))?;
                scram
                    .finish(data)
                    .map_err(|error| self.denied(error.to_string()))
            }
            Authentication::Other { code, .. } => {
                Err(self.denied(format!("authentication method {code} is not spoken")))
            }
        }
    }

    fn begin_scram(&mut self, mechanisms: &[&str]) -> Result<(), ConnectError> {
        if !mechanisms.contains(&sasl::SCRAM_SHA_256) {
            return Err(self.denied(format!("none of {mechanisms:?} is spoken")));
        }
        let password = self.password()?;
        let scram =
            sasl::ScramSha256::new(password.as_bytes(), sasl::ChannelBinding::unsupported());
        let first = scram.message();
        let mut body = sasl::SCRAM_SHA_256.as_bytes().to_vec();
        body.push(0);
        body.extend_from_slice(&u32::try_from(first.len()).unwrap_or(0).to_be_bytes());
        body.extend_from_slice(first);
        self.answer(&body);
        self.scram = Some(scram);
        Ok(())
    }

    fn password(&self) -> Result<&'a str, ConnectError> {
        let user = &self.opening.identity.user;
        self.opening.credentials.password(user).ok_or_else(|| {
            self.denied(format!(
                "it wants a password for user \"{user}\", and none is configured"
            ))
        })
    }

    fn answer(&mut self, body: &[u8]) {
        wire::frontend::Message::Password(body).encode(self.connection.output());
    }

    async fn flush(&mut self) -> Result<(), ConnectError> {
        let address = self.opening.address;
        let result = self.connection.flush().await;
        result.map_err(|source| connect::unreachable(&address.uid, &address.endpoint, source))
    }

    async fn frame(&mut self) -> Result<wire::Frame, ConnectError> {
        let limits = wire::Limits::backend().with_large(64 * 1024);
        let address = self.opening.address;
        loop {
            match wire::decode(self.connection.input(), &limits) {
                Ok(Some(frame)) => return Ok(frame),
                Ok(None) => {}
                Err(_too_long) => {
                    return Err(self.violation("it doesn't speak PostgreSQL's protocol"));
                }
            }
            let result = match self.connection.fill().await {
                Ok(0) => Err(std::io::ErrorKind::UnexpectedEof.into()),
                other => other,
            };
            result
                .map_err(|source| connect::unreachable(&address.uid, &address.endpoint, source))?;
        }
    }

    fn finish(self, status: TransactionStatus) -> Result<Backend, ConnectError> {
        let Some((process_id, secret)) = self.key.clone() else {
            return Err(self.violation("no key for cancelling"));
        };
        let Opening {
            address,
            identity,
            limits,
            proven,
            ..
        } = *self.opening;
        let cancel = CancelTarget {
            shard: address.uid.clone(),
            endpoint: address.endpoint.clone(),
            key: wire::startup::CancelKey {
                pid: process_id,
                secret,
            },
            timeout: limits.cleanup_timeout,
        };
        let now = Instant::now();
        Ok(Backend {
            connection: self.connection,
            prepared: Prepared::new(limits.prepared_max),
            parameters: self.parameters,
            shard: address.uid.clone(),
            identity: identity.clone(),
            cancel,
            opened_at: now,
            idle_since: now,
            proven: proven.clone(),
            transaction_status: status,
            ready_expected: 0,
            settings: Settings::empty(),
            unsettled: None,
            condition: Condition::Clean,
        })
    }

    fn violation(&self, reason: &'static str) -> ConnectError {
        ConnectError::Protocol {
            shard: self.opening.address.uid.clone(),
            reason,
        }
    }

    fn denied(&self, reason: String) -> ConnectError {
        ConnectError::Authentication {
            shard: self.opening.address.uid.clone(),
            reason,
        }
    }
}
