//! TLS by configuration alone.

use std::path::Path;
use std::sync::Mutex;

use dunlin::DomainParticipant;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::{config, exchanges, refusal};
use crate::usual::{domain, eventually};

/// Writes an authority, and a certificate for loopback with its key; the keys of the configuration that name them.
fn files(folder: &Path, name: &str) -> Vec<(&'static str, String)> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec!["127.0.0.1".into()]).unwrap().signed_by(&key, &authority).unwrap();
    let written = [
        ("tls.authorities", authority.pem()),
        ("tls.certificate", certificate.pem()),
        ("tls.key", key.serialize_pem()),
    ];
    let named = written.into_iter().map(|(key, text)| {
        let path = folder.join(format!("{name}-{key}.pem"));
        std::fs::write(&path, text).unwrap();
        (key, path.to_str().unwrap().to_owned())
    });
    let on = [("tls.enabled", "true".to_owned()), ("tls.client_certificates", "true".to_owned())];
    named.chain(on).collect()
}

fn join(domain: u32, keys: &[(&'static str, String)]) -> DomainParticipant {
    let changes: Vec<(&str, &str)> = keys.iter().map(|(key, value)| (*key, &**value)).collect();
    DomainParticipant::builder(domain).config(config(&changes)).build().unwrap()
}

#[test]
fn participants_of_one_authority_exchange_samples() {
    let (folder, domain) = (tempfile::tempdir().unwrap(), domain());
    let keys = files(folder.path(), "ours");
    let (one, other) = (join(domain, &keys), join(domain, &keys));
    exchanges(&one, &other);
    exchanges(&other, &one);
}

/// What is told in the log, of all tests of this program.
static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Collect;

impl tracing::field::Visit for Collect {
    fn record_debug(&mut self, _: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        LOG.lock().unwrap().push(format!("{value:?}"));
    }
}

impl tracing::Subscriber for Collect {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut Self);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn a_peer_without_a_trusted_certificate_is_kept_out_and_the_log_says_why() {
    // Another test may have been faster with a subscriber of its own; then this one shows less.
    let collects = tracing::subscriber::set_global_default(Collect).is_ok();
    assert!(collects, "no other test of this program collects the log");
    let (folder, domain) = (tempfile::tempdir().unwrap(), domain());
    let ours = join(domain, &files(folder.path(), "ours"));
    let stranger = join(domain, &files(folder.path(), "theirs"));
    let told = |said: &str| LOG.lock().unwrap().iter().any(|line| line.contains(said));
    eventually("the log says it", || told("its certificate comes from no authority in `tls.authorities`"));
    // Whoever asks why is told by either end, with what helps.
    for participant in [&ours, &stranger] {
        let causes = || participant.explain_topic("Kept out").causes;
        eventually("`explain` says it", || {
            causes()
                .iter()
                .any(|cause| cause.name() == "CONNECTION" && cause.to_string().contains("certificate"))
        });
        let causes = causes();
        let cause = causes.iter().find(|cause| cause.name() == "CONNECTION").unwrap();
        assert!(cause.hint().contains("tls.authorities"), "{cause}: {}", cause.hint());
    }
    assert_eq!((ours.discovered_participants().len(), stranger.discovered_participants().len()), (0, 0));
}

#[test]
fn files_that_are_not_there_are_named() {
    let mut config = config(&[("tls.enabled", "true")]);
    for key in ["tls.certificate", "tls.key", "tls.authorities"] {
        config.set(key, "/nonexistent/file.pem").unwrap();
    }
    let text = refusal(config);
    assert!(text.contains("TCP: `tls.certificate`: /nonexistent/file.pem: "), "{text}");
}
