//! `_rivet_user_kv`: the deprecated key-value data of user code.
//!
//! Keys are stored exactly as handed in.

pub(crate) const DDL: &str = "CREATE TABLE _rivet_user_kv (
    key BLOB PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID";
