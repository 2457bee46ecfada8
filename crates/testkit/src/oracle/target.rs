//! What is compared: one plain PostgreSQL, or a router with its shards.

use std::collections::HashMap;

use pg::Oid;

use super::error::OracleError;
use crate::client::{Address, Client, Reply};

/// One engine under comparison.
#[derive(Debug)]
pub struct Target {
    /// Its name in reports.
    pub name: String,
    /// Where clients connect.
    pub address: Address,
    /// The PostgreSQL servers behind it, directly.
    pub servers: Vec<Server>,
    /// Whether it is the one that is right by definition.
    pub is_plain: bool,
    types: HashMap<Oid, String>,
    senders: HashMap<String, String>,
}

/// One PostgreSQL server and a connection to it past any router.
#[derive(Debug)]
pub struct Server {
    /// The shard's name.
    pub uid: String,
    /// Where it listens.
    pub address: Address,
    /// The connection.
    pub client: Client,
    prepared: HashMap<String, usize>,
    /// How often sessions that held locks had to be ended.
    freed: usize,
}

/// The SQLSTATE of a lock that did not come in time.
const LOCK_TIMEOUT: &str = "55P03";
/// Ends every other session that is in a transaction.
const END_OTHERS: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
    WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' AND xact_start IS NOT NULL";
/// Transactions that were prepared and neither committed nor rolled back.
const PREPARED: &str = "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()";

// === impl Target ===

impl Target {
    /// A target whose servers are connected to directly.
    ///
    /// # Errors
    /// A server can't be reached.
    pub async fn connect(
        name: &str,
        address: Address,
        servers: Vec<(String, Address)>,
    ) -> Result<Self, OracleError> {
        let mut connected = Vec::new();
        for (uid, address) in servers {
            let client = Client::connect(&address)
                .await
                .map_err(|source| OracleError::Client {
                    target: uid.clone(),
                    source,
                })?;
            connected.push(Server {
                uid,
                address,
                client,
                prepared: HashMap::new(),
                freed: 0,
            });
        }
        Ok(Self {
            name: name.to_owned(),
            is_plain: connected.len() == 1 && connected[0].address == address,
            address,
            servers: connected,
            types: HashMap::new(),
            senders: HashMap::new(),
        })
    }

    /// A new session with it.
    ///
    /// # Errors
    /// It refuses.
    pub async fn session(&self) -> Result<Client, OracleError> {
        Client::connect(&self.address)
            .await
            .map_err(|source| OracleError::Client {
                target: self.name.clone(),
                source,
            })
    }

    /// The name of a type by its number there, asked through the front door as a driver would.
    ///
    /// # Errors
    /// The target can't be asked.
    pub async fn type_name(&mut self, oid: Oid) -> Result<String, OracleError> {
        if let Some(name) = oid.type_name() {
            return Ok(name.to_owned());
        }
        if let Some(name) = self.types.get(&oid) {
            return Ok(name.clone());
        }
        let sql =
            format!("SELECT format_type(oid, NULL) FROM pg_catalog.pg_type WHERE oid = {oid}");
        let mut client = self.session().await?;
        let reply = client
            .simple(&sql)
            .await
            .map_err(|source| OracleError::Client {
                target: self.name.clone(),
                source,
            })?;
        client.close().await;
        let name = first_value(&reply).unwrap_or_else(|| "?".to_owned());
        if name != "?" {
            self.types.insert(oid, name.clone());
        }
        Ok(name)
    }

    /// The binary form of a value, as this PostgreSQL sends it.
    ///
    /// # Errors
    /// The value is none of the type's.
    pub async fn binary(&mut self, type_name: &str, text: &str) -> Result<Vec<u8>, OracleError> {
        if !self.senders.contains_key(type_name) {
            let sql = format!(
                "SELECT typsend::regproc::text FROM pg_type WHERE oid = '{type_name}'::regtype"
            );
            let found = first_value(&self.direct(&sql).await?).unwrap_or_default();
            self.senders.insert(type_name.to_owned(), found);
        }
        let sender = &self.senders[type_name];
        let literal = text.replace('\'', "''");
        let sql = format!(
            "SELECT encode({sender}(E'{}'::{type_name}), 'hex')",
            literal.replace('\\', "\\\\")
        );
        let hex = first_value(&self.direct(&sql).await?).unwrap_or_default();
        let pairs = hex
            .as_bytes()
            .chunks(2)
            .filter_map(|pair| std::str::from_utf8(pair).ok());
        Ok(pairs
            .filter_map(|pair| u8::from_str_radix(pair, 16).ok())
            .collect())
    }

    /// Runs SQL on the first server, past any router.
    ///
    /// # Errors
    /// It fails.
    pub async fn direct(&mut self, sql: &str) -> Result<Reply, OracleError> {
        self.servers[0].run(sql).await
    }
}

// === impl Server ===

impl Server {
    /// Runs SQL that must not fail. What stands in its way, sessions that hold locks and transactions
    /// that were left prepared, is ended.
    ///
    /// # Errors
    /// It fails.
    pub async fn run(&mut self, sql: &str) -> Result<Reply, OracleError> {
        match run(&mut self.client, &self.uid, sql).await {
            Err(OracleError::Statement { code, .. }) if code == LOCK_TIMEOUT => {
                self.free().await?;
                run(&mut self.client, &self.uid, sql).await
            }
            done => done,
        }
    }

    /// Whether sessions that held locks had to be ended since this was asked last.
    pub fn take_freed(&mut self) -> bool {
        std::mem::take(&mut self.freed) > 0
    }

    async fn free(&mut self) -> Result<(), OracleError> {
        self.freed += 1;
        let (client, uid) = (&mut self.client, &self.uid);
        run(client, uid, "ROLLBACK").await?;
        run(client, uid, END_OTHERS).await?;
        let prepared = run(client, uid, PREPARED).await?.texts();
        for gid in prepared.into_iter().flatten().flatten() {
            run(
                client,
                uid,
                &format!("ROLLBACK PREPARED '{}'", gid.replace('\'', "''")),
            )
            .await?;
        }
        Ok(())
    }
}

impl Server {
    /// Runs a statement that is run often, planned only once.
    ///
    /// # Errors
    /// It fails.
    pub async fn run_again(&mut self, sql: &str) -> Result<Reply, OracleError> {
        let next = self.prepared.len();
        if let Some(known) = self.prepared.get(sql) {
            return self.run(&format!("EXECUTE again_{known}")).await;
        }
        self.run(&format!("PREPARE again_{next} AS {sql}")).await?;
        self.prepared.insert(sql.to_owned(), next);
        self.run(&format!("EXECUTE again_{next}")).await
    }
}

/// Runs SQL that must not fail.
///
/// # Errors
/// It fails.
pub async fn run(client: &mut Client, target: &str, sql: &str) -> Result<Reply, OracleError> {
    let reply = client
        .simple(sql)
        .await
        .map_err(|source| OracleError::Client {
            target: target.to_owned(),
            source,
        })?;
    match reply.error() {
        None => Ok(reply),
        Some(error) => Err(OracleError::Statement {
            target: target.to_owned(),
            code: error.code.as_str().to_owned(),
            message: error.message.clone(),
            sql: sql.chars().take(300).collect(),
        }),
    }
}

fn first_value(reply: &Reply) -> Option<String> {
    reply.texts().first()?.first()?.clone()
}
