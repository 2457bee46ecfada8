//! Dates and times as PostgreSQL reads them.

use std::fmt;

/// A day, counted from 1970-01-01.
#[derive(Debug, Clone, Copy)]
pub(super) struct Day(pub(super) u64);

/// A second, counted from 1970-01-01 00:00 UTC.
#[derive(Debug, Clone, Copy)]
pub(super) struct Second(pub(super) u64);

/// 2021-01-01 00:00 UTC, when the shop opened.
pub(super) const OPENED: u64 = 1_609_459_200;
/// Seconds from there to 2026-01-01.
pub(super) const OPEN_SECONDS: u64 = 157_766_400;

impl fmt::Display for Day {
    /// The civil date of a day number, by eras of 400 years.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shifted = self.0 + 719_468;
        let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 {
            shifted_month + 3
        } else {
            shifted_month - 9
        };
        let year = year_of_era + era * 400 + u64::from(month <= 2);
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl fmt::Display for Second {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (day, second) = (Day(self.0 / 86_400), self.0 % 86_400);
        let (hour, minute) = (second / 3_600, second / 60 % 60);
        write!(f, "{day} {hour:02}:{minute:02}:{:02}+00", second % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_civil_dates() {
        assert_eq!(Day(0).to_string(), "1970-01-01");
        assert_eq!(Day(11_016).to_string(), "2000-02-29");
        assert_eq!(Second(OPENED).to_string(), "2021-01-01 00:00:00+00");
        assert_eq!(
            Second(OPENED + OPEN_SECONDS).to_string(),
            "2026-01-01 00:00:00+00"
        );
    }
}
