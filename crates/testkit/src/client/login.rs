//! From the start-up packet to the first `ReadyForQuery`.

use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use wire::backend::{self, Authentication};
use wire::frontend;
use wire::startup::SessionStart;

use super::{Address, Client, ClientError};

/// Logs in.
pub(super) async fn login(client: &mut Client, address: &Address) -> Result<(), ClientError> {
    let mut parameters = vec![
        ("user".to_owned(), address.user.clone()),
        ("database".to_owned(), address.database.clone()),
    ];
    parameters.extend(address.parameters.iter().cloned());
    let start = SessionStart {
        minor: 0,
        parameters,
    };
    wire::Startup::Session(start).encode(client.output());

    let mut scram = None;
    loop {
        let frame = client.receive().await?;
        match backend::Message::parse(frame.tag, &frame.body)? {
            backend::Message::Authentication(step) => {
                authenticate(client, address, step, &mut scram)?;
            }
            backend::Message::ErrorResponse(diagnostic) => {
                return Err(ClientError::Refused { diagnostic });
            }
            backend::Message::ReadyForQuery(_) => return Ok(()),
            backend::Message::ParameterStatus { .. }
            | backend::Message::BackendKeyData { .. }
            | backend::Message::NoticeResponse(_)
            | backend::Message::NegotiateProtocolVersion { .. } => {}
            other => {
                let tag = char::from(other.tag());
                return Err(ClientError::Unexpected {
                    tag,
                    during: "at start-up",
                });
            }
        }
    }
}

fn authenticate(
    client: &mut Client,
    address: &Address,
    step: Authentication<'_>,
    scram: &mut Option<ScramSha256>,
) -> Result<(), ClientError> {
    let password = || address.password.as_deref().ok_or(ClientError::Password);
    match step {
        Authentication::Ok => {}
        Authentication::CleartextPassword => {
            frontend::password(client.output(), password()?.as_bytes());
        }
        Authentication::Sasl { mechanisms } if mechanisms.contains(&SCRAM_SHA_256) => {
            let exchange = ScramSha256::new(password()?.as_bytes(), ChannelBinding::unsupported());
            frontend::sasl_initial(client.output(), SCRAM_SHA_256, exchange.message());
            *scram = Some(exchange);
        }
        Authentication::SaslContinue(data) => {
            let exchange = scram.as_mut().ok_or(ClientError::Password)?;
            exchange
                .update(data)
                .map_err(|source| ClientError::Proof { source })?;
            client.send(&frontend::Message::Password(exchange.message()));
        }
        Authentication::SaslFinal(data) => {
            let exchange = scram.as_mut().ok_or(ClientError::Password)?;
            exchange
                .finish(data)
                .map_err(|source| ClientError::Proof { source })?;
        }
        Authentication::Md5Password { .. }
        | Authentication::Sasl { .. }
        | Authentication::Other { .. } => return Err(ClientError::Password),
    }
    Ok(())
}
