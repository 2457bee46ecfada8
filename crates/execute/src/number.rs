//! One number for each type and table, whichever shard answers: those of the authoritative shard.
//!
//! PostgreSQL numbers types and tables by itself on each shard. A client must see one number for each, so what goes to another
//! shard is translated on the way there, and what comes from it on the way back.
//!
//! ```text
//!   client --- declared types, binary parameters ---> shard's numbers
//!   client <-- RowDescription, binary values -------- shard's numbers
//! ```
//!
//! Invariant: where a shard's numbers are the authoritative shard's, [`Numbers::of`] gives `None` and no message is looked into.

mod value;

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use catalog::Catalog;
use pg::{Diagnostic, Format, Oid, SqlState, oid};
use pool::{Identity, TypeMap};
use tokio::sync::Mutex;
use topology::ShardId;
use wire::backend::Field;

use crate::{Environment, ExecuteError, Request};

/// The numbers of every shard of one database beside those of one catalog, read when they are first needed.
#[derive(Debug)]
pub struct Numbers {
    catalog: Arc<Catalog>,
    authority: ShardId,
    shards: Box<[Slot]>,
}

#[derive(Debug, Default)]
struct Slot {
    map: ArcSwapOption<TypeMap>,
    /// Held while the shard is asked, so that it is asked once.
    loading: Mutex<()>,
}

/// Translates for one shard whose numbers differ.
#[derive(Clone, Debug)]
pub struct Translation {
    catalog: Arc<Catalog>,
    map: Arc<TypeMap>,
    shard: Arc<str>,
}

/// For each column of a row, the type whose values have numbers inside; `None` for those that go as they are.
pub(crate) type Inside = Arc<[Option<Oid>]>;

/// Which way values are translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    ToClient,
    ToShard,
}

/// What of a request is written otherwise for one shard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Adapted {
    /// Parameter types; `None` when they stay.
    types: Option<Vec<Oid>>,
    /// Parameters; `None` when they stay.
    parameters: Option<Vec<Option<Vec<u8>>>>,
    /// Which columns of the answer have numbers inside.
    pub(crate) inside: Option<Inside>,
}

// === impl Adapted ===

impl Adapted {
    /// A request as a shard needs it.
    pub(crate) fn of(
        request: &Request<'_>,
        translation: Option<&Translation>,
    ) -> Result<Self, Diagnostic> {
        let (Some(translation), Some(bind)) = (translation, request.bind) else {
            return Ok(Self::default());
        };
        let inside = match request.row {
            Some(row) => translation.inside_of(row, bind.result_formats)?,
            None => None,
        };
        Ok(Self {
            types: Some(translation.to_shard(request.types)?),
            parameters: translation.parameters(bind, request.types)?,
            inside,
        })
    }

    pub(crate) fn types<'a>(&'a self, request: &'a Request<'_>) -> &'a [Oid] {
        self.types.as_deref().unwrap_or(request.types)
    }

    pub(crate) fn parameters<'a>(
        &'a self,
        bind: &'a wire::frontend::Bind<'_>,
    ) -> Vec<Option<&'a [u8]>> {
        match &self.parameters {
            Some(own) => own.iter().map(Option::as_deref).collect(),
            None => bind.parameters().collect(),
        }
    }

    /// Writes the client's `Bind` as the shard needs it, to another statement and portal.
    pub(crate) fn write_bind(
        &self,
        bind: &wire::frontend::Bind<'_>,
        (portal, statement): (&str, &str),
        output: &mut bytes::BytesMut,
    ) {
        if self.parameters.is_none() {
            let mut own = *bind;
            (own.portal, own.statement) = (portal, statement);
            return wire::frontend::Message::Bind(own).encode(output);
        }
        let formats: Vec<_> = bind.parameter_formats.iter().collect();
        let result_formats: Vec<_> = bind.result_formats.iter().collect();
        let parts = wire::frontend::BindParts {
            portal,
            statement,
            parameter_formats: &formats,
            parameters: &self.parameters(bind),
            result_formats: &result_formats,
        };
        wire::frontend::bind(output, &parts);
    }
}

// === impl Numbers ===

impl Numbers {
    /// Nothing has been read yet.
    #[must_use]
    pub fn new(catalog: Arc<Catalog>, authority: ShardId, shards_count: usize) -> Self {
        let shards = (0..shards_count).map(|_| Slot::default()).collect();
        Self {
            catalog,
            authority,
            shards,
        }
    }

