//! The answer of capabilities that are declared and not there yet.

use greenroom_error::Error;
use napi::bindgen_prelude::{Env, ToNapiValue};

use crate::bridge::{Promise, enter, promise};

/// A promise rejected with `actor/not_configured`, naming the component.
pub(crate) fn missing<T>(env: &Env, component: &'static str) -> napi::Result<Promise<T>>
where
    T: ToNapiValue + Send + 'static,
{
    enter(env, |scope| {
        promise(scope, async move {
            Err::<T, _>(Error::not_configured(component))
        })
    })
}
