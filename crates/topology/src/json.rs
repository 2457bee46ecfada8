//! A JSON reader that remembers where everything stood. It exists because a mistake in a document of a
//! thousand lines is only useful with its line, and because a key written twice must not win silently.
//! Invariant: whatever it accepts, `serde_json` accepts too.

use crate::mistake::{Mistake, MistakeKind, Place, Position};

/// Longest document that is read, in bytes.
pub(crate) const DOCUMENT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Deepest nesting that is read; the format itself needs nine.
const DEPTH_MAX: usize = 32;

/// A JSON value and where it began.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) at: Position,
}

#[derive(Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Node>),
    Object(Vec<Member>),
}

/// One key of an object with its value.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) at: Position,
    pub(crate) value: Node,
}

struct Reader<'a> {
    text: &'a str,
    offset: usize,
    line: u32,
    line_start: usize,
    path: Vec<Segment>,
}

enum Segment {
    Key(String),
    Item(usize),
}

// === impl Value ===

impl Value {
    /// What a person calls this kind of value.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }
}

// === impl Reader ===

impl Reader<'_> {
    fn position(&self) -> Position {
        let column = self.text[self.line_start..self.offset].chars().count() + 1;
        Position {
            line: self.line,
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.offset).copied()
    }

    fn fail(&self, kind: MistakeKind) -> Box<Mistake> {
        let mut path = String::new();
        for segment in &self.path {
            path = match segment {
                Segment::Key(key) => member_path(&path, key),
                Segment::Item(index) => item_path(&path, *index),
            };
        }
        let position = Some(self.position());
        Box::new(Mistake {
            place: Place { path, position },
            kind,
        })
    }

    fn expected(&self, expected: &'static str) -> Box<Mistake> {
        let found = match self.text[self.offset..].chars().next() {
            None => "the end of the document".to_owned(),
            Some(c) => format!("{c:?}"),
        };
        self.fail(MistakeKind::NotJson { expected, found })
    }

    fn skip_space(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'\n' => {
                    self.offset += 1;
                    self.line += 1;
                    self.line_start = self.offset;
                }
                b' ' | b'\t' | b'\r' => self.offset += 1,
                _ => return,
            }
        }
    }

    fn value(&mut self) -> Result<Node, Box<Mistake>> {
        self.skip_space();
        let at = self.position();
        let value = match self.peek() {
            Some(b'{') => self.object()?,
            Some(b'[') => self.array()?,
            Some(b'"') => Value::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
        };
        Ok(Node { value, at })
    }

    fn enter(&mut self, segment: Segment) -> Result<(), Box<Mistake>> {
        if self.path.len() >= DEPTH_MAX {
            return Err(self.fail(MistakeKind::TooDeep {
                depth_max: DEPTH_MAX,
            }));
        }
        self.path.push(segment);
        Ok(())
    }

    fn object(&mut self) -> Result<Value, Box<Mistake>> {
        self.offset += 1;
        let mut members = Vec::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.offset += 1;
            return Ok(Value::Object(members));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.expected("a key in double quotes"));
            }
            let at = self.position();
            let key = self.string()?;
            self.skip_space();
            if self.peek() != Some(b':') {
                return Err(self.expected("`:` after the key"));
            }
            self.offset += 1;
            self.enter(Segment::Key(key.clone()))?;
            let value = self.value()?;
            self.path.pop();
            members.push(Member { key, at, value });
            if self.separator(b'}', "`,` or `}`")? {
                return Ok(Value::Object(members));
            }
        }
    }

    fn array(&mut self) -> Result<Value, Box<Mistake>> {
        self.offset += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.offset += 1;
            return Ok(Value::Array(items));
        }
        loop {
            self.enter(Segment::Item(items.len()))?;
            items.push(self.value()?);
            self.path.pop();
            if self.separator(b']', "`,` or `]`")? {
                return Ok(Value::Array(items));
            }
        }
    }

    /// Reads what stands between two elements; true at the end of the collection.
    fn separator(&mut self, end: u8, expected: &'static str) -> Result<bool, Box<Mistake>> {
        self.skip_space();
        match self.peek() {
            Some(byte) if byte == end => {
                self.offset += 1;
                Ok(true)
            }
            Some(b',') => {
                self.offset += 1;
                Ok(false)
            }
            _ => Err(self.expected(expected)),
        }
    }

    fn word(&mut self) -> Result<Value, Box<Mistake>> {
        let rest = &self.text[self.offset..];
        for (word, value) in [
            ("null", Value::Null),
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
        ] {
            if rest.starts_with(word) {
                self.offset += word.len();
                return Ok(value);
            }
        }
        Err(self.expected("a value"))
    }

    /// Numbers are kept as written: the format uses small integers only, and the caller judges them.
    fn number(&mut self) -> Result<Value, Box<Mistake>> {
        let rest = &self.text[self.offset..];
        let length = rest
            .find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'))
            .unwrap_or(rest.len());
        let number = &rest[..length];
        if serde_json::from_str::<serde_json::Number>(number).is_err() {
            return Err(self.expected("a number"));
        }
        self.offset += length;
        Ok(Value::Number(number.to_owned()))
    }

    /// Finds the closing quote and leaves escapes to `serde_json`.
    fn string(&mut self) -> Result<String, Box<Mistake>> {
        let start = self.offset;
        let mut end = start + 1;
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(end) {
                None => {
                    self.offset = bytes.len();
                    return Err(self.expected("the closing `\"` of the string"));
                }
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
            }
        }
        match serde_json::from_str(&self.text[start..=end]) {
            Ok(string) => {
                self.offset = end + 1;
                Ok(string)
            }
            Err(_) => Err(self.expected("a string without bad escapes or control characters")),
        }
    }
}

/// Reads one JSON value that must fill `text`.
///
/// # Errors
///
/// The first place where the text is not JSON.
pub(crate) fn read(text: &str) -> Result<Node, Box<Mistake>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader {
        text,
        offset: 0,
        line: 1,
        line_start: 0,
        path: Vec::new(),
    };
    if text.len() > DOCUMENT_BYTES_MAX {
        return Err(reader.fail(MistakeKind::TooLarge {
            bytes_max: DOCUMENT_BYTES_MAX,
        }));
    }
    let node = reader.value()?;
    reader.skip_space();
    if reader.offset < text.len() {
        return Err(reader.expected("the end of the document"));
    }
    Ok(node)
}

/// The path of a member: `databases.app`, or `databases["my app"]` where a dot would mislead.
pub(crate) fn member_path(parent: &str, key: &str) -> String {
    let plain = !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    match (plain, parent.is_empty()) {
        (true, true) => key.to_owned(),
        (true, false) => format!("{parent}.{key}"),
        (false, _) => format!("{parent}[{}]", serde_json::Value::from(key)),
    }
}

/// The path of an array's element: `shard_groups[0]`.
pub(crate) fn item_path(parent: &str, index: usize) -> String {
    format!("{parent}[{index}]")
}
