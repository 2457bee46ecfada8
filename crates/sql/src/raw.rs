//! The only unsafe code: calling the C parser with flags and keeping its arena. Everything above sees shared references to
//! nodes that live as long as the [`Tree`].

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

use pg_raw_parse::raw;

/// A parse tree together with the memory that it lies in.
pub(crate) struct Tree {
    context: raw::MemoryContext,
    list: *const pg_raw_parse::StmtList,
}

/// What the parser said against a text.
pub(crate) struct Failure {
    /// PostgreSQL's message.
    pub(crate) message: String,
    /// One-based, in characters; 0 when unknown.
    pub(crate) cursor: usize,
}

/// The parser's flag for `standard_conforming_strings = off`.
const DISABLE_STANDARD_CONFORMING_STRINGS: c_int = 32;

impl Tree {
    /// Parses a query string.
    #[expect(
        unsafe_code,
        reason = "the parser's flags and error position are only in its C interface"
    )]
    pub(crate) fn parse(
        text: &CString,
        standard_conforming_strings: bool,
    ) -> Result<Self, Failure> {
        let options = if standard_conforming_strings {
            0
        } else {
            DISABLE_STANDARD_CONFORMING_STRINGS
        };
        // SAFETY: as in `pg_raw_parse::parse`: the context has no parent, so that no thread's end frees it; nothing
        // between the two switches can panic; the parser catches its own errors (`PG_TRY`) and returns them.
        let (context, result) = unsafe {
            raw::pg_query_init();
            let context = raw::AllocSetContextCreateInternal(
                ptr::null_mut(),
                c"kintsugi".as_ptr(),
                raw::ALLOCSET_DEFAULT_MINSIZE as raw::Size,
                raw::ALLOCSET_DEFAULT_INITSIZE as raw::Size,
                raw::ALLOCSET_DEFAULT_MAXSIZE as raw::Size,
            );
            let before = raw::MemoryContextSwitchTo(context);
            let result = raw::pg_query_raw_parse(text.as_ptr(), options);
            raw::MemoryContextSwitchTo(before);
            (context, result)
        };
        let tree = Self {
            context,
            list: result.tree.cast(),
        };
        // SAFETY: the buffer is null or was allocated with `malloc` for the caller to free, and is used no more.
        unsafe { free(result.stderr_buffer.cast()) };
        if result.error.is_null() {
            return Ok(tree);
        }
        // SAFETY: the error is not null, its message is null or a C string, and it is freed once, after its last use.
        let failure = unsafe {
            let error = &*result.error;
            let failure = Failure {
                message: message(error.message),
                cursor: usize::try_from(error.cursorpos).unwrap_or(0),
            };
            raw::pg_query_free_error(result.error);
            failure
        };
        Err(failure)
    }

    /// The statements.
    #[expect(unsafe_code, reason = "the list is the parser's own")]
    pub(crate) fn statements(&self) -> &pg_raw_parse::StmtList {
        if self.list.is_null() {
            return pg_raw_parse::list::empty_list();
        }
        // SAFETY: the parser returned a list of RawStmt, whose layout `StmtList` has (it is transparent over the
        // parser's list), and the context that it lies in lives as long as `self`.
        unsafe { &*self.list }
    }
}

/// A typed list as a plain one: for the fields whose elements are not always of the type that the bindings promise, and
/// whose typed iterators would panic.
#[expect(unsafe_code, reason = "the bindings have no such conversion")]
pub(crate) fn plain<T>(
    list: &pg_raw_parse::list::CastNodeList<T>,
) -> &pg_raw_parse::list::NodeList {
    // SAFETY: a typed list is transparent over a plain one, and a plain one checks each element's tag.
    unsafe { &*ptr::from_ref(list).cast() }
}

#[expect(unsafe_code, reason = "the message is a C string")]
unsafe fn message(text: *const c_char) -> String {
    if text.is_null() {
        return "syntax error".to_owned();
    }
    // SAFETY: the caller promises a C string.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

#[expect(unsafe_code, reason = "the parser allocates its warnings with malloc")]
unsafe extern "C" {
    fn free(pointer: *mut c_void);
}

// SAFETY: nothing writes to a tree after it was made, and its context belongs to no thread.
#[expect(unsafe_code, reason = "deep trees are converted on another thread")]
unsafe impl Sync for Tree {}

impl Drop for Tree {
    #[expect(unsafe_code, reason = "the arena is the parser's own")]
    fn drop(&mut self) {
        // SAFETY: the context was made by `parse`, and no reference into it outlives `self`.
        unsafe { raw::MemoryContextDelete(self.context) };
    }
}
