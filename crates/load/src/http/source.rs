//! Requests that are not rendered in advance: the interface between the engine and a script.
//!
//! A source belongs to one load thread and serves all its connections. It makes requests and gets responses, without access
//! to sockets, clocks or connections. It uses its thread's time, which the figures of the run show.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, time::Duration};

/// Most requests of a batch.
pub const MAX_BATCH: u32 = 1024;

/// Most names that a script may give to requests; each costs 130 KiB a load thread.
pub const MAX_NAMES: usize = 100;
/// Name of the requests whose own would be one too many.
pub const OTHER: &str = "other";

/// Names that a script gives to requests, of all load threads, in order of their first use.
#[derive(Debug, Clone, Default)]
pub struct Names(Arc<Mutex<Vec<String>>>);

impl Names {
    /// The number of a name: that of [`OTHER`] behind [`MAX_NAMES`] others. Takes a lock.
    pub fn number(&self, name: &str) -> u16 {
        let mut names = self.lock();
        let known = names.iter().position(|known| known == name);
        let name = if known.is_none() && names.len() >= MAX_NAMES { OTHER } else { name };
        let number = known.or_else(|| names.iter().position(|known| known == name)).unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        });
        // At most MAX_NAMES.
        number as u16
    }

    pub fn all(&self) -> Vec<String> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub trait Source {
    /// Appends one request, head and body, or several for a single write. They are sent as they are: the source is
    /// responsible for valid HTTP/1.
    ///
    /// # Errors
    /// A message of one line, which ends the run without a result.
    fn next(&mut self, out: &mut Vec<u8>) -> Result<Batch, String>;

    /// Whether [`Self::response`] is called; read once. It costs more than everything else together, as heads are split and
    /// bodies kept.
    fn wants_responses(&self) -> bool;

    /// Takes a complete response: its status, its fields in order as sent, its body without chunk framing. Called in the
    /// order of each connection's responses, also for those that fail a check.
    fn response(&mut self, status: u16, fields: &[(&str, &[u8])], body: &[u8]) -> Flow;

    /// Pause of a connection between an answered batch and the next one, not part of any request's time. Called once for
    /// each. `None` is cheaper than a pause of 0.
    fn delay(&mut self) -> Option<Duration>;
}

/// The number of requests that a source has appended, and which of them are HEAD: their responses have no body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Batch {
    requests: u32,
    heads: u64,
    name: Option<u16>,
}

impl Batch {
    pub fn of(method: &str) -> Self {
        Self { requests: 1, heads: u64::from(method == "HEAD"), name: None }
    }

    /// The same requests, with the name of this [`Names::number`].
    pub fn named(self, name: u16) -> Self {
        Self { name: Some(name), ..self }
    }

    /// The name that the script gave to its requests.
    #[inline]
    pub fn name(&self) -> Option<u16> {
        self.name
    }

    /// Counts another request.
    ///
    /// # Errors
    /// More than [`MAX_BATCH`] requests, or HEAD behind 64 others.
    pub fn push(&mut self, method: &str) -> Result<(), String> {
        if self.requests >= MAX_BATCH {
            return Err(format!("more than {MAX_BATCH} requests in one batch: send fewer at a time"));
        }
        if method == "HEAD" {
            let bit = 1u64.checked_shl(self.requests);
            self.heads |= bit.ok_or("HEAD behind 64 other requests in one batch: send fewer at a time")?;
        }
        self.requests += 1;
        Ok(())
    }

    /// Its first `requests`, at most all.
    pub fn first(self, requests: u32) -> Self {
        let heads = 1u64.checked_shl(requests).map_or(self.heads, |bit| self.heads & (bit - 1));
        Self { requests, heads, ..self }
    }

