//! TLS below the framing: who is let in, and what those hear who are not.
#![cfg(feature = "tls")]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use common::{Raw, config, data_of, open, send, transport, unit, until};
use dunlin_tcp::{TcpConfig, TcpTransport, TlsConfig};
use dunlin_transport::conformance::{Listener, pattern, run, single};
use dunlin_transport::{Channel, SendMode, Transport};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// An authority, and a folder for what it signs.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: tempfile::TempDir,
}

/// So that no two authorities have a name in common, nor two files.
static COUNT: AtomicU32 = AtomicU32::new(0);

fn count() -> u32 {
    COUNT.fetch_add(1, Relaxed)
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, format!("authority {}", count()));
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let authority = Self { issuer, folder: tempfile::tempdir().unwrap() };
        authority.write("authority.pem", &authority.issuer.pem());
        authority
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("authority.pem")
    }

    /// A certificate and its key.
    fn sign(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> TlsConfig {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        change(&mut params);
        let (certificate, number) = (params.signed_by(&key, &self.issuer).unwrap(), count());
        TlsConfig {
            certificate: Some(self.write(&format!("{number}.pem"), &certificate.pem())),
            key: Some(self.write(&format!("{number}.key"), &key.serialize_pem())),
            authorities: Some(self.path()),
            ..TlsConfig::default()
        }
    }

    fn local(&self) -> TlsConfig {
        self.sign("127.0.0.1", |_| {})
    }
}

fn with(tls: &TlsConfig, base: u16) -> TcpConfig {
    TcpConfig { tls: Some(tls.clone()), ..config(base) }
}

/// Lets `client` send to `server`, and returns what is said of it on both sides.
fn refused(client: &TcpConfig, server: &TcpConfig) -> (String, String) {
    let (server, client) = (open(server), open(client));
    let to = data_of(&server);
    client.send(&single(b"secret", &[to]), SendMode::Blocking);
    // With TLS 1.3 a client is through with the handshake before it hears that its certificate is refused.
    until("it is refused", || client.lost(&to).is_some());
    let why = client.lost(&to).unwrap();
    assert_eq!(server.stats().received_datagrams, 0);
    drop(client);
    // An alert reaches the client before the server has noted what it is about.
    let mut said = Vec::new();
    until("the server says why", || {
        said.append(&mut server.warnings());
        !said.is_empty()
    });
    (why, said.join("\n"))
}

#[test]
fn the_suite_passes_over_tls() {
    let authority = Authority::new();
    let one_way = with(&authority.local(), 32_000);
    let pair = |config: &TcpConfig| -> (Arc<dyn Transport>, Arc<dyn Transport>) {
        (transport(&open(config)), transport(&open(config)))
    };
    run(&|| pair(&one_way));
    let mutual = with(&TlsConfig { client_certificates: true, ..authority.local() }, 32_000);
    run(&|| pair(&mutual));
}

#[test]
fn no_plain_text_is_on_the_wire_with_tls() {
    let authority = Authority::new();
    let server = open(&with(&authority.local(), 32_250));
    // It gives what it hears to nobody who does not speak TLS.
    let mut raw = Raw::connect(&server);
    raw.0.write_all(&common::bind(common::nowhere(32_900))).unwrap();
    assert!(raw.is_closed());
    until("it is counted", || server.connections().refused == 1);
    let troubles = server.warnings().join("\n");
    assert!(troubles.contains("does not speak TLS"), "{troubles}");
}

#[test]
fn tls_carries_bulk_data_in_both_directions_at_once() {
    let authority = Authority::new();
    let config = with(&authority.local(), 32_500);
    let (a, b) = (open(&config), open(&config));
    let (at_a, at_b) =
        (Listener::start(&transport(&a), Channel::Data), Listener::start(&transport(&b), Channel::Data));
    send(&a, data_of(&b), b"begin");
    assert_eq!(&*at_b.next().0, b"begin");
    std::thread::scope(|scope| {
        for (from, to) in [(&a, data_of(&b)), (&b, data_of(&a))] {
            scope.spawn(move || {
                for number in 0..300 {
                    // What there is no room for is sent again, as reliable writers do.
                    let message = pattern(number, 40_000);
                    until("it takes it", || {
                        from.send(&single(&message, &[to]), SendMode::Blocking).sent == 1
                    });
                }
            });
        }
        for number in 0..300 {
            assert_eq!(*at_a.next().0, *pattern(number, 40_000));
            assert_eq!(*at_b.next().0, *pattern(number, 40_000));
        }
    });
}

/// A client of the framing over TLS by hand, bound to the server.
fn bound_by_hand(authority: &Authority, server: &TcpTransport) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority.path()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client =
        ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&rustls::version::TLS13]);
    let client = client.unwrap().with_root_certificates(roots).with_no_client_auth();
    let session = ClientConnection::new(Arc::new(client), "127.0.0.1".try_into().unwrap()).unwrap();
    let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.set_read_timeout(Some(common::PATIENCE)).unwrap();
    let mut stream = StreamOwned::new(session, stream);
    stream.write_all(&common::bind(common::nowhere(34_900))).unwrap();
    stream.read_exact(&mut [0; 14]).unwrap();
    stream
}

