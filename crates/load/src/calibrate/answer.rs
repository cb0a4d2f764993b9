//! Replies of the null server.
//!
//! Received bytes are counted, not parsed: in a closed loop the length of a batch is known, and nothing follows before its
//! replies.

use crate::http::{Expect, Http, Requests};
use brunt_runtime::net::{Any, Stream};
use std::sync::Arc;

/// Limit of the replies to one write, which are kept for the run.
const MOST_BYTES: u64 = 256 << 20;

#[derive(Debug, Clone)]
pub(super) enum Answer {
    Echo,
    Http(Arc<Replies>),
}

/// Replies to any batch of requests.
#[derive(Debug)]
pub(super) struct Replies {
    /// Length of a batch of requests in bytes.
    batch: usize,
    /// The same of the last batch of a connection.
    last: usize,
    /// Batches on a connection before it is closed.
    batches: u64,
    bytes: Vec<u8>,
}

impl Answer {
    pub(super) async fn serve(self, mut stream: Stream<Any>) {
        // An error ends the connection, as its end does.
        let _ = match self {
            Self::Echo => echo(&mut stream).await,
            Self::Http(replies) => replies.serve(&mut stream).await,
        };
    }
}

async fn echo(stream: &mut Stream<Any>) -> std::io::Result<()> {
    loop {
        let received = stream.recv().await?;
        if received.is_empty() {
            return Ok(());
        }
        stream.send(received).await?;
    }
}

impl Replies {
    /// The load on the null server, of the longest requests of `http` alone, and the replies, with bodies of `body` bytes.
    ///
    /// # Errors
    /// The requests are made by a script, or the replies are too large.
    pub(super) fn to(http: &Http, body: u64) -> Result<(Http, Self), String> {
        let Some((address, rendered)) = http.longest() else {
            return Err("the requests of a script cannot be repeated for a null server".to_owned());
        };
        let rendered = rendered.longest();
        let (text, batch) = (http.expect.body.as_deref().unwrap_or_default(), rendered.batch);
        let requests = u64::from(batch.requests());
        let total = body.max(text.len() as u64).saturating_mul(requests);
        if total > MOST_BYTES {
            return Err(format!(
                "replies to one write of {total} bytes are too many: {MOST_BYTES} may be held at most"
            ));
        }
        // The expected text is at the end, so that all of the body is searched.
        let mut body = vec![b'.'; (body as usize).saturating_sub(text.len())];
        body.extend_from_slice(text);
        let mut bytes = Vec::new();
        for number in 0..batch.requests() {
            // Leaves the connection open in both versions (RFC 9112, 9.3).
            bytes.extend_from_slice(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes());
            if !batch.is_head(number) {
                bytes.extend_from_slice(&body);
            }
        }
        let replies = Self {
            batch: rendered.longest_bytes(false),
            last: rendered.longest_bytes(true),
            batches: http.reuse.map_or(u64::MAX, |reuse| reuse / requests),
            bytes,
        };
        // Without the checks that cost nothing.
        let expect = Expect { body: http.expect.body.clone(), ..Expect::default() };
        let requests = Requests::Rendered(Arc::new(rendered));
        Ok((Http::on(address, requests, http.reuse, expect), replies))
    }

    async fn serve(&self, stream: &mut Stream<Any>) -> std::io::Result<()> {
        for batch in 1..=self.batches {
            let mut missing = if batch == self.batches { self.last } else { self.batch };
            while missing > 0 {
                let received = stream.recv().await?;
                if received.is_empty() {
                    return Ok(());
                }
                missing = missing.saturating_sub(received.len());
            }
            stream.write_all(&self.bytes).await?;
        }
        Ok(())
    }
}
