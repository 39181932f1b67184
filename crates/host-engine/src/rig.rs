//! A host that never joined, and sockets whose engine is the test.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use greenroom_core::{Clock, HibernationId};
use greenroom_gateway::websocket::WireFrame;
use greenroom_wire::ActorId;
use parking_lot::Mutex;

use crate::api::EngineApi;
use crate::envoy::{Line, ToGateway};
use crate::options::EngineOptions;
use crate::shared::Shared;
use crate::sockets::{EngineSocket, NewSocket, Resumed, ResumedKind};

pub(crate) const ID: HibernationId = HibernationId {
    gateway_id: [1; 4],
    request_id: [2; 4],
};

/// With a session that stands.
pub(crate) fn shared(clock: Clock) -> Arc<Shared> {
    let mut options = EngineOptions::new("http://127.0.0.1:1");
    options.clock = clock.clone();
    options.store.lanes = 1;
    let api = EngineApi::new(&options.endpoint, &options.namespace, None, clock);
    let shared = Shared::new(api.expect("an address"), options, HashMap::new());
    shared.backlog.connected(true);
    shared
}

/// The session for a connection that another process held, with something to say.
pub(crate) fn adopted(
    shared: &Shared,
    actor_id: ActorId,
    says: &[&'static str],
) -> Arc<EngineSocket> {
    let new = NewSocket {
        id: ID,
        path: "/websocket/".to_owned(),
        headers: HashMap::new(),
        is_hibernatable: true,
        way: None,
        resumed: Some(Resumed {
            conn_id: "a".to_owned(),
            last_message: 0,
            kind: ResumedKind::Raw,
        }),
    };
    let socket = shared.open_socket(actor_id, new).expect("room");
    for text in says {
        say(&socket, text);
    }
    socket
}

pub(crate) fn say(socket: &EngineSocket, text: &'static str) {
    let frame = WireFrame::new(Bytes::from_static(text.as_bytes()), false);
    socket.outbox().push(frame).expect("room");
}

/// What was said through one way.
#[derive(Default)]
pub(crate) struct Heard(Mutex<Vec<String>>);

impl Heard {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().clone()
    }

    pub(crate) fn way(self: &Arc<Self>, shared: &Shared) -> ToGateway {
        ToGateway::new(Arc::clone(self) as _, Arc::clone(&shared.backlog))
    }
}

impl Line for Heard {
    fn send(&self, data: Vec<u8>, _: bool) {
        let text = String::from_utf8_lossy(&data).into_owned();
        self.0.lock().push(text);
    }

    fn acknowledge(&self, message_index: u16) {
        self.0.lock().push(format!("acknowledges {message_index}"));
    }

    fn close(&self, code: Option<u16>, _: Option<String>) {
        self.0.lock().push(format!("closes with {code:?}"));
    }
}
