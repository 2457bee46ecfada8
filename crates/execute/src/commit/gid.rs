//! The name of a distributed transaction. Whoever finds one on a shard can tell from it alone which
//! router made it, where its decision is recorded, and which backend could still decide.

use std::fmt::{self, Write as _};

/// What every name of ours begins with. Prepared transactions without it are somebody else's and
/// never touched.
pub const PREFIX: &str = "kintsugi_";
/// PostgreSQL keeps 199 bytes of a transaction identifier.
const LENGTH_MAX: usize = 199;
/// Longest router name, in bytes.
const ROUTER_LENGTH_MAX: usize = 32;
/// Longest shard uid as it is written, in bytes.
const SHARD_LENGTH_MAX: usize = 63;

/// A distributed transaction's name: the primary key of its decision row.
///
/// Written `kintsugi_ROUTER_EPOCH_NUMBER_PID_BACKENDSTART_SHARD`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gid {
    router: String,
    epoch: u64,
    number: u64,
    decider_pid: i32,
    decider_start_us: i64,
    decider_shard: String,
}

/// What a prepared transaction is called on its shard: the [`Gid`] and which participant it is, so
/// that two participants never share a name, even where two shards live in one server.
///
/// Written `GID#PARTICIPANT`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PreparedName {
    /// The distributed transaction.
    pub gid: Gid,
    /// Which participant, from 0.
    pub participant: u32,
}

/// Why text or parts don't make a [`Gid`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GidError {
    /// Not ours.
    #[error("transaction identifier does not begin with \"{PREFIX}\"")]
    Foreign,
    /// Begins as ours does, but isn't one that we write.
    #[error("transaction identifier \"{text}\" is malformed")]
    Malformed {
        /// What was found.
        text: String,
    },
    /// A router's name is 1 to 32 ASCII letters, digits, dots and hyphens.
    #[error("router name \"{name}\" is not 1 to 32 ASCII letters, digits, dots or hyphens")]
    Router {
        /// The name.
        name: String,
    },
    /// A shard's uid is 1 to 63 bytes as it is written (see [`write_uid`]), to be a decider.
    #[error("shard uid \"{uid}\" is not 1 to 63 bytes in a transaction identifier")]
    Shard {
        /// The uid.
        uid: String,
    },
}

/// The backend whose transaction can hold the decision row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeciderBackend {
    /// Its process id on its server.
    pub pid: i32,
    /// When it started, in microseconds since 1970: process ids come again.
    pub start_us: i64,
}

// === impl Gid ===

impl Gid {
    /// Names a transaction.
    ///
    /// # Errors
    /// The router's name or the shard's uid can't be part of a name.
    pub fn new(
        (router, epoch): (&str, u64),
        number: u64,
        decider_shard: &str,
        backend: DeciderBackend,
    ) -> Result<Self, GidError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
        if !(1..=ROUTER_LENGTH_MAX).contains(&router.len()) || !router.chars().all(is_plain) {
            return Err(GidError::Router {
                name: router.to_owned(),
            });
        }
        if !(1..=SHARD_LENGTH_MAX).contains(&write_uid(decider_shard).len()) {
            return Err(GidError::Shard {
                uid: decider_shard.to_owned(),
            });
        }
        Ok(Self {
            router: router.to_owned(),
            epoch,
            number,
            decider_pid: backend.pid,
            decider_start_us: backend.start_us,
            decider_shard: decider_shard.to_owned(),
        })
    }

    /// Reads a name.
    ///
    /// # Errors
    /// [`GidError::Foreign`] for names that aren't ours, else what is wrong.
    pub fn parse(text: &str) -> Result<Self, GidError> {
        let rest = text.strip_prefix(PREFIX).ok_or(GidError::Foreign)?;
        let malformed = || GidError::Malformed {
            text: text.to_owned(),
        };
        let parts: Vec<&str> = rest.splitn(6, '_').collect();
        let [router, epoch, number, pid, start, shard] = parts.as_slice() else {
            return Err(malformed());
        };
        let backend = DeciderBackend {
            pid: pid.parse().ok().ok_or_else(malformed)?,
            start_us: start.parse().ok().ok_or_else(malformed)?,
        };
        let epoch = epoch.parse().ok().ok_or_else(malformed)?;
        let number = number.parse().ok().ok_or_else(malformed)?;
        let shard = read_uid(shard).ok_or_else(malformed)?;
        let gid = Self::new((router, epoch), number, &shard, backend)?;
        // Exactly one spelling: "+1" or "01" would make two names of one transaction.
        if gid.to_string() == text {
            Ok(gid)
        } else {
            Err(malformed())
        }
    }

    /// The router that made it.
    #[must_use]
    pub fn router(&self) -> &str {
        &self.router
    }

    /// That router's epoch: which life of the router.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Counts the transactions of one epoch.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The uid of the shard that holds the decision row.
    #[must_use]
    pub fn decider_shard(&self) -> &str {
        &self.decider_shard
    }

    /// The backend that could still commit the decision.
    #[must_use]
    pub fn decider(&self) -> DeciderBackend {
        DeciderBackend {
            pid: self.decider_pid,
            start_us: self.decider_start_us,
        }
    }

    /// The name of a participant's prepared transaction.
    #[must_use]
    pub fn participant(&self, participant: u32) -> PreparedName {
        PreparedName {
            gid: self.clone(),
            participant,
        }
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            router,
            epoch,
            number,
            decider_pid,
            decider_start_us,
            decider_shard,
        } = self;
        write!(
            f,
            "{PREFIX}{router}_{epoch}_{number}_{decider_pid}_{decider_start_us}_{}",
            write_uid(decider_shard)
        )
    }
}

