//! The server side of SCRAM-SHA-256 (RFC 5802, 7677) as PostgreSQL speaks it, without I/O.
//!
//! ```text
//! Server --first(client-first)--> Challenged --finish(client-final)--> proven, or WrongPassword
//! ```
//!
//! An unknown user walks the same road with a [`Verifier::mock`] and fails at its end, so that neither
//! the messages nor the time they take tell who exists.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pg::{Diagnose, Fault, Severity, SqlState};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::{digest, hmac};

mod verifier;

pub use verifier::{Verifier, VerifierError};

/// The mechanism's name.
pub const MECHANISM: &str = "SCRAM-SHA-256";

/// Random bytes of the server's part of the nonce.
const NONCE_BYTES: usize = 18;

/// Waits for the client's first message.
#[derive(Debug)]
pub struct Server {
    verifier: Verifier,
    nonce: String,
}

/// Waits for the client's last message.
#[derive(Debug)]
pub struct Challenged {
    verifier: Verifier,
    /// Client's and server's part.
    nonce: String,
    /// `c=` of the last message must be this.
    binding: String,
    client_first_bare: String,
    server_first: String,
}

/// Why the exchange failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScramError {
    /// A message that isn't SCRAM's.
    #[error("malformed SCRAM message")]
    Malformed,
    /// The client wants channel binding, which needs TLS.
    #[error("the client requires SCRAM channel binding, but it is not supported")]
    ChannelBinding,
    /// The client wants to act as somebody else.
    #[error("client uses authorization identity, but it is not supported")]
    AuthorizationIdentity,
    /// The proof is wrong, or the user doesn't exist.
    #[error("password authentication failed")]
    WrongPassword,
    /// The system has no randomness to give.
    #[error("could not generate random nonce")]
    NoRandomness,
}

// === impl Server ===

impl Server {
    /// Begins an exchange.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn new(verifier: Verifier) -> Result<Self, ScramError> {
        let mut random = [0; NONCE_BYTES];
        SystemRandom::new()
            .fill(&mut random)
            .map_err(|_unspecified| ScramError::NoRandomness)?;
        Ok(Self {
            verifier,
            nonce: BASE64.encode(random),
        })
    }

    /// Reads the client's first message; gives the answer to it and the next state.
    ///
    /// # Errors
    /// The message isn't SCRAM's or wants what isn't spoken.
    pub fn first(self, message: &[u8]) -> Result<(String, Challenged), ScramError> {
        let message = std::str::from_utf8(message).map_err(|_not_utf8| ScramError::Malformed)?;
        let (flag, rest) = message.split_once(',').ok_or(ScramError::Malformed)?;
        match flag {
            // "y": the client could bind, but saw that the server can't.
            "n" | "y" => {}
            _ if flag.starts_with("p=") => return Err(ScramError::ChannelBinding),
            _ => return Err(ScramError::Malformed),
        }
        let (identity, bare) = rest.split_once(',').ok_or(ScramError::Malformed)?;
        if !identity.is_empty() {
            return Err(ScramError::AuthorizationIdentity);
        }
        // The name is ignored, as PostgreSQL does: the start-up packet has it.
        let mut fields = bare.split(',');
        let named = fields.next().is_some_and(|field| field.starts_with("n="));
        let nonce = fields.next().and_then(|field| field.strip_prefix("r="));
        let nonce = nonce
            .filter(|nonce| named && is_nonce(nonce))
            .ok_or(ScramError::Malformed)?;
        let nonce = format!("{nonce}{}", self.nonce);
        let server_first = format!(
            "r={nonce},s={},i={}",
            BASE64.encode(self.verifier.salt()),
            self.verifier.iterations()
        );
        let next = Challenged {
            verifier: self.verifier,
            nonce,
            binding: BASE64.encode(format!("{flag},,")),
            client_first_bare: bare.to_owned(),
            server_first: server_first.clone(),
        };
        Ok((server_first, next))
    }
}

fn is_nonce(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|c| matches!(c, 0x21..=0x7e))
}

// === impl Challenged ===

impl Challenged {
    /// Reads the client's last message; gives the server's own proof, to be sent before
    /// `AuthenticationOk`.
    ///
    /// # Errors
    /// The message isn't SCRAM's, or the proof is wrong.
    pub fn finish(self, message: &[u8]) -> Result<String, ScramError> {
        let message = std::str::from_utf8(message).map_err(|_not_utf8| ScramError::Malformed)?;
        let (unproven, proof) = message.rsplit_once(",p=").ok_or(ScramError::Malformed)?;
        let mut fields = unproven.split(',');
        let binding = fields.next().and_then(|field| field.strip_prefix("c="));
        let nonce = fields.next().and_then(|field| field.strip_prefix("r="));
        if binding != Some(&self.binding) || nonce != Some(&self.nonce) {
            return Err(ScramError::Malformed);
        }
        let proof = BASE64
            .decode(proof)
            .map_err(|_not_base64| ScramError::Malformed)?;
        let proof: [u8; 32] = proof.try_into().map_err(|_length| ScramError::Malformed)?;
        let exchange = format!(
            "{},{},{unproven}",
            self.client_first_bare, self.server_first
        );
        if !self.is_proven(&proof, &exchange) {
            return Err(ScramError::WrongPassword);
        }
        let signature = sign(self.verifier.server_key(), exchange.as_bytes());
        Ok(format!("v={}", BASE64.encode(signature)))
    }

    fn is_proven(&self, proof: &[u8; 32], exchange: &str) -> bool {
        let signature = sign(self.verifier.stored_key(), exchange.as_bytes());
        let mut client_key = [0; 32];
        for (at, byte) in client_key.iter_mut().enumerate() {
            *byte = proof[at] ^ signature[at];
        }
        let hashed = digest::digest(&digest::SHA256, &client_key);
        let differs = std::iter::zip(hashed.as_ref(), self.verifier.stored_key())
            .fold(0, |differs, (a, b)| differs | (a ^ b));
        // Both are looked at whatever the first says.
        (differs == 0) & !self.verifier.is_mock()
    }
}

/// HMAC-SHA-256.
fn sign(key: &[u8], message: &[u8]) -> [u8; 32] {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message);
    tag.as_ref().try_into().expect("HMAC-SHA-256 has 32 bytes")
}

impl Diagnose for ScramError {
    fn sqlstate(&self) -> SqlState {
        match self {
            Self::Malformed | Self::ChannelBinding => SqlState::PROTOCOL_VIOLATION,
            Self::AuthorizationIdentity => SqlState::FEATURE_NOT_SUPPORTED,
            Self::WrongPassword => SqlState::INVALID_PASSWORD,
            Self::NoRandomness => SqlState::INTERNAL_ERROR,
        }
    }

    fn severity(&self) -> Severity {
        Severity::Fatal
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Malformed
            | Self::ChannelBinding
            | Self::AuthorizationIdentity
            | Self::WrongPassword => Fault::Client,
            Self::NoRandomness => Fault::Router,
        }
    }
}

#[cfg(test)]
mod tests;
