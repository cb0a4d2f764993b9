//! The examples that are services: a key-value server, a reverse proxy, an upload server, a chat.

use super::{Example, ask, backends, expect, expect_end, program};
use brunt_testkit::{Running, read_head, text, until};
use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

#[test]
fn hyper_client() {
    for backend in backends() {
        let server = Example::start("hyper_server", backend);
        let url = format!("http://{}/", server.address);
        let output =
            Running::start(program("hyper_client").args([&url, "1000", backend]).stdout(Stdio::piped())).output();
        let said = text(&output);
        assert!(output.status.success() && said.contains("1000 replies, "), "{said}");
        // An error of a reply ends it, with what went wrong.
        let output =
            Running::start(program("hyper_client").args(["https://localhost/", "1", backend]).stderr(Stdio::piped()))
                .output();
        assert!(!output.status.success());
    }
}

/// A server for one connection: answers a request, then switches to another protocol, which is an echo.
fn upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let (mut out, mut input) = (stream.try_clone().unwrap(), BufReader::new(stream));
                while let Some(head) = read_head(&mut input) {
                    let head = head.to_ascii_lowercase();
                    if head.contains("upgrade: echo") {
                        let switches = "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\nfirst";
                        out.write_all(switches.as_bytes()).unwrap();
                        let _ = std::io::copy(&mut input, &mut out);
                        return;
                    }
                    let hops = head.contains("x-for-the-proxy") || head.contains("te:");
                    let body = format!("{} {}", head.lines().next().unwrap(), if hops { "hop" } else { "end" });
                    write!(out, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
                }
            });
        }
    });
    address
}

#[test]
fn reverse_proxy() {
    for backend in backends() {
        let upstream = upstream().to_string();
        let proxy = Example::start_with("reverse_proxy", &["127.0.0.1:0", backend, &upstream]);
        let mut client = proxy.connect();
        for _ in 0..3 {
            let fields = "Host: a\r\nConnection: x-for-the-proxy, keep-alive\r\nX-For-The-Proxy: 1\r\nTE: trailers";
            write!(client, "GET /a?b=c HTTP/1.1\r\n{fields}\r\n\r\n").unwrap();
            let mut input = BufReader::new(&client);
            let head = read_head(&mut input).unwrap();
            assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
            let mut body = vec![0; "get /a?b=c http/1.1 end".len()];
            input.read_exact(&mut body).unwrap();
            assert_eq!(String::from_utf8_lossy(&body), "get /a?b=c http/1.1 end");
        }
        client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n").unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            client.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        assert!(head.starts_with(b"HTTP/1.1 101 "));
        // What came with the head, and then both ways.
        expect(&mut client, b"first");
        ask(&mut client, b"hello");
        ask(&mut client, &[7; 100_000]);
        client.shutdown(Shutdown::Write).unwrap();
        expect_end(&mut client);
    }
}

#[test]
fn a_proxy_without_upstream_says_so() {
    for backend in backends() {
        let proxy = Example::start_with("reverse_proxy", &["127.0.0.1:0", backend, "127.0.0.1:1"]);
        let reply = brunt_testkit::get(&proxy.address.to_string(), "/");
        assert!(reply.status == 502 && reply.body.contains("refused"), "{reply:?}");
    }
}

#[test]
fn key_value() {
    for backend in backends() {
        for workers in ["1", "2"] {
            let server = Example::start_with("key_value", &["127.0.0.1:0", backend, workers]);
            let (mut one, mut other) = (server.connect(), server.connect());
            let told = |client: &mut TcpStream, command: &str, reply: &str| {
                client.write_all(command.as_bytes()).unwrap();
                expect(client, reply.as_bytes());
            };
            told(&mut one, "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$5\r\nhel\r\n\r\n", "+OK\r\n");
            told(&mut other, "*2\r\n$3\r\nget\r\n$1\r\na\r\n", "$5\r\nhel\r\n\r\n");
            told(&mut other, "GET b\r\nINCR n\r\nINCR n\r\nDEL a n\r\nEXISTS a\r\n", "$-1\r\n:1\r\n:2\r\n:2\r\n:0\r\n");
            // In pieces of every size.
            let command = "*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$3\r\nxyz\r\n";
            for cut in 1..command.len() {
                one.write_all(&command.as_bytes()[..cut]).unwrap();
                told(&mut other, "PING\r\n", "+PONG\r\n");
                told(&mut one, &command[cut..], "+OK\r\n");
            }
            // A pipeline whose replies are longer than what sockets hold.
            let value = "v".repeat(100_000);
            told(&mut one, &format!("*3\r\n$3\r\nSET\r\n$1\r\nc\r\n$100000\r\n{value}\r\n"), "+OK\r\n");
            one.write_all("GET c\r\n".repeat(100).as_bytes()).unwrap();
            for _ in 0..100 {
                expect(&mut one, format!("$100000\r\n{value}\r\n").as_bytes());
            }
            told(&mut one, "*1\r\n+PING\r\n", "-ERR Protocol error: expected '$'\r\n");
            expect_end(&mut one);
            told(&mut other, "FLY\r\n", "-ERR unknown command 'FLY' or wrong number of arguments\r\n");
        }
    }
}

#[test]
fn the_benchmark_of_redis_drives_the_key_value_server() {
    if !is_installed("redis-benchmark", "redis-tools") {
        return;
    }
    for backend in backends() {
        let server = Example::start_with("key_value", &["127.0.0.1:0", backend, "2"]);
        let port = server.address.port().to_string();
        for pipeline in ["1", "16"] {
            let load = ["-p", &port, "-t", "get,set,incr", "-n", "2000", "-c", "20", "-d", "100", "-P", pipeline, "-q"];
            let said = output("redis-benchmark", &load);
            let rates = said.matches("requests per second").count();
            assert!(rates == 3 && !said.contains("rror"), "{said}");
        }
        // Counted once each: 2 x 2,000.
        let mut client = server.connect();
        client.write_all(b"INCR counter:__rand_int__\r\n").unwrap();
        expect(&mut client, b":4001\r\n");
    }
}

