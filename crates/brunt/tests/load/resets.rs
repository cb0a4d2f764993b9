//! Replies that a reset cuts off.

use crate::shared::target::{json, load, number};
use brunt_testkit::{assert_code, home, listener};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

/// A server that answers before it has read the request, with a body that lasts until the end of the connection, and closes
/// with most of the request unread, which is a reset.
fn server() -> SocketAddr {
    let listener = listener();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                // A client that has gone meanwhile is as well.
                let _ = stream.read(&mut [0; 1000]);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\npart of it");
                // With it some clients have read the reply when the reset comes, and some have not; nothing is decided by its length.
                thread::sleep(Duration::from_millis(1));
            });
        }
    });
    address
}

#[test]
fn a_reply_that_lasts_until_the_end_is_not_complete_after_a_reset() {
    let (address, home) = (server(), home());
    let body = home.path().join("body");
    std::fs::write(&body, vec![b'x'; 3_000_000]).unwrap();
    for backend in ["", "--backend epoll"] {
        let flags = format!("-n 300 -c 10 --warmup 0s --json - --quiet --allow-untrusted --no-meter {backend}");
        let mut command = load(&format!("http://{address}/"), &flags);
        let output = command.args(["--body", &format!("@{}", body.display())]).output().unwrap();
        assert_code(&output, &[1]);
        let result = json(&output);
        assert_eq!(result["requests"]["completed"], 0, "{backend}: {result:#}");
        assert!(number(&result, "errors.reset") > 200.0, "{backend}: {result:#}");
    }
}
