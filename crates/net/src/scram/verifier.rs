//! What a server keeps of a password, in the form in which PostgreSQL keeps it in `pg_authid`.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::{MECHANISM, sign};

/// PostgreSQL's default.
const ITERATIONS: u32 = 4096;
/// Bytes of PostgreSQL's salts.
const SALT_BYTES: usize = 16;

/// `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`. Who has it can check a password but not
/// log in with it; it prints as stars all the same.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    iterations: u32,
    salt: Vec<u8>,
    stored_key: [u8; 32],
    server_key: [u8; 32],
    mock: bool,
}

/// The text is no verifier of SCRAM-SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a SCRAM-SHA-256 verifier as PostgreSQL writes it")]
pub struct VerifierError;

impl Verifier {
    /// Makes a verifier of a password, with a new salt. The password is normalised (by `SASLprep`) where that
    /// is possible, as PostgreSQL does. Costs some milliseconds.
    ///
    /// # Errors
    /// Never for any password; the error is that of reading what the library wrote.
    pub fn from_password(password: &str) -> Result<Self, VerifierError> {
        postgres_protocol::password::scram_sha_256(password.as_bytes()).parse()
    }

    /// A verifier that nothing satisfies, for a user that doesn't exist. `secret` must be the same as long
    /// as routers answer for the same users: the same name then always gets the same salt.
    #[must_use]
    pub fn mock(secret: &[u8], user: &str) -> Self {
        let salt = sign(secret, user.as_bytes());
        Self {
            iterations: ITERATIONS,
            salt: salt[..SALT_BYTES].to_vec(),
            stored_key: sign(secret, &salt),
            server_key: sign(secret, &salt),
            mock: true,
        }
    }

    /// The text that PostgreSQL keeps, to be stored or given to `CREATE ROLE ... PASSWORD`.
    #[must_use]
    pub fn to_secret_text(&self) -> String {
        format!(
            "{MECHANISM}${}:{}${}:{}",
            self.iterations,
            BASE64.encode(&self.salt),
            BASE64.encode(self.stored_key),
            BASE64.encode(self.server_key)
        )
    }

    pub(super) fn iterations(&self) -> u32 {
        self.iterations
    }

    pub(super) fn salt(&self) -> &[u8] {
        &self.salt
    }

    pub(super) fn stored_key(&self) -> &[u8; 32] {
        &self.stored_key
    }

    pub(super) fn server_key(&self) -> &[u8; 32] {
        &self.server_key
    }

    pub(super) fn is_mock(&self) -> bool {
        self.mock
    }
}

impl FromStr for Verifier {
    type Err = VerifierError;

    fn from_str(text: &str) -> Result<Self, VerifierError> {
        let read = || {
            let rest = text.strip_prefix(MECHANISM)?.strip_prefix('$')?;
            let (salting, keys) = rest.split_once('$')?;
            let (iterations, salt) = salting.split_once(':')?;
            let (stored, server) = keys.split_once(':')?;
            let key =
                |text: &str| -> Option<[u8; 32]> { BASE64.decode(text).ok()?.try_into().ok() };
            Some(Self {
                iterations: iterations.parse().ok().filter(|count| *count > 0)?,
                salt: BASE64.decode(salt).ok()?,
                stored_key: key(stored)?,
                server_key: key(server)?,
                mock: false,
            })
        };
        read().ok_or(VerifierError)
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
