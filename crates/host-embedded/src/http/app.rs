//! A port that answers with something else than this host's actors.

use std::future::Future;
use std::pin::Pin;

use greenroom_gateway::HttpReply;
use http::Request;

/// What comes in at such a port.
pub type AppRequest = Request<hyper::body::Incoming>;

/// The answer on its way.
pub type Answering<'a> = Pin<Box<dyn Future<Output = HttpReply> + Send + 'a>>;

/// Answers the requests of a port. Connections, their limits and their end are the
/// port's business; WebSockets are not offered.
pub trait WebApp: Send + Sync + 'static {
    /// Never fails: errors are responses. Dropped when the client goes.
    fn respond(&self, request: AppRequest) -> Answering<'_>;
}
