//! Names say what a thing is. A word that fits everything says nothing.

use syn::visit::{self, Visit};

use super::{Complaint, Rule};
use crate::tree::{File, Tree};

/// Last words of a type's name that fit everything.
const TYPE_SUFFIXES: [&str; 9] = [
    "Manager", "Helper", "Helpers", "Util", "Utils", "Handler", "Impl", "Data", "Info",
];
/// Names of modules that hold whatever had no place.
const MODULES: [&str; 6] = ["util", "utils", "helper", "helpers", "common", "misc"];
/// A function that gives a value is named for the value.
const FUNCTION_PREFIX: &str = "get_";

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in tree.ending(".rs") {
        let stem = file.path.rsplit('/').next().unwrap_or_default();
        let stem = stem.trim_end_matches(".rs");
        if MODULES.contains(&stem) && !file.is_test() {
            let what = format!("a module named `{stem}` holds whatever had no place");
            complaints.push(Complaint::new(Rule::Names, &file.path, 1, what));
        }
        match syn::parse_file(&file.text) {
            Ok(parsed) => Names {
                file,
                complaints: &mut complaints,
            }
            .visit_file(&parsed),
            Err(error) => {
                let what = format!("can't be read as Rust: {error}");
                complaints.push(Complaint::new(Rule::Names, &file.path, 1, what));
            }
        }
    }
    complaints
}

struct Names<'a> {
    file: &'a File,
    complaints: &'a mut Vec<Complaint>,
}

// === impl Names ===

impl Names<'_> {
    fn type_name(&mut self, keyword: &str, ident: &syn::Ident) {
        let name = ident.to_string();
        let suffix = TYPE_SUFFIXES.iter().find(|suffix| name.ends_with(**suffix));
        if let Some(suffix) = suffix {
            let what = format!("`{name}`: `{suffix}` fits everything; say what it is");
            self.complain(&format!("{keyword} {name}"), what);
        }
    }

    fn function_name(&mut self, ident: &syn::Ident) {
        let name = ident.to_string();
        if let Some(rest) = name.strip_prefix(FUNCTION_PREFIX) {
            self.complain(&format!("fn {name}"), format!("`{name}` is `{rest}`"));
        }
    }

    fn complain(&mut self, needle: &str, what: String) {
        let line = self.file.line_of(needle);
        self.complaints
            .push(Complaint::new(Rule::Names, &self.file.path, line, what));
    }
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.type_name("struct", &item.ident);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.type_name("enum", &item.ident);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.type_name("trait", &item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.type_name("type", &item.ident);
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.function_name(&signature.ident);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(path: &str, text: &str) -> Vec<String> {
        let files = vec![File {
            path: path.to_owned(),
            text: text.to_owned(),
        }];
        check(&Tree { files })
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn words_that_fit_everything_are_named() {
        let text = "struct Fine;\nstruct PoolManager;\nfn get_pool() {}\n";
        assert_eq!(
            check_text("crates/a/src/util.rs", text),
            [
                "crates/a/src/util.rs:1: a module named `util` holds whatever had no place \
                 (see docs/style.md#names)",
                "crates/a/src/util.rs:2: `PoolManager`: `Manager` fits everything; say what it is \
                 (see docs/style.md#names)",
                "crates/a/src/util.rs:3: `get_pool` is `pool` (see docs/style.md#names)",
            ]
        );
    }
}
