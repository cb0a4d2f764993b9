//! State shared by the connections of one worker: router, `Date`, deadlines, counters, log. Confined to one thread; no locks.

use super::access_log::LogBuffer;
use super::config::{Plan, Settings};
use super::deadlines::{DeadlineEntry, Deadlines, Phase};
use super::metrics::Counters;
use super::router::Router;
use super::shared::Shared;
use brunt_wire::http1::{DateHeader, Head, RequestMeta, Response};
use std::cell::{Cell, Ref, RefCell};
use std::time::UNIX_EPOCH;
use std::{net::SocketAddr, rc::Rc, sync::Arc};

const NAME: &str = "brunt";

pub(crate) struct Worker {
    pub settings: Settings,
    pub deadlines: Deadlines,
    pub counters: Arc<Counters>,
    /// Scratch buffer for responses; empty between two steps.
    pub out: RefCell<Vec<u8>>,
    shared: Arc<Shared>,
    number: usize,
    router: RefCell<Router>,
    /// The plan of the router.
    plan: RefCell<Arc<Plan>>,
    date: RefCell<DateHeader>,
    unix: Cell<u64>,
    stopping: Cell<bool>,
    pub is_logging: bool,
    log: RefCell<Option<LogBuffer>>,
    /// Bytes of request bodies in memory.
    body_bytes: Cell<u64>,
}

impl Worker {
    pub fn new(shared: &Arc<Shared>, number: usize) -> Self {
        let settings = shared.settings.clone();
        let date =
            if settings.bare { DateHeader::bare() } else { DateHeader::new(Some(NAME), 0).expect("a valid name") };
        let (plan, log) = (shared.plan(), shared.log_buffer());
        let worker = Self {
            deadlines: Deadlines::new(&settings),
            counters: shared.metrics.worker(number),
            out: RefCell::default(),
            router: RefCell::new(Router::new(&plan, shared, number)),
            plan: RefCell::new(plan),
            date: RefCell::new(date),
            unix: Cell::new(0),
            stopping: Cell::new(false),
            is_logging: log.is_some(),
            log: RefCell::new(log),
            body_bytes: Cell::new(0),
            shared: shared.clone(),
            number,
            settings,
        };
        worker.set_time();
        worker
    }

    /// Updates the time, ends late connections, picks up a new plan and flushes the log. Due every [`Deadlines::pause`].
    pub fn tick(&self) {
        self.set_time();
        self.deadlines.sweep();
        let plan = self.shared.plan();
        if !Arc::ptr_eq(&self.plan.replace(plan.clone()), &plan) {
            *self.router.borrow_mut() = Router::new(&plan, &self.shared, self.number);
        }
        if let Some(log) = &mut *self.log.borrow_mut() {
            self.counters.lost_lines.add(log.flush());
        }
    }

    fn set_time(&self) {
        let unix = brunt_runtime::time::system_now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if self.unix.replace(unix) != unix {
            self.date.borrow_mut().set(unix);
            if let Some(log) = &mut *self.log.borrow_mut() {
                log.set_time(unix);
            }
        }
    }

    /// Closes idle connections; the others end with their current request.
    pub fn stop(&self) {
        self.stopping.set(true);
        self.deadlines.expire_all(Phase::Idle);
    }

    #[inline]
    pub fn is_stopping(&self) -> bool {
        self.stopping.get()
    }

    pub fn end(&self) {
        if let Some(mut log) = self.log.borrow_mut().take() {
            self.counters.lost_lines.add(log.flush());
        }
    }

    /// The current router. Must not be held across an await.
    #[inline]
    pub fn router(&self) -> Ref<'_, Router> {
        self.router.borrow()
    }

    #[inline]
    pub fn date(&self) -> Ref<'_, DateHeader> {
        self.date.borrow()
    }

    /// What a response depends on in its request; the connection closes after it if the server is stopping.
    #[inline]
    pub fn request_meta(&self, head: &Head<'_>) -> RequestMeta {
        if self.is_stopping() { head.meta().closing() } else { head.meta() }
    }

    /// Appends and counts a response to a client that is given up.
    #[cold]
    pub fn give_up(&self, listener: u16, status: u16, text: &str, out: &mut Vec<u8>) {
        let _close = Response::text(out, RequestMeta::UNPARSED, &self.date(), status, text.as_bytes());
        self.counters.answered(listener, status);
    }

    /// Accounts for bytes of a request body. Returns false if [`Settings::bodies`] would be exceeded.
    pub fn reserve_body(&self, bytes: u64) -> bool {
        let reserved = self.body_bytes.get().saturating_add(bytes);
        let fits = reserved <= self.settings.bodies;
        if fits {
            self.body_bytes.set(reserved);
        }
        fits
    }

    pub fn release_body(&self, bytes: u64) {
        self.body_bytes.set(self.body_bytes.get().saturating_sub(bytes));
    }

    pub fn log(&self, peer: SocketAddr, head: &Head<'_>, status: u16, length: Option<u64>) {
        if let Some(log) = &mut *self.log.borrow_mut() {
            self.counters.lost_lines.add(log.add(peer, head, status, length));
        }
    }
}

/// Registers an open connection with its worker until dropped.
pub(crate) struct ConnectionGuard {
    pub worker: Rc<Worker>,
    pub entry: Rc<DeadlineEntry>,
}

impl ConnectionGuard {
    pub fn new(worker: Rc<Worker>) -> Self {
        let entry = worker.deadlines.register();
        worker.counters.open.add(1);
        Self { worker, entry }
    }

    /// Whether the deadline of the current phase has passed.
    pub fn has_expired(&self) -> bool {
        self.worker.deadlines.has_expired(&self.entry)
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.worker.deadlines.remove(&self.entry);
        let open = &self.worker.counters.open;
        open.set(open.get().saturating_sub(1));
    }
}
