//! What other clients read in the replies of the table.

use super::{Reply, read_as};
use http_body_util::{BodyExt, Empty};
use hyper::{Request, body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const REFUSED: &str = "refused";

pub fn hyper(replies: &[Reply]) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let one = |reply: &Reply| match runtime.block_on(read_by_hyper(&reply.method, &reply.bytes)) {
        Some((status, body)) => read_as(status, &body),
        None => REFUSED.to_owned(),
    };
    replies.iter().map(one).collect()
}

async fn read_by_hyper(method: &str, bytes: &[u8]) -> Option<(u16, Vec<u8>)> {
    let (client, mut server) = tokio::io::duplex(1 << 16);
    let (mut sender, connection) = http1::handshake(TokioIo::new(client)).await.unwrap();
    let request = Request::builder().method(method).uri("/").header("host", "a").body(Empty::<Bytes>::new()).unwrap();
    let response = async {
        let response = sender.send_request(request).await.ok()?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.ok()?;
        Some((status, body.to_bytes().to_vec()))
    };
    let serve = async {
        let mut request = [0; 1024];
        let _ = server.read(&mut request).await;
        let _ = server.write_all(bytes).await;
        drop(server);
    };
    let all = async { tokio::join!(response, serve, connection).0 };
    tokio::time::timeout(Duration::from_secs(120), all).await.expect("hyper ends")
}

/// The answers of curl, if it is there in this version: status and body, or its exit code.
pub fn curl(replies: &[Reply], version: &str) -> Option<Vec<String>> {
    let said = Command::new("curl").arg("--version").output().ok()?;
    if !String::from_utf8_lossy(&said.stdout).starts_with(&format!("curl {version} ")) {
        eprintln!("curl is not of version {version}: not compared");
        return None;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let all = replies.to_vec();
    let server = thread::spawn(move || {
        for reply in &all {
            answer(&mut listener.accept().unwrap().0, &reply.bytes);
        }
    });
    let file = env::temp_dir().join(format!("brunt-wire-curl-{}", std::process::id()));
    let cells = replies.iter().map(|reply| {
        let mut command = Command::new("curl");
        command.args([
            "-q",
            "--silent",
            "--noproxy",
            "*",
            "--http1.1",
            "--max-time",
            "60",
            "--write-out",
            "%{http_code}",
        ]);
        command.args(if reply.method == "HEAD" { &["--head"][..] } else { &[] });
        let output = command.arg("--output").arg(&file).arg(format!("http://{address}/")).output().unwrap();
        let body = fs::read(&file).unwrap_or_default();
        let _ = fs::remove_file(&file);
        match output.status.code() {
            Some(0) => {
                let body = if reply.method == "HEAD" { &[][..] } else { &body };
                read_as(String::from_utf8_lossy(&output.stdout).parse().unwrap(), body)
            }
            code => format!("exit {}", code.unwrap_or_default()),
        }
    });
    let cells = cells.collect();
    server.join().unwrap();
    Some(cells)
}

/// Reads a request, sends the bytes and closes.
fn answer(stream: &mut TcpStream, bytes: &[u8]) {
    let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(length) => request.extend_from_slice(&buffer[..length]),
        }
    }
    // A client that refuses the reply may close before all of it is sent.
    let _ = stream.write_all(bytes);
}

/// The answers of a program, if `BRUNT_PARSERS` names it.
pub fn program(name: &str, replies: &[Reply]) -> Option<Vec<String>> {
    if !env::var("BRUNT_PARSERS").is_ok_and(|names| names.split(',').any(|named| named == name)) {
        eprintln!("BRUNT_PARSERS does not name {name}: not compared");
        return None;
    }
    let (command, script): (&[&str], _) = match name {
        "go" => (&["go", "run"], "net_http_client.go"),
        "h11" => (&["python3"], "h11_client.py"),
        _ => (&["node"], "node_client.js"),
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http1/parsers").join(script);
    let mut child = Command::new(command[0])
        .args(&command[1..])
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = String::new();
    for reply in replies {
        let _ = write!(lines, "{} ", reply.method);
        reply.bytes.iter().for_each(|byte| _ = write!(lines, "{byte:02x}"));
        lines.push('\n');
    }
    let writer = thread::spawn(move || _ = input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{name} failed");
    Some(String::from_utf8(output.stdout).unwrap().lines().map(cell).collect())
}

/// `R`, or `T STATUS HEX`.
fn cell(line: &str) -> String {
    let Some((status, hex)) = line.strip_prefix("T ").and_then(|rest| rest.split_once(' ')) else {
        assert_eq!(line, "R", "not a verdict");
        return REFUSED.to_owned();
    };
    let body: Vec<u8> = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
    read_as(status.parse().unwrap(), &body)
}
