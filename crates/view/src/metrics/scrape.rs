//! The server of `--metrics`: one request a connection, each on a thread of its own, for a limited time.

use super::exposition;
use super::interval::{Interval, Totals};
use super::{endpoint::Listen, timed};
use crate::cores::leave;
use brunt_results::Error;
use brunt_wire::http1::server::{Connection, Event};
use brunt_wire::http1::{DateHeader, EncodeError, Limits, Method, RequestMeta, Response};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time for a request to arrive and for its reply to be taken.
const PATIENCE: Duration = Duration::from_secs(2);
/// Connections at a time. Others are closed.
const MOST: usize = 8;
/// After a connection could not be accepted, for want of files.
const PAUSE: Duration = Duration::from_millis(100);
/// A scraper's request has no body.
const LIMITS: Limits = Limits { head: 8 << 10, target: 1 << 10, body: 4 << 10, ..Limits::SERVER };

#[derive(Debug)]
pub struct Scrape {
    pub address: SocketAddr,
    page: Arc<Page>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Page {
    url: String,
    state: Mutex<State>,
    /// The last interval was served.
    served: Condvar,
    connections: AtomicUsize,
    refused: AtomicUsize,
    closed: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    totals: Totals,
    /// Intervals in the last page that was served whole; `None` before.
    served: Option<u64>,
}

impl Scrape {
    /// Listens, and serves on a thread on no core of `cores`.
    pub fn start(listen: &Listen, url: &str, cores: &[usize]) -> Result<Self, Error> {
        let failed = |error: io::Error| {
            Error::Failed(format!("--metrics {listen}: cannot listen there: {error}; choose another address or port"))
        };
        let listener = listen.bind().map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let page = Arc::new(Page {
            url: url.to_owned(),
            state: Mutex::default(),
            served: Condvar::new(),
            connections: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
        });
        let (shared, cores) = (Arc::clone(&page), cores.to_vec());
        let accept = move || {
            leave(&cores);
            accept(&listener, &shared);
        };
        let thread = thread::Builder::new().name("metrics".to_owned()).spawn(accept).map_err(failed)?;
        Ok(Self { address, page, thread: Some(thread) })
    }

    pub fn add(&self, interval: &Interval) {
        self.page.state().totals.add(interval);
    }

    /// If there was a scraper, waits until it has the last interval, or until `until`. Says how many connections were closed
    /// unanswered.
    pub fn end(self, until: Instant) -> Option<String> {
        let state = self.page.state();
        let number = state.totals.number;
        let most = until.saturating_duration_since(Instant::now());
        let is_missing = |state: &mut State| state.served.is_some_and(|served| served < number);
        drop(self.page.served.wait_timeout_while(state, most, is_missing));
        let refused = self.page.refused.load(Relaxed);
        (refused > 0).then(|| format!("--metrics closed {refused} connections unanswered: {MOST} at a time are served"))
    }
}

/// Closes the listener.
impl Drop for Scrape {
    fn drop(&mut self) {
        self.page.closed.store(true, Relaxed);
        // Wakes the thread.
        let is_woken = TcpStream::connect_timeout(&self.address, PATIENCE).is_ok();
        // A panic has printed its message.
        let _ = self.thread.take().filter(|_| is_woken).map(JoinHandle::join);
    }
}

impl Page {
    /// Held for as long as it takes to add or copy the figures.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn accept(listener: &TcpListener, page: &Arc<Page>) {
    while !page.closed.load(Relaxed) {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => {
                thread::sleep(PAUSE);
                continue;
            }
        };
        let is_full = page.connections.fetch_add(1, Relaxed) >= MOST;
        let client = Client { place: Place(Arc::clone(page)), stream };
        // An error is the scraper's, or its thread could not be started.
        let serve = move || drop(client.serve());
        if is_full || thread::Builder::new().name("scrape".to_owned()).spawn(serve).is_err() {
            page.refused.fetch_add(1, Relaxed);
        }
    }
}

/// A connection. Its place is free before it is closed (fields are dropped in this order): a client that sees the end may
/// connect again at once.
struct Client {
    place: Place,
    stream: TcpStream,
}

/// One of the connections, until dropped.
struct Place(Arc<Page>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Relaxed);
    }
}

impl Client {
    /// Answers one request.
    fn serve(&self) -> io::Result<()> {
        let (stream, page) = (&self.stream, &self.place.0);
        let until = Instant::now() + PATIENCE;
        let mut connection = Connection::default();
        let mut bytes = [0; 4 << 10];
        loop {
            let length = timed::read(stream, &mut bytes, until)?;
            if length == 0 {
                return Ok(());
            }
            let mut input = &bytes[..length];
            if let Some(event) = connection.next(&mut input, &LIMITS) {
                let mut reply = Vec::new();
                let number = answer(&event, page, &mut reply).map_err(io::Error::other)?;
                timed::write(stream, &reply, until)?;
                if let Some(number) = number {
                    page.state().served = Some(number);
                    page.served.notify_all();
                }
                return Ok(());
            }
        }
    }
}

/// Writes the reply to a request. Returns the number of intervals if it is the page.
fn answer(event: &Event<'_>, page: &Page, out: &mut Vec<u8>) -> Result<Option<u64>, EncodeError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let date = DateHeader::new(Some("brunt"), now)?;
    let mut plain = |request: RequestMeta, status: u16, text: &str| {
        let _ = Response::text(out, request.closing(), &date, status, text.as_bytes());
        Ok(None)
    };
    let head = match event {
        Event::Head(head) => head,
        Event::Error(error) => {
            let _ = Response::error(out, &date, *error);
            return Ok(None);
        }
        // Comes after a head.
        Event::Body(_) | Event::Trailers(_) | Event::End(_) => return Ok(None),
    };
    let path = head.target().split('?').next().unwrap_or_default();
    if path != "/metrics" {
        return plain(head.meta(), 404, "the metrics are at /metrics\n");
    }
    if !matches!(head.method, Method::Get | Method::Head) {
        let response = Response::new(out, head.meta(), &date, 405)?.field("Allow", b"GET, HEAD")?;
        let _ = response.close().body(b"only GET and HEAD\n");
        return Ok(None);
    }
    let totals = page.state().totals.clone();
    let text = exposition::text(&totals, &page.url);
    let response = Response::new(out, head.meta(), &date, 200)?.field("Content-Type", exposition::CONTENT_TYPE)?;
    let _ = response.close().body(text.as_bytes());
    Ok((head.method == Method::Get).then_some(totals.number))
}
