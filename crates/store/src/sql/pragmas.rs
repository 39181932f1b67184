//! Which pragmas a user's statement may use, and why not the others.
//!
//! An allow-list: a pragma this file does not know is refused. Those that change
//! the connection itself are remembered, because the connection may be replaced
//! at any moment between two statements.

use super::policy::Verdict;

/// Largest page cache a user may ask for.
const CACHE_KIB_MAX: i64 = 64 * 1024;
/// Bytes of a page, in KiB.
const PAGE_KIB: i64 = 4;

/// Read something, check something, or change what is stored in the file itself.
const FREE: [&str; 29] = [
    "analysis_limit",
    "application_id",
    "collation_list",
    "compile_options",
    "data_version",
    "database_list",
    "defer_foreign_keys",
    "encoding",
    "foreign_key_check",
    "foreign_key_list",
    "freelist_count",
    "function_list",
    "incremental_vacuum",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "module_list",
    "optimize",
    "page_count",
    "page_size",
    "pragma_list",
    "quick_check",
    "shrink_memory",
    "table_info",
    "table_list",
    "table_xinfo",
    "user_version",
    "wal_checkpoint",
];

/// Belong to the connection: kept while the actor lives.
pub(super) const SETTINGS: [&str; 9] = [
    "automatic_index",
    "cache_size",
    "cell_size_check",
    "foreign_keys",
    "ignore_check_constraints",
    "legacy_alter_table",
    "recursive_triggers",
    "reverse_unordered_selects",
    "secure_delete",
];

/// May be read; set only to what they are already.
const FIXED: [(&str, &[&str], &str); 15] = [
    (
        "journal_mode",
        &["wal"],
        "the write-ahead log is what makes commits durable",
    ),
    (
        "synchronous",
        &["full", "2", "extra", "3"],
        "an acknowledged commit must be on disk",
    ),
    (
        "locking_mode",
        &["exclusive"],
        "the file belongs to this process alone",
    ),
    (
        "fullfsync",
        &[],
        "how files are synced is not the actor's choice",
    ),
    (
        "checkpoint_fullfsync",
        &[],
        "how files are synced is not the actor's choice",
    ),
    (
        "wal_autocheckpoint",
        &[],
        "the log is kept short by the runtime",
    ),
    (
        "journal_size_limit",
        &[],
        "the log is kept short by the runtime",
    ),
    (
        "auto_vacuum",
        &["none", "0"],
        "the layout of the file is fixed",
    ),
    (
        "temp_store",
        &["default", "0", "file", "1"],
        "temporary data goes to files so that it cannot fill the memory",
    ),
    ("mmap_size", &["0"], "files are not mapped"),
    ("cache_spill", &[], "the cache is bounded by the runtime"),
    ("threads", &["0"], "statements run on one thread"),
    (
        "max_page_count",
        &[],
        "the size of files is bounded by the host",
    ),
    (
        "query_only",
        &["off", "0", "false", "no"],
        "it would also stop the runtime from saving",
    ),
    (
        "schema_version",
        &[],
        "SQLite alone may change it without damage",
    ),
];

/// Accepted and without effect: nothing competes for the file.
const POINTLESS: [&str; 2] = ["busy_timeout", "read_uncommitted"];

pub(super) fn judge(name: &str, value: Option<&str>) -> Verdict {
    let name = name.to_ascii_lowercase();
    if FREE.contains(&name.as_str()) {
        return match value {
            Some(_) if matches!(name.as_str(), "page_size" | "encoding") => {
                Verdict::Deny("the layout of the file is fixed".to_owned())
            }
            _ => Verdict::Allow,
        };
    }
    if let Some(setting) = SETTINGS.iter().find(|setting| **setting == name) {
        return setting_verdict(setting, value);
    }
    if let Some((_, harmless, reason)) = FIXED.iter().find(|(fixed, ..)| *fixed == name) {
        let same = |value: &str| {
            harmless
                .iter()
                .any(|known| value.eq_ignore_ascii_case(known))
        };
        return match value {
            None => Verdict::Allow,
            // This one answers with the mode, for callers that check it.
            Some(value) if same(value) && name == "journal_mode" => Verdict::Allow,
            // What it is already; SQLite need not look at it.
            Some(value) if same(value) => Verdict::Ignore,
            Some(_) => Verdict::Deny(format!("PRAGMA {name} cannot be changed: {reason}")),
        };
    }
    if POINTLESS.contains(&name.as_str()) {
        return Verdict::Ignore;
    }
    Verdict::Deny(format!("PRAGMA {name} is not available"))
}

fn setting_verdict(setting: &'static str, value: Option<&str>) -> Verdict {
    let Some(value) = value else {
        return Verdict::Allow;
    };
    if setting == "cache_size" && !cache_fits(value) {
        return Verdict::Deny(format!(
            "a page cache of more than {CACHE_KIB_MAX} KiB is not available"
        ));
    }
    Verdict::AllowSetting(setting)
}

/// `value` counts pages if positive, KiB if negative.
fn cache_fits(value: &str) -> bool {
    match value.parse::<i64>() {
        Ok(pages @ 0..) => pages <= CACHE_KIB_MAX / PAGE_KIB,
        Ok(kib) => kib >= -CACHE_KIB_MAX,
        // SQLite reads text that is no number as 0.
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_may_grow_to_its_limit_and_no_further() {
        for fits in ["0", "100", "16384", "-65536", "nonsense"] {
            assert!(cache_fits(fits), "{fits}");
        }
        for too_big in ["16385", "-65537", "9223372036854775807"] {
            assert!(!cache_fits(too_big), "{too_big}");
        }
    }

    #[test]
    fn what_is_already_so_may_be_said_again() {
        assert_eq!(judge("Journal_Mode", Some("WAL")), Verdict::Allow);
        assert_eq!(judge("synchronous", Some("FULL")), Verdict::Ignore);
        assert_eq!(judge("journal_mode", None), Verdict::Allow);
    }

    #[test]
    fn what_would_lose_commits_is_refused_with_a_reason() {
        for (name, value) in [
            ("journal_mode", "OFF"),
            ("synchronous", "NORMAL"),
            ("wal_autocheckpoint", "0"),
            ("query_only", "1"),
            ("writable_schema", "1"),
            ("temp_store_directory", "'/tmp'"),
            ("hard_heap_limit", "1"),
            ("unknown_to_everyone", "1"),
        ] {
            assert!(
                matches!(judge(name, Some(value)), Verdict::Deny(_)),
                "{name}"
            );
        }
    }
}
