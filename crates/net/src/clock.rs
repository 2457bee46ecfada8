//! Time, at the rim: whoever needs it is handed a [`Clock`].

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// A source of time. Deadlines are told by tokio's clock, which tests pause; the date is the system's or,
/// in tests, a fixed one that goes on with tokio's clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    fixed: Option<(Instant, SystemTime)>,
}

impl Clock {
    /// The system's clock.
    #[must_use]
    pub const fn system() -> Self {
        Self { fixed: None }
    }

    /// A clock whose date is `date` now.
    #[must_use]
    pub fn starting_at(date: SystemTime) -> Self {
        Self {
            fixed: Some((Instant::now(), date)),
        }
    }

    /// The present, for deadlines and durations.
    #[must_use]
    pub fn now(&self) -> Instant {
        Instant::now()
    }

    /// The present date.
    #[must_use]
    pub fn date(&self) -> SystemTime {
        match self.fixed {
            None => SystemTime::now(),
            Some((start, date)) => date + start.elapsed(),
        }
    }

    /// Waits.
    ///
    /// # Cancel safety
    /// Cancel safe; the wait begins anew with the next call.
    pub async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_fixed_date_goes_on_with_the_paused_clock() {
        let clock = Clock::starting_at(SystemTime::UNIX_EPOCH);
        clock.sleep(Duration::from_secs(5)).await;
        assert_eq!(
            clock.date(),
            SystemTime::UNIX_EPOCH + Duration::from_secs(5)
        );
    }
}
