//! The data of a binary COPY, cut into what has a meaning: the header, each tuple, the trailer. How a
//! server spreads them over messages is nobody's promise, and over several shards the order of the
//! tuples isn't, either.

/// The signature that binary COPY begins with.
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";

/// The header, the tuples in order, the trailer, and whatever can't be read behind them.
#[must_use]
pub fn cut(data: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = data;
    while let Some(length) = part_length(rest, parts.is_empty()) {
        let (part, behind) = rest.split_at(length);
        parts.push(part);
        rest = behind;
    }
    if !rest.is_empty() {
        parts.push(rest);
    }
    parts
}

/// The length of what `data` begins with, if it is whole.
fn part_length(data: &[u8], is_first: bool) -> Option<usize> {
    if is_first {
        let behind = data.strip_prefix(SIGNATURE)?;
        let extension = usize::try_from(number(behind, 4)?).ok()?;
        let length = SIGNATURE.len() + 8 + extension;
        return (length <= data.len()).then_some(length);
    }
    let count = i16::from_be_bytes([*data.first()?, *data.get(1)?]);
    let mut at = 2;
    // The trailer has a count of -1 and nothing else.
    for _ in 0..count.max(0) {
        let length = number(data, at)?;
        at += 4;
        // NULL has a length of -1.
        at += usize::try_from(length.max(0)).ok()?;
    }
    (at <= data.len()).then_some(at)
}

fn number(data: &[u8], at: usize) -> Option<i32> {
    let bytes = data.get(at..at + 4)?;
    Some(i32::from_be_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_tuples_and_trailer_are_parts() {
        let mut data = SIGNATURE.to_vec();
        data.extend([0; 8]);
        let first = [0, 2, 0, 0, 0, 1, b'a', 255, 255, 255, 255];
        data.extend(first);
        data.extend([0, 0]);
        data.extend([255, 255]);
        let parts = cut(&data);
        assert_eq!(parts.len(), 4);
        assert_eq!(parts[1], first);
        assert_eq!(parts[3], [255, 255]);
    }

    #[test]
    fn what_is_broken_stays_in_one_piece() {
        assert_eq!(cut(b"hello"), [b"hello"]);
        assert!(cut(b"").is_empty());
    }
}
