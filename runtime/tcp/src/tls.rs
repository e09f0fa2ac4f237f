//! TLS 1.3 below the framing: what the configuration says, and one session of a connection.

use std::fmt;
use std::io;
#[cfg(not(feature = "tls"))]
use std::io::{IoSlice, IoSliceMut};
#[cfg(not(feature = "tls"))]
use std::net::{IpAddr, TcpStream};
use std::path::PathBuf;

#[cfg(feature = "tls")]
mod rustls_session;
#[cfg(feature = "tls")]
pub(crate) use rustls_session::{Context, Session};

/// Certificates and keys, each in a file in PEM format.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TlsConfig {
    /// The certificate that this end shows, followed by those that lead to the authority.
    pub certificate: Option<PathBuf>,
    /// Its private key.
    pub key: Option<PathBuf>,
    /// Authorities whose certificates are trusted.
    pub authorities: Option<PathBuf>,
    /// The name that certificates of others must have. `None`: the address that is connected to.
    pub server_name: Option<String>,
    /// Those who connect must show a certificate of one of the authorities, too.
    pub client_certificates: bool,
}

/// A configuration of TLS that cannot be used: what is wrong, and what helps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsError(pub String);

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

impl From<TlsError> for io::Error {
    fn from(error: TlsError) -> Self {
        Self::new(io::ErrorKind::InvalidInput, error)
    }
}

/// What an error of a connection means, in words.
pub(crate) fn explain(error: &io::Error) -> String {
    #[cfg(feature = "tls")]
    if let Some(text) = error.get_ref().and_then(|inner| inner.downcast_ref()).map(rustls_session::explain) {
        return text;
    }
    match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            "nobody listens there: is the participant running, and is this its `tcp.port`?".into()
        }
        _ => error.to_string(),
    }
}

/// Stands where TLS would be in a build without it.
#[cfg(not(feature = "tls"))]
pub(crate) struct Context(Session);

/// The same of one connection.
#[cfg(not(feature = "tls"))]
pub(crate) enum Session {}

#[cfg(not(feature = "tls"))]
impl Context {
    pub(crate) fn load(_config: &TlsConfig) -> Result<Self, TlsError> {
        Err(TlsError(
            "TLS is configured, but this program was built without it: build it with `dunlin = { features = [\"tls\"] }`"
                .into(),
        ))
    }

    pub(crate) fn client(&self, _to: IpAddr) -> Result<Session, String> {
        match self.0 {}
    }

    pub(crate) fn server(&self) -> Result<Session, String> {
        match self.0 {}
    }
}

#[cfg(not(feature = "tls"))]
impl Session {
    pub(crate) fn is_handshaking(&self) -> bool {
        match *self {}
    }

    pub(crate) fn wants_write(&self) -> bool {
        match *self {}
    }

    pub(crate) fn flush(&mut self, _stream: &TcpStream) -> io::Result<bool> {
        match *self {}
    }

    pub(crate) fn read(&mut self, _stream: &TcpStream, _bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match *self {}
    }

    pub(crate) fn write(&mut self, _stream: &TcpStream, _parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match *self {}
    }
}
