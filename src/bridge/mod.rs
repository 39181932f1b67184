//! The seam between Rust and the JavaScript thread of one Node environment.
//!
//! Everything unsafe about Node-API lives here: raw values, references, the one
//! thread-safe function of each environment, and the functions Node calls back.
//! The rest of the addon sees [`Scope`] (on the JavaScript thread) and
//! [`Bridge`] (from anywhere).
//!
//! - [`Bridge::post`] runs a closure on the JavaScript thread; closures that are
//!   posted while the thread is busy share one wake-up.
//! - [`Bridge::call`] calls a user callback and waits for its result, sync or
//!   async. Whatever it throws is an ordinary error.
//! - [`promise`] hands a future out as a JavaScript promise; [`promise_here`] also
//!   polls it on the JavaScript thread.
//! - [`JsRef`] keeps a JavaScript value alive and lets go of it on its own thread.
//!
//! It knows no actor: what is called and what values mean is the business of
//! `callbacks` and of the class files.
//!
//! Invariant B1: after an environment began to close, nothing calls its
//! thread-safe function and no posted closure runs; they are dropped, so whoever
//! waits for one hears that the callback is unavailable.
//! Invariant B2: no panic crosses into Node; each entry catches it.

mod buffer;
mod call;
mod entries;
mod environment;
mod fault;
mod inbox;
mod json;
mod prelude;
mod promise;
mod raw;
mod read;
mod reference;
mod scope;
mod texts;

pub use buffer::Buffer;
pub(crate) use call::CallId;
pub(crate) use environment::{enter, install};
pub(crate) use fault::{Fault, JsResult, to_napi};
pub(crate) use inbox::Bridge;
pub use json::Json;
pub(crate) use prelude::require_function;
pub use promise::Promise;
pub(crate) use promise::{Rejection, Settler, promise, promise_by, promise_here, promise_then};
pub(crate) use read::Kind;
pub(crate) use reference::{JsRef, WeakJsRef};
pub(crate) use scope::{Scope, Value};
