//! TLS with rustls.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, Connection, Error, RootCertStore,
    ServerConfig, ServerConnection, crypto, version,
};

use super::{TlsConfig, TlsError};
use crate::link::WithoutSignal;

/// What all connections of a transport share.
pub(crate) struct Context {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    server_name: Option<ServerName<'static>>,
}

fn refuse<T>(text: impl Into<String>) -> Result<T, TlsError> {
    Err(TlsError(text.into()))
}

/// The path of a key that must be set.
fn needed<'p>(path: Option<&'p Path>, key: &str, what: &str) -> Result<&'p Path, TlsError> {
    path.map_or_else(|| refuse(format!("`tls.{key}` is not set: TLS needs {what}")), Ok)
}

fn certificates(path: &Path, key: &str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let fail = |error: &dyn std::fmt::Display| TlsError(format!("`tls.{key}`: {}: {error}", path.display()));
    let all = CertificateDer::pem_file_iter(path).map_err(|error| fail(&error))?;
    let all: Vec<_> = all.collect::<Result<_, _>>().map_err(|error| fail(&error))?;
    if all.is_empty() {
        return Err(fail(&"it has no certificate in PEM format (BEGIN CERTIFICATE)"));
    }
    Ok(all)
}

impl Context {
    /// Reads the files.
    pub(crate) fn load(config: &TlsConfig) -> Result<Self, TlsError> {
        let path =
            needed(config.certificate.as_deref(), "certificate", "the certificate that this end shows")?;
        let chain = certificates(path, "certificate")?;
        let path = needed(config.key.as_deref(), "key", "the private key of the certificate")?;
        let key = PrivateKeyDer::from_pem_file(path).map_err(|error| {
            TlsError(format!(
                "`tls.key`: {}: no private key in PEM format without a password: {error}",
                path.display()
            ))
        })?;
        let path = needed(
            config.authorities.as_deref(),
            "authorities",
            "the authorities whose certificates are trusted",
        )?;
        let mut roots = RootCertStore::empty();
        for authority in certificates(path, "authorities")? {
            roots
                .add(authority)
                .map_err(|error| TlsError(format!("`tls.authorities`: {}: {error}", path.display())))?;
        }
        let server_name = config.server_name.clone().map(ServerName::try_from).transpose().map_err(|_| {
            TlsError(format!("`tls.server_name`: {:?} is no name of a host", config.server_name))
        })?;
        Self::build(chain, key, roots, server_name, config.client_certificates)
    }

    fn build(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        roots: RootCertStore,
        server_name: Option<ServerName<'static>>,
        client_certificates: bool,
    ) -> Result<Self, TlsError> {
        let fail =
            |what: &'static str| move |error: &dyn std::fmt::Display| TlsError(format!("{what}: {error}"));
        let provider = Arc::new(crypto::ring::default_provider());
        let roots = Arc::new(roots);
        let (wrong_root, wrong_key) =
            (fail("`tls.authorities`"), fail("`tls.certificate` and `tls.key` do not belong together"));
        let verifier: Arc<dyn ServerCertVerifier> =
            WebPkiServerVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
                .build()
                .map_err(|error| wrong_root(&error))?;
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&version::TLS13])
            .map_err(|error| fail("TLS")(&error))?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_client_auth_cert(chain.clone(), key.clone_key())
            .map_err(|error| wrong_key(&error))?;
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&version::TLS13])
            .map_err(|error| fail("TLS")(&error))?;
        let server = if client_certificates {
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
            server.with_client_cert_verifier(verifier.build().map_err(|error| wrong_root(&error))?)
        } else {
            server.with_no_client_auth()
        };
        let server = server.with_single_cert(chain, key).map_err(|error| wrong_key(&error))?;
        Ok(Self { client: Arc::new(client), server: Arc::new(server), server_name })
    }

    /// A session of the side that connects.
    pub(crate) fn client(&self, to: IpAddr) -> Result<Session, String> {
        let name = self.server_name.clone().unwrap_or_else(|| ServerName::IpAddress(to.into()));
        let session = ClientConnection::new(Arc::clone(&self.client), name);
        session.map(|session| Session::new(session.into())).map_err(|error| error.to_string())
    }

    /// A session of the side that was connected to.
    pub(crate) fn server(&self) -> Result<Session, String> {
        let session = ServerConnection::new(Arc::clone(&self.server));
        session.map(|session| Session::new(session.into())).map_err(|error| error.to_string())
    }
}

