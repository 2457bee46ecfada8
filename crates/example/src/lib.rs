//! Example databases, with data made on the spot.
//!
//! What it is for: `kintsugi dev --example storefront`, and tests that need many rows.
//! What it promises: the same size and seed give the same bytes, on every machine; data stream in
//! pieces, so that ten million orders need no more memory than a thousand.
//! What it must not know: how the bytes reach a server. They go through the router like anybody's.
//!
//! Read first: [`Storefront`]. Tests are beside the modules.

mod copy;
mod random;
mod storefront;

pub use copy::Table;
pub use storefront::{ORDERS_MAX, ORDERS_MIN, Storefront};
