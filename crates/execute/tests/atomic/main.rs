//! Atomic commit, recovery and sequences on real PostgreSQL servers.

#![cfg(test)]

mod bed;
mod commit;
mod crash;
mod orphan;
mod outage;
mod schema;
mod sequence;
mod transfer;
