//! What all connections of a worker share: the router, the stamp, the deadlines, the counts, the log. One thread's; nothing
//! here is locked, and nothing here waits.

use super::{
    access_log::Lines,
    config::settings::Settings,
    deadlines::{DeadlineEntry, Deadlines, Phase},
    metrics::Counters,
    router::Router,
    shared::Shared,
};
use brunt_wire::http1::{
    DateHeader, Head, Limits, RequestMeta, StaticResponse,
    server::{Connection, Event},
};
use std::{
    cell::{Cell, Ref, RefCell},
    net::SocketAddr,
    rc::Rc,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

/// The name in `Server`.
const NAME: &str = "brunt";

pub(crate) struct Worker {
    pub settings: Settings,
    pub deadlines: Deadlines,
    pub counters: Arc<Counters>,
    /// Where answers are put together; empty between two steps.
    pub out: RefCell<Vec<u8>>,
    shared: Arc<Shared>,
    number: usize,
    router: RefCell<Router>,
    version: Cell<u64>,
    stamp: RefCell<DateHeader>,
    unix: Cell<u64>,
    /// Counts up when the stamp changes.
    second: Cell<u64>,
    stopping: Cell<bool>,
    logging: bool,
    lines: RefCell<Option<Lines>>,
    /// Bytes of bodies that are kept.
    kept: Cell<u64>,
    last: Last,
}

/// What is said to clients that are given up.
struct Last {
    exchange: RequestMeta,
    late: StaticResponse,
    full: StaticResponse,
}

impl Worker {
    pub fn new(shared: &Arc<Shared>, number: usize) -> Self {
        let settings = shared.settings.clone();
        let stamp =
            if settings.bare { DateHeader::bare() } else { DateHeader::new(Some(NAME), 0).expect("a plain name") };
        let (version, plan) = shared.plan();
        let worker = Self {
            deadlines: Deadlines::new(&settings),
            counters: shared.metrics.worker(number),
            out: RefCell::default(),
            router: RefCell::new(Router::new(&plan, shared, number)),
            version: Cell::new(version),
            stamp: RefCell::new(stamp),
            unix: Cell::new(0),
            second: Cell::new(0),
            stopping: Cell::new(false),
            logging: shared.log.is_some(),
            lines: RefCell::new(shared.lines()),
            kept: Cell::new(0),
            last: Last::new(),
            shared: shared.clone(),
            number,
            settings,
        };
        worker.set_time();
        worker
    }

    /// To be done after each pause of the deadlines.
    pub fn tick(&self) {
        self.set_time();
        self.deadlines.sweep();
        let (version, plan) = self.shared.plan();
        if self.version.replace(version) != version {
            *self.router.borrow_mut() = Router::new(&plan, &self.shared, self.number);
        }
        if let Some(lines) = &mut *self.lines.borrow_mut() {
            self.counters.lost_lines.add(lines.hand_over());
        }
    }

    fn set_time(&self) {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if self.unix.replace(unix) != unix {
            self.stamp.borrow_mut().set(unix);
            self.second.set(self.second.get() + 1);
            if let Some(lines) = &mut *self.lines.borrow_mut() {
                lines.set_time(unix);
            }
        }
    }

    /// No more requests than those under way: idle connections end now.
    pub fn stop(&self) {
        self.stopping.set(true);
        self.deadlines.expire_all(Phase::Idle);
    }

    #[inline]
    pub fn is_stopping(&self) -> bool {
        self.stopping.get()
    }

    /// The log is to have all of it.
    pub fn end(&self) {
        if let Some(mut lines) = self.lines.borrow_mut().take() {
            self.counters.lost_lines.add(lines.hand_over());
        }
    }

    /// What is served now. Not to be held while anything is awaited.
    #[inline]
    pub fn router(&self) -> Ref<'_, Router> {
        self.router.borrow()
    }

    /// Whether somebody wants to hear of each request.
    #[inline]
    pub fn is_logging(&self) -> bool {
        self.logging
    }

    #[inline]
    pub fn stamp(&self) -> Ref<'_, DateHeader> {
        self.stamp.borrow()
    }

    /// Differs from what it was before if the stamp does.
    #[inline]
    pub fn second(&self) -> u64 {
        self.second.get()
    }

    /// What an answer must know of its request.
    #[inline]
    pub fn exchange(&self, head: &Head<'_>) -> RequestMeta {
        if self.is_stopping() { head.meta().closing() } else { head.meta() }
    }

    /// Appends: the request has not arrived in time.
    pub fn late(&self, out: &mut Vec<u8>) {
        let _close = self.last.late.write(out, self.last.exchange, &self.stamp());
    }

    /// Appends: there is no room for the body.
    pub fn full(&self, out: &mut Vec<u8>) {
        let _close = self.last.full.write(out, self.last.exchange, &self.stamp());
    }

    /// Whether so many more bytes of bodies may be kept; if so, they are counted.
    pub fn keep(&self, bytes: u64) -> bool {
        let kept = self.kept.get().saturating_add(bytes);
        let fits = kept <= self.settings.bodies;
        if fits {
            self.kept.set(kept);
        }
        fits
    }

    /// They are kept no longer.
    pub fn release(&self, bytes: u64) {
        self.kept.set(self.kept.get().saturating_sub(bytes));
    }

    pub fn log(&self, peer: SocketAddr, head: &Head<'_>, status: u16, length: Option<u64>) {
        if let Some(lines) = &mut *self.lines.borrow_mut() {
            self.counters.lost_lines.add(lines.add(peer, head, status, length));
        }
    }
}

impl Last {
    fn new() -> Self {
        let ready = |status, text: &[u8]| {
            StaticResponse::new(status, &[("Content-Type", b"text/plain")], text)
                .expect("plain fields and a final status")
        };
        Self {
            exchange: closing_exchange(),
            late: ready(408, b"408 Request Timeout\n"),
            full: ready(503, b"503 Service Unavailable: too many bytes of request bodies at a time\n"),
        }
    }
}

/// For answers to requests of which nothing is known. An exchange comes from a request, so here is one.
fn closing_exchange() -> RequestMeta {
    let (mut connection, mut bytes) =
        (Connection::default(), &b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"[..]);
    match connection.next(&mut bytes, &Limits::SERVER) {
        Some(Event::Head(head)) => head.meta(),
        other => unreachable!("a plain request is read as {other:?}"),
    }
}

/// A connection's place among those of a worker; its end is counted whatever ended it.
pub(crate) struct ConnectionGuard {
    pub worker: Rc<Worker>,
    pub note: Rc<DeadlineEntry>,
}

impl ConnectionGuard {
    pub fn take(worker: Rc<Worker>) -> Self {
        let note = worker.deadlines.enter();
        worker.counters.open.add(1);
        Self { worker, note }
    }

    /// Whether the deadline of what it waits for has passed.
    pub fn has_expired(&self) -> bool {
        self.worker.deadlines.has_expired(&self.note)
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.worker.deadlines.leave(&self.note);
        let open = &self.worker.counters.open;
        open.set(open.get().saturating_sub(1));
    }
}
