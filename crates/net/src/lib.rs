//! Sockets and what is said on them before any SQL: buffers, authentication, clock.
//!
//! This crate promises cancel safety for everything that waits, and that nothing is read ahead of its
//! reader. It must not know SQL. Read [`Connection`] first.

mod connection;
mod socket;

pub use connection::Connection;
pub use socket::Socket;
