//! `--proxy`: loads through a proxy of the test, which tunnels, refuses, closes or says nothing.

use super::head::read_head;
use super::target::{PATIENCE, Target, alone, assert_code, json, load, number, told};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use std::{fs, io, thread};

/// `me:secret`
const AUTHORIZATION: &str = "Proxy-Authorization: Basic bWU6c2VjcmV0";

#[derive(Clone, Copy, PartialEq)]
pub enum Answer {
    /// Connects to the target.
    Tunnel,
    /// The same with credentials, else 407.
    TunnelKnown,
    /// The same for as many connections, then 503.
    TunnelFirst(usize),
    Close,
    Nothing,
}

pub struct Proxy {
    address: SocketAddr,
    /// The head of each request.
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Whatever host it is asked for, it connects to this port.
    pub fn start(answer: Answer, port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heads);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                thread::spawn(move || serve(stream, answer, port, &kept));
            }
        });
        Self { address, heads }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn serve(mut client: TcpStream, answer: Answer, port: u16, heads: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut input = BufReader::new(client.try_clone()?);
    let Some(head) = read_head(&mut input) else { return Ok(()) };
    let is_known = head.contains(AUTHORIZATION);
    let number = {
        let mut heads = heads.lock().unwrap();
        heads.push(head);
        heads.len()
    };
    let refusal = match answer {
        Answer::Close => return Ok(()),
        Answer::Nothing => return io::copy(&mut input, &mut io::sink()).map(drop),
        Answer::TunnelKnown if !is_known => Some("407 Proxy Authentication Required"),
        Answer::TunnelFirst(most) if number > most => Some("503 Busy"),
        _ => None,
    };
    if let Some(status) = refusal {
        return write!(client, "HTTP/1.1 {status}\r\nContent-Length: 3\r\n\r\nno\n");
    }
    let target = TcpStream::connect(("127.0.0.1", port))?;
    target.set_nodelay(true)?;
    client.set_nodelay(true)?;
    // In two pieces, as it may come.
    client.write_all(b"HTTP/1.1 200 Connection est")?;
    client.write_all(b"ablished\r\nVia: test\r\n\r\n")?;
    let (mut to, mut from, back) = (target.try_clone()?, target, client.try_clone()?);
    let up = thread::spawn(move || {
        let _ = io::copy(&mut input, &mut to);
        to.shutdown(Shutdown::Write)
    });
    let _ = io::copy(&mut from, &mut client);
    let _ = back.shutdown(Shutdown::Write);
    drop(up.join());
    Ok(())
}

const USUAL: &str = "--warmup 0s --json - --quiet --allow-untrusted";

#[test]
fn requests_go_through_a_tunnel_as_they_are_to_a_host_that_only_the_proxy_knows() {
    let _alone = alone();
    let target = Target::start_web();
    let proxy = Proxy::start(Answer::Tunnel, target.port());
    let flags = format!("-n 200 -c 4 --expect-body /a {USUAL} --proxy {}", proxy.url());
    let output = load("http://app.invalid/a?x", &flags).output().unwrap();
    assert_code(&output, &[0]);
    let result = json(&output);
    assert_eq!((number(&result, "requests.completed"), number(&result, "requests.failed")), (200.0, 0.0));
    assert_eq!(result["server"]["pid"], serde_json::Value::Null);
    let heads = proxy.heads();
    assert_eq!(heads, ["CONNECT app.invalid:80 HTTP/1.1\r\nHost: app.invalid:80\r\n\r\n"; 4]);
    let flags = format!("-n 20 -c 2 --no-keepalive {USUAL} --proxy {}", proxy.url());
    let output = load("http://app.invalid:81/", &flags).output().unwrap();
    assert_code(&output, &[0]);
    assert!(proxy.heads().len() >= 24 && proxy.heads()[4].contains("app.invalid:81"), "{:?}", proxy.heads());
}

/// `brunt serve http --tls`, killed at the end of the test.
struct Secure(Child, u16);

impl Secure {
    fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        command.args("serve http --listen 127.0.0.1:0 --service hello --tls".split(' ')).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        thread::spawn(move || stderr.read_to_end(&mut Vec::new()));
        let port = line.split_once("127.0.0.1:").and_then(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next());
        let port = port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("{line}"));
        Self(child, port)
    }
}

