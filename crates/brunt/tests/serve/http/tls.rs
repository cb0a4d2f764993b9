//! HTTPS: brunt's own client, curl, openssl and Python's ssl against each model.

use crate::http::on_every_model;
use crate::shared::client::*;
use crate::shared::server::{PATIENCE, Server};
use brunt_testkit::{Running, Signal, until};
use brunt_tls::encode_pem;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Output, Stdio};

on_every_model! {
    a_self_signed_certificate_works_with_brunt_load
    curl_openssl_and_python_are_served
    sighup_reloads_the_files
    clients_must_have_a_certificate
    incomplete_handshakes_are_closed
    bytes_that_are_not_tls_are_refused_and_counted
    faults_act_below_tls
    bodies_of_any_size_pass_both_ways
}

/// A certificate authority and its certificates, in files.
struct Authority {
    dir: brunt_testkit::Home,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.distinguished_name.push(DnType::CommonName, "an authority");
        let key = KeyPair::generate().unwrap();
        let dir = brunt_testkit::home();
        std::fs::write(dir.path().join("ca.pem"), encode_pem("CERTIFICATE", params.self_signed(&key).unwrap().der()))
            .unwrap();
        Self { dir, issuer: Issuer::new(params, key) }
    }

    fn file(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    /// Writes `NAME.pem` and `NAME.key`, for localhost and 127.0.0.1.
    fn sign(&self, name: &str) {
        let mut params = CertificateParams::new(["localhost", "127.0.0.1", name].map(str::to_owned)).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        std::fs::write(
            self.file(&format!("{name}.pem")),
            encode_pem("CERTIFICATE", params.signed_by(&key, &self.issuer).unwrap().der()),
        )
        .unwrap();
        std::fs::write(self.file(&format!("{name}.key")), encode_pem("PRIVATE KEY", &key.serialize_der())).unwrap();
    }

    fn flags(&self, name: &str) -> String {
        format!("--tls-cert {} --tls-key {}", self.file(&format!("{name}.pem")), self.file(&format!("{name}.key")))
    }
}

/// `brunt load https://localhost... FLAGS` with a few requests and no metering.
fn load(server: &Server, path: &str, flags: &str) -> Output {
    let url = format!("https://127.0.0.1:{}{path}", server.address().port());
    let usual = "--warmup 0s --json - --quiet --allow-untrusted --no-meter";
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.args(["load", &url]).args(usual.split(' ')).args(flags.split_whitespace());
    command.stdin(Stdio::null()).output().unwrap()
}

/// The number under this key of the result; a text under the same key elsewhere is skipped.
#[track_caller]
fn number(output: &Output, key: &str) -> u64 {
    let text = String::from_utf8_lossy(&output.stdout);
    let key = format!("\"{key}\": ");
    let values = text.split(&key).skip(1);
    let mut numbers = values.filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
    numbers.next().unwrap_or_else(|| panic!("no {key} in {}", said(output)))
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// True if a program is installed; prints a message if not.
fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !found {
        println!("skipped: there is no {program} here");
    }
    found
}

fn a_self_signed_certificate_works_with_brunt_load(model: &str) {
    let mut server = start(model, "--tls --metrics 127.0.0.1:0");
    let made = server.line();
    assert!(made.contains("made a certificate for localhost, 127.0.0.1, ::1; SHA-256 "), "{made}");
    assert_eq!(made.trim_end().rsplit(' ').next().unwrap().len(), 32 * 3 - 1, "{made}");
    for (flags, full, version) in [
        ("-k -n 100 -c 4", 4, "TLS 1.3 "),
        ("-k -n 100 -c 4 --tls-version 1.2", 4, "TLS 1.2 "),
        ("-k -n 60 -c 2 --no-keepalive --no-resumption", 60, "TLS 1.3 "),
    ] {
        let output = load(&server, "/", flags);
        assert_eq!((number(&output, "completed"), number(&output, "failed")), (if full == 60 { 60 } else { 100 }, 0));
        assert!((full..full + 3).contains(&number(&output, "full")), "{flags}: {}", said(&output));
        assert!(said(&output).contains(version), "{flags}: {}", said(&output));
    }
    let again = load(&server, "/", "-k -n 60 -c 2 --no-keepalive");
    assert!(number(&again, "resumed") >= 55 && number(&again, "full") <= 4, "{}", said(&again));
    let page = Client::connect(server.addresses[1]).get("/metrics");
    let count = |kind: &str| -> u64 {
        let name = format!("brunt_http_tls_handshakes_total{{kind=\"{kind}\"}} ");
        page.text().lines().find_map(|line| line.strip_prefix(&name)).unwrap().parse().unwrap()
    };
    assert!(count("full") >= 68 && count("resumed") >= 55, "{}", page.text());
    assert_eq!(count("failed"), 0);
    // Not trusted by default.
    let output = load(&server, "/", "-n 1");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let why = said(&output);
    assert!(why.contains("has no trusted issuer") && why.contains("--insecure"), "{why}");
    assert_eq!(why.lines().count(), 1, "{why}");
}

