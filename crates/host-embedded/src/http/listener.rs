//! Listening sockets and the loops that accept from them.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use greenroom_core::Clock;
use greenroom_error::{Error, Result, code};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::app::WebApp;
use super::connection;
use super::options::ListenOptions;
use crate::embedded::EmbeddedHost;
use crate::shared::Shared;
use crate::sockets::Origin;

/// An open port. Dropping it changes nothing: it closes with
/// [`EmbeddedHost::close`], or with its host.
#[derive(Clone)]
pub struct Listener(Arc<Port>);

pub(crate) struct Port {
    addr: SocketAddr,
    url: String,
    clock: Clock,
    runtime: runtime::Handle,
    pub(crate) close_timeout: Duration,
    /// Fires when no more connections are to be accepted.
    stopping: CancellationToken,
    /// Fires once nobody can connect any more: the open ones finish. Not before,
    /// because a client that is told to go comes back at once.
    closing: CancellationToken,
    /// Fires when what is still open is cut.
    cutting: CancellationToken,
    tasks: TaskTracker,
}

impl Listener {
    /// The address; where both families are listened on, the IPv4 one.
    pub fn addr(&self) -> SocketAddr {
        self.0.addr
    }

    /// Base URL for clients on this machine.
    pub fn url(&self) -> &str {
        &self.0.url
    }

    /// Opens a port that belongs to no host, at which `app` answers. It has to be
    /// closed with [`close`](Self::close).
    ///
    /// # Errors
    /// `host/port_unavailable`.
    pub async fn of_app(
        options: ListenOptions,
        app: Arc<dyn WebApp>,
        clock: Clock,
    ) -> Result<Self> {
        let runtime = runtime::Handle::current();
        Ok(Self(
            Port::open(options, Site::App(app), clock, runtime).await?,
        ))
    }

    /// Closes a port of no host: running requests get some time, then are cut.
    pub async fn close(&self) {
        self.0.stop_accepting();
        self.0.finish().await;
    }
}

/// Who answers at a port.
#[derive(Clone)]
pub(super) enum Site {
    Actors(Arc<Shared>),
    App(Arc<dyn WebApp>),
}

impl EmbeddedHost {
    /// Opens a port. Several may be open.
    ///
    /// # Errors
    /// `host/port_unavailable`; `registry/shut_down`.
    pub async fn listen(&self, options: ListenOptions) -> Result<Listener> {
        let shared = self.shared();
        let site = Site::Actors(Arc::clone(shared));
        let listener = self.open_port(options, site).await?;
        shared
            .endpoint
            .write()
            .url
            .get_or_insert_with(|| listener.url().to_owned());
        Ok(listener)
    }

    /// Opens a port at which `app` answers instead of the actors. It closes with the
    /// host, like any other.
    ///
    /// # Errors
    /// As [`listen`](Self::listen).
    pub async fn listen_app(
        &self,
        options: ListenOptions,
        app: Arc<dyn WebApp>,
    ) -> Result<Listener> {
        self.open_port(options, Site::App(app)).await
    }

    async fn open_port(&self, options: ListenOptions, site: Site) -> Result<Listener> {
        let shared = self.shared();
        shared.check_open()?;
        let (clock, runtime) = (shared.clock().clone(), shared.runtime.clone());
        let port = Port::open(options, site, clock, runtime).await?;
        shared.ports.lock().push(Arc::clone(&port));
        Ok(Listener(port))
    }

    /// Closes a port: running requests get some time, then are cut.
    pub async fn close(&self, listener: &Listener) {
        let shared = self.shared();
        shared
            .ports
            .lock()
            .retain(|port| !Arc::ptr_eq(port, &listener.0));
        listener.0.stop_accepting();
        listener.0.finish().await;
    }
}

