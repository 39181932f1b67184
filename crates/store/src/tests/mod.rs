//! Behaviour of the store through its public handles, on real files.

mod fixture;
mod lifecycle;
mod new_database;
mod plans;
mod pool;
mod schema_versions;
mod writes;
