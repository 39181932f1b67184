//! The client's end of the pipe that the gateway serves a socket through.

use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, Role};

use super::{EngineSocket, Incoming};

/// Moves messages both ways until either side closes, or the socket is forgotten.
pub(super) async fn drive(
    socket: Arc<EngineSocket>,
    stream: DuplexStream,
    mut incoming: mpsc::Receiver<Incoming>,
) {
    let mut ours = WebSocketStream::from_raw_socket(stream, Role::Client, None).await;
    // The client closed first, so that it need not be told.
    let mut closed_there = false;
    loop {
        let message = tokio::select! {
            biased;
            () = socket.gone().cancelled() => return,
            next = incoming.recv(), if !closed_there => {
                let Some(next) = next else { return };
                closed_there = matches!(next, Incoming::Close { .. });
                // A failure shows when reading.
                let _ = ours.send(message_of(next)).await;
                continue;
            }
            message = ours.next() => message,
        };
        match message {
            Some(Ok(Message::Text(text))) => socket.send(&text.into(), false),
            Some(Ok(Message::Binary(data))) => socket.send(&data, true),
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
