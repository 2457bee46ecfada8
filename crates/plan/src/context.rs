//! What planning is given besides the statement. Invariant: a plan is a function of the statement's shape and of
//! what stands here, so the plan cache's key is made of exactly this.

use catalog::Catalog;
use pg::Oid;
use topology::Topology;

/// The surroundings of a statement.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// What tables, types and functions are.
    pub catalog: &'a Catalog,
    /// Where rows live.
    pub topology: &'a Topology,
    /// The database, as the topology names it.
    pub database: &'a str,
    /// Resolved `search_path`: schemas in order, `pg_catalog` where PostgreSQL would look for it, without `pg_temp`.
    pub search_path: &'a [String],
    /// Temporary tables and views that the session has made; they hide others of the same name.
    pub temporary: &'a [String],
    /// Types of the parameters as the client declared them or as a shard described them; 0 is unknown.
    pub param_types: &'a [Oid],
    /// The session's user.
    pub user: &'a str,
    /// `kintsugi.default_shard_group`: where the tables go that this session makes and the topology does not declare.
    pub default_group: Option<topology::GroupId>,
    /// Settings that change what a statement means.
    pub settings: Settings,
}

/// Settings that change what a statement means or where it may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Settings {
    /// `standard_conforming_strings`.
    pub standard_conforming_strings: bool,
    /// `DateStyle` begins with ISO, so that dates merge as text.
    pub date_style_is_iso: bool,
    /// `kintsugi.transaction_mode`.
    pub transaction_mode: TransactionMode,
    /// `kintsugi.fanout`.
    pub fanout: Fanout,
    /// The isolation level is above READ COMMITTED; [`crate::evaluate`] doesn't look at it, execution refuses with
    /// [`crate::UnsupportedId::IsolationOverShards`] when a second shard is needed.
    pub above_read_committed: bool,
}

/// `kintsugi.transaction_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransactionMode {
    /// Writes of several shards commit together or not at all.
    Atomic,
    /// Each shard commits by itself.
    Multi,
    /// A transaction writes on one shard only.
    Single,
}

/// `kintsugi.fanout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fanout {
    /// Statements may go to any number of shards.
    Scatter,
    /// Statements may go to the shards of the keys that they list.
    Multi,
    /// Statements go to one shard.
    Single,
}

// === impl Context ===

impl Context<'_> {
    /// Whether there is more than one shard at all; with one, nothing has to be refused.
    pub(crate) fn is_spread(&self) -> bool {
        self.topology.shards().len() > 1
    }
}

// === impl Settings ===

impl Default for Settings {
    /// The settings of a fresh session.
    fn default() -> Self {
        Self {
            standard_conforming_strings: true,
            date_style_is_iso: true,
            transaction_mode: TransactionMode::Atomic,
            fanout: Fanout::Scatter,
            above_read_committed: false,
        }
    }
}
