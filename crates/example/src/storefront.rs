//! The shop: its schema, its topology, its tour, and its rows.

use crate::copy::Table;

mod catalogue;
mod customer;
mod order;
mod reference;
mod time;
mod word;

/// The fewest orders that make sense.
pub const ORDERS_MIN: u64 = 1_000;
/// The most orders that were thought of.
pub const ORDERS_MAX: u64 = 10_000_000;
/// Orders for each customer, on average.
const ORDERS_PER_CUSTOMER: u64 = 5;

/// The example shop in some size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storefront {
    orders: u64,
    seed: u64,
}

impl Storefront {
    /// The definitions, as SQL.
    pub const SCHEMA: &str = include_str!("../../../examples/storefront/schema.sql");
    /// The data topology, as JSON.
    pub const TOPOLOGY: &str = include_str!("../../../examples/storefront/topology.json");
    /// The statements of the tour.
    pub const TOUR: &str = include_str!("../../../examples/storefront/tour.sql");

    /// A shop with so many orders, held to [`ORDERS_MIN`] and [`ORDERS_MAX`].
    #[must_use]
    pub fn new(orders: u64, seed: u64) -> Self {
        Self {
            orders: orders.clamp(ORDERS_MIN, ORDERS_MAX),
            seed,
        }
    }

    /// The definitions one by one, in order.
    pub fn definitions() -> impl Iterator<Item = &'static str> {
        Self::SCHEMA
            .split_inclusive(";\n")
            .map(str::trim)
            .filter(|part| part.ends_with(';'))
    }

    /// The tables in the order in which they can be loaded, each with its data.
    #[must_use]
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = reference::tables();
        tables.extend(customer::tables(*self));
        tables.extend(catalogue::tables(*self));
        tables.extend(order::tables(*self));
        tables
    }

    /// What is to be run after the rows are there: sequences go on behind the keys given out.
    #[must_use]
    pub fn after(&self) -> Vec<String> {
        vec![
            format!("SELECT setval('order_number', {})", self.orders),
            format!("SELECT setval('customers_id_seq', {})", self.customers()),
            "ANALYZE".to_owned(),
        ]
    }

    /// How many orders there are.
    #[must_use]
    pub fn orders(&self) -> u64 {
        self.orders
    }

    /// How many customers there are.
    #[must_use]
    pub fn customers(&self) -> u64 {
        self.orders / ORDERS_PER_CUSTOMER
    }

    /// How many products there are.
    #[must_use]
    pub fn products(&self) -> u64 {
        (self.orders / 20).clamp(50, 100_000)
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }
}

impl Default for Storefront {
    /// Ten thousand orders: loaded in a moment, and large enough to look at.
    fn default() -> Self {
        Self::new(10_000, 1)
    }
}

/// What a stream of random numbers is for; each table has its own.
pub(crate) mod purpose {
    pub(crate) const CUSTOMER: u64 = 1;
    pub(crate) const ADDRESS: u64 = 2;
    pub(crate) const PRODUCT: u64 = 3;
    pub(crate) const INVENTORY: u64 = 4;
    pub(crate) const PRICE: u64 = 5;
    pub(crate) const ORDER: u64 = 6;
    pub(crate) const ITEM: u64 = 7;
}

#[cfg(test)]
mod tests;
