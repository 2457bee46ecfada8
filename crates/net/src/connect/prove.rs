//! The client side of authentication, without I/O.
//!
//! ```text
//! Asked --Ok--> Over                              (trust)
//! Asked --Cleartext, Md5--> Sent --Ok--> Over
//! Asked --Sasl--> Exchange --SaslContinue--> Exchange --SaslFinal--> Sent --Ok--> Over
//! ```

use bytes::BytesMut;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};
use stdx::Secret;
use wire::backend::Authentication;
use wire::frontend;

use super::{ConnectError, Login};
use crate::Address;
use crate::scram::MECHANISM;

/// Where the proof of who we are stands.
pub(super) struct Proof<'a> {
    login: &'a Login,
    state: State,
}

enum State {
    Asked,
    Exchange(Box<ScramSha256>),
    Sent,
    Over,
}

/// What to do next.
pub(super) enum Step {
    /// Send this.
    Answer(BytesMut),
    /// Wait.
    Silent,
}

impl<'a> Proof<'a> {
    pub(super) fn new(login: &'a Login) -> Self {
        Self {
            login,
            state: State::Asked,
        }
    }

    /// Whether the shard has let us in.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Takes what the shard asks for.
    pub(super) fn on(
        &mut self,
        asked: Authentication<'_>,
        address: &Address,
    ) -> Result<Step, ConnectError> {
        let unproven = |source| ConnectError::Unproven {
            address: address.clone(),
            source,
        };
        let mut answer = BytesMut::new();
        let state = std::mem::replace(&mut self.state, State::Over);
        self.state = match (state, asked) {
            // An Ok in the midst of an exchange would let a server in that doesn't know the password.
            (State::Asked | State::Sent, Authentication::Ok) => State::Over,
            (State::Asked, Authentication::CleartextPassword) => {
                frontend::password(&mut answer, self.password(address)?.as_bytes());
                State::Sent
            }
            (State::Asked, Authentication::Md5Password { salt }) => {
                let password = self.password(address)?;
                let hash = md5_hash(self.login.user.as_bytes(), password.as_bytes(), salt);
                frontend::password(&mut answer, hash.as_bytes());
                State::Sent
            }
            (State::Asked, Authentication::Sasl { mechanisms }) => {
                if !mechanisms.contains(&MECHANISM) {
                    let method = mechanisms.join(" ");
                    return Err(ConnectError::Method {
                        address: address.clone(),
                        method,
                    });
                }
                let password = self.password(address)?;
                let binding = ChannelBinding::unsupported();
                let scram = Box::new(ScramSha256::new(password.as_bytes(), binding));
                frontend::sasl_initial(&mut answer, MECHANISM, scram.message());
                State::Exchange(scram)
            }
            (State::Exchange(mut scram), Authentication::SaslContinue(data)) => {
                scram.update(data).map_err(unproven)?;
                frontend::Message::Password(scram.message()).encode(&mut answer);
                State::Exchange(scram)
            }
            (State::Exchange(mut scram), Authentication::SaslFinal(data)) => {
                scram.finish(data).map_err(unproven)?;
                State::Sent
            }
            (State::Asked, Authentication::Other { code, .. }) => {
                let method = code.to_string();
                return Err(ConnectError::Method {
                    address: address.clone(),
                    method,
                });
            }
            _ => {
                return Err(ConnectError::Unexpected {
                    address: address.clone(),
                    tag: b'R',
                });
            }
        };
        Ok(if answer.is_empty() {
            Step::Silent
        } else {
            Step::Answer(answer)
        })
    }

    fn password(&self, address: &Address) -> Result<&'a str, ConnectError> {
        let password = self.login.password.as_ref().map(Secret::expose);
        password
            .map(String::as_str)
            .ok_or_else(|| ConnectError::PasswordMissing {
                address: address.clone(),
            })
    }
}
