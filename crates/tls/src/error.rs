use crate::listed::is_of_authority;
use rustls::{AlertDescription, CertificateError, Error};
use std::{fmt, io};

/// Why there is no TLS with a peer. Displayed as a clause that follows the peer's name: "it has no certificate".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct TlsError {
    pub cause: Cause,
    text: String,
}

/// The cause of a [`TlsError`], for callers that know a remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The peer's certificate has expired, or is not valid yet.
    Expired,
    /// The peer's certificate is for other names.
    Name,
    /// The peer's certificate is invalid, or has no trusted issuer.
    Untrusted,
    /// The peer rejects our certificate, or requires one.
    Identity,
    /// The peer does not speak TLS.
    NoTls,
    /// No version, cipher suite or protocol in common.
    NothingInCommon,
    /// The connection ended without `close_notify`.
    UnexpectedEof,
    Other,
}

impl TlsError {
    pub fn closed_in_handshake() -> Self {
        Self::new(Cause::NoTls, "it closed the connection within the TLS handshake")
    }

    pub fn unexpected_eof() -> Self {
        Self::new(Cause::UnexpectedEof, "it closed the connection without a TLS close_notify")
    }

    /// The TLS error in an error of a [`crate::Stream`], if it is one.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref().and_then(|inner| inner.downcast_ref())
    }

    pub(crate) fn write_closed() -> Self {
        Self::new(Cause::Other, "the connection is closed for writing")
    }

    pub(crate) fn other(error: &dyn fmt::Display) -> Self {
        Self::new(Cause::Other, error.to_string())
    }

    fn new(cause: Cause, text: impl Into<String>) -> Self {
        Self { cause, text: text.into() }
    }
}

impl From<TlsError> for io::Error {
    fn from(error: TlsError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

impl From<Error> for TlsError {
    fn from(error: Error) -> Self {
        match &error {
            Error::InvalidCertificate(error) => certificate(error),
            Error::AlertReceived(alert) => from_alert(*alert),
            Error::InvalidMessage(_) | Error::PeerSentOversizedRecord => {
                Self::new(Cause::NoTls, format!("it does not speak TLS ({error})"))
            }
            Error::PeerIncompatible(reason) => {
                let text = format!("it has nothing in common with TLS 1.2 and 1.3 here ({reason:?})");
                Self::new(Cause::NothingInCommon, text)
            }
            Error::NoApplicationProtocol => Self::new(Cause::NothingInCommon, "it does not speak HTTP/1.1 (ALPN)"),
            Error::NoCertificatesPresented => Self::new(Cause::Identity, "it has no certificate"),
            error => Self::new(Cause::Other, format!("it violates the TLS protocol ({error})")),
        }
    }
}

fn certificate(error: &CertificateError) -> TlsError {
    match error {
        CertificateError::Expired => TlsError::new(Cause::Expired, "its certificate has expired"),
        CertificateError::ExpiredContext { time, not_after } => {
            let ago = span(time.as_secs().saturating_sub(not_after.as_secs()));
            TlsError::new(Cause::Expired, format!("its certificate expired {ago} ago"))
        }
        CertificateError::NotValidYet => TlsError::new(Cause::Expired, "its certificate is not valid yet"),
        CertificateError::NotValidYetContext { time, not_before } => {
            let left = span(not_before.as_secs().saturating_sub(time.as_secs()));
            TlsError::new(Cause::Expired, format!("its certificate is not valid for another {left}"))
        }
        CertificateError::NotValidForName => TlsError::new(Cause::Name, "its certificate is for other names"),
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names: Vec<&str> = presented.iter().map(|name| bare(name)).collect();
            let names = if names.is_empty() { "no name".to_owned() } else { names.join(", ") };
            TlsError::new(Cause::Name, format!("its certificate is for {names} and not for {}", expected.to_str()))
        }
        CertificateError::UnknownIssuer => TlsError::new(Cause::Untrusted, "its certificate has no trusted issuer"),
        other if is_of_authority(other) => {
            let text = "its certificate signs itself, as that of an authority, and is not among the trusted ones";
            TlsError::new(Cause::Untrusted, text)
        }
        other => TlsError::new(Cause::Untrusted, format!("its certificate is invalid ({other})")),
    }
}

fn from_alert(alert: AlertDescription) -> TlsError {
    use AlertDescription as A;
    match alert {
        A::CertificateRequired => TlsError::new(Cause::Identity, "it requires a client certificate"),
        A::BadCertificate
        | A::UnsupportedCertificate
        | A::CertificateRevoked
        | A::CertificateExpired
        | A::CertificateUnknown
        | A::UnknownCA
        | A::AccessDenied
        | A::NoCertificate => {
            TlsError::new(Cause::Identity, format!("it rejects the client's certificate ({alert:?})"))
        }
        A::HandshakeFailure | A::ProtocolVersion | A::InsufficientSecurity | A::NoApplicationProtocol => {
            let text = format!("it finds nothing in common with TLS 1.2 and 1.3 and HTTP/1.1 here ({alert:?})");
            TlsError::new(Cause::NothingInCommon, text)
        }
        A::UnrecognisedName => TlsError::new(Cause::Name, "it knows no host of that name (UnrecognisedName)"),
        other => TlsError::new(Cause::Other, format!("it ended TLS with the alert {other:?}")),
    }
}

/// `localhost` of `DnsName("localhost")`.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').map_or(name, |(_, rest)| rest.trim_end_matches(')'));
    inner.trim_matches('"')
}

/// A duration in its largest unit.
fn span(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7200 => (seconds / 60, "minute"),
        7200..172_800 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_durations_are_readable() {
        assert_eq!((bare("DnsName(\"localhost\")"), bare("IpAddress(::1)"), bare("a.b")), ("localhost", "::1", "a.b"));
        assert_eq!((span(1), span(119)), ("1 second".into(), "119 seconds".into()));
        assert_eq!((span(7199), span(3 * 86_400)), ("119 minutes".into(), "3 days".into()));
    }
}
