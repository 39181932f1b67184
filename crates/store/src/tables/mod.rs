//! The internal tables, one file each: schema, row type, SQL.
//!
//! The layout of the `_rivet_*` tables is shared with RivetKit byte for byte, so
//! an actor's file can move between the two. The `_greenroom_*` tables are ours,
//! made when first needed. All tables are STRICT and have neither defaults nor
//! foreign keys. What is written often is kept apart from what is written once.
//!
//! Functions here run on a lane with the connection in hand. They decide no
//! transaction boundaries: their callers do.

pub(crate) mod actor;
pub(crate) mod actor_state;
pub mod conns;
pub mod dead_letters;
pub(crate) mod meta;
pub mod queue;
pub(crate) mod queue_leases;
pub(crate) mod runtime;
pub mod schedule_events;
pub mod schedule_history;
pub mod trace;
pub mod user_kv;
pub(crate) mod wf_kv;
