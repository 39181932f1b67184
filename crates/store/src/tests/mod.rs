//! Behaviour of the store through its public handles, on real files.

mod crashes;
mod crashes_sql;
mod disk_faults;
pub(crate) mod fixture;
mod lifecycle;
mod new_database;
mod paged;
pub(crate) mod plan;
mod plans;
mod pool;
mod queue;
mod schedules;
mod schema_versions;
mod user_kv;
mod writes;
