//! Dates and times as PostgreSQL writes them in the ISO style, and as numbers: days and microseconds
//! since 2000-01-01.
//!
//! What is read from clients ([`parse_date`] and so on with [`Dialect::Input`]) is only the spelling that
//! every setting of `DateStyle` and `TimeZone` reads alike; what is read from shards ([`Dialect::Output`]) is
//! all that the ISO style prints.

/// `date 'infinity'`.
pub const DATE_INFINITY: i32 = i32::MAX;
/// `date '-infinity'`.
pub const DATE_NEG_INFINITY: i32 = i32::MIN;
/// `timestamp 'infinity'`.
pub const TIMESTAMP_INFINITY: i64 = i64::MAX;
/// `timestamp '-infinity'`.
pub const TIMESTAMP_NEG_INFINITY: i64 = i64::MIN;
/// Microseconds of a day.
pub const DAY_MICROS: i64 = 86_400_000_000;

/// Days from 0000-03-01 (where the algorithm's years begin) to 2000-01-01.
const EPOCH_SHIFT: i64 = 730_425;

/// Who wrote the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// A client: exactly four digits of year.
    Input,
    /// A shard with `DateStyle` ISO: longer years and `BC` as well.
    Output,
}

/// Why a text is no date or time here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// PostgreSQL refuses it: there is no such day or hour.
    #[error("date or time field out of range")]
    OutOfRange,
    /// PostgreSQL may take it, depending on its settings.
    #[error("not in the ISO style")]
    Undecided,
}

/// Reads a `date`.
///
/// # Errors
/// No such day, or not in the strict ISO style.
pub fn parse_date(text: &str, dialect: Dialect) -> Result<i32, TimeError> {
    match text {
        "infinity" => return Ok(DATE_INFINITY),
        "-infinity" => return Ok(DATE_NEG_INFINITY),
        _ => {}
    }
    let (text, bc) = strip_bc(text, dialect);
    let (days, rest) = take_date(text, bc, dialect)?;
    if !rest.is_empty() {
        return Err(TimeError::Undecided);
    }
    i32::try_from(days).map_err(|_out_of_range| TimeError::OutOfRange)
}

/// Reads a `timestamp` without time zone.
///
/// # Errors
/// No such moment, or not in the strict ISO style.
pub fn parse_timestamp(text: &str, dialect: Dialect) -> Result<i64, TimeError> {
    let (micros, rest) = take_timestamp(text, dialect)?;
    if rest.is_empty() {
        Ok(micros)
    } else {
        Err(TimeError::Undecided)
    }
}

/// Reads a `timestamptz` that carries its offset; one without would depend on the session's time zone.
///
/// # Errors
/// No such moment, or not in the strict ISO style with an offset.
pub fn parse_timestamptz(text: &str, dialect: Dialect) -> Result<i64, TimeError> {
    let (micros, rest) = take_timestamp(text, dialect)?;
    if micros == TIMESTAMP_INFINITY || micros == TIMESTAMP_NEG_INFINITY {
        return Ok(micros);
    }
    let offset_seconds = parse_offset(rest)?;
    micros
        .checked_sub(offset_seconds * 1_000_000)
        .ok_or(TimeError::OutOfRange)
}

/// Days since 2000-01-01 of a day of the proleptic Gregorian calendar (year 0 is 1 BC).
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March put the leap day last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - EPOCH_SHIFT
}

fn strip_bc(text: &str, dialect: Dialect) -> (&str, bool) {
    match text.strip_suffix(" BC") {
        Some(rest) if dialect == Dialect::Output => (rest, true),
        _ => (text, false),
    }
}

/// Reads `YYYY-MM-DD` from the front.
fn take_date(text: &str, bc: bool, dialect: Dialect) -> Result<(i64, &str), TimeError> {
    let (year_text, rest) = text.split_once('-').ok_or(TimeError::Undecided)?;
    let year_digits = match dialect {
        Dialect::Input => 4..=4,
        Dialect::Output => 4..=7,
    };
    if !year_digits.contains(&year_text.len()) {
        return Err(TimeError::Undecided);
    }
    let year = number(year_text)?;
    let (month, rest) = two_digits(rest)?;
    let (day, rest) = two_digits(rest.strip_prefix('-').ok_or(TimeError::Undecided)?)?;
    if year == 0 {
        return Err(TimeError::OutOfRange);
    }
    let year = if bc { 1 - year } else { year };
    if !(1..=12).contains(&month) || day < 1 || day > days_of_month(year, month) {
        return Err(TimeError::OutOfRange);
    }
    Ok((days_from_civil(year, month, day), rest))
}

