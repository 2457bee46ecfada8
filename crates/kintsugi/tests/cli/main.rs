//! The binary itself, against real servers: what it prints, how it ends, and what it survives.

mod bed;
mod dev;
mod mistake;
mod number;
mod serve;
mod topology;