    /// The catalog's version.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.catalog.version
    }

    /// Takes over what was read on a backend of the session's own.
    pub fn note(&self, shard: ShardId, map: TypeMap) {
        if let Some(slot) = self.shards.get(shard.index()) {
            slot.map.store(Some(Arc::new(map)));
        }
    }

    /// How to translate for a shard; `None` where nothing differs.
    ///
    /// # Errors
    /// The shard's numbers can't be read.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn of(
        &self,
        environment: &Environment,
        database: &Arc<str>,
        shard: ShardId,
    ) -> Result<Option<Translation>, ExecuteError> {
        let Some(slot) = self
            .shards
            .get(shard.index())
            .filter(|_| shard != self.authority)
        else {
            return Ok(None);
        };
        let known = slot.map.load_full().filter(|map| map.is_settled());
        let map = match known {
            Some(map) => map,
            None => self.load(slot, environment, (database, shard)).await?,
        };
        Ok((!map.is_identity()).then(|| Translation {
            catalog: Arc::clone(&self.catalog),
            map,
            shard: environment.shard_name(shard).into(),
        }))
    }

    /// Asks the shard over the router's own connections, which never wait behind clients. What others prepared there and have not
    /// ended yet may define what the catalog has already: until that has ended, the shard is asked each time.
    async fn load(
        &self,
        slot: &Slot,
        environment: &Environment,
        (database, shard): (&Arc<str>, ShardId),
    ) -> Result<Arc<TypeMap>, ExecuteError> {
        let _guard = slot.loading.lock().await;
        let earlier = slot.map.load_full();
        if let Some(map) = earlier.as_ref().filter(|map| map.is_settled()) {
            return Ok(Arc::clone(map));
        }
        let access = &environment.committer.access;
        let identity = Identity::new(Arc::clone(database), Arc::clone(&access.user));
        let mut lease = access.pools.lease(shard, &identity, access.wait).await?;
        let loaded = TypeMap::load(&mut lease, &self.catalog).await;
        let mut map = loaded.map_err(|error| pg::Diagnose::to_diagnostic(&error))?;
        if let Some(earlier) = &earlier {
            map.settle_after(earlier);
        }
        let map = Arc::new(map);
        slot.map.store(Some(Arc::clone(&map)));
        Ok(map)
    }
}

// === impl Translation ===

impl PartialEq for Translation {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.map, &other.map) && self.shard == other.shard
    }
}

impl Eq for Translation {}

impl Translation {
    /// Parameter types as the shard numbers them.
    ///
    /// # Errors
    /// The shard lacks one.
    pub fn to_shard(&self, types: &[Oid]) -> Result<Vec<Oid>, Diagnostic> {
        types.iter().map(|own| self.type_to_shard(*own)).collect()
    }

    /// Types of the shard as clients know them.
    ///
    /// # Errors
    /// The authoritative shard lacks one.
    pub fn to_client(&self, types: &[Oid]) -> Result<Vec<Oid>, Diagnostic> {
        types.iter().map(|own| self.type_to_client(*own)).collect()
    }

