//! A client as a task, with full control over its bytes, which notes when it hears what.

use crate::worlds::{US, address, clock, page};
use brunt_runtime::net::TcpStream;
use brunt_runtime::time;
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;

/// How a connection has ended, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    pub at: Duration,
    /// By a reset, not orderly.
    pub reset: bool,
    /// What came before it since the last call.
    pub said: String,
}

pub struct Client {
    stream: TcpStream,
    /// When it has heard what: each piece as it arrived.
    heard: Vec<(Duration, String)>,
    end: Option<(Duration, bool)>,
}

impl Client {
    pub async fn connect() -> Self {
        Self::connect_to(address()).await
    }

    pub async fn connect_to(address: SocketAddr) -> Self {
        Self { stream: TcpStream::connect(address).await.unwrap(), heard: Vec::new(), end: None }
    }

    /// Sends at the end of this turn. A connection that the server has ended takes no more.
    pub async fn send(&mut self, text: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(text.as_ref()).await;
    }

    /// Shuts down the sending side.
    pub async fn half_close(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write).await;
    }

    /// Hears one piece; false if it is the end.
    async fn hear(&mut self) -> bool {
        if self.end.is_some() {
            return false;
        }
        let received = self.stream.recv().await.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        match received {
            Ok(text) if !text.is_empty() => self.heard.push((clock(), text)),
            other => self.end = Some((clock(), other.is_err())),
        }
        self.end.is_none()
    }

    /// Hears until exactly this time in the world of `exact`; false if the connection ends before.
    pub async fn hear_until(&mut self, at: Duration) -> bool {
        while let Ok(goes_on) = time::timeout(at.saturating_sub(clock() + US), self.hear()).await {
            if !goes_on {
                return false;
            }
        }
        true
    }

    /// All that it has heard since the last call.
    pub fn said(&mut self) -> String {
        self.heard.drain(..).map(|(_, text)| text).collect()
    }

    /// Waits for the end.
    pub async fn end(&mut self) -> End {
        while self.hear().await {}
        let (at, reset) = self.end.unwrap();
        End { at, reset, said: self.said() }
    }

    /// Hears all until text ends so. Returns the pieces, each with its time.
    pub async fn pieces(&mut self, last: &str) -> Vec<(Duration, String)> {
        while !self.heard.last().is_some_and(|(_, text)| text.ends_with(last)) {
            assert!(self.hear().await, "it ends after {:?}", self.heard);
        }
        std::mem::take(&mut self.heard)
    }

    /// Sends a request and hears its response, whose body is shorter than 64 KiB, as [`pieces`](Self::pieces) of the body. The
    /// times are those since the request.
    pub async fn get(&mut self, target: &str, last: &str) -> Vec<(Duration, String)> {
        let begun = clock();
        self.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
        let mut pieces = self.pieces(last).await;
        let first = &mut pieces[0].1;
        *first = first.split_once("\r\n\r\n").expect("a whole head comes first").1.to_owned();
        pieces.into_iter().map(|(at, text)| (at - begun, text)).collect()
    }
}

/// The lines of the metrics without comments.
async fn metrics() -> Vec<String> {
    let mut client = Client::connect_to(page()).await;
    client.send("GET /metrics HTTP/1.0\r\n\r\n").await;
    let said = client.end().await.said;
    said.lines().filter(|line| line.starts_with("brunt_")).map(str::to_owned).collect()
}

/// Asserts that the metrics contain these lines.
pub async fn metrics_are(lines: impl IntoIterator<Item = &str>) {
    let metrics = metrics().await;
    lines.into_iter().for_each(|line| assert!(metrics.iter().any(|own| own == line), "{line}: {metrics:#?}"));
}
