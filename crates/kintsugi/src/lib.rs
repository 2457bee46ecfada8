//! What the commands of the binary do, apart from its composition.
//!
//! A command makes values, text and JSON at once; `main` alone prints them and ends the process. It must
//! not know how requests are served. Read first: [`topology_command`]. Tests: beside the modules.

pub mod topology_command;
