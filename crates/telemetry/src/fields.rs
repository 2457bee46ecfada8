//! Names of spans and fields, so that one thing has one name in every log line.

/// Span of one client's session.
pub const CLIENT: &str = "client";
/// Span of one request of a client.
pub const REQUEST: &str = "request";
/// Span of planning a statement.
pub const PLAN: &str = "plan";
/// Span of work on one shard.
pub const SHARD: &str = "shard";

/// Where a client comes from.
pub const CLIENT_ADDR: &str = "client.addr";
/// Who a client is.
pub const USER: &str = "user";
/// The database that a client is in.
pub const DATABASE: &str = "database";
/// What a request asks for.
pub const REQUEST_KIND: &str = "request.kind";
/// The statement without its literals, as a number; never the text.
pub const FINGERPRINT: &str = "fingerprint";
/// How many shards a plan needs.
pub const SHARDS: &str = "shards";
/// The tier that a plan is of.
pub const PLAN_KIND: &str = "plan.kind";
/// A backend's process number.
pub const BACKEND: &str = "backend";
/// An error with its causes.
pub const ERROR: &str = "error";
/// An SQLSTATE.
pub const SQLSTATE: &str = "sqlstate";
/// Whose fault an error is.
pub const FAULT: &str = "fault";
