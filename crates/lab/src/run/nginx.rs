//! nginx as a target: its configuration for one trial, tuned for a fast constant answer: no logs, one worker a core,
//! persistent connections; everything else is nginx's default.

use brunt_tls::Identity;
use std::net::SocketAddr;
use std::{fmt, fs, io, path::Path};

pub const PROGRAM: &str = "nginx";

/// Certificate and key for TLS, in the trial's directory.
const IDENTITY: [&str; 2] = ["nginx.cert.pem", "nginx.key.pem"];

pub const FILE: &str = "nginx.conf";

/// A connection that no trial ends.
const NO_LIMIT: u64 = 1_000_000_000;

pub fn args(dir: &str) -> Vec<String> {
    // -e: until nginx has read its configuration, it writes to a log at a compiled-in path.
    ["-p", dir, "-c", FILE, "-e", "stderr"].map(str::to_owned).to_vec()
}

pub fn write_identity(dir: &Path) -> io::Result<()> {
    let identity =
        Identity::self_signed(&["localhost".to_owned(), "127.0.0.1".to_owned()]).map_err(io::Error::other)?;
    let [certificate, key] = IDENTITY.map(|file| dir.join(file));
    fs::write(certificate, identity.certificates_pem())?;
    fs::write(key, identity.key_pem())
}

/// What differs between trials; written in nginx's syntax.
#[derive(Debug, Clone, Copy)]
pub struct Config<'a> {
    pub address: SocketAddr,
    pub workers: usize,
    /// Connections of the load.
    pub connections: u64,
    /// Requests after which a connection is closed; `None` is no limit.
    pub keepalive_requests: Option<u64>,
    pub body: &'a str,
    /// Expects the files of [`write_identity`].
    pub tls: bool,
}

impl fmt::Display for Config<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [certificate, key] = IDENTITY;
        let Self { address, workers, .. } = self;
        let (ssl, identity) = match self.tls {
            true => (" ssl", format!("        ssl_certificate {certificate};\n        ssl_certificate_key {key};\n")),
            false => ("", String::new()),
        };
        // One worker may get all connections; the rest is for listeners and nginx's own files.
        let connections = self.connections.saturating_mul(2).saturating_add(512);
        let requests = self.keepalive_requests.unwrap_or(NO_LIMIT);
        let body = self.body.replace('\\', "\\\\").replace('"', "\\\"");
        // Folders for bodies on disk: nginx creates them at startup, and the default ones belong to root.
        let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let folders: String = folders.iter().map(|name| format!("    {name}_temp_path tmp_{name};\n")).collect();
        write!(
            f,
            "daemon off;
worker_processes {workers};
pid nginx.pid;
error_log stderr error;
events {{
    worker_connections {connections};
}}
http {{
    access_log off;
    keepalive_requests {requests};
    keepalive_timeout 1h;
{folders}    server {{
        listen {address}{ssl};
{identity}        location / {{
            default_type text/plain;
            return 200 \"{body}\";
        }}
    }}
}}
"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_is_quoted_and_workers_have_enough_connections() {
        let plain = Config {
            address: ([127, 0, 0, 1], 8080).into(),
            workers: 2,
            connections: 1000,
            keepalive_requests: None,
            body: "say \"hi\" \\ {}\n",
            tls: false,
        };
        let tls = Config { tls: true, keepalive_requests: Some(100), ..plain }.to_string();
        for line in ["listen 127.0.0.1:8080 ssl;", "ssl_certificate_key nginx.key.pem;", "keepalive_requests 100;"] {
            assert!(tls.contains(line), "{line} is not in {tls}");
        }
        let config = plain.to_string();
        assert!(config.contains("return 200 \"say \\\"hi\\\" \\\\ {}\n\";"), "{config}");
        for line in [
            "worker_processes 2;",
            "worker_connections 2512;",
            "listen 127.0.0.1:8080;",
            "access_log off;",
            "requests 1000000000;",
        ] {
            assert!(config.contains(line), "{line} is not in {config}");
        }
        assert_eq!(config.matches('{').count(), config.matches('}').count());
    }
}
