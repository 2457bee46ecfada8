//! Every key of the configuration file, for the reference.

use std::fmt::Write as _;

/// A key of the file.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// With its table; `NAME` and `UID` stand for names of the user's own.
    pub name: &'static str,
    /// A value, as it is written.
    pub example: &'static str,
    /// What holds where it is left out.
    pub default: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// All of them, in the order of the reference.
pub const KEYS: &[Key] = &[
    key(
        "listen",
        "\"127.0.0.1:6432\"",
        "required",
        "where clients arrive: `host:port`, or the path of a Unix socket",
    ),
    key(
        "store",
        "\"store.db\"",
        "required",
        "the file with the topology's revisions; all routers of a host share it; relative to this file",
    ),
    key(
        "auth",
        "\"scram\"",
        "`\"scram\"`",
        "how clients show who they are: `\"scram\"` by password, `\"trust\"` not at all (for local development only)",
    ),
    key(
        "router.name",
        "\"router-1\"",
        "the host's name and the process's number",
        "the router's name among the routers: 1 to 32 letters, digits, dots and hyphens; two routers must not share one",
    ),
    key(
        "router.user",
        "\"postgres\"",
        "required",
        "as whom the router itself works on the shards: a superuser there",
    ),
    key(
        "router.database",
        "\"postgres\"",
        "`\"postgres\"`",
        "a database that every shard has",
    ),
    key(
        "router.password",
        "\"secret\"",
        "none",
        "that user's password at the shards",
    ),
    key(
        "router.password_file",
        "\"router.password\"",
        "none",
        "a file with that password, relative to this file",
    ),
    key(
        "shards.UID.primary",
        "\"10.0.0.1:5432\"",
        "the document's",
        "`host:port` of the shard's primary; replaces what the topology document says",
    ),
    key(
        "shards.UID.region",
        "\"eu\"",
        "none",
        "where the shard stands, for people",
    ),
    key(
        "users.NAME.password",
        "\"secret\"",
        "none",
        "the password of a user of this name, here and at the shards",
    ),
    key(
        "users.NAME.password_file",
        "\"app.password\"",
        "none",
        "a file with that password, relative to this file",
    ),
    key(
        "users.NAME.verifier",
        "\"SCRAM-SHA-256$...\"",
        "none",
        "instead of the password: what PostgreSQL keeps of it in `pg_authid.rolpassword`",
    ),
    key(
        "users.NAME.shard_password",
        "\"secret\"",
        "the password",
        "the user's password at the shards, where it is another one",
    ),
    key(
        "pool.backends_max",
        "50",
        "`50`",
        "most connections to each shard for clients; the router uses up to 4 more for itself",
    ),
    key(
        "pool.connect_timeout_ms",
        "5000",
        "`5000`",
        "how long connecting to a shard and logging in may take",
    ),
    key(
        "pool.idle_timeout_s",
        "600",
        "`600`",
        "connections that were idle for longer are closed",
    ),
    key(
        "pool.lifetime_max_s",
        "3600",
        "`3600`",
        "connections older than this are closed when they come back",
    ),
    key(
        "pool.cleanup_timeout_ms",
        "5000",
        "`5000`",
        "how long clearing a connection up may take before it is closed instead",
    ),
    key(
        "pool.prepared_max",
        "256",
        "`256`",
        "most prepared statements on one connection to a shard",
    ),
    key(
        "limits.clients_max",
        "10000",
        "`10000`",
        "most clients at a time; more are told so and closed",
    ),
    key(
        "limits.lease_wait_ms",
        "15000",
        "`15000`",
        "how long a statement waits for a connection to a shard",
    ),
    key(
        "limits.message_bytes_max",
        "1073741824",
        "`1073741824`",
        "the longest message of a client",
    ),
    key(
        "limits.login_timeout_s",
        "60",
        "`60`",
        "how long a client may take to log in",
    ),
    key(
        "limits.prepared_max",
        "10000",
        "`10000`",
        "most prepared statements of one session",
    ),
    key(
        "limits.shapes_max",
        "20000",
        "`20000`",
        "most shapes of statements in the plan cache",
    ),
    key(
        "log.format",
        "\"text\"",
        "`\"text\"`",
        "`\"text\"` for people, `\"json\"` for machines; the log goes to standard error",
    ),
    key(
        "log.filter",
        "\"info\"",
        "`\"info\"`",
        "what is logged: a level, or directives such as `info,pool=debug`",
    ),
];

const fn key(
    name: &'static str,
    example: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> Key {
    Key {
        name,
        example,
        default,
        meaning,
    }
}

/// The page `docs/reference/config.md`.
#[must_use]
pub fn reference() -> String {
    let mut page = String::from(
        "# Configuration of `kintsugi serve`\n\n\
         One TOML file, named by `--config`. A key that is not in this list is refused, with its line. The commands that work on a\n\
         running cluster (`kintsugi topology`, `kintsugi status`) read the same file; `kintsugi dev` writes one into its data folder,\n\
         so that they find it with `--data-dir`. `examples/kintsugi.toml` is a whole one.\n\n\
         TLS is not spoken to clients yet: an encrypted connection is declined, and a `tls` table refused.\n\n\
         | key | default | meaning |\n|---|---|---|\n",
    );
    for key in KEYS {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} |",
            key.name, key.default, key.meaning
        );
    }
    page
}