// === impl PreparedName ===

impl PreparedName {
    /// Reads a name as `pg_prepared_xacts` shows it.
    ///
    /// # Errors
    /// As [`Gid::parse`].
    pub fn parse(text: &str) -> Result<Self, GidError> {
        let Some((gid, participant)) = text.rsplit_once('#') else {
            Gid::parse(text)?;
            return Err(GidError::Malformed {
                text: text.to_owned(),
            });
        };
        let gid = Gid::parse(gid)?;
        let name = participant
            .parse()
            .ok()
            .map(|participant| Self { gid, participant })
            .filter(|name| name.to_string() == text && text.len() <= LENGTH_MAX);
        name.ok_or_else(|| GidError::Malformed {
            text: text.to_owned(),
        })
    }
}

impl fmt::Display for PreparedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.gid, self.participant)
    }
}

/// A shard's uid in ASCII letters, digits, `.`, `-`, `_` and `%`: bytes other than these are
/// written as `%` and two hexadecimal digits. So it is the same in every encoding of a client.
#[must_use]
pub fn write_uid(uid: &str) -> String {
    let mut text = String::with_capacity(uid.len());
    for byte in uid.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_') {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02x}");
        }
    }
    text
}

/// The uid that was written so.
fn read_uid(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first == '%' {
            bytes.push(u8::from_str_radix(rest.get(1..3)?, 16).ok()?);
            rest = rest.get(3..)?;
        } else {
            let (head, tail) = rest.split_at(first.len_utf8());
            bytes.extend_from_slice(head.as_bytes());
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKEND: DeciderBackend = DeciderBackend {
        pid: 4711,
        start_us: 1_796_074_907_617_676,
    };

    #[test]
    fn a_name_reads_back_as_written() {
        for shard in [
            "store-1",
            "a_b_c",
            "mit Leerzeichen",
            "x#7",
            "it's",
            "größe\\",
        ] {
            let gid = Gid::new(("router-1.example", 3), 99, shard, BACKEND).unwrap();
            assert_eq!(Gid::parse(&gid.to_string()).unwrap(), gid);
            let name = gid.participant(2);
            assert_eq!(PreparedName::parse(&name.to_string()).unwrap(), name);
        }
        let gid = Gid::new(("r", 3), 99, "store-1", BACKEND).unwrap();
        assert_eq!(
            gid.participant(0).to_string(),
            "kintsugi_r_3_99_4711_1796074907617676_store-1#0"
        );
    }

    #[test]
    fn the_longest_name_fits_into_postgresql() {
        let backend = DeciderBackend {
            pid: i32::MIN,
            start_us: i64::MIN,
        };
        let (router, shard) = ("r".repeat(32), "s".repeat(63));
        let gid = Gid::new((&router, u64::MAX), u64::MAX, &shard, backend).unwrap();
        let text = gid.participant(u32::MAX).to_string();
        assert!(text.len() <= LENGTH_MAX, "{}", text.len());
        assert!(PreparedName::parse(&text).is_ok());
    }

    #[test]
    fn foreign_and_malformed_names_are_told_apart() {
        let foreign = ["", "citus_0_1", "kintsugi", "_kintsugi_r_1_1_1_1_s#0"];
        for text in foreign {
            assert_eq!(PreparedName::parse(text), Err(GidError::Foreign), "{text}");
        }
        for text in [
            "kintsugi_",
            "kintsugi_r_1_1_1_1_s",
            "kintsugi_r_1_1_1_1_s#",
            "kintsugi_r_01_1_1_1_s#0",
            "kintsugi_r_1_1_1_1_s#00",
            "kintsugi_r_1_1_1_1_s#-1",
            "kintsugi_r_1_x_1_1_s#0",
        ] {
            assert!(
                matches!(PreparedName::parse(text), Err(GidError::Malformed { .. })),
                "{text}"
            );
        }
        assert!(Gid::new(("a_b", 1), 1, "s", BACKEND).is_err());
        assert!(PreparedName::parse("kintsugi_r_1_1_1_1_%zz#0").is_err());
        assert!(Gid::new(("r", 1), 1, "", BACKEND).is_err());
        assert!(Gid::new(("r", 1), 1, &"s".repeat(64), BACKEND).is_err());
    }
}
