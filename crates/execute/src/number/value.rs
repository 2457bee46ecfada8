//! Numbers inside binary values: arrays, rows and whatever is made of them name the types of their parts.
//!
//! A number takes four bytes everywhere, so values are translated where they lie. A value whose layout is broken is left as it
//! is: whoever reads it finds that out.

use catalog::TypeKind;
use pg::{Diagnostic, Oid, SqlState, oid};

use super::{Translation, Way};

/// PostgreSQL's own array of records.
const RECORD_ARRAY: Oid = Oid(2287);

/// People's objects have numbers from here on.
const FIRST_OWN: u32 = 16384;

/// So deep values are followed.
const DEPTH_MAX: u32 = 64;

impl Translation {
    /// Whether binary values of a type (by its authoritative number) have numbers inside.
    ///
    /// # Errors
    /// They have, and which can't be told.
    pub(super) fn has_numbers(&self, type_oid: Oid) -> Result<bool, Diagnostic> {
        let is_array = |own: Oid| self.catalog.types.get(&own).map(|known| &known.kind);
        match type_oid {
            oid::RECORD | RECORD_ARRAY | oid::REGTYPE | oid::REGCLASS => return Ok(true),
            own if own.0 < FIRST_OWN => {
                let base = match is_array(own) {
                    Some(TypeKind::Array(element)) => *element,
                    _ => own,
                };
                return match base {
                    oid::REGTYPE | oid::REGCLASS => Ok(true),
                    oid::REGPROC
                    | oid::REGPROCEDURE
                    | oid::REGOPER
                    | oid::REGOPERATOR
                    | oid::REGCONFIG
                    | oid::REGDICTIONARY
                    | oid::REGNAMESPACE
                    | oid::REGROLE
                    | oid::REGCOLLATION => Err(self.unclear(type_oid)),
                    _ => Ok(false),
                };
            }
            _ => {}
        }
        match is_array(type_oid) {
            Some(TypeKind::Array(_) | TypeKind::Composite) => Ok(true),
            Some(TypeKind::Domain(base)) => self.has_numbers(*base),
            Some(TypeKind::Range) if self.map.is_nested_range(type_oid) => {
                Err(self.unclear(type_oid))
            }
            _ => Ok(false),
        }
    }

    /// Translates one value of a type (by its authoritative number) where it lies.
    pub(super) fn value(
        &self,
        type_oid: Oid,
        value: &mut [u8],
        way: Way,
    ) -> Result<(), Diagnostic> {
        self.part(type_oid, value, (way, DEPTH_MAX))
    }

    fn part(
        &self,
        type_oid: Oid,
        value: &mut [u8],
        (way, depth): (Way, u32),
    ) -> Result<(), Diagnostic> {
        if depth == 0 {
            return Err(self.unclear(type_oid));
        }
        let next = (way, depth - 1);
        match type_oid {
            oid::RECORD => return self.fields_inside(value, next),
            RECORD_ARRAY => return self.elements(value, next),
            oid::REGTYPE => return self.number(value, way).map(drop),
            oid::REGCLASS => {
                self.table(value, way);
                return Ok(());
            }
            _ => {}
        }
        match self.catalog.types.get(&type_oid).map(|known| &known.kind) {
            Some(TypeKind::Array(_)) => self.elements(value, next),
            Some(TypeKind::Composite) => self.fields_inside(value, next),
            Some(TypeKind::Domain(base)) => self.part(*base, value, next),
            _ => Ok(()),
        }
    }

    /// An array: dimensions, a flag, the element type, a length and a bound for each dimension, the elements.
    fn elements(&self, value: &mut [u8], next: (Way, u32)) -> Result<(), Diagnostic> {
        let dimensions = value.get(..4).and_then(|bytes| bytes.try_into().ok());
        let Some(dimensions) = dimensions.map(u32::from_be_bytes) else {
            return Ok(());
        };
        let element = match value.get_mut(8..12) {
            Some(number) => self.number(number, next.0)?,
            None => return Ok(()),
        };
        if !self.has_numbers(element)? {
            return Ok(());
        }
        let start = 12
            + 8 * usize::try_from(dimensions)
                .unwrap_or(usize::MAX / 16)
                .min(64);
        let mut rest = value.get_mut(start..).unwrap_or_default();
        while let Some((inner, after)) = split_value(rest) {
            if let Some(inner) = inner {
                self.part(element, inner, next)?;
            }
            rest = after;
        }
        Ok(())
    }

    /// A row: the count of its fields, for each its type and its value.
    fn fields_inside(&self, value: &mut [u8], next: (Way, u32)) -> Result<(), Diagnostic> {
        let mut rest = value.get_mut(4..).unwrap_or_default();
        while let Some((number, after)) = rest.split_at_mut_checked(4) {
            let field = self.number(number, next.0)?;
            let Some((inner, after)) = split_value(after) else {
                return Ok(());
            };
            if let Some(inner) = inner
                && self.has_numbers(field)?
            {
                self.part(field, inner, next)?;
            }
            rest = after;
        }
        Ok(())
    }

    /// Translates the number of a type; its authoritative number comes back.
    fn number(&self, place: &mut [u8], way: Way) -> Result<Oid, Diagnostic> {
        let Ok(bytes) = <[u8; 4]>::try_from(&*place) else {
            return Ok(Oid::INVALID);
        };
        let old = Oid(u32::from_be_bytes(bytes));
        let (new, own) = match way {
            Way::ToClient => {
                let own = self.type_to_client(old)?;
                (own, own)
            }
            Way::ToShard => (self.type_to_shard(old)?, old),
        };
        place.copy_from_slice(&new.0.to_be_bytes());
        Ok(own)
    }

    fn table(&self, place: &mut [u8], way: Way) {
        let Ok(bytes) = <[u8; 4]>::try_from(&*place) else {
            return;
        };
        let old = Oid(u32::from_be_bytes(bytes));
        let new = match way {
            Way::ToClient => self.map.relation_to_authoritative(old),
            Way::ToShard => self.map.relation_to_shard(old),
        };
        place.copy_from_slice(&new.0.to_be_bytes());
    }

    fn unclear(&self, type_oid: Oid) -> Diagnostic {
        let known = self.catalog.types.get(&type_oid);
        let name = known.map_or_else(|| type_oid.to_string(), |known| known.name.clone());
        let message = format!(
            "binary values of type \"{name}\" from shard {} are not supported",
            self.shard
        );
        Diagnostic::error(SqlState::FEATURE_NOT_SUPPORTED, message)
            .detail("kintsugi/binary-type-numbers: such values have numbers of objects inside, and these differ from shard to shard.")
            .hint("Ask for the value as text, such as by a cast to text.")
    }
}

/// A value with its length before it, and what comes after it; inner `None` is NULL.
pub(super) fn split_value(bytes: &mut [u8]) -> Option<(Option<&mut [u8]>, &mut [u8])> {
    let (length, rest) = bytes.split_at_mut_checked(4)?;
    let length = i32::from_be_bytes((&*length).try_into().ok()?);
    match usize::try_from(length) {
        Ok(length) => {
            let (value, after) = rest.split_at_mut_checked(length)?;
            Some((Some(value), after))
        }
        Err(_) => Some((None, rest)),
    }
}
