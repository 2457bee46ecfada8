//! Exact sums of what shards summed: `sum` and `count` over all shards from each shard's part.
//!
//! Only where addition is exact and so independent of its order. Sums of floats, intervals and money are
//! not here: they are combined by a PostgreSQL.

use std::cmp::Ordering;

use crate::order::{Comparator, CompareError, read_numeric, signed};
use crate::{Decimal, Diagnose, Fault, Format, Oid, SqlState, oid};

/// Adds up one column of partial results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Total {
    sum: Sum,
}

/// Keeps the least or greatest of one column of partial results.
#[derive(Debug, Clone)]
pub struct Extremum {
    comparator: Comparator,
    wanted: Ordering,
    kept: Option<Vec<u8>>,
}

/// Why partial results can't be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SumError {
    /// A shard sent what is no number of the type.
    #[error("a shard's partial sum is not a number")]
    Malformed,
    /// The sum doesn't fit its type, as PostgreSQL says it.
    #[error("bigint out of range")]
    OutOfRange,
}

/// `None` until a value came: the sum of nothing is NULL.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Sum {
    Integer(Option<i64>),
    Numeric(Option<Decimal>),
}

// === impl Total ===

impl Total {
    /// The total of partial results of this type: `int8` (from `count`, `sum(int2)`, `sum(int4)`) or
    /// `numeric` (from `sum(int8)`, `sum(numeric)`); the result has the same type.
    #[must_use]
    pub fn for_type(partial: Oid) -> Option<Self> {
        let sum = match partial {
            oid::INT8 => Sum::Integer(None),
            oid::NUMERIC => Sum::Numeric(None),
            _ => return None,
        };
        Some(Self { sum })
    }

    /// Adds a partial result; NULL adds nothing.
    ///
    /// # Errors
    /// The value is no number, or the sum is out of range.
    pub fn add(&mut self, partial: Option<&[u8]>, format: Format) -> Result<(), SumError> {
        let Some(raw) = partial else { return Ok(()) };
        match &mut self.sum {
            Sum::Integer(sum) => {
                let value = read_int8(raw, format).ok_or(SumError::Malformed)?;
                let added = sum
                    .unwrap_or(0)
                    .checked_add(value)
                    .ok_or(SumError::OutOfRange)?;
                *sum = Some(added);
            }
            Sum::Numeric(sum) => {
                let value = read_numeric(raw, format).ok_or(SumError::Malformed)?;
                *sum = Some(
                    sum.as_ref()
                        .map_or_else(|| value.clone(), |sum| sum.add(&value)),
                );
            }
        }
        Ok(())
    }

    /// The total as a column value; `None` is NULL.
    #[must_use]
    pub fn value(&self, format: Format) -> Option<Vec<u8>> {
        match (&self.sum, format) {
            (Sum::Integer(sum), Format::Text) => sum.map(|sum| sum.to_string().into_bytes()),
            (Sum::Integer(sum), Format::Binary) => sum.map(|sum| sum.to_be_bytes().to_vec()),
            (Sum::Numeric(sum), Format::Text) => {
                sum.as_ref().map(|sum| sum.to_string().into_bytes())
            }
            (Sum::Numeric(sum), Format::Binary) => sum.as_ref().map(|sum| {
                let mut out = Vec::new();
                sum.to_binary(&mut out);
                out
            }),
        }
    }
}

fn read_int8(raw: &[u8], format: Format) -> Option<i64> {
    match format {
        Format::Text => std::str::from_utf8(raw).ok()?.parse().ok(),
        Format::Binary => signed(raw, 8),
    }
}

impl Diagnose for SumError {
    fn sqlstate(&self) -> SqlState {
        match self {
            Self::Malformed => SqlState::PROTOCOL_VIOLATION,
            Self::OutOfRange => SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Malformed => Fault::Backend,
            Self::OutOfRange => Fault::Client,
        }
    }
}

// === impl Extremum ===

impl Extremum {
    /// Keeps the least value; NULLs are skipped whatever the comparator says of them.
    #[must_use]
    pub fn min(comparator: Comparator) -> Self {
        Self {
            comparator,
            wanted: Ordering::Less,
            kept: None,
        }
    }

    /// Keeps the greatest value.
    #[must_use]
    pub fn max(comparator: Comparator) -> Self {
        Self {
            comparator,
            wanted: Ordering::Greater,
            kept: None,
        }
    }

    /// Takes a partial result into account.
    ///
    /// # Errors
    /// The value is not in the form that the comparator expects.
    pub fn add(&mut self, partial: Option<&[u8]>, format: Format) -> Result<(), CompareError> {
        let Some(raw) = partial else { return Ok(()) };
        let replaces = match self.kept.as_deref() {
            None => true,
            kept => self.comparator.compare(Some(raw), kept, format)? == self.wanted,
        };
        if replaces {
            self.kept = Some(raw.to_vec());
        }
        Ok(())
    }

    /// The value kept; `None` is NULL.
    #[must_use]
    pub fn value(&self) -> Option<&[u8]> {
        self.kept.as_deref()
    }
}

impl Diagnose for CompareError {
    fn sqlstate(&self) -> SqlState {
        SqlState::PROTOCOL_VIOLATION
    }

    fn fault(&self) -> Fault {
        Fault::Backend
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::Direction;

    fn total(partial: Oid, values: &[Option<&str>]) -> Result<Option<String>, SumError> {
        let mut total = Total::for_type(partial).unwrap();
        for value in values {
            total.add(value.map(str::as_bytes), Format::Text)?;
        }
        Ok(total
            .value(Format::Text)
            .map(|raw| String::from_utf8(raw).unwrap()))
    }

    #[test]
    fn sums_are_postgresql_s() {
        let sum = |partial, values| total(partial, values).unwrap();
        assert_eq!(
            sum(oid::INT8, &[Some("1"), None, Some("-3")]).as_deref(),
            Some("-2")
        );
        assert_eq!(sum(oid::INT8, &[None]), None);
        assert_eq!(
            sum(oid::NUMERIC, &[Some("1.5"), Some("2.25")]).as_deref(),
            Some("3.75")
        );
        let infinities = [Some("Infinity"), Some("-Infinity")];
        assert_eq!(sum(oid::NUMERIC, &infinities).as_deref(), Some("NaN"));
        let over = [Some("9223372036854775807"), Some("1")];
        assert_eq!(total(oid::INT8, &over), Err(SumError::OutOfRange));
        assert_eq!(
            sum(oid::NUMERIC, &over).as_deref(),
            Some("9223372036854775808")
        );
        assert_eq!(Total::for_type(oid::FLOAT8), None);
    }

    #[test]
    fn extremes_skip_nulls() {
        let comparator = Comparator::for_type(oid::INT4, false, Direction::default()).unwrap();
        let (mut min, mut max) = (Extremum::min(comparator), Extremum::max(comparator));
        for value in [None, Some(&b"9"[..]), Some(b"10"), Some(b"-1")] {
            min.add(value, Format::Text).unwrap();
            max.add(value, Format::Text).unwrap();
        }
        assert_eq!(min.value(), Some(&b"-1"[..]));
        assert_eq!(max.value(), Some(&b"10"[..]));
    }
}
