//! How far a registry is from its end.
//!
//! `Registering → Starting → Serving → ShuttingDown → ShutDown`; a start of our own
//! layer that fails goes back, so that it can be tried again. Nothing else goes back.
//! The first start decides how a registry runs, for good.

use std::sync::Arc;

use greenroom_error::{Error, Result, code};
use tokio::sync::watch;

use super::hosting::Hosting;

/// How a registry runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// By itself, at a port or inside the process.
    #[default]
    Standing,
    /// Behind requests that somebody else's server hands over.
    Serverless,
}

#[derive(Clone)]
pub(super) enum Phase {
    Registering,
    Starting(Mode),
    Serving(Arc<Hosting>),
    ShuttingDown(Arc<Hosting>),
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

fn mode_conflict() -> Error {
    let reason = "mode conflict: another run mode is already active";
    Error::invalid_state("core registry", reason)
}

fn shut_down() -> Error {
    Error::new(&code::REGISTRY_SHUT_DOWN)
}

impl Phase {
    /// How it runs; `None` while that is open, or over.
    fn mode(&self) -> Option<Mode> {
        match self {
            Self::Starting(mode) => Some(*mode),
            Self::Serving(hosting) | Self::ShuttingDown(hosting) => Some(hosting.identity.mode),
            Self::Registering | Self::ShutDown => None,
        }
    }
}

impl PhaseBoard {
    pub(super) fn now(&self) -> Phase {
        self.0.borrow().clone()
    }

    pub(super) fn serving(&self) -> Result<Arc<Hosting>> {
        match self.now() {
            Phase::Serving(hosting) => Ok(hosting),
            Phase::Registering => Err(Error::invalid_state("core registry", "not started")),
            Phase::Starting(_) => Err(Error::invalid_state("core registry", "still starting")),
            Phase::ShuttingDown(_) | Phase::ShutDown => Err(shut_down()),
        }
    }

    /// The host, also while it shuts down.
    pub(super) fn open(&self) -> Result<Arc<Hosting>> {
        match self.now() {
            Phase::ShuttingDown(hosting) => Ok(hosting),
            _ => self.serving(),
        }
    }

    /// Takes the only start.
    pub(super) fn begin_start(&self, mode: Mode) -> Result<()> {
        let began = self.0.send_if_modified(|phase| {
            let began = matches!(phase, Phase::Registering);
            if began {
                *phase = Phase::Starting(mode);
            }
            began
        });
        if began {
            Ok(())
        } else {
            Err(already_serving())
        }
    }

    pub(super) fn finish_start(&self, hosting: Option<Arc<Hosting>>) {
        self.0.send_replace(match hosting {
            Some(hosting) => Phase::Serving(hosting),
            None => Phase::Registering,
        });
    }

    /// The host to shut down, for the one caller who does; others wait until it
    /// is done and get `None`.
    pub(super) async fn begin_shutdown(&self) -> Option<Arc<Hosting>> {
        loop {
            let mut taken = None;
            self.0.send_if_modified(|phase| match phase {
                Phase::Registering => {
                    *phase = Phase::ShutDown;
                    true
                }
                Phase::Serving(hosting) => {
                    taken = Some(Arc::clone(hosting));
                    *phase = Phase::ShuttingDown(Arc::clone(hosting));
                    true
                }
                Phase::Starting(_) | Phase::ShuttingDown(_) | Phase::ShutDown => false,
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
            phase.mode() == Some(Mode::Serverless)
                || !matches!(phase, Phase::Registering | Phase::Starting(_))
        };
        self.until(settled).await;
        match self.now() {
            phase if phase.mode() == Some(Mode::Serverless) => Err(mode_conflict()),
            Phase::Serving(_) => Ok(()),
            _ => Err(Error::invalid_state("core registry", "shut down")),
        }
    }

    /// The host behind serverless requests, once it is there.
    pub(super) async fn until_serverless(&self) -> Result<Arc<Hosting>> {
        let settled = |phase: &Phase| {
            phase.mode() == Some(Mode::Standing)
                || !matches!(phase, Phase::Registering | Phase::Starting(_))
        };
        self.until(settled).await;
        match self.now() {
            Phase::ShuttingDown(_) | Phase::ShutDown => Err(shut_down()),
            phase if phase.mode() == Some(Mode::Standing) => Err(mode_conflict()),
            _ => self.serving(),
        }
    }

    async fn until(&self, reached: impl FnMut(&Phase) -> bool) {
        // The sender is `self`: this cannot fail.
        let _ = self.0.subscribe().wait_for(reached).await;
    }
}
