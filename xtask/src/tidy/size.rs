//! Files are short: a file that can't be read in one go is two subjects.

use super::exception::LongFile;
use super::{Complaint, Rule};
use crate::tree::Tree;

/// Lines of a file without its inline tests.
const LINES_MAX: usize = 600;
/// Lines of a file that holds tests only.
const TEST_LINES_MAX: usize = 900;
/// Lines of tests at the end of a file; longer ones get a file of their own.
const INLINE_TEST_LINES_MAX: usize = 150;

/// Where inline tests begin.
const TESTS_BEGIN: &str = "\n#[cfg(test)]\nmod tests {";

pub(crate) fn check(tree: &Tree, exceptions: &[LongFile]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in tree.ending(".rs").filter(|file| !file.is_generated()) {
        let all = file.text.lines().count();
        let body = match file.text.find(TESTS_BEGIN) {
            Some(at) => file.text[..at].lines().count(),
            None => all,
        };
        let mut complain = |line, what| {
            complaints.push(Complaint::new(Rule::Sizes, &file.path, line, what));
        };
        let ceiling = if file.is_test() {
            TEST_LINES_MAX
        } else {
            LINES_MAX
        };
        let exception = exceptions.iter().find(|long| long.path == file.path);
        match exception {
            None if body > ceiling => {
                complain(ceiling, format!("{body} lines, more than {ceiling}"));
            }
            Some(long) if body > long.lines_max => {
                let LongFile {
                    lines_max, reason, ..
                } = long;
                let what = format!("{body} lines, more than its {lines_max} ({reason})");
                complain(*lines_max, what);
            }
            Some(_) if body <= ceiling => {
                complain(1, "is short again: take it off the list".to_owned());
            }
            _ => {}
        }
        if all - body > INLINE_TEST_LINES_MAX {
            let what = format!("{} lines of tests: give them a file", all - body);
            complain(body + 1, what);
        }
    }
    for long in exceptions {
        if tree.file(long.path).is_none() {
            let what = "is on the list of long files and does not exist";
            complaints.push(Complaint::new(Rule::Sizes, long.path, 1, what));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::File;

    fn check_lines(path: &'static str, lines: usize, exceptions: &[LongFile]) -> Vec<String> {
        let text = "//! x\n".repeat(lines);
        let files = vec![File {
            path: path.to_owned(),
            text,
        }];
        check(&Tree { files }, exceptions)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn a_long_file_is_named_with_the_page_of_the_rule() {
        assert_eq!(
            check_lines("crates/a/src/b.rs", 601, &[]),
            ["crates/a/src/b.rs:600: 601 lines, more than 600 (see docs/style.md#sizes)"]
        );
        assert!(check_lines("crates/a/src/b.rs", 600, &[]).is_empty());
        assert!(check_lines("crates/a/src/b/tests.rs", 601, &[]).is_empty());
    }

    #[test]
    fn an_exception_is_a_ratchet() {
        let exception = || {
            [LongFile {
                path: "a.rs",
                lines_max: 700,
                reason: "one table",
            }]
        };
        assert!(check_lines("a.rs", 650, &exception()).is_empty());
        assert_eq!(check_lines("a.rs", 701, &exception()).len(), 1);
        assert_eq!(check_lines("a.rs", 100, &exception()).len(), 1);
        assert_eq!(check_lines("b.rs", 100, &exception()).len(), 1);
    }
}
