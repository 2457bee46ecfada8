//! Reading one object's members: each is taken by name, what is left over is a mistake. Invariant: a
//! member is never ignored.

use indexmap::IndexMap;

use crate::json::{Member, Node, Value, item_path, member_path};
use crate::mistake::{Mistake, MistakeKind, Place};

use super::Source;

/// What reading a document gathers.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) mistakes: Vec<Mistake>,
    pub(super) source: Source,
}

/// The members of one object that nobody has taken yet.
pub(super) struct Fields<'n> {
    path: String,
    node: &'n Node,
    members: Vec<&'n Member>,
    known: &'static [&'static str],
}

// === impl Notes ===

impl Notes {
    pub(super) fn mistake(&mut self, path: &str, node: &Node, kind: MistakeKind) {
        let place = Place {
            path: path.to_owned(),
            position: Some(node.at),
        };
        self.mistakes.push(Mistake { place, kind });
    }

    fn wrong_type(&mut self, path: &str, node: &Node, expected: &'static str) {
        let found = node.value.noun();
        self.mistake(path, node, MistakeKind::WrongType { expected, found });
    }

    /// The distinct members of an object; each key seen again is a mistake.
    fn members<'n>(&mut self, path: &str, node: &'n Node) -> Option<Vec<&'n Member>> {
        self.source.positions.insert(path.to_owned(), node.at);
        let Value::Object(members) = &node.value else {
            self.wrong_type(path, node, "an object");
            return None;
        };
        let mut distinct: Vec<&Member> = Vec::with_capacity(members.len());
        let mut seen = std::collections::HashMap::with_capacity(members.len());
        for member in members {
            if let Some(first) = seen.get(member.key.as_str()) {
                let place = Place {
                    path: member_path(path, &member.key),
                    position: Some(member.at),
                };
                let kind = MistakeKind::DuplicateKey {
                    key: member.key.clone(),
                    first: *first,
                };
                self.mistakes.push(Mistake { place, kind });
            } else {
                seen.insert(member.key.as_str(), member.at);
                distinct.push(member);
            }
        }
        Some(distinct)
    }

    pub(super) fn fields<'n>(
        &mut self,
        path: &str,
        node: &'n Node,
        known: &'static [&'static str],
    ) -> Option<Fields<'n>> {
        let members = self.members(path, node)?;
        Some(Fields {
            path: path.to_owned(),
            node,
            members,
            known,
        })
    }

    pub(super) fn string(&mut self, path: &str, node: &Node) -> Option<String> {
        self.source.positions.insert(path.to_owned(), node.at);
        if let Value::String(string) = &node.value {
            return Some(string.clone());
        }
        self.wrong_type(path, node, "a string");
        None
    }

    /// A name of something: a string that isn't empty.
    pub(super) fn name(&mut self, path: &str, node: &Node) -> Option<String> {
        let name = self.string(path, node)?;
        if name.is_empty() {
            self.mistake(path, node, MistakeKind::EmptyName);
            return None;
        }
        Some(name)
    }

    pub(super) fn boolean(&mut self, path: &str, node: &Node) -> Option<bool> {
        if let Value::Bool(boolean) = node.value {
            return Some(boolean);
        }
        self.wrong_type(path, node, "true or false");
        None
    }

    /// A whole number from 1 to `max`.
    pub(super) fn count(&mut self, path: &str, node: &Node, max: u32) -> Option<u32> {
        let Value::Number(number) = &node.value else {
            self.wrong_type(path, node, "a number");
            return None;
        };
        match number.parse::<u32>() {
            Ok(count) if (1..=max).contains(&count) => Some(count),
            _ => {
                let kind = MistakeKind::NumberOutOfRange {
                    found: number.clone(),
                    min: 1,
                    max,
                };
                self.mistake(path, node, kind);
                None
            }
        }
    }

    pub(super) fn list<T>(
        &mut self,
        path: &str,
        node: &Node,
        mut item: impl FnMut(&mut Notes, &str, &Node) -> Option<T>,
    ) -> Option<Vec<T>> {
        self.source.positions.insert(path.to_owned(), node.at);
        let Value::Array(items) = &node.value else {
            self.wrong_type(path, node, "an array");
            return None;
        };
        let read = |(index, node)| item(self, &item_path(path, index), node);
        Some(items.iter().enumerate().filter_map(read).collect())
    }

    pub(super) fn names(&mut self, path: &str, node: &Node) -> Option<Vec<String>> {
        self.list(path, node, Notes::name)
    }

    pub(super) fn map<T>(
        &mut self,
        path: &str,
        node: &Node,
        mut item: impl FnMut(&mut Notes, &str, &Node) -> Option<T>,
    ) -> Option<IndexMap<String, T>> {
        let mut map = IndexMap::new();
        for member in self.members(path, node)? {
            let path = member_path(path, &member.key);
            if member.key.is_empty() {
                self.mistake(&path, &member.value, MistakeKind::EmptyName);
                continue;
            }
            if let Some(value) = item(self, &path, &member.value) {
                map.insert(member.key.clone(), value);
            }
        }
        Some(map)
    }

    /// One of a closed set of words.
    pub(super) fn choice<T: Copy>(
        &mut self,
        path: &str,
        node: &Node,
        choices: &[(&'static str, T)],
    ) -> Option<T> {
        let word = self.string(path, node)?;
        if let Some((_, choice)) = choices.iter().find(|(name, _)| *name == word) {
            return Some(*choice);
        }
        let known = choices.iter().map(|(name, _)| *name).collect();
        self.mistake(path, node, MistakeKind::UnknownValue { value: word, known });
        None
    }
}

// === impl Fields ===

impl Fields<'_> {
    /// Takes a member that may be absent.
    pub(super) fn optional<T>(
        &mut self,
        notes: &mut Notes,
        key: &'static str,
        read: impl FnOnce(&mut Notes, &str, &Node) -> Option<T>,
    ) -> Option<T> {
        debug_assert!(
            self.known.contains(&key),
            "{key} is read but not listed as known"
        );
        let index = self.members.iter().position(|member| member.key == key)?;
        let member = self.members.remove(index);
        read(notes, &member_path(&self.path, key), &member.value)
    }

    /// Takes a member that must be there.
    pub(super) fn required<T>(
        &mut self,
        notes: &mut Notes,
        key: &'static str,
        read: impl FnOnce(&mut Notes, &str, &Node) -> Option<T>,
    ) -> Option<T> {
        if !self.members.iter().any(|member| member.key == key) {
            notes.mistake(&self.path, self.node, MistakeKind::MissingKey { key });
            return None;
        }
        self.optional(notes, key, read)
    }

    /// Reports what nobody took.
    pub(super) fn finish(self, notes: &mut Notes) {
        for member in self.members {
            let place = Place {
                path: member_path(&self.path, &member.key),
                position: Some(member.at),
            };
            let kind = MistakeKind::UnknownKey {
                key: member.key.clone(),
                known: self.known,
            };
            notes.mistakes.push(Mistake { place, kind });
        }
    }
}
