//! Numbers that look random and are the same every time: each row has its own stream, so that any
//! row can be made without those before it.

/// A stream of numbers (`SplitMix64`).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The stream of one row: by seed, what it is for, and the row's number.
    pub(crate) fn of(seed: u64, purpose: u64, row: u64) -> Self {
        let mut random = Self(seed ^ purpose.rotate_left(40));
        let start = random.next() ^ row.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(start)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is at least 1.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        let wide = u128::from(self.next()) * u128::from(end.max(1));
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// A number below `end` where small ones are likelier: the smaller of two.
    pub(crate) fn skewed_below(&mut self, end: u64) -> u64 {
        let (one, other) = (self.below(end), self.below(end));
        one.min(other)
    }

    /// True in `percent` of a hundred cases.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of the items.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        let at = self.below(items.len() as u64);
        &items[usize::try_from(at).unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_the_same_every_time_and_unlike_its_neighbour() {
        let first = Random::of(1, 2, 3).next();
        assert_eq!(first, Random::of(1, 2, 3).next());
        assert_ne!(first, Random::of(1, 2, 4).next());
        assert_ne!(first, Random::of(1, 3, 3).next());
        assert_ne!(first, Random::of(2, 2, 3).next());
    }

    #[test]
    fn numbers_stay_below_their_end() {
        let mut random = Random::of(0, 0, 0);
        assert!((0..1000).all(|_| random.below(7) < 7));
        assert!((0..1000).all(|_| random.skewed_below(3) < 3));
    }
}
