//! A test file: plain text that a person can add a line to.
//!
//! ```text
//! # a comment
//! file: writes                      the file's cases change rows
//!
//! == name of the construct [ordered] [since 16]
//! SELECT 1;                         statements end with `;` at the end of a line
//! < int8 3                          a parameter of the statement before it: type (`-`: left to the
//!                                   server) and text, `\N` is NULL
//! !23505                            the statement before it fails with this SQLSTATE
//! COPY t FROM STDIN (FORMAT csv);   COPY is followed by its data, up to a line `\.`
//! 1,2
//! \.
//! @b SELECT 2;                      in a second session named b
//! SELECT 1\; SELECT 2;              two statements in one message
//! !!mask id                         columns whose values differ by nature
//! !!cleanup                         what follows is run after the shards were looked at
//! ```
//! Flags: `ordered` (rows are compared in order), `empty` (no rows are right), `runs` (only that it
//! does), `simple` and `extended` (one protocol only), `text` (no binary results), `writes`, `since N` and `until N` (major
//! versions), `proto` (see [`super::script`]).

use std::path::{Path, PathBuf};

use super::error::OracleError;

/// One case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Where it stands.
    pub file: PathBuf,
    /// The line of its name.
    pub line: usize,
    /// The construct that it is about.
    pub name: String,
    /// How it is run and compared.
    pub flags: Flags,
    /// Its statements, or the lines of its script.
    pub body: Body,
    /// Columns whose values differ by nature.
    pub masks: Vec<String>,
    /// What is run after the shards were looked at.
    pub cleanup: Vec<Statement>,
}

/// What a case consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Statements, one after the other.
    Statements(Vec<Statement>),
    /// Messages of the protocol, line by line.
    Script(Vec<String>),
}

/// How a case is run and compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags are written one by one in the files"
)]
pub struct Flags {
    /// Rows are compared in order.
    pub ordered: bool,
    /// It is right that no statement gives rows.
    pub empty: bool,
    /// Only that it runs is compared.
    pub runs: bool,
    /// By the simple protocol.
    pub simple: bool,
    /// By the extended protocol.
    pub extended: bool,
    /// Results are asked for as text: binary ones hold numbers of types or tables.
    pub text: bool,
    /// It changes rows.
    pub writes: bool,
    /// The first major version that has it.
    pub since: u32,
    /// The last major version that has it.
    pub until: u32,
}

/// One statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Its line.
    pub line: usize,
    /// The session it is run in; empty for the first.
    pub session: String,
    /// Its text.
    pub sql: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Data for COPY FROM STDIN.
    pub copy_in: Option<Vec<u8>>,
    /// The SQLSTATE that it must fail with.
    pub error: Option<String>,
}

/// A parameter as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// The type's name; `-` leaves it to the server.
    pub type_name: String,
    /// Its text; `None` is NULL.
    pub text: Option<String>,
}

/// Reads one file.
///
/// # Errors
/// A line that means nothing, with its place.
pub fn read(path: &Path, text: &str) -> Result<Vec<Case>, OracleError> {
    let mut reader = Reader {
        path,
        cases: Vec::new(),
        writes: false,
        script: false,
    };
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        at += reader.take(&lines, at)?;
    }
    Ok(reader.cases)
}

struct Reader<'a> {
    path: &'a Path,
    cases: Vec<Case>,
    writes: bool,
    script: bool,
}

