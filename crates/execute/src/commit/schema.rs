//! The router's private tables on a shard. Idempotent and safe between routers that start at once;
//! what is there already in this version is not touched.

use pool::{Backend, BackendError};

use super::exchange::{Answer, Exchange};
use super::statement::DURABLE;

/// What the schema's comment says; another number is another layout.
const MARK: &str = "kintsugi: decisions of distributed transactions, layout 1";

/// A key for `pg_advisory_xact_lock`: the bytes of "kintsugi".
const LOCK: i64 = 0x6b69_6e74_7375_6769;

const LOOK: &str = "SELECT pg_catalog.obj_description(n.oid, 'pg_namespace') \
     FROM pg_catalog.pg_namespace n WHERE n.nspname = 'kintsugi'";

/// The tables. An ordinary user may do nothing but record a commit of the very backend that he is
/// on.
const CREATE: &str = r"
CREATE SCHEMA IF NOT EXISTS kintsugi;
REVOKE ALL ON SCHEMA kintsugi FROM PUBLIC;
GRANT USAGE ON SCHEMA kintsugi TO PUBLIC;
CREATE TABLE IF NOT EXISTS kintsugi.decision (
  gid text PRIMARY KEY,
  outcome text NOT NULL CHECK (outcome IN ('commit', 'abort')),
  participants text[] NOT NULL,
  xids int8[] NOT NULL,
  at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp()
);
REVOKE ALL ON kintsugi.decision FROM PUBLIC;
CREATE OR REPLACE FUNCTION kintsugi.decide(gid text, participants text[], xids int8[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS $body$
BEGIN
  IF gid NOT LIKE 'kintsugi\_%' OR split_part(gid, '_', 5) <> pg_backend_pid()::text THEN
    RAISE insufficient_privilege USING MESSAGE = 'only the router decides';
  END IF;
  INSERT INTO kintsugi.decision (gid, outcome, participants, xids)
  VALUES (decide.gid, 'commit', decide.participants, decide.xids);
END
$body$;
CREATE OR REPLACE FUNCTION kintsugi.whoami(OUT pid int4, OUT start_us int8)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
  SELECT a.pid, (extract(epoch FROM a.backend_start) * 1000000)::int8
  FROM pg_stat_activity a WHERE a.pid = pg_backend_pid()
$body$;
REVOKE ALL ON FUNCTION kintsugi.whoami FROM PUBLIC;
GRANT EXECUTE ON FUNCTION kintsugi.whoami TO PUBLIC;
REVOKE ALL ON FUNCTION kintsugi.decide FROM PUBLIC;
GRANT EXECUTE ON FUNCTION kintsugi.decide TO PUBLIC;
";

/// Why a shard could not be made ready.
#[derive(Debug, thiserror::Error)]
pub enum PrepareShardError {
    /// The shard said no, or was lost.
    #[error("cannot make the schema \"kintsugi\" on shard {shard}")]
    Create {
        /// Uid of the shard.
        shard: String,
        /// Why.
        #[source]
        source: BackendError,
    },
    /// There is a schema of that name which the router didn't make.
    #[error("schema \"kintsugi\" on shard {shard} was not made by this version of the router")]
    Foreign {
        /// Uid of the shard.
        shard: String,
        /// The schema's comment.
        comment: Option<String>,
    },
    /// `max_prepared_transactions` is 0: writes over several shards are refused there.
    #[error("max_prepared_transactions is 0 on shard {shard}")]
    NoPreparedTransactions {
        /// Uid of the shard.
        shard: String,
    },
}

/// Makes the private schema in the backend's database, when it isn't there. The backend is logged
/// in as the router's own user, not as a client's.
///
/// # Errors
/// See [`PrepareShardError`]. With [`PrepareShardError::NoPreparedTransactions`] the schema is
/// there.
///
/// # Cancel safety
/// Not cancel safe: the backend is then closed when it is given back; nothing is half made.
pub async fn prepare_shard(backend: &mut Backend) -> Result<(), PrepareShardError> {
    let shard = backend.shard().to_string();
    let failed = |source| PrepareShardError::Create {
        shard: shard.clone(),
        source,
    };
    if !is_made(backend, &shard).await? {
        create(backend, &shard).await?;
    }
    let limit = "SELECT pg_catalog.current_setting('max_prepared_transactions')";
    let answers = Exchange::run(backend, limit)
        .await
        .into_result()
        .map_err(failed)?;
    match answers.first().and_then(|answer| answer.value(0)) {
        Some("0") => Err(PrepareShardError::NoPreparedTransactions { shard }),
        _ => Ok(()),
    }
}

/// Looks, and refuses what is foreign.
async fn is_made(backend: &mut Backend, shard: &str) -> Result<bool, PrepareShardError> {
    let answers = Exchange::run(backend, LOOK).await.into_result();
    let answers = answers.map_err(|source| PrepareShardError::Create {
        shard: shard.to_owned(),
        source,
    })?;
    match answers
        .first()
        .map(|answer: &Answer| answer.rows.as_slice())
    {
        Some([row]) => match row.first() {
            Some(Some(comment)) if comment == MARK => Ok(true),
            comment => Err(PrepareShardError::Foreign {
                shard: shard.to_owned(),
                comment: comment.cloned().flatten(),
            }),
        },
        _ => Ok(false),
    }
}

async fn create(backend: &mut Backend, shard: &str) -> Result<(), PrepareShardError> {
    let failed = |source| PrepareShardError::Create {
        shard: shard.to_owned(),
        source,
    };
    let begin = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {DURABLE}; \
         SELECT pg_catalog.pg_advisory_xact_lock({LOCK})"
    );
    Exchange::run(backend, &begin)
        .await
        .into_result()
        .map_err(failed)?;
    // Another router may have made it while this one waited for the lock.
    let end = match is_made(backend, shard).await {
        Ok(true) => Ok("COMMIT".to_owned()),
        Ok(false) => Ok(format!(
            "{CREATE} COMMENT ON SCHEMA kintsugi IS '{MARK}'; COMMIT"
        )),
        Err(error) => Err(error),
    };
    let result = match end {
        Ok(sql) => Exchange::run(backend, &sql)
            .await
            .into_result()
            .map(drop)
            .map_err(failed),
        Err(error) => Err(error),
    };
    if result.is_err() {
        Exchange::run(backend, "ROLLBACK")
            .await
            .into_result()
            .map_err(failed)?;
    }
    result
}

impl pg::Diagnose for PrepareShardError {
    fn sqlstate(&self) -> pg::SqlState {
        match self {
            Self::Create { source, .. } => source.sqlstate(),
            Self::Foreign { .. } => pg::SqlState::DUPLICATE_SCHEMA,
            Self::NoPreparedTransactions { .. } => pg::SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        }
    }

    fn fault(&self) -> pg::Fault {
        match self {
            Self::Create { source, .. } => source.fault(),
            Self::Foreign { .. } | Self::NoPreparedTransactions { .. } => pg::Fault::Backend,
        }
    }

    fn hint(&self) -> Option<std::borrow::Cow<'static, str>> {
        match self {
            Self::Create { source, .. } => source.hint(),
            Self::Foreign { .. } => {
                Some("The name is the router's own: rename the schema on that shard.".into())
            }
            Self::NoPreparedTransactions { .. } => Some(
                "Set max_prepared_transactions on that shard to at least its max_connections, and \
                 restart it."
                    .into(),
            ),
        }
    }
}
