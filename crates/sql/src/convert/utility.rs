//! Utility statements that are no definitions.

use pg_raw_parse::Node;

use super::{Converter, Result};
use crate::ast;

impl Converter<'_> {
    pub(super) fn utility(&self, _node: Node<'_>, _span: ast::Span) -> Result<ast::Body> {
        Ok(ast::Body::Other("utility"))
    }
}
