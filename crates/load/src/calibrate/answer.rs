//! What the target that does nothing does on a connection: as little as can pass for an answer.
//!
//! Nothing is looked at, only counted: in a closed loop the bytes of a batch are known, and no others follow before their
//! answer.

use crate::http::{Expect, Http, Requests};
use brunt_runtime::net::TcpStream;
use std::sync::Arc;

/// All replies to one write together; a copy of them is held for the run.
const MOST_BYTES: u64 = 256 << 20;

/// The two ways to answer.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// What comes goes back.
    SendBack,
    /// The same replies to every batch of requests.
    Http(Arc<Replies>),
}

/// HTTP said blindly.
#[derive(Debug)]
pub(super) struct Replies {
    /// Bytes of a batch.
    batch: usize,
    /// Bytes of the last batch of a connection.
    last: usize,
    /// Batches on a connection, which then ends.
    batches: u64,
    /// The replies to a batch.
    bytes: Vec<u8>,
}

impl Answer {
    pub(super) async fn keep_answering(self, mut stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        // It ends with the connection, whatever ends that.
        let _ = match self {
            Self::SendBack => send_back(&mut stream).await,
            Self::Http(replies) => replies.keep_replying(&mut stream).await,
        };
    }
}

async fn send_back(stream: &mut TcpStream) -> std::io::Result<()> {
    loop {
        let lease = stream.recv().await?;
        if lease.is_empty() {
            return Ok(());
        }
        stream.send(lease).await?;
    }
}

impl Replies {
    /// The load on the target that does nothing, and its replies: `http`, of whose URLs the one with the longest request
    /// stands for all, and bodies of `body` bytes.
    ///
    /// # Errors
    /// One line: the requests are not known in advance, or the replies are too large.
    pub(super) fn to(http: &Http, body: u64) -> Result<(Http, Self), String> {
        let Some((address, rendered)) = http.longest() else {
            return Err("the requests of a script cannot be made again for a target that does nothing".to_owned());
        };
        let rendered = rendered.longest();
        let (words, batch) = (http.expect.body.as_deref().unwrap_or_default(), rendered.batch());
        let requests = u64::from(batch.requests());
        let total = body.max(words.len() as u64).saturating_mul(requests);
        if total > MOST_BYTES {
            return Err(format!(
                "replies to one write of {total} bytes are too many: {MOST_BYTES} may be held at most"
            ));
        }
        let body = body_of(body as usize, words);
        let mut bytes = Vec::new();
        for number in 0..batch.requests() {
            // For both versions: such a reply leaves the connection open (RFC 9112, 9.3).
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
        // What costs the generator nothing to check is not this target's to fulfil.
        let expect = Expect { body: http.expect.body.clone(), ..Expect::default() };
        let requests = Requests::Rendered(Arc::new(rendered));
        Ok((Http::on(address, requests, http.reuse, expect), replies))
    }

    async fn keep_replying(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        for batch in 1..=self.batches {
            let mut missing = if batch == self.batches { self.last } else { self.batch };
            while missing > 0 {
                let lease = stream.recv().await?;
                if lease.is_empty() {
                    return Ok(());
                }
                missing = missing.saturating_sub(lease.len());
            }
            stream.write_all(&self.bytes).await?;
        }
        Ok(())
    }
}

/// The words that are looked for stand where all else has been looked at before.
fn body_of(length: usize, words: &[u8]) -> Vec<u8> {
    let mut body = vec![b'.'; length.saturating_sub(words.len())];
    body.extend_from_slice(words);
    body
}