    /// Columns as clients know them.
    ///
    /// # Errors
    /// The authoritative shard lacks a type.
    pub fn fields(&self, fields: &mut [Field<'_>]) -> Result<(), Diagnostic> {
        for field in fields {
            field.type_oid = self.type_to_client(field.type_oid)?;
            if field.table != Oid::INVALID {
                let (table, column) = (field.table, field.column);
                field.column = self.map.column_to_authoritative(table, column);
                field.table = self.map.relation_to_authoritative(table);
            }
        }
        Ok(())
    }

    /// A body of `RowDescription` as clients know it.
    ///
    /// # Errors
    /// As [`Translation::fields`].
    pub fn description(&self, body: &[u8]) -> Result<bytes::Bytes, Diagnostic> {
        let mut fields = fields_of(body)?;
        self.fields(&mut fields)?;
        let mut out = bytes::BytesMut::new();
        wire::backend::Message::RowDescription(fields).encode(&mut out);
        Ok(out.freeze().slice(5..))
    }

    /// Which columns have numbers inside their values, by their description as clients know it; `None` when none has.
    ///
    /// # Errors
    /// A column's values are numbers whose meaning can't be told.
    pub(crate) fn inside(
        &self,
        fields: &[Field<'_>],
        format: impl Fn(usize) -> Format,
    ) -> Result<Option<Inside>, Diagnostic> {
        let mut inside = Vec::with_capacity(fields.len());
        for (at, field) in fields.iter().enumerate() {
            let is_computed_number =
                field.table == Oid::INVALID && matches!(field.type_oid, oid::OID | oid::OID_ARRAY);
            if is_computed_number {
                return Err(self.foreign_number(field.name));
            }
            let is_binary = format(at) == Format::Binary;
            let has_numbers = is_binary && self.has_numbers(field.type_oid)?;
            inside.push(has_numbers.then_some(field.type_oid));
        }
        let any = inside.iter().any(Option::is_some);
        Ok(any.then(|| inside.into()))
    }

    /// As [`Translation::inside`], for a statement of the extended protocol that a client knows by `description`.
    ///
    /// # Errors
    /// As [`Translation::inside`].
    pub(crate) fn inside_of(
        &self,
        description: &[u8],
        formats: wire::frontend::Formats<'_>,
    ) -> Result<Option<Inside>, Diagnostic> {
        self.inside(&fields_of(description)?, |at| formats.of(at))
    }

    /// Translates a row of the shard where it lies. `row` is the body of `DataRow`.
    ///
    /// # Errors
    /// A value has the number of a type that the authoritative shard lacks.
    pub fn row(&self, inside: &[Option<Oid>], row: &mut [u8]) -> Result<(), Diagnostic> {
        let mut rest = row.get_mut(2..).unwrap_or_default();
        for kind in inside {
            let Some((value, after)) = value::split_value(rest) else {
                return Ok(());
            };
            if let (Some(type_oid), Some(value)) = (kind, value) {
                self.value(*type_oid, value, Way::ToClient)?;
            }
            rest = after;
        }
        Ok(())
    }

    /// The parameters of an execution as the shard numbers them; `None` when they go as they are.
    ///
    /// # Errors
    /// A value has the number of a type that the shard lacks.
    pub fn parameters(
        &self,
        bind: &wire::frontend::Bind<'_>,
        types: &[Oid],
    ) -> Result<Option<Vec<Option<Vec<u8>>>>, Diagnostic> {
        let mut own: Option<Vec<Option<Vec<u8>>>> = None;
        for (at, type_oid) in types.iter().enumerate() {
            let is_binary = bind.parameter_formats.of(at) == Format::Binary;
            if !is_binary || !self.has_numbers(*type_oid)? {
                continue;
            }
            let own = own.get_or_insert_with(|| {
                let values = bind.parameters();
                values.map(|value| value.map(<[u8]>::to_vec)).collect()
            });
            if let Some(Some(value)) = own.get_mut(at) {
                self.value(*type_oid, value, Way::ToShard)?;
            }
        }
        Ok(own)
    }

    /// Whether binary values of a type, by its authoritative number, go as they are.
    #[must_use]
    pub fn leaves_binary(&self, type_oid: Oid) -> bool {
        matches!(self.has_numbers(type_oid), Ok(false))
    }

    fn type_to_shard(&self, own: Oid) -> Result<Oid, Diagnostic> {
        if self.map.has_type(own) {
            return Ok(self.map.type_to_shard(own));
        }
        let known = self.catalog.types.get(&own);
        let name = known.map_or_else(|| own.to_string(), |known| known.name.clone());
        let message = format!("shard {} has no type \"{name}\"", self.shard);
        Err(Diagnostic::error(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).hint(DIFFER))
    }

    fn type_to_client(&self, own: Oid) -> Result<Oid, Diagnostic> {
        if self.map.is_known_type(own) {
            return Ok(self.map.type_to_authoritative(own));
        }
        let message = format!(
            "shard {} answered with its type {own}, which the authoritative shard does not have",
            self.shard
        );
        Err(Diagnostic::error(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).hint(DIFFER))
    }

    fn foreign_number(&self, column: &str) -> Diagnostic {
        let message = format!(
            "column \"{column}\" would show numbers of objects of shard {}",
            self.shard
        );
        Diagnostic::error(SqlState::FEATURE_NOT_SUPPORTED, message)
            .detail("kintsugi/shards-numbers: the number of a type or table differs from shard to shard, and a computed oid does not tell what it is the number of.")
            .hint("Ask for the number in a statement of its own, such as SELECT 'mood'::regtype::oid.")
    }
}

const DIFFER: &str = "Definitions differ between shards. Make them the same on every shard by defining through the router.";

/// The columns of a body of `RowDescription`.
pub(crate) fn fields_of(body: &[u8]) -> Result<Vec<Field<'_>>, Diagnostic> {
    match wire::backend::Message::parse(b'T', body) {
        Ok(wire::backend::Message::RowDescription(fields)) => Ok(fields),
        _ => Err(pg::Diagnose::to_diagnostic(
            &crate::pump::PumpError::Unexpected { tag: 'T' },
        )),
    }
}
