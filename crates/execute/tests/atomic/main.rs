
#![cfg(test)]

mod bed;
mod commit;
mod crash;
mod orphan;
mod schema;