impl Port {
    async fn open(
        options: ListenOptions,
        site: Site,
        clock: Clock,
        runtime: runtime::Handle,
    ) -> Result<Arc<Self>> {
        let sockets = bind(&options).await?;
        let addr = local_addr(&sockets)?;
        let port = Arc::new(Self {
            addr,
            url: format!("http://{}", printable(addr)),
            clock,
            runtime,
            close_timeout: options.close_timeout,
            stopping: CancellationToken::new(),
            closing: CancellationToken::new(),
            cutting: CancellationToken::new(),
            tasks: TaskTracker::new(),
        });
        let accepting = accept_loop(site, Arc::clone(&port), sockets, options);
        let closing = port.closing.clone();
        let accepting = async move {
            accepting.await;
            closing.cancel();
        };
        port.tasks.spawn_on(accepting, &port.runtime);
        Ok(port)
    }

    pub(crate) fn stop_accepting(&self) {
        self.stopping.cancel();
        self.tasks.close();
    }

    /// Waits for the open connections, and cuts them when time is up.
    pub(crate) async fn finish(&self) {
        let finished = self
            .clock
            .timeout(self.close_timeout, self.tasks.wait())
            .await;
        if finished.is_err() {
            self.cut();
            self.tasks.wait().await;
        }
    }

    pub(crate) fn cut(&self) {
        self.stop_accepting();
        self.cutting.cancel();
    }
}

fn local_addr(sockets: &[TcpListener]) -> Result<SocketAddr> {
    let first = sockets.first().map(TcpListener::local_addr);
    match first {
        Some(Ok(addr)) => Ok(addr),
        Some(Err(error)) => Err(unavailable("the bound address", error)),
        None => Err(unavailable("no address", io::ErrorKind::NotFound.into())),
    }
}

/// An address that a client can connect to: "any" means this machine.
fn printable(addr: SocketAddr) -> SocketAddr {
    let ip = match addr.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, addr.port())
}

fn unavailable(address: impl ToString, error: io::Error) -> Error {
    Error::with(
        &code::HOST_PORT_UNAVAILABLE,
        json!({ "address": address.to_string(), "reason": error.to_string() }),
    )
    .with_source(error)
}

async fn bind(options: &ListenOptions) -> Result<Vec<TcpListener>> {
    let host = match options.host.as_deref() {
        None | Some("localhost") => return bind_loopback(options.port).await,
        Some(host) => host.trim_start_matches('[').trim_end_matches(']'),
    };
    let address = (host, options.port);
    let socket = TcpListener::bind(address).await;
    let socket = socket.map_err(|error| unavailable(format!("{host}:{}", options.port), error))?;
    Ok(vec![socket])
}

/// Names resolve to either family, so both are served where both exist. Not having
/// IPv6 is fine; somebody else on that port there is worth a line.
async fn bind_loopback(port: u16) -> Result<Vec<TcpListener>> {
    let v4 = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let v4 = match TcpListener::bind(v4).await {
        Ok(socket) => socket,
        Err(error) => return Err(unavailable(v4, error)),
    };
    let port = v4.local_addr().map_or(port, |addr| addr.port());
    let v6 = SocketAddr::from((Ipv6Addr::LOCALHOST, port));
    match TcpListener::bind(v6).await {
        Ok(v6) => Ok(vec![v4, v6]),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            tracing::warn!(address = %v6, "another program listens there; clients that say localhost may reach it instead");
            Ok(vec![v4])
        }
        Err(error) => {
            tracing::debug!(address = %v6, %error, "not listening on IPv6");
            Ok(vec![v4])
        }
    }
}

/// What a connection belongs to.
#[derive(Clone)]
pub(super) struct Door {
    pub(super) site: Site,
    port: Arc<Port>,
    peer: IpAddr,
    _place: Arc<OwnedSemaphorePermit>,
}

impl Door {
    pub(super) fn clock(&self) -> &Clock {
        &self.port.clock
    }

