//! Writing names and strings into SQL.

/// A name in double quotes: right for every name, also for keywords and for names with capitals.
#[must_use]
pub fn quote_ident(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A string as a literal that means the same whether `standard_conforming_strings` is on or off: one with backslashes is
/// written ` E'...'`, with a blank before it so that it can't run into a word.
#[must_use]
pub fn quote_literal(string: &str) -> String {
    let doubled = string.replace('\'', "''");
    if doubled.contains('\\') {
        format!(" E'{}'", doubled.replace('\\', "\\\\"))
    } else {
        format!("'{doubled}'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_survives_everything() {
        assert_eq!(quote_ident("a\"B"), "\"a\"\"B\"");
        assert_eq!(quote_literal("it's"), "'it''s'");
        assert_eq!(quote_literal("a\\'b"), " E'a\\\\''b'");
    }
}
