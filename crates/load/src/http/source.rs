//! Where requests come from when they are not rendered in advance: the seam between the engine and a script.
//!
//! A source belongs to one load thread and serves all its connections in turn. It decides what is sent and looks at what
//! came back; it never sees a socket, a clock or a connection. Whatever it does takes its thread's time, and the run's
//! figures show it.

use std::{fmt, sync::Arc, time::Duration};

/// Most requests that one batch may hold.
pub const DEEPEST: u32 = 1024;

/// Makes requests and looks at responses, for one load thread.
pub trait Source {
    /// Appends the next request to `out`, head and body, or several that are to go out in one write. What `out` holds is
    /// sent as it is: the source is responsible for its being HTTP/1.
    ///
    /// # Errors
    /// A message, without a newline, that says what is wrong and where. It ends the run, which then has no result.
    fn next(&mut self, out: &mut Vec<u8>) -> Result<Batch, String>;

    /// Whether [`Self::response`] is to be called. Asked once, when the thread starts: heads are then taken apart and
    /// bodies kept whole, which costs more than everything else together.
    fn wants_responses(&self) -> bool;

    /// A response has arrived whole: its status, its fields in order with their names as sent, its body without chunk
    /// framing. Called in the order of the replies of each connection, for replies that fail a check too.
    fn response(&mut self, status: u16, fields: &[(&str, &[u8])], body: &[u8]) -> Flow;

    /// How long a connection pauses between a batch that is answered and the next one. Called once for each of these
    /// moments; the pause counts for no request's time. `None` is no pause, and cheaper than one of length 0.
    fn delay(&mut self) -> Option<Duration>;
}

/// What a source has appended: how many requests, and which of them are HEAD, whose responses have no body whatever they
/// announce.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Batch {
    requests: u32,
    heads: u64,
}

impl Batch {
    /// A batch of one request of that method.
    pub fn of(method: &str) -> Self {
        Self { requests: 1, heads: u64::from(method == "HEAD") }
    }

    /// RawHistogram another request of that method.
    ///
    /// # Errors
    /// Beyond [`DEEPEST`] requests, or for HEAD behind 64 others.
    pub fn push(&mut self, method: &str) -> Result<(), String> {
        if self.requests >= DEEPEST {
            return Err(format!("more than {DEEPEST} requests in one batch: send fewer at a time"));
        }
        if method == "HEAD" {
            let bit = 1u64.checked_shl(self.requests);
            self.heads |= bit.ok_or("HEAD behind 64 other requests in one batch: send fewer at a time")?;
        }
        self.requests += 1;
        Ok(())
    }

    /// How many requests these are. An empty batch ends the run as an error does.
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// Whether request `number` of this batch, from 0, is HEAD.
    pub fn is_head(&self, number: u32) -> bool {
        self.heads.checked_shr(number).is_some_and(|bits| bits & 1 == 1)
    }
}

/// Whether the run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// It does.
    Go,
    /// It ends now, with the result of what was measured.
    Stop,
}

/// Makes the source of each load thread, given its number from 0. It is called on that thread, before the first
/// connection is opened.
#[derive(Clone)]
pub struct Script(Arc<Make>);

type Make = dyn Fn(usize) -> Result<Box<dyn Source>, String> + Send + Sync;

impl Script {
    /// A script whose sources are made by `make`. What `make` returns as an error is one line, and the run fails with it.
    pub fn new(make: impl Fn(usize) -> Result<Box<dyn Source>, String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// The source of load thread `thread`.
    pub(crate) fn source(&self, thread: usize) -> Result<Box<dyn Source>, String> {
        (self.0)(thread)
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script")
    }
}

/// Two are equal if they are one.
impl PartialEq for Script {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_knows_which_of_its_requests_are_head() {
        let mut batch = Batch::of("GET");
        for method in ["HEAD", "POST", "HEAD"] {
            batch.push(method).unwrap();
        }
        assert_eq!(batch.requests(), 4);
        assert_eq!((0..5).map(|number| batch.is_head(number)).collect::<Vec<_>>(), [false, true, false, true, false]);
        assert!(Batch::of("HEAD").is_head(0) && !Batch::of("HEAD").is_head(64));
    }

    #[test]
    fn a_batch_ends_where_it_could_no_longer_be_understood() {
        let mut batch = Batch::default();
        (0..64).for_each(|_| batch.push("HEAD").unwrap());
        assert!(batch.push("HEAD").unwrap_err().contains("64"));
        (64..DEEPEST).for_each(|_| batch.push("GET").unwrap());
        assert!(batch.push("GET").unwrap_err().contains("1024"));
        assert_eq!(batch.requests(), DEEPEST);
    }
}