impl Reader<'_> {
    /// Takes what begins at line `at`; returns how many lines that were.
    fn take(&mut self, lines: &[&str], at: usize) -> Result<usize, OracleError> {
        let line = lines[at];
        if let Some(heading) = line.strip_prefix("== ") {
            self.heading(heading, at)?;
            return Ok(1);
        }
        if line.trim().is_empty() || line.starts_with('#') {
            return Ok(1);
        }
        if let Some(what) = line.strip_prefix("file: ") {
            self.writes |= what.trim() == "writes";
            return Ok(1);
        }
        let (path, script) = (self.path, self.script);
        let bad = |what| OracleError::Line {
            file: path.to_owned(),
            line: at + 1,
            what,
        };
        let case = self
            .cases
            .last_mut()
            .ok_or_else(|| bad("a line before the first case"))?;
        if let Some(masks) = line.strip_prefix("!!mask ") {
            case.masks
                .extend(masks.split_whitespace().map(str::to_owned));
            return Ok(1);
        }
        if line.trim() == "!!cleanup" {
            // An empty statement marks where cleaning up begins until the case is finished.
            case.cleanup.push(blank(at + 1));
            return Ok(1);
        }
        if script {
            if let Body::Script(steps) = &mut case.body {
                steps.push(line.to_owned());
            }
            return Ok(1);
        }
        let statements = match (&mut case.body, case.cleanup.is_empty()) {
            (Body::Statements(statements), true) => statements,
            _ => &mut case.cleanup,
        };
        if let Some(parameter) = line.strip_prefix("< ") {
            let statement = statements
                .last_mut()
                .ok_or_else(|| bad("a parameter of nothing"))?;
            statement.parameters.push(Parameter::read(parameter));
            return Ok(1);
        }
        if let Some(code) = line.strip_prefix('!') {
            let statement = statements
                .last_mut()
                .ok_or_else(|| bad("an error of nothing"))?;
            statement.error = Some(code.trim().to_owned());
            return Ok(1);
        }
        let (statement, count) =
            statement(lines, at).ok_or_else(|| bad("a statement without its end"))?;
        statements.push(statement);
        Ok(count)
    }

    fn heading(&mut self, heading: &str, at: usize) -> Result<(), OracleError> {
        let (name, words) = heading.split_once(" [").unwrap_or((heading, ""));
        let mut flags = Flags {
            ordered: false,
            empty: false,
            runs: false,
            simple: true,
            extended: true,
            text: false,
            writes: self.writes,
            since: 0,
            until: u32::MAX,
        };
        self.script = false;
        for word in words
            .split(['[', ']'])
            .map(str::trim)
            .filter(|word| !word.is_empty())
        {
            match word.split_once(' ').unwrap_or((word, "")) {
                ("ordered", _) => flags.ordered = true,
                ("empty", _) => flags.empty = true,
                ("runs", _) => flags.runs = true,
                ("simple", _) => flags.extended = false,
                ("extended", _) => flags.simple = false,
                ("text", _) => flags.text = true,
                ("writes", _) => flags.writes = true,
                ("since", major) => flags.since = major.parse().unwrap_or(0),
                ("until", major) => flags.until = major.parse().unwrap_or(u32::MAX),
                ("proto", _) => self.script = true,
                _ => {
                    let file = self.path.to_owned();
                    return Err(OracleError::Line {
                        file,
                        line: at + 1,
                        what: "unknown flag",
                    });
                }
            }
        }
        let body = if self.script {
            Body::Script(Vec::new())
        } else {
            Body::Statements(Vec::new())
        };
        self.cases.push(Case {
            file: self.path.to_owned(),
            line: at + 1,
            name: name.trim().to_owned(),
            flags,
            body,
            masks: Vec::new(),
            cleanup: Vec::new(),
        });
        Ok(())
    }
}

/// The statement that begins at line `at`, with its COPY data, and how many lines that takes.
fn statement(lines: &[&str], at: usize) -> Option<(Statement, usize)> {
    let mut sql = String::new();
    let mut count = 0;
    loop {
        let line = lines.get(at + count)?;
        count += 1;
        sql.push_str(line);
        let open = sql.matches("$$").count() % 2 == 1;
        if line.trim_end().ends_with(';') && !open {
            break;
        }
        sql.push('\n');
    }
    let mut statement = blank(at + 1);
    let mut text = sql.trim_end().trim_end_matches(';');
    if let Some((session, rest)) = text.strip_prefix('@').and_then(|rest| rest.split_once(' ')) {
        session.clone_into(&mut statement.session);
        text = rest;
    }
    statement.sql = text.replace("\\;", ";");
    let words = text.to_ascii_lowercase();
    if words.starts_with("copy ") && words.contains(" from stdin") {
        let rest = lines.get(at + count..)?;
        let end = rest.iter().position(|line| *line == "\\.")?;
        statement.copy_in = Some(copy_data(&rest[..end]));
        count += end + 1;
    }
    Some((statement, count))
}

