//! One execution of a statement, as the client asked for it.

use std::borrow::Cow;

use bytes::Bytes;
use pg::{Format, Oid};
use plan::{ParamValue, Values};
use wire::frontend::Bind;

use crate::Position;

/// A statement to be run once.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The statement's own text.
    pub text: &'a str,
    /// Where that text stands in what the client sent.
    pub position: Position,
    /// The bound parameters and result formats; `None` in the simple protocol.
    pub bind: Option<&'a Bind<'a>>,
    /// Types of the parameters.
    pub types: &'a [Oid],
    /// The columns as the client knows them: the body of a `RowDescription`; only in the extended protocol.
    pub row: Option<&'a Bytes>,
    /// The lifted text, where the plan may name its literals.
    pub lifted: Option<&'a sql::Lifted>,
    /// At most so many rows are wanted now (`Execute` with a limit); 0 is all.
    pub rows_max: u32,
    /// The client is told the columns before the rows (always in the simple protocol).
    pub says_columns: bool,
}

/// Values of one execution: literals of the text, bound parameters, computed values, a shard's answers.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The execution.
    pub request: &'a Request<'a>,
    /// Computed values, in the order of the plan's list.
    pub computed: &'a [Option<String>],
    /// What shards were asked to compute for the keys.
    pub asked: &'a [Option<String>],
}

// === impl Known ===

impl Values for Known<'_> {
    fn literal(&self, slot: u32) -> Option<Cow<'_, str>> {
        let lifted = self.request.lifted?;
        Some(lifted.literal(self.request.text, slot as usize)?.value())
    }

    fn param(&self, n: u32) -> Option<ParamValue<'_>> {
        let index = usize::try_from(n.checked_sub(1)?).ok()?;
        let (bytes, format) = self.request.bind?.parameter(index)?;
        let type_oid = self
            .request
            .types
            .get(index)
            .copied()
            .unwrap_or(Oid::INVALID);
        Some(ParamValue {
            type_oid,
            is_binary: format == Format::Binary,
            bytes,
        })
    }

    fn computed(&self, index: u32) -> Option<Option<&str>> {
        self.computed.get(index as usize).map(Option::as_deref)
    }

    fn asked(&self, index: u32) -> Option<Option<&str>> {
        self.asked.get(index as usize).map(Option::as_deref)
    }
}
