//! Conditions that only a bug of ours can bring about.

/// Marks what can't happen: fails in debug builds and tests, is logged in release builds, where the caller
/// goes on with an error of its own (`XX000`).
#[macro_export]
macro_rules! never {
    ($($message:tt)+) => {{
        $crate::__tracing::error!($($message)+);
        debug_assert!(false, $($message)+);
    }};
}
