//! The JavaScript helpers of an environment (`prelude.js`), kept by reference.

use greenroom_error::Error;
use napi::sys;

use super::fault::JsResult;
use super::raw;
use super::scope::{Scope, Value};

const SOURCE: &str = include_str!("prelude.js");

/// References to the helpers; they live as long as the environment.
pub(super) struct Prelude {
    pub pending: sys::napi_ref,
    pub watch: sys::napi_ref,
    pub invoke: sys::napi_ref,
    pub action: sys::napi_ref,
    pub allocate: sys::napi_ref,
    pub keep: sys::napi_ref,
    pub forget: sys::napi_ref,
    pub abort_source: sys::napi_ref,
    pub listen: sys::napi_ref,
    pub notify: sys::napi_ref,
    pub freeze: sys::napi_ref,
    pub rows: sys::napi_ref,
}

impl Prelude {
    /// Runs the script with the native functions it needs.
    pub(super) fn evaluate(
        env: sys::napi_env,
        settle: sys::napi_value,
        failed: sys::napi_value,
        token_of: sys::napi_value,
    ) -> JsResult<Self> {
        let factory = raw::run_script(env, raw::text(env, SOURCE)?)?;
        let helpers = raw::call(
            env,
            raw::undefined(env)?,
            factory,
            &[settle, failed, token_of],
        )?;
        let keep = |name| {
            let helper = raw::get_named(env, helpers, name)?;
            raw::reference(env, helper, 1)
        };
        Ok(Self {
            pending: keep(c"pending")?,
            watch: keep(c"watch")?,
            invoke: keep(c"invoke")?,
            action: keep(c"action")?,
            allocate: keep(c"allocate")?,
            keep: keep(c"keep")?,
            forget: keep(c"forget")?,
            abort_source: keep(c"abortSource")?,
            listen: keep(c"listen")?,
            notify: keep(c"notify")?,
            freeze: keep(c"freeze")?,
            rows: keep(c"rows")?,
        })
    }
}

impl<'s> Scope<'s> {
    pub(super) fn prelude(
        &self,
        pick: impl FnOnce(&Prelude) -> sys::napi_ref,
    ) -> JsResult<Value<'s>> {
        let reference = pick(self.side.prelude());
        raw::deref(self.env, reference).map(|v| self.value(v))
    }

    /// Remembers the async context of the running code under a number; 0 if this
    /// Node cannot. Ended by [`Scope::forget_context`].
    pub(crate) fn keep_context(&self) -> JsResult<f64> {
        let keep = self.prelude(|p| p.keep)?;
        self.f64(self.call(keep, &[])?)
    }

    pub(crate) fn forget_context(&self, context: f64) -> JsResult<()> {
        if context == 0.0 {
            return Ok(());
        }
        let forget = self.prelude(|p| p.forget)?;
        self.call(forget, &[self.number(context)?]).map(drop)
    }

    /// A new source of abort signals.
    pub(crate) fn abort_source(&self) -> JsResult<Value<'s>> {
        let make = self.prelude(|p| p.abort_source)?;
        self.call(make, &[])
    }

    /// A new signal of a source; one that is `aborted` fires in the next microtask.
    pub(crate) fn abort_signal(&self, source: Value<'s>, aborted: bool) -> JsResult<Value<'s>> {
        let make = self.named(source, c"signal")?;
        self.call_on(source, make, &[self.boolean(aborted)?])
    }

    /// Fires every signal of a source.
    pub(crate) fn fire_abort(&self, source: Value<'s>) -> JsResult<()> {
        let abort = self.named(source, c"abort")?;
        self.call_on(source, abort, &[]).map(drop)
    }

    /// Adds a listener that lives as long as `owner`.
    pub(crate) fn listen(&self, owner: Value<'s>, callback: Value<'s>) -> JsResult<()> {
        let listen = self.prelude(|p| p.listen)?;
        self.call(listen, &[owner, callback]).map(drop)
    }

    /// Calls and forgets the listeners of `owner`, in a later microtask.
    pub(crate) fn notify(&self, owner: Value<'s>) -> JsResult<()> {
        let notify = self.prelude(|p| p.notify)?;
        self.call(notify, &[owner]).map(drop)
    }

    /// The result of a statement. `values` are all cells, row after row, as an array
    /// or, if they are few, one by one after `head`: columns, changes, rowid and an
    /// array or undefined.
    pub(crate) fn rows(&self, head_and_cells: &[Value<'s>]) -> JsResult<Value<'s>> {
        let rows = self.prelude(|p| p.rows)?;
        self.call(rows, head_and_cells)
    }

    pub(super) fn is_pending_marker(&self, value: Value<'s>) -> JsResult<bool> {
        let pending = self.prelude(|p| p.pending)?;
        self.same(value, pending)
    }
}

/// Checks that a callback parameter is a function.
pub(crate) fn require_function<'s>(
    scope: &Scope<'s>,
    value: Value<'s>,
    argument: &str,
) -> JsResult<()> {
    if scope.kind(value)? == super::Kind::Function {
        Ok(())
    } else {
        Err(Error::invalid_argument(argument, "must be a function").into())
    }
}
