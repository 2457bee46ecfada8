//! What a router is called, and as whom it works on the shards.

use std::sync::Arc;

/// As whom the router itself works on the shards: a superuser.
#[derive(Clone, Debug)]
pub struct Own {
    /// The user.
    pub user: Arc<str>,
    /// A database that every shard has.
    pub database: Arc<str>,
}

/// The longest part of a host's name that a router's name takes over.
const HOST_LENGTH_MAX: usize = 20;

/// The name of the router that is this process: the host, and the process's number.
#[must_use]
pub fn router_name() -> String {
    name_of(&host(), std::process::id())
}

/// Whether a router's name tells that it ran on this host and is no more.
#[must_use]
pub(super) fn is_dead(name: &str) -> bool {
    let prefix = name_of(&host(), 0);
    let Some(pid) = name
        .strip_prefix(prefix.trim_end_matches('0'))
        .and_then(|pid| pid.parse().ok())
    else {
        return false;
    };
    let asked = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None);
    asked == Err(nix::errno::Errno::ESRCH)
}

fn name_of(host: &str, pid: u32) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' {
            c
        } else {
            '-'
        }
    };
    let host: String = host.chars().take(HOST_LENGTH_MAX).map(plain).collect();
    format!("{host}-{pid}")
}

fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "localhost".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_names_of_transactions() {
        assert_eq!(name_of("db_host.example", 7), "db-host.example-7");
        assert!(name_of(&"x".repeat(64), u32::MAX).len() <= 32);
    }

    #[test]
    fn only_the_dead_of_this_host_are_dead() {
        assert!(!is_dead(&router_name()));
        assert!(is_dead(&name_of(&host(), 0x7fff_fff0)));
        assert!(!is_dead("another-host-2147483632"));
        assert!(!is_dead(""));
    }
}
