//! How far a registry is from its end.
//!
//! `Registering → Starting → Serving → ShuttingDown → ShutDown`; a start that
//! fails goes back, so that it can be tried again. Nothing else goes back.

use std::sync::Arc;

use greenroom_error::{Error, Result};
use tokio::sync::watch;

use super::embedded::Embedded;

#[derive(Clone)]
pub(super) enum Phase {
    Registering,
    Starting,
    Serving(Arc<Embedded>),
    ShuttingDown(Arc<Embedded>),
    ShutDown,
}

pub(super) struct PhaseBoard(watch::Sender<Phase>);

impl Default for PhaseBoard {
    fn default() -> Self {
        Self(watch::Sender::new(Phase::Registering))
    }
}

pub(super) fn already_serving() -> Error {
    Error::invalid_state("core registry", "already serving or shut down")
}

impl PhaseBoard {
    pub(super) fn now(&self) -> Phase {
        self.0.borrow().clone()
    }

    pub(super) fn serving(&self) -> Result<Arc<Embedded>> {
        match self.now() {
            Phase::Serving(embedded) => Ok(embedded),
            Phase::Registering => Err(Error::invalid_state("core registry", "not started")),
            Phase::Starting => Err(Error::invalid_state("core registry", "still starting")),
            Phase::ShuttingDown(_) | Phase::ShutDown => {
                Err(Error::new(&greenroom_error::code::REGISTRY_SHUT_DOWN))
            }
        }
    }

    /// The host, also while it shuts down.
    pub(super) fn open(&self) -> Result<Arc<Embedded>> {
        match self.now() {
            Phase::ShuttingDown(embedded) => Ok(embedded),
            _ => self.serving(),
        }
    }

    /// Takes the only start.
    pub(super) fn begin_start(&self) -> Result<()> {
        let began = self.0.send_if_modified(|phase| {
            let began = matches!(phase, Phase::Registering);
            if began {
                *phase = Phase::Starting;
            }
            began
        });
        if began {
            Ok(())
        } else {
            Err(already_serving())
        }
    }

    pub(super) fn finish_start(&self, embedded: Option<Arc<Embedded>>) {
        self.0.send_replace(match embedded {
            Some(embedded) => Phase::Serving(embedded),
            None => Phase::Registering,
        });
    }

    /// The host to shut down, for the one caller who does; others wait until it
    /// is done and get `None`.
    pub(super) async fn begin_shutdown(&self) -> Option<Arc<Embedded>> {
        loop {
            let mut taken = None;
            self.0.send_if_modified(|phase| match phase {
                Phase::Registering => {
                    *phase = Phase::ShutDown;
                    true
                }
                Phase::Serving(embedded) => {
                    taken = Some(Arc::clone(embedded));
                    *phase = Phase::ShuttingDown(Arc::clone(embedded));
                    true
                }
                Phase::Starting | Phase::ShuttingDown(_) | Phase::ShutDown => false,
            });
            if taken.is_some() {
                return taken;
            }
            let settled = |phase: &Phase| {
                matches!(
                    phase,
                    Phase::Serving(_) | Phase::Registering | Phase::ShutDown
                )
            };
            self.until(settled).await;
            if matches!(self.now(), Phase::ShutDown) {
                return None;
            }
        }
    }

    pub(super) fn finish_shutdown(&self) {
        self.0.send_replace(Phase::ShutDown);
    }

    pub(super) async fn until_shut_down(&self) {
        self.until(|phase| matches!(phase, Phase::ShutDown)).await;
    }

    pub(super) async fn until_serving(&self) -> Result<()> {
        let settled = |phase: &Phase| {
            matches!(
                phase,
                Phase::Serving(_) | Phase::ShuttingDown(_) | Phase::ShutDown
            )
        };
        self.until(settled).await;
        match self.now() {
            Phase::Serving(_) => Ok(()),
            _ => Err(Error::invalid_state("core registry", "shut down")),
        }
    }

    async fn until(&self, reached: impl FnMut(&Phase) -> bool) {
        // The sender is `self`: this cannot fail.
        let _ = self.0.subscribe().wait_for(reached).await;
    }
}
