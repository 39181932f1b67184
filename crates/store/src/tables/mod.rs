//! The internal `_rivet_*` tables, one file each: schema, row type, SQL.
//!
//! The layout is shared with RivetKit byte for byte, so an actor's file can
//! move between the two. All tables are STRICT and have neither defaults nor
//! foreign keys. What is written often is kept apart from what is written once.
//!
//! Functions here run on a lane with the connection in hand. They decide no
//! transaction boundaries: their callers do.

pub(crate) mod actor;
pub(crate) mod actor_state;
pub mod conns;
pub(crate) mod meta;
pub(crate) mod queue;
pub(crate) mod runtime;
pub(crate) mod schedule_events;
pub(crate) mod schedule_history;
pub(crate) mod user_kv;
pub(crate) mod wf_kv;
