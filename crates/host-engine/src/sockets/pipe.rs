//! The client's end of the pipe that the gateway serves a socket through.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use greenroom_core::Instant;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{
    self,
    protocol::{CloseFrame, Message, Role},
};

use super::pace::SOON;
use super::{EngineSocket, Incoming};
use crate::shared::Shared;

/// Silence of a session that has said what it had to say.
const SILENCE: Duration = Duration::from_millis(50);

/// What the session has said, or how it ended.
type Said = Option<Result<Message, tungstenite::Error>>;

/// Serves the socket's end of the pipe until either side closes, or this process is
/// done with the socket.
pub(super) async fn drive(
    shared: Arc<Shared>,
    socket: Arc<EngineSocket>,
    stream: DuplexStream,
    incoming: mpsc::Receiver<Incoming>,
) {
    let ours = WebSocketStream::from_raw_socket(stream, Role::Client, None).await;
    tokio::select! {
        biased;
        () = socket.gone().cancelled() => {}
        () = carry(&shared, &socket, ours, incoming) => {}
        () = Arc::clone(&shared).watch_late(&socket) => {}
    }
    socket.parted().cancel();
}

/// Moves messages both ways, once the engine has handed the client over.
async fn carry(
    shared: &Shared,
    socket: &EngineSocket,
    mut ours: WebSocketStream<DuplexStream>,
    mut incoming: mpsc::Receiver<Incoming>,
) {
    tokio::select! {
        () = socket.reachable().cancelled() => {}
        () = socket.parting().cancelled() => return,
    }
    // Either side has closed: nothing that is said from here on has anybody to carry
    // it, and a client that closed first need not be told.
    let mut closed_there = false;
    let mut parting = false;
    let clock = shared.clock();
    // Said by a generation whose client has not been handed over yet.
    let mut held: Option<Said> = None;
    // Since when something is due; looked at after everything else, so that the answers
    // have left before.
    let mut due: Option<Instant> = None;
    loop {
        let has_room = shared.backlog.has_room();
        let awaited_until = awaited(socket, closed_there || parting);
        due = (socket.is_due() && has_room && !parting && awaited_until.is_none())
            .then(|| due.unwrap_or_else(|| clock.now() + SOON));
        let due_at = due.unwrap_or(clock.now());
        let said = tokio::select! {
            biased;
            () = socket.parting().cancelled(), if !parting => {
                parting = true;
                continue;
            }
            next = incoming.recv(), if !closed_there && !parting => {
                let Some(next) = next else { return };
                closed_there = matches!(next, Incoming::Close { .. });
                // A failure shows when reading.
                let _ = ours.send(message_of(next)).await;
                continue;
            }
            said = next(&mut held, &mut ours), if has_room && awaited_until.is_none() => said,
            () = clock.sleep_until(awaited_until.unwrap_or(due_at)), if awaited_until.is_some() => continue,
            () = shared.backlog.room(), if !has_room => continue,
            () = clock.sleep(SILENCE), if parting => return,
            () = socket.news() => continue,
            () = clock.sleep_until(due_at), if due.is_some() => {
                due = None;
                if !socket.outbox().holds_frames() {
                    shared.name_handled(socket);
                }
                continue;
            }
        };
        if awaited(socket, closed_there || parting).is_some() {
            held = Some(said);
            continue;
        }
        match said {
            Some(Ok(Message::Text(_) | Message::Binary(_))) if closed_there => {}
            Some(Ok(Message::Text(text))) => socket.send(&text.into(), false),
            Some(Ok(Message::Binary(data))) => socket.send(&data, true),
            // The engine keeps the client.
            Some(Ok(Message::Close(_))) | Some(Err(_)) | None if parting => return,
            Some(Ok(Message::Close(frame))) if !closed_there => {
                closed_there = true;
                let (code, reason) = frame.map_or((1000, String::new()), |frame| {
                    (frame.code.into(), frame.reason.to_string())
                });
                socket.close(code, reason);
            }
            Some(Ok(_)) => {}
            Some(Err(_)) | None => {
                if !closed_there {
                    socket.close(1011, String::new());
                }
                return;
            }
        }
    }
}

/// Until when the client's hand-over is awaited, by one that is not over.
fn awaited(socket: &EngineSocket, is_over: bool) -> Option<Instant> {
    socket.awaits_until().filter(|_| !is_over)
}

async fn next(held: &mut Option<Said>, ours: &mut WebSocketStream<DuplexStream>) -> Said {
    match held.take() {
        Some(said) => said,
        None => ours.next().await,
    }
}

fn message_of(incoming: Incoming) -> Message {
    match incoming {
        Incoming::Message {
            data, binary: true, ..
        } => Message::Binary(data),
        Incoming::Message { data, .. } => match data.clone().try_into() {
            Ok(text) => Message::Text(text),
            // The gateway checked it; should it not have, user code gets bytes.
            Err(_) => Message::Binary(data),
        },
        Incoming::Close { code, reason } => Message::Close(Some(CloseFrame {
            code: match code {
                1005 | 1006 => 1000.into(),
                code => code.into(),
            },
            reason: reason.into(),
        })),
    }
}
