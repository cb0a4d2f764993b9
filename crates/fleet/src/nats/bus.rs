//! The connection to the NATS server of a fleet.
//!
//! Invariant: while the connection is down nothing is sent, and nothing is kept to be sent later.

use super::FleetError;
use super::access::Access;
use async_nats::connection::State;
use async_nats::{Client, ClientError, ConnectErrorKind, ConnectOptions, Event, Subscriber};
use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Earlier versions are refused: their known faults are mended in later ones alone.
pub const OLDEST_SERVER: &str = "2.12";

/// A dead connection is noticed within two of these.
const PING: Duration = Duration::from_secs(2);
const CONNECT: Duration = Duration::from_secs(5);
/// The longest time to the next try to connect again.
const AGAIN: Duration = Duration::from_millis(250);
/// Messages that wait to be taken: parts of seconds of many agents.
const WAITING: usize = 1 << 16;

/// A connection.
#[derive(Clone)]
pub(super) struct Bus {
    client: Client,
    refused: Arc<Notify>,
}

impl Bus {
    /// Connects, as a client of this name.
    pub async fn connect(access: &Access, name: &str) -> Result<Self, FleetError> {
        let url = access.url.clone();
        let failed = |why: String| FleetError::Connect { url: url.clone(), why };
        let refused = Arc::new(Notify::new());
        let told = Arc::clone(&refused);
        let on_event = move |event| {
            if is_refusal(&event) {
                told.notify_one();
            }
            std::future::ready(())
        };
        let mut options = ConnectOptions::with_nkey(access.key.seed())
            .name(name)
            .ping_interval(PING)
            .connection_timeout(CONNECT)
            .subscription_capacity(WAITING)
            .ignore_discovered_servers()
            .max_reconnects(None)
            .event_callback(on_event)
            .reconnect_delay_callback(|_| AGAIN);
        if let Some(certificate) = &access.certificate {
            options = options.require_tls(true).tls_client_config(trusting(certificate).map_err(failed)?);
        }
        let client = options.connect(&access.url).await.map_err(|error| match error.kind() {
            ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
                FleetError::Key { url: url.clone() }
            }
            _ => failed(error.to_string()),
        })?;
        let version = client.server_info().version;
        match is_recent(&version) {
            true => Ok(Self { client, refused }),
            false => Err(FleetError::Old { url, version }),
        }
    }

    /// Version of the NATS server.
    pub fn server(&self) -> String {
        self.client.server_info().version
    }

    /// Whether the connection is up.
    pub fn is_up(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// Returns once the server has refused the key of a connection that was up before: it was revoked.
    pub async fn refused(&self) {
        self.refused.notified().await;
    }

    /// Sends a message, if the connection is up.
    pub async fn send(&self, subject: String, text: String) {
        if self.is_up() {
            // An error is that of a connection that goes down now.
            let _ = tokio::time::timeout(PING, self.client.publish(subject, text.into())).await;
        }
    }

    /// Messages of this subject, from now on.
    pub async fn listen(&self, subject: String) -> Result<Subscriber, FleetError> {
        let ended = |error: &dyn std::fmt::Display| FleetError::Ended(error.to_string());
        let subscriber = self.client.subscribe(subject).await.map_err(|error| ended(&error))?;
        Ok(subscriber)
    }

    /// Returns once the server has all that was sent until now.
    pub async fn flush(&self) {
        let _ = tokio::time::timeout(PING, self.client.flush()).await;
    }
}

/// Whether the server has refused the key, of which the client tells in words alone when it connects again.
fn is_refusal(event: &Event) -> bool {
    let kinds =
        [ConnectErrorKind::AuthorizationViolation, ConnectErrorKind::Authentication].map(|kind| kind.to_string());
    matches!(event, Event::ClientError(ClientError::Other(why)) if kinds.contains(why))
}

/// Does something with a connection of an operator, and blocks until it is done.
pub(super) fn connected<T>(
    access: &Access,
    work: impl AsyncFnOnce(&Bus) -> Result<T, FleetError>,
) -> Result<T, FleetError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { work(&Bus::connect(access, "brunt").await?).await })
}

/// The text of a message; what is no text is no message.
pub(super) fn text(message: &async_nats::Message) -> &str {
    std::str::from_utf8(&message.payload).unwrap_or_default()
}

/// Whether a version of the NATS server is [`OLDEST_SERVER`] or later.
pub fn is_recent(version: &str) -> bool {
    let number = |part: &str| part.split('-').next().unwrap_or_default().parse::<u32>().ok();
    let numbers = |text: &str| text.split('.').map_while(number).take(2).collect::<Vec<_>>();
    numbers(version) >= numbers(OLDEST_SERVER)
}

/// TLS with a server of exactly this certificate, or one that it has signed.
fn trusting(certificate: &str) -> Result<ClientConfig, String> {
    let unusable = |why: &dyn std::fmt::Display| format!("\"certificate\" is none ({why})");
    let mut roots = RootCertStore::empty();
    for one in CertificateDer::pem_slice_iter(certificate.as_bytes()) {
        roots.add(one.map_err(|why| unusable(&why))?).map_err(|why| unusable(&why))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(builder.map_err(|why| unusable(&why))?.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_refused_is_known_by_its_words() {
        let told = |why: &str| Event::ClientError(ClientError::Other(why.to_owned()));
        assert!(is_refusal(&told("authorization violation")) && is_refusal(&told("failed signing nonce")));
        assert!(!is_refusal(&told("IO error")) && !is_refusal(&Event::Disconnected));
    }

    #[test]
    fn old_servers_are_known_by_their_version() {
        assert!(["2.12.0", "2.12.1-dev", "2.15.2", "3.0.0", "2.100.0"].iter().all(|version| is_recent(version)));
        assert!(["2.9.10", "2.11.14", "1.4.1", "", "x", "2"].iter().all(|version| !is_recent(version)));
    }
}
