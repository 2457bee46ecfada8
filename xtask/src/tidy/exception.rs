//! Files that are longer than the rule allows, by name, each with its ceiling and its reason. The list may
//! only shrink: a file that grows past its ceiling, or no longer needs to be here, is complained about.

/// A file that may be long.
pub(crate) struct LongFile {
    /// Below the project's root.
    pub(crate) path: &'static str,
    /// At most so many lines without inline tests.
    pub(crate) lines_max: usize,
    /// Why it is not split.
    pub(crate) reason: &'static str,
}

/// All of them.
pub(crate) const LONG_FILES: &[LongFile] = &[];
