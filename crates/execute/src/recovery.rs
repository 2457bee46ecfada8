//! Recovery: every distributed transaction that its router didn't end is ended, at start and
//! continuously, by any router, with the outcome that its decision row has or gets.
//!
//! [`Claim`] is how one finds out, or determines, what was decided; it is used for orphans and by a
//! router that lost its decider at the decision. The invariant is that of [`crate::commit`]:
//! nothing is rolled back that could still be committed, and "does not exist" is never taken for
//! success.
//!
//! Read first: [`Recovery`], [`Report`], [`Claim`].

mod access;
mod claim;
mod report;
mod round;
pub(crate) mod settle;
mod sweep;

pub use access::Access;
pub use claim::{Ask, Claim, Finding};
pub use report::{Problem, Report, Trouble};
pub use round::{Recovery, Timing};