/// What an error of TLS means, and what helps.
pub(crate) fn explain(error: &Error) -> String {
    let advice = match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            "its certificate comes from no authority in `tls.authorities`"
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "its certificate is for another host: set `tls.server_name` to the name in it",
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "its certificate is no longer valid: renew it, or look at the clocks"
        }
        Error::InvalidCertificate(
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
        ) => "its certificate is not valid yet: look at the clocks",
        Error::InvalidCertificate(_) => "its certificate cannot be used",
        Error::NoCertificatesPresented => {
            "it shows no certificate, and `tls.client_certificates` asks for one: set `tls.certificate` there"
        }
        Error::AlertReceived(
            AlertDescription::UnknownCA | AlertDescription::BadCertificate | AlertDescription::DecryptError,
        ) => "it does not accept the certificate of this end: is its authority in `tls.authorities` there?",
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "it wants a certificate of this end, and got none"
        }
        Error::AlertReceived(_) => "it has ended the handshake",
        Error::InvalidMessage(_) => "it does not speak TLS: set `tls.enabled` on both sides, or on none",
        Error::PeerIncompatible(_) => "it does not speak TLS 1.3",
        _ => return format!("TLS failed: {error}"),
    };
    format!("{advice} (TLS: {error})")
}

/// Octets that are read from the socket at a time; rustls alone takes 4 KiB.
const READ_AHEAD: usize = 32 << 10;

/// The session of a connection. It never holds more than one batch that the socket did not take.
pub(crate) struct Session {
    tls: Connection,
    /// What was read, of which the octets of this range have not been looked at yet.
    ahead: Vec<u8>,
    unread: Range<usize>,
}

impl Session {
    fn new(tls: Connection) -> Self {
        Self { tls, ahead: Vec::new(), unread: 0..0 }
    }

    /// Takes in what has come; 0 if nothing will.
    fn take_in(&mut self, mut stream: &TcpStream) -> io::Result<usize> {
        if self.unread.is_empty() {
            self.ahead.resize(READ_AHEAD, 0);
            self.unread = 0..stream.read(&mut self.ahead)?;
        }
        let count = self.tls.read_tls(&mut &self.ahead[self.unread.clone()])?;
        self.unread.start += count;
        Ok(count)
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    pub(crate) fn wants_write(&self) -> bool {
        self.tls.wants_write()
    }

    /// Sends what waits; true if nothing is left.
    pub(crate) fn flush(&mut self, stream: &TcpStream) -> io::Result<bool> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut WithoutSignal(stream)) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Reads what was decrypted; of kind `WouldBlock` if there is nothing.
    pub(crate) fn read(&mut self, stream: &TcpStream, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        loop {
            match self.read_plain(bufs) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return result,
            }
            if self.take_in(stream)? == 0 {
                return Ok(0);
            }
            let processed = self.tls.process_new_packets();
            // An alert, or the next step of the handshake.
            let flushed = self.flush(stream);
            processed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            flushed?;
        }
    }

    /// Fills all buffers if there is enough.
    fn read_plain(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let mut total = 0;
        let mut reader = self.tls.reader();
        for buf in bufs {
            let mut filled = 0;
            while filled < buf.len() {
                match reader.read(&mut buf[filled..]) {
                    Ok(0) => return Ok(total),
                    Ok(count) => (filled, total) = (filled + count, total + count),
                    Err(error) if total > 0 && error.kind() == io::ErrorKind::WouldBlock => return Ok(total),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(total)
    }

    /// Encrypts and sends; of kind `WouldBlock` as long as something waits.
    pub(crate) fn write(&mut self, stream: &TcpStream, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        if !self.flush(stream)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = self.tls.writer().write_vectored(parts)?;
        self.flush(stream)?;
        if count == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
    }
}