    /// Where a socket that came in here is from.
    pub(super) fn origin(&self) -> Origin {
        Origin {
            address: Some(self.peer),
            leaving: self.port.closing.clone(),
        }
    }

    /// As [`Self::spawn`], for a socket that the connection turned into. It takes no
    /// place among connections: sockets have bounds of their own.
    pub(super) fn spawn_socket(
        &self,
        shared: &Shared,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        self.spawn(shared.sockets.tasks.track_future(work));
    }

    /// Runs until it ends, or the port cuts what is still open.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let cutting = self.port.cutting.clone();
        // Boxed, because each future around it would have room for it twice.
        let work = Box::pin(work);
        let work = async move {
            until(&cutting, work).await;
        };
        self.port.tasks.spawn_on(work, &self.port.runtime);
    }

    /// Resolves when the port accepts no more and open connections should end.
    pub(super) async fn closing(&self) {
        self.port.closing.cancelled().await;
    }
}

/// Pauses after a failed accept: without descriptors the next one fails too.
const ACCEPT_PAUSE_MIN: Duration = Duration::from_millis(10);
const ACCEPT_PAUSE_MAX: Duration = Duration::from_secs(1);

async fn accept_loop(
    site: Site,
    port: Arc<Port>,
    sockets: Vec<TcpListener>,
    options: ListenOptions,
) {
    let places = Arc::new(Semaphore::new(options.max_connections));
    let mut pause = ACCEPT_PAUSE_MIN;
    loop {
        let accepting = async {
            // Taken before the accept, so that whoever does not fit waits in the
            // system's queue and costs no descriptor.
            let place = Arc::clone(&places).acquire_owned().await;
            (place, accept_any(&sockets).await)
        };
        let Some((Ok(place), accepted)) = until(&port.stopping, accepting).await else {
            return;
        };
        match accepted {
            Ok((stream, peer)) => {
                pause = ACCEPT_PAUSE_MIN;
                prepare(&stream);
                let door = Door {
                    site: site.clone(),
                    port: Arc::clone(&port),
                    peer: peer.ip(),
                    _place: Arc::new(place),
                };
                let serving = connection::serve(door.clone(), stream, options.clone());
                door.spawn(serving);
            }
            Err(error) if is_about_the_peer(&error) => {}
            Err(error) => {
                if pause == ACCEPT_PAUSE_MIN {
                    tracing::error!(%error, "connections cannot be accepted; trying again");
                }
                if until(&port.stopping, port.clock.sleep(pause))
                    .await
                    .is_none()
                {
                    return;
                }
                pause = (pause * 2).min(ACCEPT_PAUSE_MAX);
            }
        }
    }
}

async fn accept_any(sockets: &[TcpListener]) -> io::Result<(TcpStream, SocketAddr)> {
    poll_fn(|cx| {
        let ready = sockets
            .iter()
            .find_map(|socket| match socket.poll_accept(cx) {
                Poll::Ready(accepted) => Some(accepted),
                Poll::Pending => None,
            });
        match ready {
            Some(accepted) => Poll::Ready(accepted),
            None => Poll::Pending,
        }
    })
    .await
}

/// The outcome of `work`, or `None` if the token fires first.
async fn until<T>(token: &CancellationToken, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = token.cancelled() => None,
        outcome = work => Some(outcome),
    }
}

fn prepare(stream: &TcpStream) {
    // Replies are written whole; waiting for more would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "the socket keeps small writes back");
    }
}

/// True for the failure of one connection, which says nothing about the next.
fn is_about_the_peer(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_an_address_that_can_be_connected_to() {
        let cases = [
            ("0.0.0.0:1", "127.0.0.1:1"),
            ("[::]:1", "[::1]:1"),
            ("10.0.0.1:1", "10.0.0.1:1"),
        ];
        for (bound, shown) in cases {
            let bound: SocketAddr = bound.parse().unwrap();
            assert_eq!(printable(bound).to_string(), shown);
        }
    }
}
