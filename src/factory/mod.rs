//! `NapiActorFactory`: an actor type, made of callbacks and options.

mod config;
mod inspector_tabs;
mod profiling;
mod queues;

use std::sync::Arc;

use greenroom_core::ActorFactory;
use napi::bindgen_prelude::{Env, Unknown};
use napi_derive::napi;

use crate::adapter;
use crate::bridge::enter;
use crate::callbacks::Callbacks;
use crate::logging;

use config::JsActorConfig;

/// Owns the references to its callbacks; may be registered any number of times.
#[napi]
pub struct NapiActorFactory {
    factory: Arc<ActorFactory>,
}

impl NapiActorFactory {
    pub(crate) fn core(&self) -> Arc<ActorFactory> {
        Arc::clone(&self.factory)
    }
}

#[napi]
impl NapiActorFactory {
    /// `callbacks` is one flat object of functions, and `actions`, an object of
    /// functions by name.
    #[napi(
        constructor,
        catch_unwind,
        ts_args_type = "callbacks: object, config?: JsActorConfig | undefined | null"
    )]
    pub fn new(
        env: Env,
        callbacks: Unknown<'_>,
        config: Option<JsActorConfig>,
    ) -> napi::Result<Self> {
        logging::install();
        enter(&env, |scope| {
            let callbacks = scope.value(napi::JsValue::raw(&callbacks));
            let callbacks = Arc::new(Callbacks::read(scope, callbacks)?);
            let mut config = config.unwrap_or_default().check()?;
            config.hooks = callbacks.present();
            let factory = ActorFactory::new(config, move |start| {
                adapter::run(Arc::clone(&callbacks), start)
            });
            Ok(Self {
                factory: Arc::new(factory),
            })
        })
    }
}
