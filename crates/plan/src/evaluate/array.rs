//! Elements of an array parameter or literal. Invariant: an array that is not understood whole gives `None`.

use pg::{KeyValue, Oid, Parsed, oid};

use super::Element;
use crate::plan::{ArrayRoute, KeySource, Values};

/// The elements, NULLs left out (they match nothing).
pub(super) fn elements(array: &ArrayRoute, values: &dyn Values) -> Option<Vec<Element>> {
    match &array.source {
        KeySource::Param(number) => {
            let param = values.param(*number)?;
            let Some(bytes) = param.bytes else {
                return Some(Vec::new());
            };
            let element = if param.type_oid == Oid::INVALID {
                oid::UNKNOWN
            } else {
                param.type_oid.element()?
            };
            if param.is_binary {
                binary(array, bytes)
            } else {
                text(array, element, std::str::from_utf8(bytes).ok()?)
            }
        }
        KeySource::Literal { slot, .. } => text(array, oid::UNKNOWN, &values.literal(*slot)?),
        KeySource::Text { text: literal, .. } => text(array, oid::UNKNOWN, literal),
        KeySource::Null => Some(Vec::new()),
        KeySource::Value(_) | KeySource::Computed(_) => None,
    }
}

fn binary(array: &ArrayRoute, bytes: &[u8]) -> Option<Vec<Element>> {
    let mut rest = bytes;
    let dimensions = read_i32(&mut rest)?;
    let _has_nulls = read_i32(&mut rest)?;
    let element = Oid(u32::from_be_bytes(read_i32(&mut rest)?.to_be_bytes()));
    if dimensions == 0 {
        return Some(Vec::new());
    }
    if dimensions != 1 {
        return None;
    }
    let count = usize::try_from(read_i32(&mut rest)?).ok()?;
    let _lower_bound = read_i32(&mut rest)?;
    let mut elements = Vec::new();
    for _ in 0..count {
        let length = read_i32(&mut rest)?;
        let Ok(length) = usize::try_from(length) else {
            continue;
        };
        let value = rest.get(..length)?;
        rest = &rest[length..];
        let parsed = KeyValue::from_binary(array.key_type, element, value);
        if parsed == Parsed::Unknown {
            return None;
        }
        elements.push(Element {
            parsed,
            text: None,
            assigned_from: None,
        });
    }
    Some(elements)
}

fn read_i32(bytes: &mut &[u8]) -> Option<i32> {
    let (head, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    Some(i32::from_be_bytes(*head))
}

fn text(array: &ArrayRoute, element: Oid, text: &str) -> Option<Vec<Element>> {
    let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let mut elements = Vec::new();
    if inner.trim().is_empty() {
        return Some(elements);
    }
    let mut rest = inner;
    loop {
        rest = rest.trim_start();
        let (value, after) = item(rest)?;
        if let Some(value) = value {
            let parsed = KeyValue::from_text(array.key_type, element, &value);
            elements.push(Element {
                parsed,
                text: Some(value),
                assigned_from: None,
            });
        }
        let after = after.trim_start();
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Some(elements),
            None => return None,
        }
    }
}

/// One element and what follows; `None` inside is NULL. Nested arrays are not understood.
fn item(text: &str) -> Option<(Option<String>, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let mut value = String::new();
        let mut characters = quoted.char_indices();
        while let Some((at, c)) = characters.next() {
            match c {
                '"' => return Some((Some(value), &quoted[at + 1..])),
                '\\' => value.push(characters.next()?.1),
                other => value.push(other),
            }
        }
        return None;
    }
    let end = text.find(',').unwrap_or(text.len());
    let bare = text[..end].trim_end();
    if bare.is_empty() || bare.contains(['{', '}', '"', '\\']) {
        return None;
    }
    let value = (!bare.eq_ignore_ascii_case("null")).then(|| bare.to_owned());
    Some((value, &text[end..]))
}