/// Text as it stands; lines that begin with `\x` are bytes in hex, without a line end.
fn copy_data(lines: &[&str]) -> Vec<u8> {
    let mut data = Vec::new();
    for line in lines {
        let Some(hex) = line.strip_prefix("\\x") else {
            data.extend_from_slice(line.as_bytes());
            data.push(b'\n');
            continue;
        };
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let pairs = digits
            .chunks(2)
            .filter_map(|pair| std::str::from_utf8(pair).ok());
        data.extend(pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok()));
    }
    data
}

fn blank(line: usize) -> Statement {
    Statement {
        line,
        session: String::new(),
        sql: String::new(),
        parameters: Vec::new(),
        copy_in: None,
        error: None,
    }
}

// === impl Parameter ===

impl Parameter {
    fn read(line: &str) -> Self {
        let (type_name, text) = line.split_once(' ').unwrap_or((line, ""));
        let text = (text != "\\N").then(|| text.to_owned());
        Self {
            type_name: type_name.to_owned(),
            text,
        }
    }
}

// === impl Case ===

impl Case {
    /// Its place, for people.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}:{}", self.file.display(), self.line)
    }

    /// Its statements; none if it is a script.
    #[must_use]
    pub fn statements(&self) -> &[Statement] {
        match &self.body {
            Body::Statements(statements) => statements,
            Body::Script(_) => &[],
        }
    }

    /// Whether any statement has parameters.
    #[must_use]
    pub fn has_parameters(&self) -> bool {
        self.statements()
            .iter()
            .any(|statement| !statement.parameters.is_empty())
    }

    /// What makes two cases the same.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.body {
            Body::Script(steps) => steps.join("\n"),
            Body::Statements(statements) => {
                let one = |s: &Statement| format!("{}{:?}{:?}", s.sql, s.parameters, s.copy_in);
                let all: Vec<String> = statements.iter().map(one).collect();
                format!(
                    "{} {} {}",
                    self.flags.simple,
                    self.flags.extended,
                    all.join("\n")
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Vec<Case> {
        read(Path::new("x.test"), text).unwrap()
    }

    #[test]
    fn a_case_is_a_heading_and_its_statements() {
        let cases =
            check("# c\n== one thing [ordered] [since 16]\nSELECT 1;\n!22012\n\nSELECT\n2;\n");
        assert_eq!(cases.len(), 1);
        assert_eq!(cases[0].name, "one thing");
        assert!(cases[0].flags.ordered);
        assert_eq!(cases[0].flags.since, 16);
        let [first, second] = cases[0].statements() else {
            panic!("two statements")
        };
        assert_eq!(first.error.as_deref(), Some("22012"));
        assert_eq!(second.sql, "SELECT\n2");
    }

    #[test]
    fn parameters_copy_data_and_sessions_are_read() {
        let cases = check(
            "== x\nSELECT $1;\n< int8 \\N\n< text a b\nCOPY t FROM STDIN;\n1\t2\n\\x0a0B\n\\.\n@b SELECT 1\\; SELECT 2;\n",
        );
        let statements = cases[0].statements();
        assert_eq!(statements[0].parameters[0].text, None);
        assert_eq!(statements[0].parameters[1].text.as_deref(), Some("a b"));
        assert_eq!(
            statements[1].copy_in.as_deref(),
            Some(&b"1\t2\n\x0a\x0b"[..])
        );
        assert_eq!(statements[2].session, "b");
        assert_eq!(statements[2].sql, "SELECT 1; SELECT 2");
    }

    #[test]
    fn dollar_quotes_hide_semicolons_and_cleanup_is_apart() {
        let cases = check(
            "file: writes\n== f\nDO $$\nBEGIN;\nEND;\n$$;\n!!mask id at\n!!cleanup\nDROP TABLE t;\n",
        );
        assert_eq!(cases[0].statements().len(), 1);
        assert_eq!(cases[0].masks, ["id", "at"]);
        assert_eq!(cases[0].cleanup.last().unwrap().sql, "DROP TABLE t");
        assert!(cases[0].flags.writes);
    }

    #[test]
    fn an_unknown_flag_is_an_error() {
        assert!(read(Path::new("x.test"), "== x [orderd]\n").is_err());
    }
}
