//! Sockets: listening, dialling, reading and relaying messages, authentication on both sides, the clock.
//!
//! It promises that every wait which a session selects over is cancel safe (each function says so), that
//! a client's pipelined bytes survive watching for its hang-up, and that relaying copies no row more than
//! once. It must not know SQL. TLS isn't spoken: an `SSLRequest` is answered with `N`.
//!
//! Read first: [`Connection`], [`connect`](fn@connect), [`auth::authenticate`]. Tests: beside the modules.

mod address;
pub mod auth;
mod clock;
mod connect;
mod connection;
mod error;
mod listener;
pub mod scram;
mod socket;

pub use address::Address;
pub use clock::Clock;
pub use connect::{BackendConnection, ConnectError, Login, cancel, connect};
pub use connection::Connection;
pub use error::{ConnectionError, RelayError};
pub use listener::{ListenError, Listener};
pub use socket::Socket;