fn curl_openssl_and_python_are_served(model: &str) {
    let authority = Authority::new();
    authority.sign("one");
    let server = start(model, &authority.flags("one"));
    let (port, ca) = (server.address().port(), authority.file("ca.pem"));
    let url = format!("https://localhost:{port}/");
    if has("curl") {
        for flags in ["", "--tlsv1.2 --tls-max 1.2", "--http1.0", "--data x"] {
            let mut curl = Command::new("curl");
            curl.args(["-sS", "-i", "--noproxy", "*", "--cacert", &ca]).args(flags.split_whitespace());
            let output = curl.args([&url, &url]).output().unwrap();
            let text = said(&output);
            assert!(output.status.success() && text.matches("Hi, there!").count() == 2, "{flags}: {text}");
        }
        let output = Command::new("curl").args(["-sS", "--noproxy", "*", &url]).output().unwrap();
        assert!(!output.status.success(), "{}", said(&output));
    }
    if has("openssl") {
        for flags in ["-tls1_2", "-tls1_3", "-tls1_3 -alpn http/1.1"] {
            let mut command = Command::new("openssl");
            command
                .args(["s_client", "-quiet", "-verify_return_error", "-verify_hostname", "localhost", "-CAfile", &ca])
                .args(["-servername", "localhost", "-connect", &format!("127.0.0.1:{port}")])
                .args(flags.split(' '))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            let mut running = Running::start(&mut command);
            let mut stdin = running.child().stdin.take().unwrap();
            stdin.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
            let output = running.output();
            assert!(said(&output).contains("Hi, there!"), "{flags}: {}", said(&output));
            drop(stdin);
        }
    }
    if has("python3") {
        let script = format!(
            "
import http.client, ssl
context = ssl.create_default_context(cafile={ca:?})
for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
    context.minimum_version = context.maximum_version = version
    connection = http.client.HTTPSConnection('localhost', {port}, context=context, timeout=60)
    for _ in range(3):
        connection.request('GET', '/')
        assert connection.getresponse().read() == b'Hi, there!\\n'
    print(connection.sock.version())
    connection.request('GET', '/', headers={{'Connection': 'close'}})
    assert connection.getresponse().read() == b'Hi, there!\\n'
print('well')
"
        );
        let output = Command::new("python3").args(["-c", &script]).output().unwrap();
        let text = said(&output);
        assert!(text.contains("TLSv1.2\nTLSv1.3\nwell"), "{text}");
    }
}

fn sighup_reloads_the_files(model: &str) {
    let authority = Authority::new();
    let other = Authority::new();
    authority.sign("one");
    let mut server = start(model, &authority.flags("one"));
    let trusted = |ca: &str| load(&server, "/", &format!("-n 1 -c 1 --cacert {ca}")).status.success();
    assert!(trusted(&authority.file("ca.pem")) && !trusted(&other.file("ca.pem")));
    // A key of another certificate changes nothing.
    other.sign("one");
    std::fs::copy(other.file("one.pem"), authority.file("one.pem")).unwrap();
    server.signal(Signal::HUP);
    let line = server.line();
    assert!(line.contains("keeping the old certificates: ") && line.contains("one.pem"), "{line}");
    std::fs::copy(other.file("one.key"), authority.file("one.key")).unwrap();
    server.signal(Signal::HUP);
    let line = server.line();
    assert!(line.contains("reloaded the certificates from"), "{line}");
    let trusted = |ca: &str| load(&server, "/", &format!("-n 1 -c 1 --cacert {ca}")).status.success();
    until("the new one is served", || trusted(&other.file("ca.pem")));
    assert!(!trusted(&authority.file("ca.pem")));
}

