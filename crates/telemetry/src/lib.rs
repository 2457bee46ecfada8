//! Where logs go and how spans and fields are named.
//!
//! It must not know databases. Read first: [`init`], [`fields`]. Spans form one tree:
//! `client` > `request` > `plan` > `shard`.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::util::TryInitError;

pub mod fields;

/// How a line of the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Why the log can't be set up.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// The filter is not in the form of `tracing_subscriber`'s directives.
    #[error("log filter {filter:?} can't be read")]
    Filter {
        /// The filter as given.
        filter: String,
        /// What is wrong with it.
        #[source]
        source: ParseError,
    },
    /// It was set up before.
    #[error("the log is set up already")]
    Twice(#[source] TryInitError),
}

/// Sends the log of the whole process to standard error.
///
/// # Errors
/// The filter can't be read, or there is a log already.
pub fn init(format: LogFormat, filter: &str) -> Result<(), InitError> {
    use std::io::IsTerminal as _;
    use tracing_subscriber::util::SubscriberInitExt as _;
    let filter = EnvFilter::try_new(filter).map_err(|source| InitError::Filter {
        filter: filter.to_owned(),
        source,
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // Colours are for a terminal that wants them.
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .with_writer(std::io::stderr);
    let done = match format {
        LogFormat::Text => builder.with_target(false).finish().try_init(),
        LogFormat::Json => builder.json().finish().try_init(),
    };
    done.map_err(InitError::Twice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_filter_is_named() {
        let error = init(LogFormat::Text, "info,=[").unwrap_err();
        assert_eq!(error.to_string(), "log filter \"info,=[\" can't be read");
    }
}
