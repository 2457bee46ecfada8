//! A cursor over a message's body.

use crate::DecodeError;

/// What is left of a body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    tag: u8,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(tag: u8, body: &'a [u8]) -> Self {
        Self { tag, rest: body }
    }

    pub(crate) fn malformed(&self) -> DecodeError {
        DecodeError::Malformed { tag: self.tag }
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(self.malformed())?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(self.malformed())?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn i16(&mut self) -> Result<i16, DecodeError> {
        self.array().map(i16::from_be_bytes)
    }

    /// A count, which the protocol calls `Int16` and PostgreSQL reads unsigned.
    pub(crate) fn count(&mut self) -> Result<usize, DecodeError> {
        self.array().map(u16::from_be_bytes).map(usize::from)
    }

    pub(crate) fn i32(&mut self) -> Result<i32, DecodeError> {
        self.array().map(i32::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_be_bytes)
    }

    /// A value preceded by its length; -1 is NULL.
    pub(crate) fn value(&mut self) -> Result<Option<&'a [u8]>, DecodeError> {
        match self.i32()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_negative| self.malformed())?;
                self.take(length).map(Some)
            }
        }
    }

    /// The bytes before the next zero byte.
    pub(crate) fn zero_ended(&mut self) -> Result<&'a [u8], DecodeError> {
        let end = memchr::memchr(0, self.rest).ok_or(self.malformed())?;
        let text = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }

    /// The text before the next zero byte.
    pub(crate) fn text(&mut self) -> Result<&'a str, DecodeError> {
        let text = self.zero_ended()?;
        std::str::from_utf8(text).map_err(|_not_utf8| DecodeError::Encoding { tag: self.tag })
    }

    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub(crate) fn len(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Asserts that the body ends here.
    pub(crate) fn end(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.malformed())
        }
    }
}