fn clients_must_have_a_certificate(model: &str) {
    let authority = Authority::new();
    ["one", "client"].iter().for_each(|name| authority.sign(name));
    let (server, _directory) = start_routes(
        model,
        &format!(
            "[[listener]]\nlisten = \"127.0.0.1:1\"\nservice = \"hello\"\ntls = {{ cert = {:?}, key = {:?}, client_ca = {:?} }}\n",
            authority.file("one.pem"),
            authority.file("one.key"),
            authority.file("ca.pem")
        ),
        "",
    );
    let ca = authority.file("ca.pem");
    for version in ["1.2", "1.3"] {
        let flags = format!("-n 20 -c 2 --cacert {ca} --tls-version {version}");
        let known = format!("{flags} --cert {} --key {}", authority.file("client.pem"), authority.file("client.key"));
        let output = load(&server, "/", &known);
        assert_eq!((number(&output, "completed"), number(&output, "failed")), (20, 0), "{}", said(&output));
        let output = load(&server, "/", &flags);
        let why = said(&output);
        assert!(output.status.code() == Some(1) && why.lines().count() == 1, "{version}: {why}");
        assert!(
            version == "1.2" || (why.contains("requires a client certificate") && why.contains("--cert FILE")),
            "{why}"
        );
    }
}

fn incomplete_handshakes_are_closed(model: &str) {
    let server = start(model, "--tls --header-timeout 50ms --metrics 127.0.0.1:0");
    let mut silent = TcpStream::connect(server.address()).unwrap();
    let mut half = TcpStream::connect(server.address()).unwrap();
    half.write_all(&[22, 3, 1, 2, 0, 1, 0, 1, 0xfc]).unwrap();
    for stream in [&mut silent, &mut half] {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let end = stream.read_to_end(&mut Vec::new());
        assert!(matches!(end, Ok(0)) || end.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset));
    }
    Client::connect(server.addresses[1]).metrics(&[
        "brunt_http_tls_handshakes_total{kind=\"failed\"} 2".to_owned(),
        "brunt_http_timeouts_total 2".to_owned(),
    ]);
}

fn bytes_that_are_not_tls_are_refused_and_counted(model: &str) {
    let server = start(model, "--tls --metrics 127.0.0.1:0");
    let mut plain = Client::connect(server.address());
    plain.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let answer = plain.reset().1;
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    Client::connect(server.addresses[1]).metrics(&["brunt_http_tls_handshakes_total{kind=\"failed\"} 1".to_owned()]);
}

/// A stall, which only a timeout ends, is tested in `tests/sim`.
fn faults_act_below_tls(model: &str) {
    let routes = ["reset", "truncate", "garbage"]
        .map(|kind| format!("[[route]]\npath = \"/{kind}\"\ntext = \"0123456789\"\nfault = {{ kind = \"{kind}\" }}\n"));
    let listener = "[[listener]]\nlisten = \"127.0.0.1:1\"\ntls = true\n";
    let fine = "[[route]]\npath = \"/drip\"\nsize = \"100KiB\"\ndrip = { pieces = 3 }\n";
    let (server, _directory) = start_routes(model, &format!("{listener}{}{fine}", routes.concat()), "");
    for (path, kind) in [("/reset", "reset"), ("/truncate", "reset"), ("/garbage", "protocol")] {
        let output = load(&server, path, "-k -c 2 -n 20 -T 20s");
        assert!(number(&output, kind) > 0 && number(&output, "completed") == 0, "{path}: {}", said(&output));
        for other in ["reset", "protocol", "timeout", "connect"].iter().filter(|other| **other != kind) {
            assert_eq!(number(&output, other), 0, "{path}: {}", said(&output));
        }
    }
    let output = load(&server, "/drip", "-k -n 10 -c 2 --expect-length 100KiB");
    assert_eq!((number(&output, "completed"), number(&output, "failed")), (10, 0), "{}", said(&output));
}

fn bodies_of_any_size_pass_both_ways(model: &str) {
    let server = start(model, "--service echo --tls");
    let directory = brunt_testkit::home();
    for size in [1, 16_383, 16_384, 16_385, 1 << 20] {
        let file = directory.path().join("body");
        std::fs::write(&file, vec![b'x'; size]).unwrap();
        let flags = format!("-k -n 6 -c 2 -T 30s --body @{} --expect-length {size}B", file.display());
        let output = load(&server, "/", &flags);
        assert_eq!((number(&output, "completed"), number(&output, "failed")), (6, 0), "{size}: {}", said(&output));
    }
}
