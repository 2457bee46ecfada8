//! The options of `COPY`, as far as telling rows apart needs them.

use sql::ast;

use crate::write::Goal;
use crate::{PlanError, UnsupportedId, refuse};

/// How rows are told apart and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyFormat {
    /// Lines with backslash escapes.
    Text {
        /// Between fields.
        delimiter: u8,
        /// What stands for NULL.
        null: CopyNull,
    },
    /// Comma separated values.
    Csv {
        /// Between fields.
        delimiter: u8,
        /// Around fields.
        quote: u8,
        /// Before a quote inside quotes.
        escape: u8,
        /// What stands for NULL, unquoted.
        null: CopyNull,
    },
    /// PostgreSQL's binary format.
    Binary,
}

/// What stands for NULL in a line: at most eight bytes, so that a plan needs no allocation for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyNull {
    bytes: [u8; 8],
    length: u8,
}

/// What the options say.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) format: CopyFormat,
    pub(super) has_header: bool,
    /// Columns whose quoted text may be NULL, or unquoted NULL text.
    forced: Vec<String>,
    /// An option that rows can't be told apart under, or that none here knows.
    odd: Option<String>,
}

// === impl CopyNull ===

impl CopyNull {
    /// A text of at most eight bytes.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let mut bytes = [0; 8];
        bytes
            .get_mut(..text.len())?
            .copy_from_slice(text.as_bytes());
        Some(Self {
            bytes,
            length: u8::try_from(text.len()).ok()?,
        })
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

// === impl Options ===

impl Options {
    /// Reads the options.
    ///
    /// # Errors
    ///
    /// A delimiter, quote or NULL text is longer than the router reads; PostgreSQL refuses most of those too.
    pub(super) fn read(copy: &ast::Copy) -> Result<Self, PlanError> {
        let value = |name: &str| value(copy, name);
        let byte = |name: &str, default: u8| match value(name) {
            None => Ok(default),
            Some(text) => match text.as_bytes() {
                [byte] => Ok(*byte),
                _ => Err(refuse(UnsupportedId::CopyOption, name)),
            },
        };
        let null = |default: &str| {
            let text = value("null").unwrap_or(default);
            CopyNull::new(text).ok_or_else(|| refuse(UnsupportedId::CopyOption, "null"))
        };
        let format = match value("format").unwrap_or("text") {
            "csv" => {
                let quote = byte("quote", b'"')?;
                CopyFormat::Csv {
                    delimiter: byte("delimiter", b',')?,
                    quote,
                    escape: byte("escape", quote)?,
                    null: null("")?,
                }
            }
            "binary" => CopyFormat::Binary,
            "text" => CopyFormat::Text {
                delimiter: byte("delimiter", b'\t')?,
                null: null("\\N")?,
            },
            other => return Err(refuse(UnsupportedId::CopyOption, other)),
        };
        let has_header = copy.options.iter().any(|(name, _)| name == "header")
            && value("header")
                .is_none_or(|text| !["false", "off", "0"].contains(&text.to_lowercase().as_str()));
        let listed = ["force_not_null", "force_null"]
            .into_iter()
            .filter_map(value);
        let forced = listed
            .flat_map(|list| list.split(','))
            .map(str::to_owned)
            .collect();
        Ok(Self {
            format,
            has_header,
            forced,
            odd: odd(copy),
        })
    }

    /// What can't be done when rows are read on their way.
    pub(super) fn check_spread(&self, goal: &Goal) -> Result<(), PlanError> {
        if let Some(odd) = &self.odd {
            return Err(refuse(UnsupportedId::CopyOption, odd));
        }
        let has_star = self.forced.iter().any(|column| column == "*");
        if has_star && matches!(goal, Goal::Sharded(_)) {
            return Err(refuse(UnsupportedId::CopyOption, "force_null"));
        }
        Ok(())
    }

    /// The key's own field must be read as plainly as it is written.
    pub(super) fn check_key(&self, column: &str) -> Result<(), PlanError> {
        if self.forced.iter().any(|forced| forced == column) {
            return Err(refuse(
                UnsupportedId::CopyOption,
                format!("force_null of {column}"),
            ));
        }
        Ok(())
    }
}

/// The value of an option; `None` where the option isn't given or stands alone.
fn value<'a>(copy: &'a ast::Copy, name: &str) -> Option<&'a str> {
    let (_, value) = copy.options.iter().find(|(known, _)| known == name)?;
    value.as_deref()
}

/// An option that rows can't be told apart under, or that none here knows.
fn odd(copy: &ast::Copy) -> Option<String> {
    const KNOWN: &[&str] = &[
        "format",
        "delimiter",
        "null",
        "header",
        "quote",
        "escape",
        "force_quote",
        "force_not_null",
        "force_null",
        "encoding",
        // Each shard checks for itself that the open transaction made or emptied the table.
        "freeze",
    ];
    const UTF8: &[&str] = &["utf8", "utf-8", "unicode"];
    if let Some(encoding) = value(copy, "encoding")
        && !UTF8.contains(&encoding.to_lowercase().as_str())
    {
        return Some(format!("encoding {encoding}"));
    }
    let names = copy.options.iter().map(|(name, _)| name);
    names
        .into_iter()
        .find(|name| !KNOWN.contains(&name.as_str()))
        .cloned()
}
