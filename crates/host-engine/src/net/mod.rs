//! The way to an engine: TCP, with TLS where the endpoint says so.

mod prompt;

use std::io;
use std::sync::Arc;

use greenroom_error::{Error, Result, code};
use serde_json::json;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_util::either::Either;

use crate::api::Address;
use prompt::Prompt;

/// Connects to one address. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Net {
    address: Address,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl Net {
    /// # Errors
    /// `engine/invalid_endpoint` for a host that no certificate can name.
    pub(crate) fn new(address: Address) -> Result<Self> {
        let tls = match address.is_secure() {
            true => Some(tls(&address)?),
            false => None,
        };
        Ok(Self { address, tls })
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    pub(crate) async fn connect(&self) -> io::Result<Stream> {
        let stream = TcpStream::connect((self.address.host(), self.address.port())).await?;
        stream.set_nodelay(true)?;
        let stream = Prompt::new(stream);
        Ok(match &self.tls {
            None => Either::Left(stream),
            Some((tls, name)) => Either::Right(Box::new(tls.connect(name.clone(), stream).await?)),
        })
    }
}

/// Certificates count that the system trusts, `SSL_CERT_FILE` and `SSL_CERT_DIR`
/// included; where it has none, those that Mozilla trusts.
fn tls(address: &Address) -> Result<(TlsConnector, ServerName<'static>)> {
    let invalid = |reason: String| {
        Error::with(
            &code::ENGINE_INVALID_ENDPOINT,
            json!({ "endpoint": address.to_string(), "reason": reason }),
        )
    };
    let name = ServerName::try_from(address.host().to_owned())
        .map_err(|error| invalid(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in found.errors {
        tracing::debug!(%error, "a certificate of the system could not be read");
    }
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| invalid(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok((TlsConnector::from(Arc::new(config)), name))
}

/// An open way. The second is large.
pub(crate) type Stream = Either<Prompt, Box<TlsStream<Prompt>>>;