    /// The number of requests. An empty batch ends the run as an error does.
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// Whether request `number`, from 0, is HEAD.
    pub fn is_head(&self, number: u32) -> bool {
        self.heads.checked_shr(number).is_some_and(|bits| bits & 1 == 1)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Continue,
    /// Ends the run now, with a result.
    Stop,
}

/// Constructor of each load thread's source, from the number of the thread. Called on that thread before it opens
/// connections. An error is one line, which ends the run.
#[derive(Clone)]
pub struct Script {
    make: Arc<Make>,
    names: Names,
    left: Option<Arc<dyn Left>>,
}

/// What load threads leave at their end for whoever reports the load, as text.
pub(crate) trait Left: Send + Sync {
    /// That of a thread of this process; once.
    fn take(&self, thread: usize) -> Option<String>;

    /// Keeps that of a thread of another process.
    ///
    /// # Errors
    /// It is no such text; one line.
    fn put(&self, thread: usize, text: &str) -> Result<(), String>;
}

type Make = dyn Fn(usize) -> Result<Box<dyn Source>, String> + Send + Sync;

impl Script {
    pub fn new(make: impl Fn(usize) -> Result<Box<dyn Source>, String> + Send + Sync + 'static) -> Self {
        Self::naming(Names::default(), make)
    }

    /// The same, whose sources name requests by `names`.
    pub fn naming(
        names: Names,
        make: impl Fn(usize) -> Result<Box<dyn Source>, String> + Send + Sync + 'static,
    ) -> Self {
        Self { make: Arc::new(make), names, left: None }
    }

    /// The same, whose threads leave something.
    pub(crate) fn leaving(self, left: Arc<dyn Left>) -> Self {
        Self { left: Some(left), ..self }
    }

    /// One that makes no requests: a place for what scripts elsewhere have named.
    pub fn elsewhere() -> Self {
        Self::new(|_| Err("the script is elsewhere".to_owned()))
    }

    /// The number of a name, of which a thread elsewhere has made requests.
    pub(crate) fn number(&self, name: &str) -> u16 {
        self.names.number(name)
    }

    /// What this thread has left.
    pub(crate) fn left(&self, thread: usize) -> Option<String> {
        self.left.as_ref()?.take(thread)
    }

    pub(crate) fn put_left(&self, thread: usize, text: &str) -> Result<(), String> {
        self.left.as_ref().map_or(Ok(()), |left| left.put(thread, text))
    }

    /// The names that were given to requests so far.
    pub(crate) fn names(&self) -> Vec<String> {
        self.names.all()
    }

    pub(crate) fn source(&self, thread: usize) -> Result<Box<dyn Source>, String> {
        (self.make)(thread)
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script")
    }
}

/// Identity.
impl PartialEq for Script {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_by_first_use_and_limited() {
        let names = Names::default();
        assert_eq!(["a", "b", "a"].map(|name| names.number(name)), [0, 1, 0]);
        (2..MAX_NAMES).for_each(|number| assert_eq!(usize::from(names.number(&number.to_string())), number));
        assert_eq!(["c", "d", "b"].map(|name| usize::from(names.number(name))), [MAX_NAMES, MAX_NAMES, 1]);
        assert_eq!((names.all().len(), &*names.all()[MAX_NAMES]), (MAX_NAMES + 1, OTHER));
        assert_eq!((Batch::of("GET").name(), Batch::of("GET").named(3).name()), (None, Some(3)));
    }

    #[test]
    fn head_requests_are_marked_and_batches_are_limited() {
        let mut batch = Batch::of("GET");
        for method in ["HEAD", "POST", "HEAD"] {
            batch.push(method).unwrap();
        }
        assert_eq!(batch.requests(), 4);
        assert_eq!((0..5).map(|number| batch.is_head(number)).collect::<Vec<_>>(), [false, true, false, true, false]);
        assert!(Batch::of("HEAD").is_head(0) && !Batch::of("HEAD").is_head(64));
        // A batch has a limit, and a lower one with HEAD.
        let mut batch = Batch::default();
        (0..64).for_each(|_| batch.push("HEAD").unwrap());
        assert!(batch.push("HEAD").unwrap_err().contains("64"));
        (64..MAX_BATCH).for_each(|_| batch.push("GET").unwrap());
        assert!(batch.push("GET").unwrap_err().contains("1024"));
        assert_eq!(batch.requests(), MAX_BATCH);
    }
}
