//! How a session of a connection ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use greenroom_core::{ActorHandle, ActorRef, Clock, ConnHandle, ConnTransport, HibernationId};
use greenroom_error::{Error, Result, code};
use greenroom_wire::{Encoding, RayId};
use tokio_util::sync::CancellationToken;

use super::{Resumed, resume};
use crate::live::ActorSource;
use crate::websocket::{ClientSocket, Outbox, OutboxLimits, SocketHome, SocketOptions};

/// Without an actor; notes whether anybody looked for one.
#[derive(Default)]
struct Home {
    has_let_go: bool,
    looked: Arc<AtomicBool>,
    leaving: CancellationToken,
}

struct Nowhere;

impl ActorSource for Nowhere {
    async fn acquire(&mut self, _: Option<ActorRef>) -> Result<Arc<ActorHandle>> {
        Err(Error::new(&code::ACTOR_STOPPED))
    }
}

impl SocketHome for Home {
    type Source = Nowhere;

    fn seek(&self) -> Nowhere {
        Nowhere
    }

    fn live(&self) -> Option<Arc<ActorHandle>> {
        self.looked.store(true, Ordering::SeqCst);
        None
    }

    fn hibernation_id(&self) -> HibernationId {
        HibernationId {
            gateway_id: [1; 4],
            request_id: [2; 4],
        }
    }

    fn enter(&self, _: ActorRef) -> Result<()> {
        Ok(())
    }

    fn hold(&self, _: &ConnHandle, _: Arc<dyn ConnTransport>) {}

    fn poll_began(&self, _: &mut Context<'_>, _: u32) -> Poll<()> {
        Poll::Pending
    }

    fn has_let_go(&self) -> bool {
        self.has_let_go
    }

    fn leaving(&self) -> &CancellationToken {
        &self.leaving
    }
}

#[tokio::test]
async fn a_session_closes_its_connection_unless_that_goes_on_without_it() {
    for has_let_go in [false, true] {
        let (near, far) = tokio::io::duplex(64);
        drop(near);
        let outbox = Outbox::new(OutboxLimits::default());
        let options = SocketOptions::default();
        let socket = ClientSocket::new(far, &[], outbox, options, Clock::real()).await;
        let home = Home {
            has_let_go,
            ..Home::default()
        };
        let looked = Arc::clone(&home.looked);
        let resumed = Resumed {
            conn_id: "a".to_owned(),
            encoding: Encoding::Json,
            max_outgoing: 1_000,
            ray_id: RayId::generate(),
        };
        resume(socket, home, resumed).await;
        assert_eq!(looked.load(Ordering::SeqCst), !has_let_go);
    }
}
