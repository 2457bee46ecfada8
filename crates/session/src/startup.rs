//! From an accepted socket to a session: start-up packets, authentication, settings that the client starts with, and what it is told.

use std::collections::HashMap;
use std::sync::Arc;

use execute::{Pipeline, SessionSequences, Transaction, Wanted};
use net::Connection;
use pg::{Diagnose, Diagnostic, SqlState};
use pool::{Identity, LeaseError};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use wire::Startup;
use wire::backend::Message;
use wire::startup::SessionStart;

use crate::error::Halt;
use crate::house::House;
use crate::meaning::{Defaults, Meaning};
use crate::session::Session;
use crate::settings::Settings;

/// Parameters of a start-up packet that are no settings.
const NOT_SETTINGS: [&str; 4] = ["user", "database", "options", "replication"];

/// What every client is told at its start; a backend reports them under these names.
const REPORTED: [&str; 13] = [
    "application_name",
    "client_encoding",
    "DateStyle",
    "default_transaction_read_only",
    "in_hot_standby",
    "integer_datetimes",
    "IntervalStyle",
    "is_superuser",
    "server_encoding",
    "server_version",
    "session_authorization",
    "standard_conforming_strings",
    "TimeZone",
];

/// Serves one accepted connection to its end: a session, or a cancel request.
///
/// # Errors
/// How the session ended otherwise than by the client's good-bye.
///
/// # Cancel safety
/// Not cancel safe: a statement that runs is cancelled on its shards.
pub async fn serve(house: Arc<House>, mut client: Connection) -> Result<(), Halt> {
    let limit = house.limits.login_timeout;
    let closing = house.closing.child_token();
    let begun = tokio::select! {
        biased;
        () = closing.cancelled() => {
            let message = "the database system is shutting down";
            return refuse(client, Diagnostic::fatal(SqlState::CANNOT_CONNECT_NOW, message)).await;
        }
        begun = tokio::time::timeout(limit, begin(&house, &mut client)) => begun,
    };
    let begun = match begun {
        Ok(Ok(Some(begun))) => begun,
        Ok(Ok(None)) => return Ok(()),
        Ok(Err(Halt::Fatal(diagnostic))) => return refuse(client, *diagnostic).await,
        Ok(Err(gone)) => return Err(gone),
        Err(_elapsed) => return Err(Halt::client(std::io::ErrorKind::TimedOut.into())),
    };
    let (begun, seat) = begun;
    let mut session = begun.into_session(house, client, closing);
    session.welcome();
    let result = session.serve().await;
    drop(seat);
    result
}

/// Tells the client why it can't come in.
async fn refuse(mut client: Connection, mut diagnostic: Diagnostic) -> Result<(), Halt> {
    diagnostic.severity = pg::Severity::Fatal;
    wire::backend::error_response(client.output(), &diagnostic);
    client.close().await;
    Err(diagnostic.into())
}

/// A client that has come in.
struct Begun {
    identity: Identity,
    settings: Settings,
    defaults: Defaults,
    reported: HashMap<String, String>,
    transaction: Transaction,
}

/// A client that may come in, and its seat among the clients.
async fn begin(
    house: &Arc<House>,
    client: &mut Connection,
) -> Result<Option<(Begun, OwnedSemaphorePermit)>, Halt> {
    let Some(start) = read_start(house, client).await? else {
        return Ok(None);
    };
    // A request to cancel needs no seat, and has ended above.
    let Ok(seat) = Arc::clone(&house.seats).try_acquire_owned() else {
        let message = "sorry, too many clients already";
        return Err(Diagnostic::fatal(SqlState::TOO_MANY_CONNECTIONS, message).into());
    };
    if let Some(negotiation) = start.negotiation() {
        negotiation.encode(client.output());
    }
    let Some(user) = start.parameter("user").filter(|user| !user.is_empty()) else {
        let message = "no PostgreSQL user name specified in startup packet";
        let code = SqlState::INVALID_AUTHORIZATION_SPECIFICATION;
        return Err(Diagnostic::fatal(code, message).into());
    };
    if start
        .parameter("replication")
        .is_some_and(|value| !is_off(value))
    {
        let message = "replication connections are not supported";
        let diagnostic = Diagnostic::fatal(SqlState::FEATURE_NOT_SUPPORTED, message)
            .detail("kintsugi/replication")
            .hint("Connect to a shard itself.");
        return Err(diagnostic.into());
    }
    let database = start
        .parameter("database")
        .filter(|name| !name.is_empty())
        .unwrap_or(user);
    let identity = Identity::new(database, user);
    net::auth::authenticate(client, user, house.access.method(user))
        .await
        .map_err(fatal)?;
    let settings = start_settings(&start)?;
    let mut transaction = Transaction::new(
        house.pools.clone(),
        identity.clone(),
        house.limits.lease_wait,
    );
    let wanted = pool::Settings::new(settings.iter().map(|(n, v)| (n.as_str(), v.as_str())));
    let (settings, defaults, reported) = try_settings(house, &mut transaction, wanted)
        .await
        .map_err(|error| not_let_in(house, error))?;
    transaction.release().await;
    house.catalogs.open(&identity).await.map_err(fatal)?;
    let begun = Begun {
        identity,
        settings,
        defaults,
        reported,
        transaction,
    };
    Ok(Some((begun, seat)))
}

