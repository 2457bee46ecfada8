//! How large and how deep a statement may be.

/// Tokens of one query string. A multi-row `INSERT` of 200,000 rows of ten columns is below.
pub const MAX_TOKENS: usize = 4_000_000;

/// Levels of a tree: sub-selects, brackets that matter, chained operators (`a + b + c` is two), branches of a `UNION`.
/// `AND`, `OR`, lists and `VALUES` count once, however long. Printing takes up to 4 KiB of stack a level where nothing is
/// optimised, so that half of a thread's 2 MiB are left to whoever recurses over a tree with larger frames.
pub const MAX_DEPTH: u32 = 250;

/// Levels that are converted on the caller's own stack; deeper statements get a thread with [`LARGE_STACK`].
pub(crate) const SHALLOW_DEPTH: u32 = 32;

/// Stack of the thread for deep statements, in bytes. It is reserved, and used only as far as needed.
pub(crate) const LARGE_STACK: usize = 256 << 20;

/// Threads for deep statements at one time; more wait.
pub(crate) const MAX_LARGE: u32 = 4;

/// Tokens of a definition statement: its tree is copied by recursion inside the parser.
pub(crate) const MAX_DEFINITION_TOKENS: usize = 200_000;

/// Tokens of a definition statement whose tree is copied on the caller's own stack.
pub(crate) const SHALLOW_DEFINITION_TOKENS: usize = 1_000;
