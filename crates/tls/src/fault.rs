//! Why there is no TLS with a peer: what it is about, for those who know a remedy, and in words that follow the peer's name.

use rustls::{AlertDescription, CertificateError, Error};
use std::{fmt, io};

/// See the head of this file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What it is about.
    pub cause: Cause,
    what: String,
}

/// What a fault is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The peer's certificate is out of its time.
    Expired,
    /// The peer's certificate is for others.
    Name,
    /// The peer's certificate is signed by nobody who is trusted, or is none.
    Untrusted,
    /// The peer does not like our certificate, or that we have none.
    Identity,
    /// The peer speaks no TLS.
    NoTls,
    /// There is no version, cipher suite or protocol in common.
    NothingInCommon,
    /// The end came without a word that it is the end.
    Cut,
    /// Anything else.
    Other,
}

impl Fault {
    /// The connection has ended in the middle of the handshake.
    pub fn hung_up() -> Self {
        Self::new(Cause::NoTls, "it closed the connection within the TLS handshake")
    }

    /// The connection has ended, and the peer has not said so: anybody on the way may have cut it.
    pub fn cut() -> Self {
        Self::new(Cause::Cut, "it closed the connection without saying so in TLS (close_notify)")
    }

    /// The fault in an error of a [`crate::Stream`], if it is one of TLS.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref().and_then(|inner| inner.downcast_ref())
    }

    pub(crate) fn over() -> Self {
        Self::new(Cause::Other, "nothing can be sent any more")
    }

    pub(crate) fn other(error: &dyn fmt::Display) -> Self {
        Self::new(Cause::Other, error.to_string())
    }

    fn new(cause: Cause, what: impl Into<String>) -> Self {
        Self { cause, what: what.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Fault {}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> Self {
        Self::new(io::ErrorKind::InvalidData, fault)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match &error {
            Error::InvalidCertificate(why) => certificate(why),
            Error::AlertReceived(alert) => alerted(*alert),
            Error::InvalidMessage(_) | Error::PeerSentOversizedRecord => {
                Self::new(Cause::NoTls, format!("what it sends is no TLS ({error})"))
            }
            Error::PeerIncompatible(why) => Self::new(
                Cause::NothingInCommon,
                format!("it has nothing in common with TLS 1.2 and 1.3 here ({why:?})"),
            ),
            Error::NoApplicationProtocol => Self::new(Cause::NothingInCommon, "it does not speak HTTP/1.1 (ALPN)"),
            Error::NoCertificatesPresented => Self::new(Cause::Identity, "it has no certificate"),
            error => Self::new(Cause::Other, format!("it breaks the rules of TLS ({error})")),
        }
    }
}

fn certificate(why: &CertificateError) -> Fault {
    match why {
        CertificateError::Expired => Fault::new(Cause::Expired, "its certificate has expired"),
        CertificateError::ExpiredContext { time, not_after } => {
            let ago = span(time.as_secs().saturating_sub(not_after.as_secs()));
            Fault::new(Cause::Expired, format!("its certificate expired {ago} ago"))
        }
        CertificateError::NotValidYet => Fault::new(Cause::Expired, "its certificate is not valid yet"),
        CertificateError::NotValidYetContext { time, not_before } => {
            let left = span(not_before.as_secs().saturating_sub(time.as_secs()));
            Fault::new(Cause::Expired, format!("its certificate is not valid for another {left}"))
        }
        CertificateError::NotValidForName => Fault::new(Cause::Name, "its certificate is for other names"),
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names: Vec<&str> = presented.iter().map(|name| bare(name)).collect();
            let names = if names.is_empty() { "no name at all".to_owned() } else { names.join(", ") };
            Fault::new(Cause::Name, format!("its certificate is for {names} and not for {}", expected.to_str()))
        }
        CertificateError::UnknownIssuer => {
            Fault::new(Cause::Untrusted, "its certificate is signed by nobody who is trusted here")
        }
        other => Fault::new(Cause::Untrusted, format!("its certificate is not good ({other})")),
    }
}

fn alerted(alert: AlertDescription) -> Fault {
    use AlertDescription as A;
    match alert {
        A::CertificateRequired => Fault::new(Cause::Identity, "it wants a certificate of its clients"),
        A::BadCertificate
        | A::UnsupportedCertificate
        | A::CertificateRevoked
        | A::CertificateExpired
        | A::CertificateUnknown
        | A::UnknownCA
        | A::AccessDenied
        | A::NoCertificate => Fault::new(Cause::Identity, format!("it refuses the client's certificate ({alert:?})")),
        A::HandshakeFailure | A::ProtocolVersion | A::InsufficientSecurity | A::NoApplicationProtocol => Fault::new(
            Cause::NothingInCommon,
            format!("it finds nothing in common with TLS 1.2 and 1.3 and HTTP/1.1 here ({alert:?})"),
        ),
        A::UnrecognisedName => Fault::new(Cause::Name, "it knows no host of that name (UnrecognisedName)"),
        other => Fault::new(Cause::Other, format!("it ended TLS with the alert {other:?}")),
    }
}

/// `localhost` of `DnsName("localhost")`.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').map_or(name, |(_, rest)| rest.trim_end_matches(')'));
    inner.trim_matches('"')
}

/// A time for people, in its largest unit.
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
    fn names_and_times_are_told_as_people_write_them() {
        assert_eq!((bare("DnsName(\"localhost\")"), bare("IpAddress(::1)"), bare("a.b")), ("localhost", "::1", "a.b"));
        assert_eq!((span(1), span(119)), ("1 second".into(), "119 seconds".into()));
        assert_eq!((span(7199), span(3 * 86_400)), ("119 minutes".into(), "3 days".into()));
    }
}