impl Drop for Secure {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn tls_is_with_the_target_and_its_handshakes_are_counted() {
    let _alone = alone();
    let target = Secure::start();
    let proxy = Proxy::start(Answer::Tunnel, target.1);
    // A number of requests could be done by the connections that are ready first.
    let flags = format!("-k -d 500ms -c 3 {USUAL} --proxy {}", proxy.url());
    let output = load("https://localhost/", &flags).output().unwrap();
    assert_code(&output, &[0]);
    let result = json(&output);
    assert_eq!((number(&result, "requests.failed"), number(&result, "handshakes.full")), (0.0, 3.0), "{result:#}");
    assert_eq!(proxy.heads(), ["CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n"; 3]);
}

#[test]
fn credentials_are_sent_to_the_proxy_and_are_in_no_result() {
    let _alone = alone();
    let target = Target::start_web();
    let proxy = Proxy::start(Answer::TunnelKnown, target.port());
    let home = tempfile::tempdir().unwrap();
    let (file, out) = (home.path().join("proxy"), home.path().join("out"));
    fs::write(&file, "me:secret\n").unwrap();
    let flags =
        format!("-n 20 -c 2 {USUAL} --proxy {} --proxy-auth {} --out {}", proxy.url(), file.display(), out.display());
    let output = load("http://app.invalid/", &flags).output().unwrap();
    assert_code(&output, &[0]);
    assert!(proxy.heads().iter().all(|head| head.contains(AUTHORIZATION)), "{:?}", proxy.heads());
    for entry in fs::read_dir(&out).unwrap() {
        let text = String::from_utf8_lossy(&fs::read(entry.unwrap().path()).unwrap()).into_owned();
        assert!(!text.contains("secret") && !text.contains("bWU6c2VjcmV0"), "{text}");
    }
    let env = fs::read_to_string(out.join("env.json")).unwrap();
    assert!(env.contains("the target is behind --proxy: name its process with --server-pid"), "{env}");
    let flags = format!("--once --proxy {} --proxy-auth {}", proxy.url(), file.display());
    let output = load("http://app.invalid/hello", &flags).output().unwrap();
    assert_code(&output, &[0]);
    let page = told(&output);
    assert!(page.contains("  tunnel ") && page.contains("  app.invalid:80\n") && page.contains("GET /hello"), "{page}");
    assert!(!page.contains("bWU6") && page.contains(&proxy.address.to_string()), "{page}");
}

#[test]
fn a_proxy_that_refuses_ends_the_load_with_a_line_that_says_why() {
    let _alone = alone();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let start = |answer| Proxy::start(answer, 1).url();
    for (url, why) in [
        (start(Answer::TunnelKnown), "the proxy answered 407 Proxy Authentication Required"),
        (start(Answer::Close), "the proxy closed the connection without an answer"),
        (start(Answer::Nothing), "did not answer one attempt to connect within 300ms"),
        (format!("http://{closed}"), "efused"),
    ] {
        let begun = Instant::now();
        let output =
            load("http://app.invalid/", &format!("-T 300ms -c 2 -d 20s --quiet --proxy {url}")).output().unwrap();
        assert_code(&output, &[1]);
        let line = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(line.contains(why) && line.contains(&url["http://".len()..]), "{line}");
        assert!(line.lines().count() == 1 && begun.elapsed() < PATIENCE, "{line}");
        let output = load("http://app.invalid/", &format!("--once -T 300ms --proxy {url}")).output().unwrap();
        assert_code(&output, &[1]);
    }
}

#[test]
fn refusals_within_the_load_are_connect_errors_with_the_status() {
    let _alone = alone();
    let target = Target::start_web();
    let proxy = Proxy::start(Answer::TunnelFirst(5), target.port());
    let flags = format!("-c 1 -d 500ms --no-keepalive {USUAL} --accept-any-result --proxy {}", proxy.url());
    let output = load("http://app.invalid/", &flags).output().unwrap();
    assert_code(&output, &[0]);
    let result = json(&output);
    assert_eq!(number(&result, "requests.completed"), 5.0);
    assert!(number(&result, "errors.connect") >= 1.0, "{result:#}");
    assert_eq!(result["first_connect_error"]["error"], "the proxy answered 503 Busy");
}

#[test]
fn flags_that_do_not_fit_are_refused_in_a_line() {
    for (url, flags, needle) in [
        ("http://a/", "--proxy 127.0.0.1:3128", "http://HOST:PORT"),
        ("http://a/", "--proxy http://me:secret@h:1", "--proxy-auth"),
        ("http://a/", "--proxy http://h:1 --connect-to h:2", "--connect-to"),
        ("http://a/", "--proxy-auth /x", "--proxy"),
        ("tcp://a:1", "--proxy http://h:1", "--proxy means nothing with tcp://"),
        ("http://a/", "--proxy http://127.0.0.1:1 --proxy-auth /no/such/file", "--proxy-auth /no/such/file"),
    ] {
        let output = load(url, flags).output().unwrap();
        assert_code(&output, &[2]);
        assert!(told(&output).contains(needle), "{flags}: {}", told(&output));
    }
}