/// A record of TLS has the end of a long message, which finds no room, and short ones behind it. They are decrypted together, and
/// the socket is empty then.
#[test]
fn messages_decrypted_while_the_inbox_is_full_arrive() {
    const LONG: usize = 65_500;
    const TAIL: usize = 8_000;
    let authority = Authority::new();
    let server = open(&with(&authority.local(), 34_250));
    let mut client = bound_by_hand(&authority, &server);
    let port = data_of(&server).to_tcp().unwrap().1;
    // As many as find room, and one more, which comes in two parts.
    let count = (4_usize << 20).div_ceil(LONG + 128);
    for number in 0..count {
        client.write_all(&unit(port, &pattern(number as u64, LONG))).unwrap();
    }
    let last = unit(port, &pattern(count as u64, LONG));
    let (first, mut record) = (&last[..last.len() - TAIL], last[last.len() - TAIL..].to_vec());
    client.write_all(first).unwrap();
    (0..8).for_each(|number| record.extend(unit(port, &pattern(number, 1_000))));
    assert!(record.len() <= 1 << 14, "a record");
    client.write_all(&record).unwrap();
    until("there is no room", || server.stats().received_datagrams > count as u64);
    let listener = Listener::start(&transport(&server), Channel::Data);
    (0..=count).for_each(|number| assert_eq!(*listener.next().0, *pattern(number as u64, LONG)));
    (0..8).for_each(|number| assert_eq!(*listener.next().0, *pattern(number, 1_000)));
}

#[test]
fn a_certificate_of_another_authority_is_refused() {
    let (own, other) = (Authority::new(), Authority::new());
    let (client, server) = refused(&with(&own.local(), 32_750), &with(&other.local(), 32_750));
    assert!(client.contains("no authority in `tls.authorities`"), "{client}");
    assert!(server.contains("does not accept the certificate of this end"), "{server}");
}

#[test]
fn a_certificate_of_another_host_is_refused_unless_its_name_is_expected() {
    let authority = Authority::new();
    let server = authority.sign("dunlin.example", |_| {});
    let (client, _) = refused(&with(&authority.local(), 33_000), &with(&server, 33_000));
    assert!(client.contains("set `tls.server_name`"), "{client}");
    let named = TlsConfig { server_name: Some("dunlin.example".into()), ..authority.local() };
    let (server, client) = (open(&with(&server, 33_000)), open(&with(&named, 33_000)));
    let listener = Listener::start(&transport(&server), Channel::Data);
    send(&client, data_of(&server), b"hello");
    assert_eq!(&*listener.next().0, b"hello");
}

#[test]
fn a_certificate_that_has_expired_is_refused() {
    let authority = Authority::new();
    let old = authority.sign("127.0.0.1", |params| {
        params.not_before = rcgen::date_time_ymd(2001, 1, 1);
        params.not_after = rcgen::date_time_ymd(2002, 1, 1);
    });
    let (client, _) = refused(&with(&authority.local(), 33_250), &with(&old, 33_250));
    assert!(client.contains("no longer valid"), "{client}");
}

#[test]
fn clients_must_be_known_where_that_is_asked_for() {
    let (own, other) = (Authority::new(), Authority::new());
    let strict = TlsConfig { client_certificates: true, ..own.local() };
    // The client trusts the server, but has a certificate of somebody else.
    let stranger = TlsConfig { authorities: Some(own.path()), ..other.local() };
    let (client, server) = refused(&with(&stranger, 33_500), &with(&strict, 33_500));
    assert!(client.contains("does not accept the certificate of this end"), "{client}");
    assert!(server.contains("no authority in `tls.authorities`"), "{server}");
}

#[test]
fn tls_on_one_side_alone_is_named() {
    let authority = Authority::new();
    let (client, server) = refused(&config(33_750), &with(&authority.local(), 33_750));
    assert!(client.contains("TLS"), "{client}");
    assert!(server.contains("does not speak TLS"), "{server}");
    let (client, server) = refused(&with(&authority.local(), 33_750), &config(33_750));
    assert!(server.contains("it speaks TLS, and TLS is off here"), "{server}");
    assert!(client.contains("closed") || client.contains("reset"), "{client}");
}

#[test]
fn files_that_cannot_be_used_are_named_with_their_key() {
    let authority = Authority::new();
    let good = authority.local();
    let refuse = |tls: TlsConfig, said: &[&str]| {
        let error = TcpTransport::open(with(&tls, 34_000)).err().expect("refused").to_string();
        assert!(said.iter().all(|said| error.contains(said)), "{said:?} in {error}");
    };
    let missing = || Some(Path::new("/nonexistent/x.pem").to_owned());
    refuse(TlsConfig { certificate: None, ..good.clone() }, &["`tls.certificate` is not set"]);
    refuse(TlsConfig { key: None, ..good.clone() }, &["`tls.key` is not set"]);
    refuse(TlsConfig { authorities: None, ..good.clone() }, &["`tls.authorities` is not set"]);
    refuse(
        TlsConfig { certificate: missing(), ..good.clone() },
        &["`tls.certificate`", "/nonexistent/x.pem"],
    );
    refuse(TlsConfig { key: missing(), ..good.clone() }, &["`tls.key`", "/nonexistent/x.pem"]);
    refuse(TlsConfig { certificate: good.key.clone(), ..good.clone() }, &["BEGIN CERTIFICATE"]);
    refuse(TlsConfig { key: good.certificate.clone(), ..good.clone() }, &["no private key in PEM format"]);
    let other = authority.sign("other", |_| {});
    refuse(TlsConfig { key: other.key, ..good.clone() }, &["do not belong together"]);
    refuse(TlsConfig { server_name: Some("no name".into()), ..good }, &["`tls.server_name`", "no name"]);
}