#[test]
fn the_proxy_stands_between_curl_and_nginx() {
    if !is_installed("nginx", "nginx-light") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name).display().to_string();
    let bytes: Vec<u8> = (0..1_000_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
    std::fs::write(at("file"), &bytes).unwrap();
    let upstream = format!("127.0.0.1:{}", brunt_testkit::free_port());
    let settings = format!(
        "daemon off; master_process off; pid {}; events {{}} http {{ access_log off; client_body_temp_path {}; \
         server {{ listen {upstream}; root {}; }} }}",
        at("pid"),
        at("bodies"),
        home.path().display()
    );
    std::fs::write(at("settings"), settings).unwrap();
    let _nginx =
        Running::start(Command::new("nginx").args(["-c", &at("settings"), "-e", &at("errors")]).stdout(Stdio::null()));
    until("nginx listens", || TcpStream::connect(&upstream).is_ok());
    for backend in backends() {
        let proxy = Example::start_with("reverse_proxy", &["127.0.0.1:0", backend, &upstream]);
        let url = format!("http://{}/file", proxy.address);
        // Twice on one connection, compressed or not, and a part.
        assert!(curl(&[&url, &url]) == [&bytes[..], &bytes[..]].concat());
        assert!(curl(&["-r", "10-19", &url]) == bytes[10..20]);
        assert_eq!(curl(&["-I", "-o", "/dev/null", "-w", "%{http_code}", &url]), b"200");
        assert_eq!(curl(&["-o", "/dev/null", "-w", "%{http_code}", &format!("{url}/none")]), b"404");
    }
}

#[test]
fn chat() {
    for backend in backends() {
        let server = Example::start("chat", backend);
        let mut one = server.connect();
        let mut other = server.connect();
        expect(&mut one, b"client 2 has come\n");
        one.write_all(b"hel").unwrap();
        one.write_all(b"lo\n").unwrap();
        expect(&mut other, b"1: hello\n");
        // One that does not read.
        let silent = server.connect();
        expect(&mut one, b"client 3 has come\n");
        expect(&mut other, b"client 3 has come\n");
        let line = ["x".repeat(4000), "\n".to_owned()].concat();
        let heard = ["1: ", &line].concat();
        let mut is_gone = false;
        for _ in 0..100_000 {
            one.write_all(line.as_bytes()).unwrap();
            let mut first = [0; 2];
            other.read_exact(&mut first).unwrap();
            if &first != b"1:" {
                expect(&mut other, b"ient 3 has gone\n");
                is_gone = true;
                break;
            }
            expect(&mut other, &heard.as_bytes()[2..]);
        }
        assert!(is_gone, "a client that does not read is not disconnected");
        drop(silent);
    }
}

#[test]
fn upload() {
    for backend in backends() {
        let folder = tempfile::tempdir().unwrap();
        let server = Example::start_with("upload", &["127.0.0.1:0", backend, folder.path().to_str().unwrap()]);
        let url = |name: &str| format!("http://{}/{name}", server.address);
        let bytes: Vec<u8> = (0..3_000_001u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        let source = folder.path().join(".source");
        std::fs::write(&source, &bytes).unwrap();
        let source = source.to_str().unwrap();
        // With its length, in chunks, and in place of a file that is there.
        for (name, more) in
            [("whole", "Expect:"), ("chunks", "Transfer-Encoding: chunked"), ("whole", "Expect: 100-continue")]
        {
            assert_eq!(text_of(&curl(&["-T", source, "-H", more, &url(name)])), "3000001 bytes\n");
            assert!(std::fs::read(folder.path().join(name)).unwrap() == bytes, "{name}, {more}");
            assert!(curl(&[&url(name)]) == bytes, "{name}");
        }
        let status =
            |arguments: &[&str]| text_of(&curl(&[&["-o", "/dev/null", "-w", "%{http_code}"], arguments].concat()));
        assert_eq!(status(&[&url("none")]), "404");
        assert_eq!(status(&["--path-as-is", &url("../etc/passwd")]), "400");
        assert_eq!(status(&["-X", "DELETE", &url("whole")]), "405");
        // A body that does not come to its end leaves nothing.
        let mut client = server.connect();
        client.write_all(b"PUT /part HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nsome").unwrap();
        let names = || -> Vec<_> {
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect()
        };
        let is_being_stored = || names().iter().any(|name| name.to_string_lossy().starts_with(".upload"));
        until("it is being stored", is_being_stored);
        drop(client);
        until("what was stored of it is removed", || !is_being_stored());
        assert_eq!(names().len(), 3, "{:?}", names());
    }
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn curl(arguments: &[&str]) -> Vec<u8> {
    let output =
        Running::start(Command::new("curl").args(["-sS", "-m", "30"]).args(arguments).stdout(Stdio::piped())).output();
    assert!(output.status.success(), "curl {arguments:?}: {}", text(&output));
    output.stdout
}

fn output(program: &str, arguments: &[&str]) -> String {
    text(&Running::start(Command::new(program).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped())).output())
}

/// Whether a program is there to compare with; says what to install if not. With `BRUNT_SERVICES=must` it has to be.
fn is_installed(program: &str, package: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    assert!(
        is_there || std::env::var_os("BRUNT_SERVICES").is_none_or(|value| value != "must"),
        "there is no {program}"
    );
    if !is_there {
        println!("skipped: there is no {program} here (apt-get install {package})");
    }
    is_there
}