fn days_of_month(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Reads `YYYY-MM-DD HH:MM:SS[.ffffff]` or an infinity from the front.
fn take_timestamp(text: &str, dialect: Dialect) -> Result<(i64, &str), TimeError> {
    match text {
        "infinity" => return Ok((TIMESTAMP_INFINITY, "")),
        "-infinity" => return Ok((TIMESTAMP_NEG_INFINITY, "")),
        _ => {}
    }
    let (text, bc) = strip_bc(text, dialect);
    let (days, rest) = take_date(text, bc, dialect)?;
    if rest.is_empty() && dialect == Dialect::Input {
        return Ok((days * DAY_MICROS, rest));
    }
    let (micros, rest) = take_time(rest.strip_prefix([' ', 'T']).ok_or(TimeError::Undecided)?)?;
    Ok((days * DAY_MICROS + micros, rest))
}

/// Reads `HH:MM:SS[.f]` with up to six digits of fraction from the front.
fn take_time(text: &str) -> Result<(i64, &str), TimeError> {
    let (hour, rest) = two_digits(text)?;
    let (minute, rest) = two_digits(rest.strip_prefix(':').ok_or(TimeError::Undecided)?)?;
    let (second, rest) = two_digits(rest.strip_prefix(':').ok_or(TimeError::Undecided)?)?;
    // 24:00:00 and second 60 are read by PostgreSQL as the next day or minute: left to it.
    if hour > 23 || minute > 59 || second > 59 {
        return Err(TimeError::Undecided);
    }
    let seconds = (hour * 60 + minute) * 60 + second;
    let Some(fraction) = rest.strip_prefix('.') else {
        return Ok((seconds * 1_000_000, rest));
    };
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits > 6 {
        return Err(TimeError::Undecided);
    }
    let places = u32::try_from(6 - digits).map_err(|_never| TimeError::Undecided)?;
    let micros = number(&fraction[..digits])? * 10i64.pow(places);
    Ok((seconds * 1_000_000 + micros, &fraction[digits..]))
}

/// Reads `Z`, `+HH`, `+HH:MM` or `+HH:MM:SS`: seconds east of Greenwich.
fn parse_offset(text: &str) -> Result<i64, TimeError> {
    let (sign, rest) = match text.as_bytes().first() {
        Some(b'Z') if text.len() == 1 => return Ok(0),
        Some(b'+') => (1, &text[1..]),
        Some(b'-') => (-1, &text[1..]),
        _ => return Err(TimeError::Undecided),
    };
    let (hours, mut rest) = two_digits(rest)?;
    let mut seconds = hours * 3600;
    for unit in [60, 1] {
        if rest.is_empty() {
            break;
        }
        let (value, after) = two_digits(rest.strip_prefix(':').ok_or(TimeError::Undecided)?)?;
        if value > 59 {
            return Err(TimeError::Undecided);
        }
        seconds += value * unit;
        rest = after;
    }
    if hours > 15 || !rest.is_empty() {
        return Err(TimeError::Undecided);
    }
    Ok(sign * seconds)
}

fn two_digits(text: &str) -> Result<(i64, &str), TimeError> {
    let digits = text.get(..2).ok_or(TimeError::Undecided)?;
    Ok((number(digits)?, &text[2..]))
}

fn number(text: &str) -> Result<i64, TimeError> {
    if !text.bytes().all(|c| c.is_ascii_digit()) {
        return Err(TimeError::Undecided);
    }
    text.parse().map_err(|_not_a_number| TimeError::Undecided)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_2000() {
        for (text, days) in [
            ("2000-01-01", 0),
            ("1999-12-31", -1),
            ("2026-11-30", 0x2666),
            ("2000-02-29", 59),
            ("1970-01-01", -10957),
            ("infinity", i32::MAX),
        ] {
            assert_eq!(parse_date(text, Dialect::Input), Ok(days), "{text}");
        }
        assert_eq!(parse_date("0044-03-15 BC", Dialect::Output), Ok(-746_117));
        assert_eq!(parse_date("12345-06-07", Dialect::Output), Ok(3_778_591));
        assert_eq!(parse_date("4714-11-24 BC", Dialect::Output), Ok(-2_451_545));
    }

    #[test]
    fn what_depends_on_settings_is_undecided() {
        for text in [
            "01/02/2026",
            "2026-1-31",
            "today",
            "26-01-31",
            "2026-01-31 ",
            "20260131",
            "é",
        ] {
            assert_eq!(
                parse_date(text, Dialect::Input),
                Err(TimeError::Undecided),
                "{text}"
            );
        }
        assert_eq!(
            parse_date("2026-02-30", Dialect::Input),
            Err(TimeError::OutOfRange)
        );
        for text in [
            "2026-01-31 10:00",
            "2026-01-31 24:00:00",
            "2026-01-31 10:00:00+00",
        ] {
            assert_eq!(
                parse_timestamp(text, Dialect::Input),
                Err(TimeError::Undecided),
                "{text}"
            );
        }
        for text in [
            "2026-01-31 10:00:00",
            "2026-01-31 10:00:00 Europe/Rome",
            "2026-01-31",
        ] {
            assert_eq!(
                parse_timestamptz(text, Dialect::Input),
                Err(TimeError::Undecided),
                "{text}"
            );
        }
    }

    #[test]
    fn instants_are_compared_across_offsets() {
        let at = |text| parse_timestamptz(text, Dialect::Input).unwrap();
        assert_eq!(at("2026-01-31 10:00:00+02"), at("2026-01-31T08:00:00Z"));
        assert_eq!(
            at("2026-01-31 10:00:00.5-05:30"),
            at("2026-01-31 15:30:00.500000+00")
        );
        assert_eq!(at("2026-11-30 18:57:00.123456+00"), 0x0003_0481_be4c_b940);
    }
}
