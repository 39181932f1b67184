//! What a [`Store`](crate::Store) may use of the machine.
//!
//! Only numbers live here; nothing is opened or started.

use crate::disk::Disk;

/// Threads that run SQLite when nothing else is asked for.
const DEFAULT_LANES: usize = 4;

/// Databases kept open at most, whatever the descriptor limit allows.
const MAX_OPEN: usize = 128;

/// An open database holds two descriptors, its file and its write-ahead log, and so
/// does the connection of a result, of which there are as many at most. With one
/// database per eight descriptors half of them at most goes to storage, the rest is left
/// for sockets and for the program around us.
const DESCRIPTORS_PER_DATABASE: u64 = 8;

/// Enough for the sort of some ten million rows.
const TEMP_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;

/// Room for four values of the largest size, which an `UPDATE` that appends to one
/// needs: the old, the new, the row and its pages.
const MEMORY_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Limits of a store. The default suits one process with thousands of actors.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Threads that run SQLite; at least 1. Default 4: a lane spends most of
    /// its time waiting for the disk, so more lanes than cores are useful.
    pub lanes: usize,
    /// Databases kept open at the same time. Default: an eighth of the
    /// process's descriptor limit, between 8 and 128. Exceeded only while more
    /// databases than this are inside a transaction.
    pub max_open: usize,
    /// Bytes of temporary files that one database may have: sorts, materialized
    /// tables, the copy of a `VACUUM`. Default 4 GiB.
    pub temp_bytes_max: u64,
    /// Bytes of memory that SQLite may hold for one database while a user's
    /// statement runs. Default 1 GiB. The runtime's own work is not refused any.
    pub memory_bytes_max: u64,
    /// The disk; tests may direct its failures.
    pub disk: Disk,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            lanes: DEFAULT_LANES,
            max_open: max_open_for(descriptor_limit()),
            temp_bytes_max: TEMP_BYTES_MAX,
            memory_bytes_max: MEMORY_BYTES_MAX,
            disk: Disk::real(),
        }
    }
}

fn max_open_for(descriptors: u64) -> usize {
    usize::try_from(descriptors / DESCRIPTORS_PER_DATABASE)
        .unwrap_or(MAX_OPEN)
        .clamp(8, MAX_OPEN)
}

/// The soft limit on open descriptors; 256, the smallest default of the
/// systems we run on, when the system does not tell.
#[cfg(unix)]
pub fn descriptor_limit() -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a valid place for the one struct that is written.
    let answer = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    if answer == 0 { limit.rlim_cur } else { 256 }
}

#[cfg(not(unix))]
pub fn descriptor_limit() -> u64 {
    1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_descriptor_limit_leaves_most_descriptors_to_sockets() {
        assert_eq!(max_open_for(256), 32);
        assert_eq!(max_open_for(1024), 128);
        assert_eq!(max_open_for(16), 8);
        assert_eq!(max_open_for(u64::MAX), 128);
    }
}
