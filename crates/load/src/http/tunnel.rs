//! Tunnels through an HTTP proxy (RFC 9110, 9.3.6): what is sent to the proxy before a connection is one to a host.

use std::{fmt, sync::Arc};

/// A tunnel to one host. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Tunnel {
    authority: Arc<str>,
    request: Arc<[u8]>,
}

impl Tunnel {
    /// To a host name or address without brackets; `authorization` is the value of `Proxy-Authorization`, if the proxy needs one.
    pub fn to(host: &str, port: u16, authorization: Option<&str>) -> Self {
        let authority = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let field = authorization.map_or(String::new(), |value| format!("Proxy-Authorization: {value}\r\n"));
        let request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{field}\r\n");
        Self { authority: authority.into(), request: request.into_bytes().into() }
    }

    /// `HOST:PORT` that the proxy connects to.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    pub(crate) fn request(&self) -> &[u8] {
        &self.request
    }
}

/// Without the credentials.
impl fmt::Debug for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tunnel").field(&self.authority).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_names_the_host_and_credentials_are_not_shown() {
        let tunnel = Tunnel::to("::1", 443, Some("Basic YTpi"));
        let expected = "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\nProxy-Authorization: Basic YTpi\r\n\r\n";
        assert_eq!(tunnel.request(), expected.as_bytes());
        assert_eq!(format!("{tunnel:?}"), "Tunnel(\"[::1]:443\")");
        assert_eq!(Tunnel::to("a.b", 80, None).request(), b"CONNECT a.b:80 HTTP/1.1\r\nHost: a.b:80\r\n\r\n");
    }
}
