//! Who may come in.

use std::collections::HashMap;

use net::auth::Method;
use net::scram::Verifier;

/// How clients show who they are.
#[derive(Clone, Debug)]
pub enum Access {
    /// Everybody is who they say: for local development.
    Trust,
    /// By password, SCRAM-SHA-256.
    Scram(Users),
}

/// The users that may log in.
#[derive(Clone, Debug)]
pub struct Users {
    verifiers: HashMap<String, Verifier>,
    /// Makes what an unknown user is asked the same each time.
    secret: Vec<u8>,
}

// === impl Access ===

impl Access {
    /// What this user must show. An unknown one is asked like a known one.
    #[must_use]
    pub fn method(&self, user: &str) -> Method {
        match self {
            Self::Trust => Method::Trust,
            Self::Scram(users) => {
                let known = users.verifiers.get(user).cloned();
                Method::Scram(known.unwrap_or_else(|| Verifier::mock(&users.secret, user)))
            }
        }
    }
}

// === impl Users ===

impl Users {
    /// The users with their verifiers; `secret` hides which users exist.
    #[must_use]
    pub fn new(verifiers: HashMap<String, Verifier>, secret: Vec<u8>) -> Self {
        Self { verifiers, secret }
    }
}
