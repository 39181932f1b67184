//! The port of an embedded registry, and whether it keeps the process alive.
//!
//! A registry has one port at a time. While it is open and referenced it holds
//! the event loop of the environment that opened it, like any server of Node.

use std::sync::Arc;

use greenroom_error::{Error, Result};
use greenroom_host_embedded::{ListenOptions, Listener};
use napi::bindgen_prelude::Env;
use napi_derive::napi;
use parking_lot::Mutex;

use super::{CoreRegistry, Registry};
use crate::bridge::{Bridge, Promise, enter, promise};

#[napi(object)]
pub struct JsListenConfig {
    /// Address or name to listen on. Default this machine only: 127.0.0.1, and
    /// `[::1]` where that exists.
    pub host: Option<String>,
    /// Default 6420; 0 lets the system choose.
    pub port: Option<f64>,
}

#[napi(object)]
pub struct JsListenAddress {
    /// Address, without brackets.
    pub host: String,
    pub port: u32,
    /// Base URL for clients on this machine.
    pub url: String,
}

/// The open port of a registry.
#[derive(Default)]
pub(super) struct Listening(Mutex<Slot>);

#[derive(Default)]
enum Slot {
    #[default]
    Closed,
    /// Taken by a call that is binding.
    Opening,
    Open(Port),
}

struct Port {
    /// `None` where an engine is joined: clients go there.
    listener: Option<Listener>,
    bridge: Bridge,
    /// True while it holds the event loop.
    referenced: bool,
}

impl Listening {
    pub(super) fn claim(&self) -> Result<()> {
        let mut slot = self.0.lock();
        if !matches!(*slot, Slot::Closed) {
            return Err(Error::invalid_state("listener", "already listening"));
        }
        *slot = Slot::Opening;
        Ok(())
    }

    pub(super) fn fill(&self, bound: Option<(Option<Listener>, Bridge)>) {
        let mut slot = self.0.lock();
        *slot = match bound {
            None => Slot::Closed,
            Some((listener, bridge)) => {
                let referenced = bridge.post(|scope| scope.hold_loop());
                Slot::Open(Port {
                    listener,
                    bridge,
                    referenced,
                })
            }
        };
    }

    /// Lets go of the event loop and gives the port to whoever closes it.
    pub(super) fn take(&self) -> Option<Listener> {
        let mut slot = self.0.lock();
        if !matches!(*slot, Slot::Open(_)) {
            return None;
        }
        let Slot::Open(port) = std::mem::take(&mut *slot) else {
            return None;
        };
        if port.referenced {
            port.bridge.post(|scope| scope.release_loop());
        }
        port.listener
    }

    pub(super) fn reference(&self, referenced: bool) {
        let mut slot = self.0.lock();
        let Slot::Open(port) = &mut *slot else {
            return;
        };
        if port.referenced != referenced {
            port.referenced = referenced;
            port.bridge.post(move |scope| match referenced {
                true => scope.hold_loop(),
                false => scope.release_loop(),
            });
        }
    }
}

fn options(config: JsListenConfig) -> Result<ListenOptions> {
    let mut options = ListenOptions {
        host: config.host,
        ..ListenOptions::default()
    };
    if let Some(port) = config.port {
        if port.fract() != 0.0 || !(0.0..=f64::from(u16::MAX)).contains(&port) {
            let reason = "must be a whole number from 0 to 65535";
            return Err(Error::invalid_argument("port", reason));
        }
        options.port = port as u16;
    }
    Ok(options)
}

impl Registry {
    async fn listen(&self, config: JsListenConfig, bridge: Bridge) -> Result<JsListenAddress> {
        let options = options(config)?;
        let host = self.embedded()?;
        self.listening.claim()?;
        let bound = host.listen(options).await;
        match bound {
            Ok(listener) => {
                let address = JsListenAddress {
                    host: listener.addr().ip().to_string(),
                    port: listener.addr().port().into(),
                    url: listener.url().to_owned(),
                };
                self.listening.fill(Some((Some(listener), bridge)));
                Ok(address)
            }
            Err(error) => {
                self.listening.fill(None);
                Err(error)
            }
        }
    }

    async fn close_listener(&self) -> Result<()> {
        // After a shutdown the host has closed the port by itself.
        if let Some(listener) = self.listening.take()
            && let Ok(host) = self.embedded()
        {
            host.close(&listener).await;
        }
        Ok(())
    }
}

#[napi]
impl CoreRegistry {
    /// Opens the HTTP port of an embedded registry and keeps the process alive
    /// until it closes. Rejects with `host/port_unavailable`; a registry that
    /// listens already, with `napi/invalid_state`.
    #[napi(catch_unwind, ts_return_type = "Promise<JsListenAddress>")]
    pub fn listen_embedded(
        &self,
        env: Env,
        config: Option<JsListenConfig>,
    ) -> napi::Result<Promise<JsListenAddress>> {
        let registry = Arc::clone(&self.0);
        let config = config.unwrap_or(JsListenConfig {
            host: None,
            port: None,
        });
        enter(&env, |scope| {
            let bridge = scope.bridge().clone();
            promise(scope, async move { registry.listen(config, bridge).await })
        })
    }

    /// Closes the port: running requests get some seconds, then are cut. Without
    /// an open port it resolves at once.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn close_listener(&self, env: Env) -> napi::Result<Promise<()>> {
        let registry = Arc::clone(&self.0);
        enter(&env, |scope| {
            promise(scope, async move { registry.close_listener().await })
        })
    }

    /// Whether the open port keeps the process alive; it does by default.
    #[napi(catch_unwind)]
    pub fn ref_listener(&self, referenced: bool) {
        self.0.listening.reference(referenced);
    }
}
