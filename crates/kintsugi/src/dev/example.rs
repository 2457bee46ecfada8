//! Loading an example through the router, like any client would.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use pool::{Backend, Identity, PoolConfig, Pools, ShardAddress};
use wire::backend::Message;

use super::USER;
use crate::Failure;

/// How many orders the storefront has where nothing says.
pub const ORDERS: u64 = 10_000;

/// The seed of every example: the same rows everywhere.
const SEED: u64 = 1;

/// How long the router may take to let us in.
const WAIT: std::time::Duration = std::time::Duration::from_secs(30);

/// The note in the data folder that tells how far loading came.
const NOTE: &str = "example";
const LOADING: &str = "loading";
const LOADED: &str = "loaded";

/// An example that can be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Example {
    /// A shop: customers, orders, products
    Storefront,
}

/// Where to load to, and how much.
#[derive(Debug)]
pub(super) struct Load<'a> {
    /// The router.
    pub(super) address: &'a net::Address,
    /// The database.
    pub(super) database: &'a str,
    /// How many orders.
    pub(super) orders: u64,
    /// The data folder.
    pub(super) folder: &'a Path,
}

/// What is written to a person's terminal while rows are loaded, or a line a table elsewhere.
struct Progress {
    is_terminal: bool,
}

// === impl Load ===

impl Load<'_> {
    /// Loads the storefront, unless the folder has it already.
    pub(super) async fn run(&self) -> Result<(), Failure> {
        let note = self.folder.join(NOTE);
        match std::fs::read_to_string(&note).as_deref() {
            Ok(LOADED) => return Ok(()),
            Ok(_) => {
                return Err(Failure::Refused {
                    what: "loading the example was interrupted, and its data are half there"
                        .to_owned(),
                    hint: format!("remove {} and start again", self.folder.display()),
                });
            }
            Err(_) => {}
        }
        std::fs::write(&note, LOADING).map_err(Failure::file("written", &note))?;
        let pools = Pools::new(PoolConfig {
            shards: vec![ShardAddress {
                uid: "the router".into(),
                address: self.address.clone(),
            }],
            credentials: pool::Credentials::trust(),
            limits: pool::Limits::default(),
        });
        let Some(router) = pools.shards().next() else {
            return Ok(());
        };
        let identity = Identity::new(self.database, USER);
        let leased = pools.lease(router, &identity, WAIT).await;
        let mut lease = leased.map_err(failed("log in"))?;
        let loaded = self.load(&mut lease).await;
        // It says good-bye, so that the router need not find out.
        lease.poison();
        drop(lease);
        pools.shut_down();
        loaded?;
        std::fs::write(&note, LOADED).map_err(Failure::file("written", &note))
    }

    async fn load(&self, router: &mut Backend) -> Result<(), Failure> {
        let shop = example::Storefront::new(self.orders, SEED);
        let mut progress = Progress {
            is_terminal: std::io::stderr().is_terminal(),
        };
        for sql in example::Storefront::definitions() {
            router.simple(sql).await.map_err(failed(sql))?;
        }
        for mut table in shop.tables() {
            let copied = copy(router, &mut table, &mut progress).await;
            copied.map_err(failed(&table.copy_statement()))?;
        }
        for sql in shop.after() {
            router.simple(&sql).await.map_err(failed(&sql))?;
        }
        Ok(())
    }
}

/// Whether an example was loaded into the data folder, or was begun to be.
pub(super) fn was_begun(folder: &Path) -> bool {
    folder.join(NOTE).exists()
}

async fn copy(
    router: &mut Backend,
    table: &mut example::Table,
    progress: &mut Progress,
) -> Result<(), pool::BackendError> {
    router.expect_ready();
    let text = table.copy_statement();
    wire::frontend::Message::Query { text: &text }.encode(router.connection.output());
    router.flush().await?;
    let frame = router.frame().await?;
    match Message::parse(frame.tag, &frame.body) {
        Ok(Message::CopyInResponse(_)) => {}
        Ok(Message::ErrorResponse(diagnostic)) => {
            router.read_results().await?;
            return Err(router.server_error(diagnostic));
        }
        _ => return Err(router.violation("no answer to COPY")),
    }
    while let Some(piece) = table.next() {
        wire::frontend::Message::CopyData(&piece).encode(router.connection.output());
        router.flush().await?;
        progress.show(table);
    }
    wire::frontend::Message::CopyDone.encode(router.connection.output());
    router.read_results().await?;
    progress.done(table);
    Ok(())
}

// === impl Progress ===

impl Progress {
    fn show(&mut self, table: &example::Table) {
        if !self.is_terminal {
            return;
        }
        let (done, all) = (table.steps_done(), table.steps.max(1));
        let parts = usize::try_from(done * 30 / all).unwrap_or(30);
        let bar = format!("{}{}", "#".repeat(parts), ".".repeat(30 - parts.min(30)));
        let _ = write!(
            std::io::stderr(),
            "\rloading {:<12} [{bar}] {:>3} %",
            table.name,
            done * 100 / all
        );
    }

    fn done(&mut self, table: &example::Table) {
        self.show(table);
        let mut out = std::io::stderr();
        let _ = if self.is_terminal {
            writeln!(out)
        } else {
            writeln!(out, "loaded {}", table.name)
        };
    }
}

fn failed<E>(statement: &str) -> impl FnOnce(E) -> Failure
where
    E: std::error::Error + Send + Sync + 'static,
{
    let statement = statement.to_owned();
    move |source| Failure::Example {
        statement,
        source: Box::new(source),
    }
}
