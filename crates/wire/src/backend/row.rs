//! Rows and the description of their columns.

use bytes::{BufMut as _, BytesMut};
use pg::{Format, Oid};

use crate::read::Reader;
use crate::{DecodeError, write};

/// A row, looked into where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataRow<'a> {
    count: usize,
    values: &'a [u8],
}

/// The columns of a [`DataRow`]; ends early where the row's layout is broken.
#[derive(Debug, Clone)]
pub struct Columns<'a> {
    left: usize,
    reader: Reader<'a>,
}

/// One column of `RowDescription`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its name.
    pub name: &'a str,
    /// The table it comes from, else [`Oid::INVALID`].
    pub table: Oid,
    /// Its number in that table, else 0.
    pub column: i16,
    /// Its type.
    pub type_oid: Oid,
    /// The type's size; negative if it varies.
    pub type_size: i16,
    /// The type's modifier; -1 for none.
    pub typmod: i32,
    /// The format of its values.
    pub format: Format,
}

// === impl DataRow ===

impl<'a> DataRow<'a> {
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let row = Self {
            count: reader.count()?,
            values: reader.rest(),
        };
        let mut columns = row.columns();
        let whole = columns.by_ref().count() == row.count && columns.reader.is_empty();
        if whole {
            Ok(row)
        } else {
            Err(reader.malformed())
        }
    }

    /// The row of a body, its layout not yet checked: [`DataRow::columns`] ends early if it is broken.
    ///
    /// # Errors
    /// The body is too short for a column count.
    pub fn unchecked(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(b'D', body);
        Ok(Self {
            count: reader.count()?,
            values: reader.rest(),
        })
    }

    /// How many columns it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it has no columns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The columns in order; `None` is NULL.
    #[must_use]
    pub fn columns(&self) -> Columns<'a> {
        Columns {
            left: self.count,
            reader: Reader::new(b'D', self.values),
        }
    }

    /// Column `index` (from 0): outer `None` if there is none, inner `None` for NULL.
    #[must_use]
    pub fn column(&self, index: usize) -> Option<Option<&'a [u8]>> {
        self.columns().nth(index)
    }

    pub(super) fn write(&self, out: &mut BytesMut) {
        write::count(out, self.count);
        out.put_slice(self.values);
    }
}

impl<'a> Iterator for Columns<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        self.reader.value().ok()
    }
}

// === impl Field ===

impl<'a> Field<'a> {
    /// A column that comes from no table, of a type without modifier.
    #[must_use]
    pub fn computed(name: &'a str, type_oid: Oid, type_size: i16, format: Format) -> Self {
        Self {
            name,
            table: Oid::INVALID,
            column: 0,
            type_oid,
            type_size,
            typmod: -1,
            format,
        }
    }

    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            name: reader.text()?,
            table: Oid(reader.u32()?),
            column: reader.i16()?,
            type_oid: Oid(reader.u32()?),
            type_size: reader.i16()?,
            typmod: reader.i32()?,
            format: Format::from_code(reader.i16()?).ok_or(reader.malformed())?,
        })
    }

    pub(super) fn write(&self, out: &mut BytesMut) {
        write::text(out, self.name);
        out.put_u32(self.table.0);
        out.put_i16(self.column);
        out.put_u32(self.type_oid.0);
        out.put_i16(self.type_size);
        out.put_i32(self.typmod);
        out.put_i16(self.format.code());
    }
}
