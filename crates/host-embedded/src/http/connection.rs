//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::pin::pin;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::listener::{Door, Site};
use super::options::ListenOptions;
use super::service;
use super::stall::StallGuard;
use super::timer::ClockTimer;

/// Longest head of a request, and the most that one read of a socket takes.
const BUFFER_BYTES_MAX: usize = 64 * 1024;

/// Serves until the client goes, something is wrong with what it sends, or the
/// port closes; then the request at hand is still answered.
pub(super) async fn serve(door: Door, stream: TcpStream, options: ListenOptions) {
    let clock = door.clock().clone();
    let stream = StallGuard::new(stream, clock.clone(), options.stall_timeout);
    let service = service_fn(|request| {
        let door = door.clone();
        async move {
            Ok::<_, Infallible>(match &door.site {
                Site::App(app) => app.respond(request).await,
                Site::Actors(shared) => service::respond(&door, shared, request).await,
            })
        }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(ClockTimer(clock))
        .header_read_timeout(options.header_timeout)
        .max_buf_size(BUFFER_BYTES_MAX)
        .pipeline_flush(true);
    let connection = builder
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = door.closing() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        // A client's business: it went away, or spoke no HTTP.
        tracing::debug!(%error, "a connection ended early");
    }
}