/// Reads start-up packets up to the one that begins a session; `None` when there is none to come.
async fn read_start(
    house: &Arc<House>,
    client: &mut Connection,
) -> Result<Option<SessionStart>, Halt> {
    loop {
        match client.read_startup().await.map_err(fatal)? {
            None => return Ok(None),
            Some(Startup::SslRequest | Startup::GssEncRequest) => {
                client.write(b"N");
                client.flush().await.map_err(Halt::client)?;
            }
            Some(Startup::Cancel(key)) => {
                house.cancels.cancel(&key).await;
                return Ok(None);
            }
            Some(Startup::Session(start)) => return Ok(Some(start)),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn fatal(error: impl Diagnose) -> Halt {
    error.to_diagnostic().into()
}

/// What a shard says of the client's own database or role reaches the client as it is. Where clients show passwords, roles are
/// the router's matter: a shard that refuses one is set up wrong, and the client can do nothing about it.
fn not_let_in(house: &House, error: execute::ExecuteError) -> Halt {
    let refusal = match &error {
        execute::ExecuteError::Lease(
            LeaseError::Connect(source) | LeaseError::Down { source, .. },
        ) => source.source.refusal(),
        _ => None,
    };
    let is_own = |shown: &&Diagnostic| {
        let is_trusted = matches!(house.access, crate::Access::Trust);
        shown.code == SqlState::INVALID_CATALOG_NAME
            || is_trusted && shown.code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
    };
    match refusal.filter(is_own) {
        Some(shown) => shown.clone().into(),
        None => fatal(error),
    }
}

fn is_off(value: &str) -> bool {
    matches!(
        value.to_ascii_lowercase().as_str(),
        "" | "0" | "off" | "false" | "no" | "f" | "n"
    )
}

/// The settings of a start-up packet: its own parameters and those in `options`.
fn start_settings(start: &SessionStart) -> Result<Vec<(String, String)>, Diagnostic> {
    let mut settings = Vec::new();
    if let Some(options) = start.parameter("options") {
        settings.extend(options_settings(options)?);
    }
    for (name, value) in &start.parameters {
        let is_setting = !NOT_SETTINGS.contains(&name.as_str()) && !name.starts_with("_pq_.");
        if is_setting {
            settings.push((name.to_ascii_lowercase(), value.clone()));
        }
    }
    // A client without a name sees none, and not the router's own on its backends.
    if !settings.iter().any(|(name, _)| name == "application_name") {
        settings.push(("application_name".to_owned(), String::new()));
    }
    for (name, value) in &settings {
        if name == "client_encoding" && !is_utf8(value) {
            let message = format!("client encoding {value} is not supported");
            return Err(Diagnostic::fatal(SqlState::FEATURE_NOT_SUPPORTED, message)
                .detail("kintsugi/client-encoding")
                .hint("Use client_encoding UTF8."));
        }
    }
    Ok(settings)
}

fn is_utf8(value: &str) -> bool {
    let plain: String = value.chars().filter(char::is_ascii_alphanumeric).collect();
    matches!(plain.to_ascii_lowercase().as_str(), "utf8" | "unicode")
}

/// Settings in `options`, as a server's command line takes them: `-c name=value`, `-cname=value`, `--name=value`.
fn options_settings(options: &str) -> Result<Vec<(String, String)>, Diagnostic> {
    let invalid = |word: &str| {
        let message = format!("invalid command-line argument for server process: {word}");
        Diagnostic::fatal(SqlState::SYNTAX_ERROR, message)
            .hint("In options only settings are understood: -c name=value or --name=value.")
    };
    let mut settings = Vec::new();
    let mut words = split_options(options).into_iter();
    while let Some(word) = words.next() {
        let setting = match (word.strip_prefix("--"), word.strip_prefix("-c")) {
            (Some(long), _) => long.to_owned(),
            (None, Some("")) => words.next().ok_or_else(|| invalid(&word))?,
            (None, Some(rest)) => rest.to_owned(),
            (None, None) => return Err(invalid(&word)),
        };
        let (name, value) = setting.split_once('=').ok_or_else(|| invalid(&word))?;
        settings.push((
            name.replace('-', "_").to_ascii_lowercase(),
            value.to_owned(),
        ));
    }
    Ok(settings)
}

/// Words separated by blanks; a backslash takes the next character as it is.
fn split_options(options: &str) -> Vec<String> {
    let (mut words, mut word, mut escaped) = (Vec::new(), String::new(), false);
    for c in options.chars() {
        match c {
            c if escaped => {
                word.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            c if c.is_ascii_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Tries the client's settings on a backend of the authoritative shard, and asks it what a fresh session starts with.
async fn try_settings(
    house: &House,
    transaction: &mut Transaction,
    wanted: pool::Settings,
) -> Result<(Settings, Defaults, HashMap<String, String>), execute::ExecuteError> {
    let authority = house.topology.load().authoritative_shard();
    let local = pool::Settings::empty();
    let nothing = Wanted {
        session: &local,
        local: &local,
    };
    let place = transaction
        .enlist(&house.environment, authority, nothing)
        .await?;
    let participant = &mut transaction.participants()[place];
    participant.settle_ahead().await?;
    let backend = participant.backend();
    let names = "SELECT current_setting('search_path'), current_setting('DateStyle'), \
                 current_setting('default_transaction_isolation')";
    let results = backend.simple(names).await?;
    let row = results
        .into_iter()
        .next()
        .and_then(|result| result.rows.into_iter().next());
    let mut row = row
        .unwrap_or_default()
        .into_iter()
        .map(Option::unwrap_or_default);
    let mut next = || row.next().unwrap_or_default();
    let defaults = Defaults {
        search_path: next(),
        date_style: next(),
        isolation: next(),
    };
    backend.apply(&wanted).await?;
    let mut shown = Vec::new();
    for (name, _) in wanted.iter() {
        let ask = format!("SELECT current_setting({}, true)", sql::quote_literal(name));
        let results = backend.simple(&ask).await?;
        let value = results
            .first()
            .and_then(|result| result.value().map(str::to_owned));
        shown.push((name.to_owned(), value.unwrap_or_default()));
    }
    let settings = Settings::new(pool::Settings::new(shown));
    backend.assume_settings(settings.session().clone());
    let reported = backend
        .parameters
        .iter()
        .filter(|(name, _)| REPORTED.contains(&name.as_str()) || name.as_str() == "search_path")
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Ok((settings, defaults, reported))
}

impl Begun {
    fn into_session(
        self,
        house: Arc<House>,
        client: Connection,
        closing: CancellationToken,
    ) -> Session {
        let Identity { database, user } = self.identity;
        let meaning = Meaning::new(database, user, Arc::new(self.defaults), &self.settings);
        let authority = house.topology.load().authoritative_shard();
        let numbers = execute::Numbers::new(Arc::default(), authority, 0);
        let registration = house.cancels.register(self.transaction.running());
        Session {
            house,
            client,
            transaction: self.transaction,
            settings: self.settings,
            meaning,
            sequences: SessionSequences::default(),
            prepared: HashMap::new(),
            portals: HashMap::new(),
            cursors: HashMap::new(),
            pipeline: Pipeline::default(),
            is_skipping: false,
            own_catalog: None,
            numbers: Arc::new(numbers),
            is_catalog_stale: false,
            reported_first: Arc::new(self.reported.clone()),
            reported: self.reported,
            is_report_due: false,
            noticed: execute::pump::Noticed::default(),
            lifted: sql::Lifted::new(),
            registration,
            closing,
        }
    }
}

impl Session {
    /// Tells the client what it needs to know before its first request.
    fn welcome(&mut self) {
        let mut names: Vec<_> = self.reported.iter().collect();
        names.sort();
        for (name, value) in names {
            Message::ParameterStatus { name, value }.encode(self.client.output());
        }
        let key = self.registration.key();
        Message::BackendKeyData {
            pid: key.pid,
            secret: &key.secret,
        }
        .encode(self.client.output());
        Message::ReadyForQuery(wire::backend::TransactionStatus::Idle).encode(self.client.output());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_a_server_reads_its_command_line() {
        let read = |options| options_settings(options).unwrap();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            read("-c geqo=off --search-path=a,b -cstatement_timeout=5"),
            [
                pair("geqo", "off"),
                pair("search_path", "a,b"),
                pair("statement_timeout", "5")
            ]
        );
        assert_eq!(read(r"-c app.x=two\ words"), [pair("app.x", "two words")]);
        assert!(options_settings("-d 5").is_err());
        assert!(options_settings("-c").is_err());
    }

    #[test]
    fn only_utf8_is_spoken() {
        assert!(is_utf8("UTF-8") && is_utf8("utf8") && is_utf8("unicode"));
        assert!(!is_utf8("LATIN1"));
    }
}
