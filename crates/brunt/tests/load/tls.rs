//! `brunt load https://` end to end, against another TLS implementation: Python's ssl, on OpenSSL.

use crate::shared::target::{PATIENCE, json, load, number};
use brunt_testkit::{Running, assert_code, text};
use brunt_tls::encode_pem;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, date_time_ymd};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Serves a body of ten bytes with keep-alive, in the given TLS versions.
const SERVER: &str = r#"
import http.server, ssl, sys, threading
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Length', '10')
        self.end_headers()
        self.wfile.write(b'0123456789')
    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words):
        pass
class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    def finish_request(self, request, client):
        # The handshake belongs to the connection's own thread.
        request = context.wrap_socket(request, server_side=True)
        super().finish_request(request, client)
        try:
            request.unwrap()
        except OSError:
            pass
    def handle_error(self, request, client):
        pass
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
if sys.argv[3] == '1.2':
    context.maximum_version = ssl.TLSVersion.TLSv1_2
server = Server(('127.0.0.1', 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"#;

/// Killed at the end of the test.
struct Python {
    _running: Running,
    port: u16,
}

impl Python {
    /// A server with this certificate and these versions; `None`, with a message, without Python.
    fn start(certificate: &Path, key: &Path, version: &str) -> Option<Self> {
        if Command::new("python3").arg("--version").output().is_err() {
            println!("skipped: there is no python3 here");
            return None;
        }
        let mut command = Command::new("python3");
        command.args(["-c", SERVER]).args([certificate, key]).arg(version);
        let mut running = Running::start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()));
        let line = running.line().unwrap_or_default();
        let port = line.trim().parse().unwrap_or_else(|_| panic!("python3 said {line:?}"));
        Some(Self { _running: running, port })
    }
}

/// A self-signed certificate for localhost and its key, in files.
fn identity(expired: bool) -> (brunt_testkit::Home, std::path::PathBuf, std::path::PathBuf) {
    let home = brunt_testkit::home();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    if expired {
        params.not_after = date_time_ymd(2020, 1, 1);
    }
    let key = KeyPair::generate().unwrap();
    let (certificate, key_file) = (home.path().join("a.pem"), home.path().join("a.key"));
    std::fs::write(&certificate, encode_pem("CERTIFICATE", params.self_signed(&key).unwrap().der())).unwrap();
    std::fs::write(&key_file, encode_pem("PRIVATE KEY", &key.serialize_der())).unwrap();
    (home, certificate, key_file)
}

#[test]
fn a_server_on_openssl_is_loaded_in_both_versions() {
    let (home, certificate, key) = identity(false);
    for version in ["1.2", "1.3"] {
        let Some(python) = Python::start(&certificate, &key, version) else { return };
        let url = format!("https://localhost:{}/", python.port);
        let usual = format!(
            "-T 30s --warmup 0s --json - --quiet --allow-untrusted --no-meter --cacert {}",
            certificate.display()
        );
        let run = |more: &str| {
            let output = load(&url, &format!("{usual} {more}")).output().unwrap();
            assert_code(&output, &[0]);
            let result = json(&output);
            let (done, failed) = (number(&result, "requests.completed"), number(&result, "requests.failed"));
            assert_eq!(failed, 0.0, "{version} {more}: {result:#}");
            (done, result)
        };
        let (done, result) = run("-n 60 -c 3 --no-resumption");
        // All requests may be done by the connections that are ready first.
        assert!(done == 60.0 && (1.0..=3.0).contains(&number(&result, "handshakes.full")), "{result:#}");
        let protocols = result["handshakes"]["protocols"].to_string();
        assert!(protocols.contains(&format!("TLS {version} ")), "{protocols}");
        let (_, result) = run("-n 40 -c 1 --no-keepalive");
        assert!(number(&result, "handshakes.resumed") >= 35.0, "{version}: {result:#}");
        let (_, result) = run("-n 20 -c 1 --no-keepalive --no-resumption");
        assert_eq!(number(&result, "handshakes.resumed"), 0.0);
        let body = home.path().join("body");
        std::fs::write(&body, vec![b'b'; 300_000]).unwrap();
        let (done, _) = run(&format!("-n 10 -c 2 --expect-length 300000B --body @{}", body.display()));
        assert_eq!(done, 10.0);
    }
}

/// As of `openssl req -x509 -subj /CN=localhost`.
#[test]
fn a_certificate_that_signs_itself_is_accepted_where_it_is_named_alone() {
    let home = brunt_testkit::home();
    let make = |name: &str| {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "localhost");
        let key = KeyPair::generate().unwrap();
        let file = |end: &str| home.path().join(format!("{name}.{end}"));
        std::fs::write(file("pem"), encode_pem("CERTIFICATE", params.self_signed(&key).unwrap().der())).unwrap();
        std::fs::write(file("key"), encode_pem("PRIVATE KEY", &key.serialize_der())).unwrap();
        (file("pem"), file("key"))
    };
    let ((certificate, key), (other, _)) = (make("own"), make("other"));
    let Some(python) = Python::start(&certificate, &key, "1.3") else { return };
    let url = format!("https://localhost:{}/", python.port);
    let once = |file: &Path| load(&url, &format!("--once -T 30s --cacert {}", file.display())).output().unwrap();
    assert_code(&once(&certificate), &[0]);
    let refused = once(&other);
    assert_code(&refused, &[1]);
    let said = text(&refused);
    assert!(said.contains("signs itself") && said.contains("--cacert FILE") && !said.contains("OtherError"), "{said}");
}

#[test]
fn the_page_has_a_row_of_handshakes_and_a_refusal_is_one_line() {
    let (_home, certificate, key) = identity(true);
    let Some(python) = Python::start(&certificate, &key, "1.3") else { return };
    let url = format!("https://localhost:{}/", python.port);
    let output = load(&url, "-k -n 30 -c 2 --warmup 0s --no-meter --allow-untrusted").output().unwrap();
    assert_code(&output, &[0]);
    let page = text(&output);
    assert!(page.contains("handshakes  2 full, 0 resumed, 0 failed; mean ") && page.contains("TLS 1.3 "), "{page}");
    let begun = Instant::now();
    for (flags, needle) in [
        (format!("--cacert {}", certificate.display()), "its certificate expired "),
        ("--tls-version 1.2 --cert none --key none".to_owned(), "'none' cannot be used for TLS"),
    ] {
        let output = load(&url, &format!("{flags} -n 1 -c 1 --no-meter --quiet")).output().unwrap();
        assert_code(&output, &[1]);
        let line = String::from_utf8_lossy(&output.stderr);
        assert!(line.contains(needle) && line.lines().count() == 1, "{line}");
    }
    assert!(begun.elapsed() < PATIENCE);
}

#[test]
fn a_result_in_the_clear_has_no_handshakes() {
    let target = crate::shared::target::Target::start_web();
    let output = load(&target.http("/"), "-n 5 -c 1 --warmup 0s --json - --quiet --allow-untrusted").output().unwrap();
    assert_eq!(json(&output)["handshakes"], Value::Null);
}
